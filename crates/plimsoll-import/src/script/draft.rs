//! A plan before it is written: what importers of scripts fill in.

use std::time::Duration;

use super::Template;
use crate::DataFile;
use crate::yaml::{YamlEntry, YamlNode};

/// A whole plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanDraft {
    /// First line of the plan's comments: what it was made from.
    pub(crate) heading: String,
    /// What was guessed, one sentence each: comments of the plan, and notes for the terminal.
    pub(crate) notes: Vec<String>,
    /// The plan's name, where the script has one.
    pub(crate) name: Option<String>,
    /// The site, if it was named on the command line: replaces the script's most common origin.
    pub(crate) target: Option<String>,
    /// Status codes that count as success, `2xx,3xx`; the plan's own default if absent.
    pub(crate) good: Option<String>,
    /// Headers of every request.
    pub(crate) headers: Vec<(String, Template)>,
    /// Data sets.
    pub(crate) data: Vec<DataDraft>,
    /// Kinds of users; one without a weight is written without a name.
    pub(crate) journeys: Vec<JourneyDraft>,
    /// The load, as the value of the plan's `load`: a map or a list of phases.
    pub(crate) load: Option<YamlNode>,
    /// Thresholds of the whole run.
    pub(crate) thresholds: Vec<String>,
    /// Thresholds by scope, such as `step LABEL`.
    pub(crate) scoped_thresholds: Vec<(String, Vec<String>)>,
    /// Conditions that end the run early.
    pub(crate) abort: Vec<YamlNode>,
    /// Entries of `transport`.
    pub(crate) transport: Vec<YamlEntry>,
    /// Files that data sets, bodies and parts name.
    pub(crate) files: Vec<DataFile>,
}

impl PlanDraft {
    /// Whether no journey has a step that sends something.
    pub(crate) fn is_empty(&self) -> bool {
        let sends = |journey: &JourneyDraft| {
            journey
                .once
                .iter()
                .chain(&journey.steps)
                .any(|item| item.step.sends())
        };
        !self.journeys.iter().any(sends)
    }
}

/// A kind of user.
#[derive(Clone, Debug, Default)]
pub(crate) struct JourneyDraft {
    pub(crate) name: String,
    pub(crate) weight: Option<f64>,
    pub(crate) headers: Vec<(String, Template)>,
    /// Steps that a user takes once, at the start.
    pub(crate) once: Vec<StepItem>,
    /// Steps that a user repeats.
    pub(crate) steps: Vec<StepItem>,
    pub(crate) iterations: Option<u64>,
    /// Whether users keep cookies; the plan's own default (yes) if absent.
    pub(crate) cookies: Option<bool>,
    /// Whether users forget their cookies and their cache after each iteration.
    pub(crate) forgets: bool,
    /// Whether users have a cache; the plan's own default (no) if absent.
    pub(crate) cache: Option<bool>,
}

/// A step below its comments.
#[derive(Clone, Debug)]
pub(crate) struct StepItem {
    pub(crate) notes: Vec<String>,
    pub(crate) step: StepDraft,
}

impl From<StepDraft> for StepItem {
    fn from(step: StepDraft) -> Self {
        Self {
            notes: Vec::new(),
            step,
        }
    }
}

/// A step.
#[derive(Clone, Debug)]
pub(crate) enum StepDraft {
    Request(Box<RequestDraft>),
    Think(ThinkDraft),
    /// `times` as a plan has it: `5`, `2..4`.
    Repeat {
        times: String,
        steps: Vec<StepItem>,
    },
    /// Branches with their weights.
    Choose(Vec<(f64, Vec<StepItem>)>),
    /// `condition` as a plan has it: `{{ stock }} > 0`.
    If {
        condition: String,
        then: Vec<StepItem>,
        otherwise: Vec<StepItem>,
    },
    Group {
        name: String,
        steps: Vec<StepItem>,
    },
    Set(Vec<(String, Template)>),
    /// Any other step, by its keys: those of WebSockets.
    Keys(Vec<YamlEntry>),
}

impl StepDraft {
    /// Whether this step, or one inside it, sends something.
    pub(crate) fn sends(&self) -> bool {
        let any = |steps: &[StepItem]| steps.iter().any(|item| item.step.sends());
        match self {
            Self::Request(_) | Self::Keys(_) => true,
            Self::Think(_) | Self::Set(_) => false,
            Self::Repeat { steps, .. } | Self::Group { steps, .. } => any(steps),
            Self::Choose(branches) => branches.iter().any(|(_, steps)| any(steps)),
            Self::If {
                then, otherwise, ..
            } => any(then) || any(otherwise),
        }
    }
}

