//! The object of `plimsoll log --json`.

use plimsoll_logs::day::summary::DaySummary;
use schemars::JsonSchema;
use serde::Serialize;

use crate::pretty;

/// The output of `plimsoll log --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll log --json")]
pub struct LogObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// Names of the files in the order of their first requests; `-` is standard input.
    pub files: Vec<String>,
    /// Lines read, without blank lines and directives.
    pub lines: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// Format of the log; several are separated by commas.
    pub format: String,
    /// Whether reading was stopped before the end of the log.
    pub interrupted: bool,
    /// The day.
    #[serde(flatten)]
    pub day: DaySummary,
    /// CPU in the same minutes; null without `--cpu`.
    pub cpu: Option<Vec<CpuSeries>>,
}

impl LogObject {
    /// Version of this object.
    pub const FORMAT_VERSION: &'static str = "1.0";

    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }
}

/// The JSON schema of [`LogObject`].
pub fn schema() -> String {
    pretty::schema::<LogObject>()
}

/// CPU of one machine or process.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CpuSeries {
    /// Name of the machine, or of the series in the run.
    pub name: String,
    /// Minutes in which both the log and the file have values.
    pub minutes: Vec<CpuMinute>,
    /// Pearson's correlation of CPU with requests; null if either does not vary.
    pub correlation: Option<f64>,
}

/// CPU of one minute beside its requests.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CpuMinute {
    /// Its beginning, RFC 3339 in UTC.
    pub at: String,
    /// Mean share of all CPUs that was busy.
    pub busy: f64,
    /// Requests that began in it.
    pub requests: u64,
}
