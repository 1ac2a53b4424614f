//! The plan file: journeys, load and objectives, in YAML.
//!
//! [`read`] converts the text in three stages: a tree whose nodes know their place, the tables of keys, the types of
//! the model. It collects all errors of a file, each with line and column. The caller resolves host names.

mod answer;
mod body;
mod browser;
mod condition;
mod data;
mod functions;
mod journeys;
mod keywords;
mod load;
mod polls;
mod process;
mod reference;
mod replay;
mod request;
mod schema;
mod scope;
mod sockets;
mod steps;
mod target;
#[cfg(test)]
mod tests;
mod thresholds;
mod transport;
mod watch;

use std::ops::RangeInclusive;
use std::time::Duration;

use plimsoll_model::journey::{Inputs, STEPS_MAX, Scenario, TextTemplate};
use plimsoll_model::objective::Objective;
use plimsoll_model::patience::PatienceBand;
use plimsoll_model::plan::GoodStatus;
use plimsoll_model::price::Price;

use crate::distribution::THINK;
use crate::document::Shape::{
    Count, Duration as DurationShape, Either, ListOf, MapOf, MapWith, Of, OneOf, Status, Steps,
    Switch, Text,
};
use crate::document::{
    Diagnostics, DocumentNode, DocumentReader, MapFields, SettingsMap as _, Surroundings, count,
    count64, settings, time, time_or_zero,
};
use crate::patience::patience;
use crate::price::{PRICE, price};
use crate::status;
use browser::BROWSER;
use data::DATA;
use journeys::JOURNEY;
use keywords::{HEADERS, OBJECTIVE, PROCESS_SHAPE, THRESHOLDS};
use load::{LOAD, PHASE};
use scope::PlanScope;
use thresholds::ABORT;
use transport::TRANSPORT;

pub use browser::BrowserSettings;
pub use load::{Effort, FindPlan, LoadPlan};
pub use reference::reference;
pub use schema::schema;
pub use target::PlanOrigin;
pub use transport::{CONNECTIONS, HEADS, HEADS_VALID, Http, TransportPlan};
pub use watch::{WatchPlan, WatchedAgent, read_watch, watched_words};

/// Maximum size of a plan file, bytes.
pub const PLAN_LEN_MAX: u64 = 16 << 20;

/// Settings from outside the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The target; overrides that of the file.
    pub target: Option<String>,
    /// Default name of the plan: that of its file.
    pub name: String,
    /// Whether environment variables may be missing where only a run needs them: they are then empty, and listed in
    /// [`PlanFile::variables_missing`].
    pub may_miss_variables: bool,
}

/// Numbers of event loops that can be configured.
pub const CORES: RangeInclusive<u32> = 1..=256;

