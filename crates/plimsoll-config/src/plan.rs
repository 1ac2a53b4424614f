//! The plan file: what people do, how much of it, and what counts as good, in YAML.
//!
//! [`read`] takes the text through three shapes: a tree whose nodes know where they stand, the words of the tables, and
//! the model's nouns. Faults do not end it: all of a file are told together, each with its line and column. Files and
//! environment come through [`Surroundings`]; addresses of hosts are looked up by whoever asked.

mod answer;
mod body;
mod condition;
mod data;
pub(crate) mod desk;
pub(crate) mod fault;
mod journeys;
mod judgement;
mod load;
mod names;
mod process;
pub(crate) mod reference;
mod replay;
mod request;
mod schema;
mod sockets;
pub(crate) mod source;
mod steps;
mod target;
mod template;
#[cfg(test)]
mod tests;
mod transport;
pub(crate) mod tree;
mod watch;
pub(crate) mod words;

use std::time::Duration;

use plimsoll_model::journey::{Inputs, STEPS_MAX, Scenario, Text};
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::GoodStatus;

use crate::status;
use desk::{Desk, Fields};
use names::Scene;
use source::Source;
use tree::Node;
use words::PLAN;

pub use fault::{Fault, Faults};
pub use load::{Effort, FindPlan, LoadPlan};
pub use reference::reference;
pub use schema::schema;
pub use target::Origin;
pub use transport::{Http, TransportPlan};
pub use watch::{Watch, read_watch};

/// Longest plan file, bytes.
pub const PLAN_LEN_MAX: u64 = 16 << 20;

/// What stands around a plan file.
pub trait Surroundings {
    /// The content of a file; `path` is as written, relative to the plan file.
    ///
    /// # Errors
    /// When it cannot be read, or is longer than `len_max` bytes.
    fn file(&self, path: &str, len_max: u64) -> Result<Vec<u8>, FileFault>;

    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
}

/// Why a file beside the plan was not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// As the system says.
    #[error("{0}")]
    Unreadable(String),
    /// Its length in bytes.
    #[error("it is {0} bytes long")]
    TooLong(u64),
}

/// What is said beside the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The target, in place of the file's.
    pub target: Option<String>,
    /// Name of a plan that does not say its own: that of its file.
    pub name: String,
    /// Variables of the environment may be missing where only a run needs them: they are listed in
    /// [`PlanFile::variables_missing`] and empty.
    pub may_miss_variables: bool,
}

/// All that a plan file says, resolved but for the addresses of hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanFile {
    /// Short name, safe in a file name.
    pub name: String,
    /// URL of the target.
    pub target: String,
    /// Line and column at which the target is named; (1, 1) when it is not in the file.
    pub target_place: (usize, usize),
    /// What users do; `None` for a load on the target's own URL. Its `targets` are empty: see [`PlanFile::origins`].
    pub scenario: Option<Scenario>,
    /// Rows and files, by the scenario's indexes.
    pub inputs: Inputs,
    /// Other origins that steps name, in the order of the scenario's targets.
    pub origins: Vec<Origin>,
    /// Headers of a plan without steps; those of a scenario stand in its journeys.
    pub headers: Vec<(String, String)>,
    /// How much load; `None` when flags must say it.
    pub load: Option<LoadPlan>,
    /// What counts as good.
    pub objective: Option<Objective>,
    /// Statuses that count as good.
    pub good: Option<GoodStatus>,
    /// How connections are made.
    pub transport: TransportPlan,
    /// Leading time that is not judged.
    pub warmup: Option<Duration>,
    /// Seed of all randomness.
    pub seed: Option<u64>,
    /// Event loops.
    pub cores: Option<u32>,
    /// Batch what is due within this time.
    pub tick: Option<Duration>,
    /// Bounds of the answer classes, ms.
    pub classes_ms: Option<[u64; 2]>,
    /// Variables that were missing and forgiven.
    pub variables_missing: Vec<String>,
    /// What is worth knowing and no fault: `LINE:COLUMN: note`.
    pub notes: Vec<String>,
    /// What else is looked at.
    pub watch: Watch,
}

