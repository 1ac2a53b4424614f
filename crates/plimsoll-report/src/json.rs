//! The objects of `--json`: the stable surface, with its published schema.
//!
//! Names and units here are stable. A field may be added (raise [`FORMAT_MINOR`]); one that is renamed, removed
//! or changes its meaning raises [`FORMAT_MAJOR`].

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_model::finding::Certainty;
use plimsoll_model::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer;
use crate::cost::CostObject;
use crate::pretty;
use crate::report::Report;

pub mod advice;
pub mod browser;
pub mod judgement;
pub mod machines;
pub mod patience;
pub mod phases;
pub mod resources;
pub mod steps;
mod texts;
mod through_edge;
pub mod throughput;
pub mod traces;
pub mod traffic;
pub mod urls;
pub mod websocket;
pub mod workers;

use advice::AdviceObject;
use browser::BrowserObject;
use judgement::{
    EstimateObject, FailuresObject, FindingObject, ForecastObject, RequiredObject, ScalingObject,
};
use machines::MachineObject;
use patience::PatienceObject;
use phases::PhasesObject;
use resources::ResourceObject;
use steps::{GroupObject, JourneyObject, ProcessObject, StepObject, ThresholdObject, UsersObject};
use texts::{next_limit, path_text, void_texts};
use throughput::LoadPointObject;
use traces::RouteObject;
use traffic::TrafficObject;
use urls::UrlObject;
use websocket::WebSocketObject;
use workers::{RegionObject, WorkerObject};

pub use through_edge::{ThroughEdgeObject, pair_object};

/// Major version of the objects.
pub const FORMAT_MAJOR: u32 = 1;
/// Minor version of the objects.
pub const FORMAT_MINOR: u32 = 14;

/// Files written beside the object.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The run log.
    pub run: Option<PathBuf>,
    /// The HTML report.
    pub report: Option<PathBuf>,
}

/// The output of `plimsoll run --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll run --json")]
pub struct RunObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// The command that made the run: `run` or `limit`.
    pub command: String,
    /// The URL as given, without credentials.
    pub url: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// Seed of all randomness, as text: it may be longer than a JSON number can hold.
    pub seed: String,
    /// The objective; null when nothing was judged.
    pub objective: Option<ObjectiveObject>,
    /// Verdict of the whole run: met, missed, undecided, unreachable, void or interrupted; null when the log is
    /// truncated.
    #[schemars(with = "Option<String>")]
    pub verdict: Option<Verdict>,
    /// The result in one sentence.
    pub answer: String,
    /// Arrivals due per second.
    pub offered: f64,
    /// Complete responses per second, good or not, while requests became due.
    pub completed: f64,
    /// Throughput at each load, in the order of time: steps, pieces of ramps, or trials; empty for loads of
    /// connections.
    pub throughput: Vec<LoadPointObject>,
    /// Requests that ended: the sum of `outcomes`.
    pub requests: u64,
    /// Requests by outcome; every outcome is present, zeros included.
    pub outcomes: OutcomesObject,
    /// Responses by HTTP status code.
    pub status: BTreeMap<String, u64>,
    /// Responses by protocol, as named in TLS: `http/1.1`, `h2`.
    pub protocol: BTreeMap<String, u64>,
    /// Response time of good responses, from the moment a request was due, ms.
    pub response_time_ms: TimesObject,
    /// Service time of good responses, from the moment a request was sent, ms.
    pub service_time_ms: TimesObject,
    /// Where the time of a request goes on the network; null for run files of older versions, and without requests.
    pub phases: Option<PhasesObject>,
    /// Requests by class of response time; the bounds are those of `--classes`.
    pub classes: ClassesObject,
    /// Requests by the bands of the plan's `patience`; null without any.
    pub patience: Option<PatienceObject>,
    /// Results by step of each journey, in the order of the plan; empty without journeys.
    pub steps: Vec<StepObject>,
    /// Results by URL of a load without journeys, in the order of the plan; empty with one URL.
    pub urls: Vec<UrlObject>,
    /// Results by journey; empty without journeys.
    pub journeys: Vec<JourneyObject>,
    /// Times of groups of steps; empty without groups.
    pub groups: Vec<GroupObject>,
    /// Objectives of single journeys, steps and groups, one entry for each bound; empty for a search, which judges
    /// trials.
    pub thresholds: Vec<ThresholdObject>,
    /// Number of users; null without users.
    pub users: Option<UsersObject>,
    /// Cost of the external scripts that drive users; empty without them.
    pub processes: Vec<ProcessObject>,
    /// Results of WebSockets; null without `--ws`, or `ws` in a plan.
    pub websocket: Option<WebSocketObject>,
    /// Results of the browsers of the plan; null without `browser`.
    pub browser: Option<BrowserObject>,
    /// Where requests spend their time, by route, the most first; empty without traces.
    pub traces: Vec<RouteObject>,
    /// What to do about statements and payloads beside the named limits, the largest saving first; empty where no database
    /// counts statements and nothing grows.
    pub advice: Vec<AdviceObject>,
    /// CPU of the machine and its programs, and TCP sockets by state, over the whole run; empty without readings.
    pub resources: Vec<ResourceObject>,
    /// The generator's own machine, and each that an agent watches; empty without agents.
    pub machines: Vec<MachineObject>,
    /// Bytes sent and received, and bodies by content coding.
    pub traffic: TrafficObject,
    /// Resources used by the generator itself.
    pub generator: GeneratorObject,
    /// Hosts that carried a part of the load each; empty where this machine carried it.
    pub workers: Vec<WorkerObject>,
    /// What the workers of each region did together, by name; empty where no worker has a region.
    pub regions: Vec<RegionObject>,
    /// Properties that failed requests share and good ones lack; null without failures.
    pub failures: Option<FailuresObject>,
    /// Why one of the plan's aborts ended the run early; null otherwise.
    pub ended_early: Option<String>,
    /// Why the measurement is not valid; null when it is.
    pub void: Option<Vec<String>>,
    /// Path of the run log; null when none was written.
    pub run_file: Option<String>,
    /// Path of the HTML report; null when none was written.
    pub report_file: Option<String>,
}