settings! {
    /// A plan file.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct PlanFile, PLAN "plan" {
        /// URL of the target: `https://host:port`. A path in it is the prefix of the path of every step. `--target`
        /// overrides it.
        target: String = String::new(), "target": Text => later;
        /// Line and column of the target; (1, 1) when it is not in the file.
        target_place: (usize, usize) = (0, 0);
        /// Short name for files and headings. Default: the file name.
        name: String = String::new(), "name": Text => later;
        /// Service-level objective for all steps outside `once`: `p95 < 800ms`, `errors < 1%`; for messages that
        /// WebSockets receive: `broadcast p99 < 500ms`, `reach > 99.99%`.
        objective: Option<Objective> = None, "objective": OBJECTIVE => thresholds::objective;
        /// Objectives of the whole run, as a text or a list; or by scope: `everything`, `journey NAME`, `step LABEL`,
        /// `group NAME`. The notation of k6 is accepted: `p(95)<800`, `med<200`, `avg<300`, `min<50`, `max<2000` (ms),
        /// `rate<0.01`. An average covers successful responses only. Broadcasts and reach are only valid under
        /// `everything`.
        "thresholds": THRESHOLDS;
        /// Conditions that end the run early.
        "abort": ListOf(&Of(&ABORT));
        /// Status codes that count as success where a step expects no status, and of the last response after redirects.
        /// Default: 2xx,3xx.
        good: Option<GoodStatus> = None, "good": Status => good;
        /// Headers of every request.
        headers: Vec<(String, String)> = Vec::new(), "headers": HEADERS => later;
        /// Journeys (kinds of virtual users), by name.
        "journeys": MapOf(&Of(&JOURNEY));
        /// For a plan with one journey: steps that a user takes once, at the start.
        "once": Steps;
        /// For a plan with one journey: steps that a user repeats.
        "steps": Steps;
        /// For a plan with one journey: iterations per user.
        "iterations": Count(1, u32::MAX as u64);
        /// For a plan with one journey: whether each user keeps cookies. Default: true.
        "cookies": Switch;
        /// For a plan with one journey: whether each user has a cache like a browser. Default: false.
        "cache": Switch;
        /// For a plan with one journey: whether each user forgets its cookies and its cache after each iteration. Default:
        /// false.
        "forgets": Switch;
        /// For a plan with one journey: how long a user waits for a step before it gives up and leaves for good. Default:
        /// until the time-out.
        "gives_up": Either(&[Text, Of(&THINK)]);
        /// For a plan with one journey: connections per user.
        "connections": Count(1, 6);
        /// For a plan with one journey: external script that drives the users, with its arguments.
        "process": PROCESS_SHAPE;
        /// Data sets whose rows users take, by name. In a text, `{{ NAME.COLUMN }}` is replaced by a value of the row.
        "data": MapOf(&Of(&DATA));
        /// The journeys; `None` for a load on the target's own URL. Its `targets` are empty: see [`PlanFile::origins`].
        scenario: Option<Scenario> = None;
        /// Rows and files, by the indexes of the scenario.
        inputs: Inputs = Inputs::default();
        /// Further origins of steps, in the order of the scenario's targets.
        origins: Vec<PlanOrigin> = Vec::new();
        /// The load; one of users, rate, sessions, connections, phases, replay, find.
        load: Option<LoadPlan> = None, "load": Either(&[Of(&LOAD), ListOf(&Of(&PHASE))]) => later;
        /// Settings of connections.
        transport: TransportPlan = TransportPlan::defaults(), "transport": Of(&TRANSPORT) => TransportPlan::from_map;
        /// Warm-up time, which is recorded but excluded from the verdict.
        warmup: Option<Duration> = None, "warmup": time_or_zero();
        /// Seed of the random numbers. Default: a random seed, which is printed.
        seed: Option<u64> = None, "seed": count64(0..=u64::MAX);
        /// Event loops of the load generator. Default: 1.
        cores: Option<u32> = None, "cores": count(CORES);
        /// Batch interval: requests due within it are sent together. This saves CPU time, but delays a request by up to
        /// this time.
        tick: Option<Duration> = None, "tick": time();
        /// Bounds of the response-time classes in the report: fast below the first, slow above the second. Default:
        /// [800ms, 1200ms].
        classes_ms: Option<[u64; 2]> = None, "classes": ListOf(&DurationShape) => classes;
        /// Bands of patience in the report: names of your own, each with the longest response time that belongs to it, such as
        /// `{ instant: 100ms, fluent: 1s, lost: 10s }`. At most 20. Default: none.
        patience: Vec<PatienceBand> = Vec::new(), "patience": MapOf(&DurationShape) => patience;
        /// What the service costs.
        price: Option<Price> = None, "price": Of(&PRICE) => price;
        /// Collectors to run beside the load, and components of the service by their status interface.
        watch: WatchPlan = WatchPlan::default(), "watch": Either(&[OneOf(&["auto", "none"]), MapWith(&watch::WATCH)])
            => watch::watch, watch::MEANING;
        /// Browsers that visit pages beside the load, and measure what people wait for.
        browser: Option<BrowserSettings> = None, "browser": Of(&BROWSER) => later;
        /// Variables that were missing and allowed to be.
        variables_missing: Vec<String> = Vec::new();
        /// Notes that are not errors: `LINE:COLUMN: note`.
        notes: Vec<String> = Vec::new();
    }
}

/// Reads a plan file.
///
/// # Errors
/// All errors of the file together.
pub fn read(
    text: &str,
    given: &Given,
    surroundings: &dyn Surroundings,
) -> Result<PlanFile, Diagnostics> {
    let reader = DocumentReader::new(text, surroundings);
    let empty = ("the plan is empty", "target, journeys, load and more");
    let plan = reader.read_root(empty, |root| plan(&reader, root, given));
    reader.finish(plan)
}

