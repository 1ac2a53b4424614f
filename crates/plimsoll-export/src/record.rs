//! What is exported: points of one second, and moments of the run.

use std::sync::Arc;

use plimsoll_model::histogram::Histogram;

use crate::definition::Definition;
use crate::exponential::Exponential;

/// One value of one series at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) definition: Definition,
    /// Labels without those that all series of the run share.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: Value,
}

/// The value of a series.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A counter: since the start of the run, and in this second.
    Counter { total: f64, increase: f64 },
    /// A level.
    Gauge(f64),
    /// Durations, or scores in their place: since the start of the run, and in this second.
    Times {
        total: Arc<Exponential>,
        second: Histogram,
    },
}

/// The points of one second.
#[derive(Clone, Debug)]
pub(crate) struct Second {
    /// End of the second, ms since 1970.
    pub(crate) at_ms: u64,
    /// Which second of run time.
    pub(crate) run_time: u32,
    /// Results of the load; otherwise readings.
    pub(crate) is_load: bool,
    pub(crate) points: Vec<Point>,
}

/// What a moment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MomentKind {
    Start,
    Trial,
    Note,
    End,
}

impl MomentKind {
    /// The name in tags and JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Trial => "trial",
            Self::Note => "note",
            Self::End => "end",
        }
    }
}

/// A moment, or a stretch, of the run.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) kind: MomentKind,
    /// Begin, ms since 1970.
    pub(crate) from_ms: u64,
    /// End; the same for a moment.
    pub(crate) to_ms: u64,
    /// A sentence.
    pub(crate) text: String,
}

/// What a destination receives.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    Second(Second),
    Moment(Moment),
}

/// What all series of a run share.
#[derive(Clone, Debug)]
pub(crate) struct RunLabels {
    /// Name of the run: that of its file, without the ending.
    pub(crate) run: String,
    /// The command: `run`, `limit`, `watch`, or an experiment.
    pub(crate) command: &'static str,
}

impl RunLabels {
    /// Names and values, as labels of series. `job` and `instance` are those of a scraped program.
    pub(crate) fn pairs(&self) -> [(&'static str, &str); 2] {
        [("job", "plimsoll"), ("run", &self.run)]
    }
}

/// The seconds of a batch.
pub(crate) fn seconds(records: &[Arc<Record>]) -> impl Iterator<Item = &Second> {
    records.iter().filter_map(|record| match &**record {
        Record::Second(second) => Some(second),
        Record::Moment(_) => None,
    })
}

/// The moments of a batch.
pub(crate) fn moments(records: &[Arc<Record>]) -> impl Iterator<Item = &Moment> {
    records.iter().filter_map(|record| match &**record {
        Record::Moment(moment) => Some(moment),
        Record::Second(_) => None,
    })
}
