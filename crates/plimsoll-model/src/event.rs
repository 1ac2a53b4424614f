//! What happened, in the past tense, in one order.

use serde::{Deserialize, Serialize};

use crate::browser::PageVisit;
use crate::finding::Finding;
use crate::load_line::{GateResult, SearchResult};
use crate::plan::{Facts, LoadUnit, Plan};
use crate::reading::Readings;
use crate::trial::{Trial, TrialSpec};
use crate::verdict::{Verdict, VoidReason};
use crate::window::Window;
use crate::worker::WorkerRecord;

/// Major version of the run log; a reader refuses a higher one.
pub const FORMAT_MAJOR: u32 = 1;
/// Minor version of the run log; a reader ignores what it does not know.
///
/// 1: the readings of `watch`, which begin with [`Event::WatchStarted`]. 2: [`Event::LineEstimated`], and the acts of
/// viewers of the live page, [`Event::MomentMarked`], [`Event::LoadChanged`] and [`Event::StopRequested`].
/// [`FORMAT_MINOR_PHASES`]: times of phases, bytes of bodies. 4: [`Event::PageVisited`]. 5: the cumulative layout shift of
/// these. 6: [`Event::WorkersEnded`].
pub const FORMAT_MINOR: u32 = 6;
/// From this minor version on, windows have the times of connecting, TLS, and responses that took several reads, and
/// the bytes of bodies by content coding.
pub const FORMAT_MINOR_PHASES: u32 = 3;

/// First event of the log of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Major version of the format.
    pub format_major: u32,
    /// Minor version of the format.
    pub format_minor: u32,
    /// The command: `run` or `limit`.
    pub command: String,
    /// Wall-clock start as RFC 3339 text, UTC.
    pub started_at: String,
    /// The plan, redacted.
    pub plan: Plan,
    /// The machine: kernel, cores, memory, limits.
    pub host: Facts,
    /// Versions of this tool and of what it was built with.
    pub versions: Facts,
}

/// First event of the log of `watch`: readings without load, so without a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchHeader {
    /// Major version of the format.
    pub format_major: u32,
    /// Minor version of the format.
    pub format_minor: u32,
    /// Wall-clock start as RFC 3339 text, UTC.
    pub started_at: String,
    /// URL of the service, redacted; absent if the machine was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The machine: kernel, cores, memory, limits.
    pub host: Facts,
    /// Versions of this tool and of what it was built with.
    pub versions: Facts,
}

/// One line of the run log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event", content = "data")]
pub enum Event {
    /// The run began.
    RunStarted(Box<Header>),
    /// Readings without load began.
    WatchStarted(Box<WatchHeader>),
    /// A trial began at this second of run time.
    TrialStarted {
        /// Position of the trial in the run.
        index: u32,
        /// First second of the trial.
        second: u32,
        /// Its specification.
        spec: TrialSpec,
    },
    /// A second of results was complete.
    WindowClosed(Box<Window>),
    /// The probes were read.
    ReadingsTaken(Readings),
    /// A load that several hosts carried was over: what each of them did in it. A search has one for each of its trials.
    WorkersEnded(Vec<WorkerRecord>),
    /// A browser visited a page.
    PageVisited(Box<PageVisit>),
    /// A trial was judged.
    TrialEnded(Box<Trial>),
    /// Something the reader of the report must know.
    NoteMade {
        /// Second of run time.
        second: u32,
        /// A sentence.
        text: String,
    },
    /// Somebody marked a moment while the run went on.
    MomentMarked {
        /// Second of run time.
        second: u32,
        /// What they wrote.
        text: String,
    },
    /// Somebody changed the load of a `run`, which holds from a moment on, up to its end.
    LoadChanged {
        /// Second of run time from which on it holds.
        second: u32,
        /// The same since the start of the load, s.
        after_s: u32,
        /// Rate or number of users, in its unit.
        to: f64,
        /// Unit of the load.
        unit: LoadUnit,
        /// From where: `the live page`.
        by: String,
    },
    /// Somebody ended the run early, and its results are kept.
    StopRequested {
        /// Second of run time.
        second: u32,
        /// From where: `the live page`.
        by: String,
    },
    /// The load line as the search estimates it after a trial, in the unit of the search: a 90 % credible interval.
    LineEstimated {
        /// Second of run time.
        second: u32,
        /// Lower end.
        low: f64,
        /// Half of the trials at this load would break the objective.
        median: f64,
        /// Upper end.
        high: f64,
    },
    /// The search ended.
    SearchEnded(Box<SearchResult>),
    /// The gate was decided.
    GateEnded(GateResult),
    /// Limits were named.
    FindingsMade(Vec<Finding>),
    /// The run ended.
    RunEnded {
        /// The judgement.
        verdict: Verdict,
        /// Why the measurement is not valid; empty when it is.
        void: Vec<VoidReason>,
        /// CPU time of the whole process over the run, µs; of all that carried the load, where there were several.
        process_cpu_us: u64,
        /// Highest resident memory of the process, bytes; the sum over several processes.
        rss_bytes_max: u64,
    },
}
