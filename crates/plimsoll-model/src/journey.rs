//! Scenarios: kinds of users, the steps each takes, the data they use.
//!
//! Everything here is resolved: names have become indexes, texts have become templates, and each step that is
//! counted has its [`StepId`]. The data itself (rows, files, environment) is held apart in [`Inputs`], so that a
//! plan can be stored without it.

mod path;
mod poll;
mod redact;
mod socket;
mod step;
mod text;
mod walk;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::distribution::DurationDistribution;
use crate::objective::Objective;
use crate::target::Target;

pub use crate::distribution::DurationDistribution as ThinkTime;
pub use path::bounded_json_path;
pub use poll::PollStep;
pub use socket::{
    Disconnect, Drops, Layout, OutgoingMessage, Reconnect, SendStep, SocketStep, SubscribeStep,
};
pub use step::{
    Capture, Choice, Condition, Expectation, Extractor, MultipartPart, Operator, Pick, RepeatRange,
    RequestBody, RequestStep, Resources, Step, TextMatch,
};
pub use text::{Function, TextPiece, TextTemplate};

/// Index of a step that is counted, in [`Scenario::steps`].
pub type StepId = u32;

/// Steps of a scenario that are counted, at most.
pub const STEPS_MAX: usize = 1000;

/// Index of a value that a user can hold, in [`Scenario::slots`].
pub type SlotId = u32;

/// Kinds of users, with all that their steps refer to by index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Kinds of users; at least one.
    pub journeys: Vec<Journey>,
    /// Every step that is counted.
    pub steps: Vec<StepInfo>,
    /// Names of the values that a user can hold: captures and `set`.
    pub slots: Vec<String>,
    /// Data whose rows users take.
    pub feeds: Vec<Feed>,
    /// Names of the files whose content templates insert; the content is in [`Inputs::files`].
    pub files: Vec<String>,
    /// Other origins that steps name, beside the plan's target. A URL of another origin is a fault.
    pub targets: Vec<Target>,
    /// Objectives of single journeys, steps and groups.
    pub thresholds: Vec<Threshold>,
    /// When the run ends early.
    pub aborts: Vec<Abort>,
}

/// One kind of user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Journey {
    /// As written.
    pub name: String,
    /// Share of the users beside the other journeys' weights; above 0.
    pub weight: f64,
    /// Steps that a user takes once at the start, outside the measured loop.
    pub once: Vec<Step>,
    /// Steps that a user repeats.
    pub steps: Vec<Step>,
    /// Iterations of each user, `None` until the load ends.
    pub iterations: Option<u64>,
    /// Keeps cookies (RFC 6265) per user.
    pub cookies: bool,
    /// Keeps a cache per user as a browser does: fresh responses are not requested again, stale ones are
    /// revalidated.
    pub cache: bool,
    /// A user forgets its cookies and its cache when an iteration ends, as if the next one were of another visitor.
    #[serde(default)]
    pub forgets: bool,
    /// How long a user waits for a step before it gives up and leaves; each user draws once. `None` where users wait until
    /// time-outs end their steps. Not for users that an external script drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_up: Option<DurationDistribution>,
    /// Headers of every request of the journey that does not set them itself.
    pub headers: Vec<(String, TextTemplate)>,
    /// Connections per user and origin, 1 to 6 as in browsers.
    pub connections: u32,
    /// The external script that drives its users, instead of steps.
    pub process: Option<ProcessPlan>,
}

/// Characters of a command that messages show.
const SHOWN_MAX: usize = 80;

/// An external script that drives users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessPlan {
    /// Executable and arguments; nothing of it passes a shell.
    pub command: Vec<String>,
    /// Processes that each event loop starts.
    pub count: u32,
    /// Feeds whose rows its users receive, by index.
    pub feeds: Vec<u32>,
    /// Time-out of its response to an event.
    pub timeout: Duration,
}

impl ProcessPlan {
    /// The command as messages show it: one line without secrets, truncated where it is long.
    pub fn shown(&self) -> String {
        let command = crate::redact::command(self.command.iter().map(String::as_str));
        let words: Vec<&str> = command
            .iter()
            .flat_map(|word| word.split_whitespace())
            .collect();
        let whole = words.join(" ");
        match whole.char_indices().nth(SHOWN_MAX) {
            Some((end, _)) => format!("{}…", &whole[..end]),
            None => whole,
        }
    }
}