/// The output of `plimsoll limit --json`. The numbers above `load_line` cover the judged seconds of all valid trials
/// together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll limit --json")]
pub struct LimitObject {
    /// All fields of `run`.
    #[serde(flatten)]
    pub run: RunObject,
    /// The highest load that meets the objective; null with a `reason`.
    pub load_line: Option<LoadLineObject>,
    /// Why there is no load line; null when there is one.
    pub reason: Option<String>,
    /// The estimate where the search could not confirm a line; null with a line, and without an estimate.
    pub estimate: Option<EstimateObject>,
    /// The result of `--at-least`; null without it.
    pub gate: Option<GateObject>,
    /// The answer to `--for`; null without it, and where the search did not end.
    #[serde(rename = "for")]
    pub required: Option<RequiredObject>,
    /// Every judged trial, in the order of time.
    pub trials: Vec<TrialObject>,
    /// Named limits, best first.
    pub findings: Vec<FindingObject>,
    /// Where there is a line and no finding: the idle resources, and where the time of a request went; null otherwise.
    pub not_known: Option<String>,
    /// The next limit after the first one is fixed: the limit of the best finding behind the first that does not follow
    /// from another, or the sentence of `forecast`; null when neither is known.
    pub next: Option<String>,
    /// The watched resource that saturates next by operational laws, and at which load; null without a forecast.
    pub forecast: Option<ForecastObject>,
    /// Scaling of throughput with requests in flight, by the universal scalability law; null with too few loads.
    pub scaling: Option<ScalingObject>,
    /// What the load line costs by the prices of the plan; absent without a price or a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostObject>,
    /// Further remarks, a sentence each.
    pub remarks: Vec<String>,
    /// The same search with an edge in between; null without `--through`.
    pub through_edge: Option<ThroughEdgeObject>,
}

/// Requests by response time, from the moment they were due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Classes")]
pub struct ClassesObject {
    /// The two bounds, ms.
    pub bounds_ms: [u64; 2],
    /// Good responses below the first bound.
    pub fast: u64,
    /// Good responses from the first to the second bound.
    pub middle: u64,
    /// Good responses above the second bound.
    pub slow: u64,
    /// Requests that failed.
    pub failed: u64,
}