/// A think time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ThinkDraft {
    Fixed(Duration),
    Uniform(Duration, Duration),
    /// Mean and standard deviation.
    Normal(Duration, Duration),
}

/// Where a request goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct UrlDraft {
    /// `https://host:port`, without a path; empty if the script does not tell it.
    pub(crate) origin: Template,
    /// Path and query, percent-encoded as they are to be sent.
    pub(crate) path: Template,
}

/// A request.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestDraft {
    /// One of the methods that a plan has, in capital letters.
    pub(crate) method: String,
    pub(crate) url: UrlDraft,
    pub(crate) label: Option<String>,
    pub(crate) headers: Vec<(String, Template)>,
    pub(crate) body: Option<BodyDraft>,
    pub(crate) expect: ExpectDraft,
    pub(crate) captures: Vec<CaptureDraft>,
    /// Most redirects that are followed.
    pub(crate) follow: Option<u32>,
    pub(crate) timeout: Option<Duration>,
    /// Whether the page's own resources are requested, too.
    pub(crate) with_resources: bool,
    /// Further requests that are sent beside each other once this one, a page, is answered.
    pub(crate) resources: Vec<RequestDraft>,
}

/// A request's body.
#[derive(Clone, Debug)]
pub(crate) enum BodyDraft {
    /// Sent as it is; its Content-Type is one of the request's headers.
    Text(Template),
    /// Fields of a form, not encoded.
    Form(Vec<(String, Template)>),
    /// Parts of a multipart form.
    Multipart(Vec<PartDraft>),
    /// A value of JSON, where its bytes do not matter.
    Json(YamlNode),
    /// A file, relative to the plan.
    File {
        path: String,
        media_type: Option<String>,
        is_template: bool,
    },
}

/// A part of a multipart form.
#[derive(Clone, Debug)]
pub(crate) struct PartDraft {
    pub(crate) name: String,
    pub(crate) content: PartContent,
    pub(crate) file_name: Option<String>,
    pub(crate) media_type: Option<String>,
}

/// Content of a part.
#[derive(Clone, Debug)]
pub(crate) enum PartContent {
    Text(Template),
    /// Path of a file, relative to the plan.
    File(String),
}

/// Conditions of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExpectDraft {
    /// Each `200` or `2xx`.
    pub(crate) statuses: Vec<String>,
    pub(crate) contains: Vec<Template>,
    pub(crate) lacks: Vec<Template>,
    pub(crate) regex: Vec<String>,
    /// JSON paths and their conditions.
    pub(crate) json: Vec<(String, MatchDraft)>,
    pub(crate) headers: Vec<(String, MatchDraft)>,
    pub(crate) within: Option<Duration>,
}

/// A condition on a value.
#[derive(Clone, Debug)]
pub(crate) enum MatchDraft {
    Equals(Template),
    Contains(Template),
    Regex(String),
    Present(bool),
}

/// A value taken from an answer.
#[derive(Clone, Debug)]
pub(crate) struct CaptureDraft {
    pub(crate) name: String,
    pub(crate) source: CaptureSource,
    pub(crate) pick: PickDraft,
    pub(crate) default: Option<Template>,
}

/// Where a value is found.
#[derive(Clone, Debug)]
pub(crate) enum CaptureSource {
    Regex(String),
    Json(String),
    Css {
        selector: String,
        attribute: Option<String>,
    },
    Header(String),
    Cookie(String),
}

/// Which of several matches is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PickDraft {
    #[default]
    First,
    Last,
    Random,
    /// From 1.
    Nth(u64),
}

/// A data set.
#[derive(Clone, Debug)]
pub(crate) struct DataDraft {
    pub(crate) name: String,
    pub(crate) source: DataSource,
    /// `random` or `unique`; in order if absent.
    pub(crate) pick: Option<&'static str>,
    /// `stop`, `recycle` or `error`; only for `unique`.
    pub(crate) at_end: Option<&'static str>,
    /// `iteration` or `user`.
    pub(crate) each: Option<&'static str>,
    pub(crate) delimiter: Option<char>,
}

/// Where rows come from.
#[derive(Clone, Debug)]
pub(crate) enum DataSource {
    /// A CSV file, relative to the plan.
    Csv(String),
    /// A JSON file, relative to the plan.
    Json(String),
    /// Rows in the plan: maps.
    Rows(Vec<YamlNode>),
}

/// A duration as a plan has it: `800ms`, `2s`, `5m`.
pub(crate) fn duration(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        0 => "0s".to_owned(),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        _ => format!("{ms}ms"),
    }
}