/// Description of a step that is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepInfo {
    /// Name in tables: `POST /login` as written, unless the plan gives one.
    pub label: String,
    /// Index of its journey.
    pub journey: u32,
    /// Names of the groups around it, outermost first.
    pub groups: Vec<String>,
    /// Whether it is in `once`: it has statistics of its own and counts nowhere else.
    pub once: bool,
}

/// Rows that users take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feed {
    /// Name in templates.
    pub name: String,
    /// File it was read from; `None` for rows written in the plan.
    pub path: Option<PathBuf>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Number of rows.
    pub rows: u64,
    /// Which row comes next.
    pub order: FeedOrder,
    /// What happens when unique rows run out.
    pub at_end: AtEnd,
    /// Whether a user takes a row for each iteration, instead of one for good.
    pub each_iteration: bool,
}

/// Which row a user takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedOrder {
    /// In order, again from the start at the end.
    #[default]
    InOrder,
    /// Each drawn at random.
    Random,
    /// In order, no row twice.
    Unique,
}

/// What happens to a user when no unique row is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// The user leaves; the run continues, and reports how many left.
    #[default]
    Stop,
    /// Rows are given out again from the start.
    Recycle,
    /// The run ends, as a fault of the plan.
    Error,
}

/// An objective for a subset of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The subset of the load that it applies to.
    pub scope: Scope,
    /// What must hold.
    pub objective: Objective,
}

/// A subset of the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All steps outside `once`.
    Everything,
    /// The journey of this index.
    Journey(u32),
    /// Steps of this label.
    Step(String),
    /// Steps in a group of this name.
    Group(String),
}

/// When a run ends early: the objective is missed by all answers of the last `over`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Abort {
    /// What must hold.
    pub objective: Objective,
    /// Over how long.
    pub over: Duration,
}

/// Number of users over time: changes linearly from one number to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserPhase {
    /// Users at its start.
    pub from: f64,
    /// Users at its end.
    pub to: f64,
    /// How long.
    pub lasting: Duration,
    /// Weights of the journeys in this phase, by index; empty for the journeys' own.
    pub mix: Vec<f64>,
}

/// The data outside the plan: never stored, never printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Rows of each feed, by index of [`Scenario::feeds`]; each row has one value per column.
    pub rows: Vec<Vec<Vec<String>>>,
    /// Contents of [`Scenario::files`], by index.
    pub files: Vec<Vec<u8>>,
    /// Where processes are started; the current folder when empty.
    pub folder: PathBuf,
    /// Environment variables that processes receive, and no others.
    pub environment: Vec<(String, String)>,
}

impl Scenario {
    /// Whether any journey is driven by an external script.
    pub fn has_process(&self) -> bool {
        self.journeys
            .iter()
            .any(|journey| journey.process.is_some())
    }

    /// Registers steps that became known during a run.
    pub fn name_steps<'a>(&mut self, named: impl IntoIterator<Item = (&'a StepId, &'a StepInfo)>) {
        for (&id, info) in named {
            let Ok(index) = usize::try_from(id) else {
                continue;
            };
            // Ids are given one after the other; one from a damaged log must not take the memory.
            if index >= STEPS_MAX {
                continue;
            }
            if index >= self.steps.len() {
                self.steps.resize_with(index + 1, StepInfo::default);
            }
            self.steps[index] = info.clone();
        }
    }

    /// The steps that `scope` means. A group's own time, which holds those of other steps, and the wait of a long poll are meant
    /// by their labels only.
    pub fn steps_in(&self, scope: &Scope) -> Vec<StepId> {
        let mut apart = self.group_ids();
        apart.append(&mut self.long_poll_ids());
        let is_in = |id: StepId, info: &StepInfo| match scope {
            Scope::Step(label) => info.label == *label,
            _ if apart.contains(&id) => false,
            Scope::Everything => !info.once,
            Scope::Journey(index) => !info.once && info.journey == *index,
            Scope::Group(name) => info.groups.contains(name),
        };
        let steps = (0..).zip(&self.steps);
        steps
            .filter(|&(id, info)| is_in(id, info))
            .map(|(id, _)| id)
            .collect()
    }

    /// The scope as plans write it: `everything`, `journey NAME`, `step LABEL`, `group NAME`.
    pub fn scope_text(&self, scope: &Scope) -> String {
        match scope {
            Scope::Everything => "everything".to_owned(),
            Scope::Journey(index) => {
                let journey = usize::try_from(*index)
                    .ok()
                    .and_then(|index| self.journeys.get(index));
                format!("journey {}", journey.map_or("?", |journey| &journey.name))
            }
            Scope::Step(label) => format!("step {label}"),
            Scope::Group(name) => format!("group {name}"),
        }
    }
}