/// An objective and whether it was met.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Objective")]
pub struct ObjectiveObject {
    /// The objective in readable form: `p95 < 500ms, errors < 1%`.
    pub text: String,
    /// Whether the judged windows together meet it; null where trials are judged one by one, and where nothing was measured
    /// that decides.
    pub met: Option<bool>,
}

/// Requests by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Outcomes")]
pub struct OutcomesObject {
    /// A complete response whose status counts as good.
    pub ok: u64,
    /// A complete response whose status does not count as good.
    pub wrong_status: u64,
    /// Sent, and no complete response within the time-out.
    pub timeout: u64,
    /// The target refused the connection.
    pub connect_refused: u64,
    /// No connection within the time-out.
    pub connect_timeout: u64,
    /// The target's name could not be resolved.
    pub dns: u64,
    /// The connection was reset, or closed before any byte of the response.
    pub reset: u64,
    /// The TLS handshake or a TLS record failed.
    pub tls: u64,
    /// The response was not valid HTTP.
    pub protocol: u64,
    /// The head of the response was longer than the plan's `max_head`.
    pub head_too_long: u64,
    /// The response had more headers than the plan's `max_headers`.
    pub too_many_headers: u64,
    /// The connection ended inside the body.
    pub body_cut: u64,
    /// Due and never sent.
    pub dropped: u64,
    /// A response that does not match the plan's expectations.
    pub expectation: u64,
}

/// Percentiles in milliseconds; all null without a good response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Times")]
pub struct TimesObject {
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Highest.
    pub max: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
}

/// Resources used by the generator itself.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Generator")]
pub struct GeneratorObject {
    /// CPU time of the whole process per request, µs; null when the log is truncated.
    pub cpu_us_per_request: Option<f64>,
    /// 99th percentile of the generator's lag, ms; null for closed load.
    pub lag_ms_p99: Option<f64>,
    /// Highest resident memory, bytes; null when the log is truncated.
    pub rss_bytes: Option<u64>,
}

/// The highest load that meets the objective.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "LoadLine")]
pub struct LoadLineObject {
    /// Half of the trials at this rate would break the objective.
    pub median: f64,
    /// Lower end of the 90 % credible interval.
    pub low: f64,
    /// Upper end of the 90 % credible interval.
    pub high: f64,
    /// Rate of the fresh trials that confirm the line.
    pub verified: f64,
    /// Unit of the four loads: `req/s`, `users` or `sessions/s`.
    pub unit: String,
    /// Fresh trials at the verified rate.
    pub confirmed_trials: u32,
    /// Of these, trials that passed.
    pub confirmed_passes: u32,
    /// With 95 % confidence a trial at the verified rate passes with at least this probability.
    pub pass_probability_low: f64,
}

/// The result of `--at-least`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Gate")]
pub struct GateObject {
    /// The requested rate.
    pub rate: f64,
    /// Unit of the load: `req/s`, `users` or `sessions/s`.
    pub unit: String,
    /// Whether the target carries it; null when undecided.
    pub accepted: Option<bool>,
    /// Valid trials.
    pub trials: u32,
    /// Of these, trials that passed.
    pub passes: u32,
    /// Sum of the log likelihood ratios; 2.94 accepts, −2.94 rejects.
    pub log_likelihood_ratio: f64,
}

/// One judged trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Trial")]
pub struct TrialObject {
    /// Position in the run, from 0.
    pub index: u32,
    /// Its purpose: `bracket`, `refine`, `confirm`, ...
    pub kind: String,
    /// Offered load in `unit`.
    pub rate: f64,
    /// Unit of the load: `req/s`, `users` or `sessions/s`.
    pub unit: String,
    /// `pass`, `fail` or `void`.
    pub verdict: String,
    /// The reason of the verdict; null for a pass.
    pub why: Option<String>,
    /// Requests that ended in the judged seconds.
    pub requests: u64,
    /// Of these, requests that failed.
    pub errors: u64,
    /// Completions per second.
    pub completed: f64,
    /// Median response time of good responses, ms; null without any.
    pub p50: Option<f64>,
    /// 95th percentile, ms; null without any.
    pub p95: Option<f64>,
    /// 99th percentile, ms; null without any.
    pub p99: Option<f64>,
}