/// Reads a plan file.
///
/// # Errors
/// All faults of the file together.
pub fn read(
    text: &str,
    given: &Given,
    surroundings: &dyn Surroundings,
) -> Result<PlanFile, Faults> {
    let source = Source::new(text);
    let desk = Desk::new(&source, surroundings);
    let (root, tree_faults) = tree::read(&source);
    for fault in tree_faults {
        desk.note(fault.span.start, fault.fault, fault.valid, None);
    }
    let plan = match &root {
        Some(root) if !root.is_null() => plan(&desk, root, given),
        // A tree that was refused has its fault noted.
        None if !source.text().trim().is_empty() && desk.has_faults() => None,
        _ => {
            desk.note(
                0,
                "this plan is empty",
                "target, journeys, load and more",
                None,
            );
            None
        }
    };
    let faults = desk.into_faults();
    match plan {
        Some(plan) if faults.is_empty() => Ok(plan),
        _ => Err(Faults::new(faults)),
    }
}

fn plan(desk: &Desk<'_>, root: &Node, given: &Given) -> Option<PlanFile> {
    let fields = desk.fields(root, &PLAN)?;
    let mut plan = settings(desk, &fields);
    plan.name = match fields.get("name") {
        Some(node) => short_name(desk, node).unwrap_or_default(),
        None => given.name.clone(),
    };
    let target;
    (target, plan.target_place) = target_of(desk, &fields, given);
    let base = target.as_deref().and_then(|url| target::Base::of(url).ok());
    let mut scene = Scene::new(desk, base);
    scene.may_miss_variables = given.may_miss_variables;
    if let Some(node) = fields.get("data") {
        data::data(&mut scene, node);
    }
    let load = fields.get("load");
    let journeys = if let Some(load) = load.filter(|load| load.get("replay").is_some()) {
        let (journey, load) = replay::replay(&mut scene, &fields, load);
        plan.load = load.map(LoadPlan::Fixed);
        // Steps beside a replay are a fault, and so is what is wrong with them.
        if fields.get("journeys").or(fields.get("steps")).is_some() {
            journeys::journeys(&mut scene, &fields, &plan.name);
        }
        vec![journey]
    } else {
        let journeys = journeys::journeys(&mut scene, &fields, &plan.name);
        plan.load = load.and_then(|node| load::load(desk, node, &journeys));
        journeys
    };
    if scene.steps.len() > STEPS_MAX {
        let entry = ["journeys", "steps", "once"]
            .iter()
            .find_map(|word| fields.entry(word));
        let at = entry.map_or(root.span.start, |(key, _)| key.span.start);
        let fault = format!("there are {} steps that are counted", scene.steps.len());
        desk.note(at, fault, format!("at most {STEPS_MAX}, or `repeat`"), None);
    }
    if journeys.is_empty() {
        plan.headers = plain_headers(desk, &mut scene, &fields);
        needs_journeys(desk, &fields);
    } else {
        let thresholds = fields
            .get("thresholds")
            .map(|node| judgement::thresholds(desk, node, &journeys, &scene.steps));
        let aborts = fields
            .get("abort")
            .map(|node| judgement::aborts(desk, node));
        plan.scenario = Some(Scenario {
            journeys,
            steps: scene.steps,
            slots: scene.slots,
            feeds: scene.feeds,
            files: scene.files,
            targets: Vec::new(),
            thresholds: thresholds.unwrap_or_default(),
            aborts: aborts.unwrap_or_default(),
        });
    }
    sockets::check(desk, &fields, &plan);
    plan.target = target?;
    plan.inputs = Inputs {
        rows: scene.rows,
        files: scene.contents,
        ..Inputs::default()
    };
    plan.origins = scene.origins;
    plan.notes = notes(desk, &scene.notes);
    plan.variables_missing = scene.variables_missing;
    Some(plan)
}