fn plan(reader: &DocumentReader<'_>, root: &DocumentNode, given: &Given) -> Option<PlanFile> {
    let fields = reader.fields(root, &PLAN)?;
    let mut plan = PlanFile::read(reader, &fields);
    plan.name = match fields.get("name") {
        Some(node) => short_name(reader, node).unwrap_or_default(),
        None => given.name.clone(),
    };
    let target;
    (target, plan.target_place) = target_of(reader, &fields, given);
    let base = target.as_deref().and_then(|url| target::Base::of(url).ok());
    let browser = fields.get("browser");
    plan.browser = browser.and_then(|node| browser::browser(reader, node, base.as_ref()));
    let mut scope = PlanScope::new(reader, base);
    scope.may_miss_variables = given.may_miss_variables;
    if let Some(node) = fields.get("data") {
        data::data(&mut scope, node);
    }
    let load = fields.get("load");
    let journeys = if let Some(load) = load.filter(|load| load.get("replay").is_some()) {
        let (journey, load) = replay::replay(&mut scope, &fields, load);
        plan.load = load.map(LoadPlan::Fixed);
        // Steps are an error in a replay; errors within them are reported as well.
        if fields.get("journeys").or(fields.get("steps")).is_some() {
            journeys::journeys(&mut scope, &fields, &plan.name);
        }
        vec![journey]
    } else {
        let journeys = journeys::journeys(&mut scope, &fields, &plan.name);
        plan.load = load.and_then(|node| load::load(reader, node, &journeys));
        journeys
    };
    if scope.steps.len() > STEPS_MAX {
        let entry = ["journeys", "steps", "once"]
            .iter()
            .find_map(|word| fields.entry(word));
        let at = entry.map_or(root.span.start, |(key, _)| key.span.start);
        let message = format!("the plan has {} steps with statistics", scope.steps.len());
        let remedy = format!("at most {STEPS_MAX}; use `repeat` for repeated steps");
        reader.report_at(at, message, remedy, None);
    }
    if journeys.is_empty() {
        plan.headers = plain_headers(reader, &mut scope, &fields);
        needs_journeys(reader, &fields);
    } else {
        let thresholds = fields
            .get("thresholds")
            .map(|node| thresholds::thresholds(reader, node, &journeys, &scope.steps));
        let aborts = fields
            .get("abort")
            .map(|node| thresholds::aborts(reader, node));
        plan.scenario = Some(Scenario {
            journeys,
            steps: scope.steps,
            slots: scope.slots,
            feeds: scope.feeds,
            files: scope.files,
            targets: Vec::new(),
            thresholds: thresholds.unwrap_or_default(),
            aborts: aborts.unwrap_or_default(),
        });
    }
    sockets::check(reader, &fields, &plan);
    plan.target = target?;
    plan.inputs = Inputs {
        rows: scope.rows,
        files: scope.contents,
        ..Inputs::default()
    };
    plan.origins = scope.origins;
    plan.notes = notes(reader, &scope.notes);
    plan.variables_missing = scope.variables_missing;
    Some(plan)
}

/// Notes with their places.
fn notes(reader: &DocumentReader<'_>, notes: &[(usize, String)]) -> Vec<String> {
    let note = |(at, note): &(usize, String)| {
        let (line, column) = reader.position(*at);
        format!("{line}:{column}: {note}")
    };
    notes.iter().map(note).collect()
}

fn good(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<GoodStatus> {
    reader.value(node, "statuses such as 2xx,404", status::statuses)
}

/// Reports keys that need steps.
fn needs_journeys(reader: &DocumentReader<'_>, fields: &MapFields<'_>) {
    for (key, _) in fields.among(&["data", "thresholds", "abort"]) {
        let message = format!("`{}` has no effect without steps", key.text);
        reader.report_at(key.span.start, message, "`journeys`, or `steps`", None);
    }
}

fn target_of(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    given: &Given,
) -> (Option<String>, (usize, usize)) {
    if let Some(target) = &given.target {
        return (Some(target.clone()), (1, 1));
    }
    let Some(node) = fields.get("target") else {
        if !fields.misspells(&["target"]) {
            let valid = "target: https://host:port, or --target URL";
            reader.report(fields.node, "the target is missing", valid);
        }
        return (None, (1, 1));
    };
    let place = reader.position(node.span.start);
    (target::target(reader, node), place)
}

fn short_name(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    const VALID: &str = "1 to 64 letters, digits, `-`, `_` and `.`, not beginning with `.`";
    let name = reader.word(node, VALID)?;
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() > 64 || name.starts_with('.') || !name.chars().all(is_safe) {
        reader.report(node, format!("`{name}` is not a valid name"), VALID);
        return None;
    }
    Some(name)
}

/// Headers of a plan without steps; all of them are constant.
fn plain_headers(
    reader: &DocumentReader<'_>,
    scope: &mut PlanScope<'_>,
    fields: &MapFields<'_>,
) -> Vec<(String, String)> {
    let Some(node) = fields.get("headers") else {
        return Vec::new();
    };
    let headers = scope.headers(node, &scope::VisibleSlots::default());
    let constant = |(name, text): (String, TextTemplate)| {
        let value = text.as_literal().map(str::to_owned).or_else(|| {
            let value = node.get(&name)?;
            reader.text(value, "a text")
        });
        value.map(|value| (name, value))
    };
    headers.into_iter().filter_map(constant).collect()
}

fn classes(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<[u64; 2]> {
    const VALID: &str = "two ascending durations, such as [800ms, 1200ms]";
    let millis = |node: &DocumentNode| {
        let lasting = reader.duration_above_zero(node)?;
        u64::try_from(lasting.as_millis()).ok()
    };
    let [fast, slow] = reader.list(node, "two durations") else {
        reader.report(node, "not a list of two durations", VALID);
        return None;
    };
    let (fast, slow) = (millis(fast)?, millis(slow)?);
    if fast == 0 || fast >= slow {
        reader.report(node, "the durations do not ascend", VALID);
        return None;
    }
    Some([fast, slow])
}