/// The object of `run`.
pub fn run_object(report: &Report<'_>, files: &Files) -> RunObject {
    let (run, summary) = (report.run, &report.summary);
    let plan = &run.header.plan;
    let breakdown = summary.breakdown.as_ref();
    RunObject {
        format_version: format!("{FORMAT_MAJOR}.{FORMAT_MINOR}"),
        command: run.header.command.clone(),
        url: plan.target.url.clone(),
        started_at: run.header.started_at.clone(),
        seed: plan.seed.0.to_string(),
        objective: report.objective().map(|text| ObjectiveObject {
            text,
            met: report.objective_met(),
        }),
        verdict: summary.verdict,
        answer: answer::sentence(report),
        offered: summary.offered,
        completed: summary.completed,
        throughput: LoadPointObject::all(summary),
        requests: summary.requests,
        outcomes: OutcomesObject::of(&summary.outcomes),
        status: summary
            .status
            .iter()
            .map(|(status, &count)| (status.to_string(), count))
            .collect(),
        protocol: summary
            .protocols()
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count))
            .collect(),
        response_time_ms: TimesObject::of(summary.response_us),
        service_time_ms: TimesObject::of(summary.service_us),
        phases: summary.phases.as_ref().map(PhasesObject::of),
        classes: ClassesObject::of(&summary.classes),
        patience: summary.patience.as_ref().map(PatienceObject::of),
        steps: breakdown.map(StepObject::all).unwrap_or_default(),
        urls: UrlObject::all(summary),
        journeys: breakdown.map(JourneyObject::all).unwrap_or_default(),
        groups: breakdown.map(GroupObject::all).unwrap_or_default(),
        thresholds: breakdown.map(ThresholdObject::all).unwrap_or_default(),
        users: breakdown.and_then(UsersObject::of),
        processes: breakdown.map(ProcessObject::all).unwrap_or_default(),
        websocket: summary.websocket.as_ref().map(WebSocketObject::of),
        browser: summary.browser.as_ref().map(BrowserObject::of),
        traces: RouteObject::all(run),
        advice: AdviceObject::all(run),
        resources: ResourceObject::all(summary),
        machines: MachineObject::all(&report.machines),
        traffic: TrafficObject::of(&summary.traffic),
        generator: GeneratorObject::of(summary),
        workers: WorkerObject::all(run),
        regions: RegionObject::all(run),
        failures: report.failures.as_ref().map(FailuresObject::of),
        ended_early: report.ended_early(),
        void: void_texts(summary),
        run_file: path_text(files.run.as_deref()),
        report_file: path_text(files.report.as_deref()),
    }
}

/// The object of `limit`.
pub fn limit_object(report: &Report<'_>, files: &Files) -> LimitObject {
    let run = report.run;
    let search = run.search.as_ref();
    let remarks = search.map_or(&[][..], |search| &search.remarks);
    LimitObject {
        run: run_object(report, files),
        load_line: report.load_line().map(LoadLineObject::of),
        reason: answer::reason(report),
        estimate: EstimateObject::of(report),
        gate: run
            .gate
            .as_ref()
            .map(|gate| GateObject::of(gate, report.unit())),
        required: RequiredObject::of(report),
        trials: run.trials.iter().map(TrialObject::of).collect(),
        findings: FindingObject::all(&run.findings),
        not_known: answer::not_named(report),
        next: next_limit(&run.findings)
            .or_else(|| Some(report.forecast.as_ref()?.sentence.clone())),
        forecast: report.forecast.as_ref().map(ForecastObject::of),
        scaling: report.scaling.as_ref().map(ScalingObject::of),
        cost: CostObject::of(report),
        remarks: answer::remarks(remarks, report.unit()),
        through_edge: None,
    }
}

/// File name and text of every published schema, JSON Schema 2020-12.
pub fn schemas() -> Vec<(String, String)> {
    vec![
        ("run.schema.json".to_owned(), pretty::schema::<RunObject>()),
        (
            "limit.schema.json".to_owned(),
            pretty::schema::<LimitObject>(),
        ),
    ]
}

/// The name of a certainty in JSON.
pub fn certainty_name(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Demoted => "demoted",
        Certainty::Possible => "possible",
        Certainty::Suspected => "suspected",
        Certainty::Explicit => "explicit",
        Certainty::Confirmed => "confirmed",
    }
}