/// What is worth knowing, with its place.
fn notes(desk: &Desk<'_>, notes: &[(usize, String)]) -> Vec<String> {
    let note = |(at, note): &(usize, String)| {
        let (line, column) = desk.source.position(*at);
        format!("{line}:{column}: {note}")
    };
    notes.iter().map(note).collect()
}

/// What stands in the plan beside its steps, its data and its load.
fn settings(desk: &Desk<'_>, fields: &Fields<'_>) -> PlanFile {
    let get = |word: &str| fields.get(word);
    PlanFile {
        objective: get("objective").and_then(|node| judgement::objective(desk, node)),
        good: get("good")
            .and_then(|node| desk.value(node, "statuses such as 2xx,404", status::statuses)),
        transport: get("transport")
            .map(|node| transport::transport(desk, node))
            .unwrap_or_default(),
        warmup: get("warmup").and_then(|node| desk.duration(node)),
        seed: get("seed").and_then(|node| desk.count(node, 0..=u64::MAX)),
        cores: get("cores").and_then(|node| desk.count32(node, 1..=256)),
        tick: get("tick").and_then(|node| desk.duration_above_zero(node)),
        classes_ms: get("classes").and_then(|node| classes(desk, node)),
        watch: get("watch")
            .map(|node| watch::watch(desk, node))
            .unwrap_or_default(),
        ..PlanFile::default()
    }
}

/// Words that mean nothing without steps.
fn needs_journeys(desk: &Desk<'_>, fields: &Fields<'_>) {
    for (key, _) in fields.among(&["data", "thresholds", "abort"]) {
        let fault = format!("`{}` needs steps", key.text);
        desk.note(key.span.start, fault, "journeys, or steps", None);
    }
}

fn target_of(
    desk: &Desk<'_>,
    fields: &Fields<'_>,
    given: &Given,
) -> (Option<String>, (usize, usize)) {
    if let Some(target) = &given.target {
        return (Some(target.clone()), (1, 1));
    }
    let Some(node) = fields.get("target") else {
        if !fields.misspells(&["target"]) {
            let valid = "target: https://host:port, or --target URL";
            desk.fault(fields.node, "the target is missing", valid);
        }
        return (None, (1, 1));
    };
    let place = desk.source.position(node.span.start);
    (target::target(desk, node), place)
}

fn short_name(desk: &Desk<'_>, node: &Node) -> Option<String> {
    const VALID: &str = "1 to 64 letters, digits, `-`, `_` and `.`, not beginning with `.`";
    let name = desk.word(node, VALID)?;
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() > 64 || name.starts_with('.') || !name.chars().all(is_safe) {
        desk.fault(node, format!("`{name}` is not a short name"), VALID);
        return None;
    }
    Some(name)
}

/// Headers of a plan without steps: nothing in them varies.
fn plain_headers(
    desk: &Desk<'_>,
    scene: &mut Scene<'_>,
    fields: &Fields<'_>,
) -> Vec<(String, String)> {
    let Some(node) = fields.get("headers") else {
        return Vec::new();
    };
    let headers = scene.headers(node, &names::Reach::default());
    let constant = |(name, text): (String, Text)| {
        let value = text.as_literal().map(str::to_owned).or_else(|| {
            let value = node.get(&name)?;
            desk.text(value, "a text")
        });
        value.map(|value| (name, value))
    };
    headers.into_iter().filter_map(constant).collect()
}

fn classes(desk: &Desk<'_>, node: &Node) -> Option<[u64; 2]> {
    const VALID: &str = "two ascending durations, such as [800ms, 1200ms]";
    let millis = |node: &Node| {
        let lasting = desk.duration_above_zero(node)?;
        u64::try_from(lasting.as_millis()).ok()
    };
    let [fast, slow] = desk.list(node, "two durations") else {
        desk.fault(node, "these are not two durations", VALID);
        return None;
    };
    let (fast, slow) = (millis(fast)?, millis(slow)?);
    if fast == 0 || fast >= slow {
        desk.fault(node, "these do not ascend", VALID);
        return None;
    }
    Some([fast, slow])
}
