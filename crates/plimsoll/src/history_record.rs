//! `--history DIR` of a run: its line in a history.

use std::path::{Path, PathBuf};

use plimsoll_analysis::experiment::comparison::Comparison;
use plimsoll_analysis::experiment::metrics::{ERRORS, MetricValues, RunMetrics};
use plimsoll_analysis::experiment::trial::TrialOutcome;
use plimsoll_lab::history;
use plimsoll_model::hexadecimal::hexadecimal;
use plimsoll_model::history::{HISTORY_FORMAT, HistoryEntry};
use plimsoll_model::plan::{Facts, Plan};
use plimsoll_model::run::Run;
use plimsoll_model::verdict::Verdict;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::arguments::HistoryTargetArguments;
use crate::explain::CliError;
use crate::line_files;
use crate::screen::eprint;

/// Bytes of a digest that are kept: enough to tell the plans of a folder apart.
const DIGEST_LEN: usize = 8;
/// Parts of a plan that may differ between runs that are compared: where the service was reached, and what of the generator.
const LEFT_OUT: [&str; 7] = [
    "name",
    "target",
    "seed",
    "cores",
    "classes_ms",
    "patience",
    "price",
];
/// Headers that name the service or this program.
const HEADERS_LEFT_OUT: [&str; 3] = ["host", "origin", "user-agent"];

/// The history that a run is appended to.
#[derive(Clone, Debug)]
pub(crate) struct HistoryTarget {
    folder: PathBuf,
    commit: Option<String>,
}

impl HistoryTarget {
    /// The history that the arguments name, if any; without `--commit`, the commit is that of the working folder.
    pub(crate) fn of(arguments: &HistoryTargetArguments) -> Option<Self> {
        let folder = arguments.history.clone()?;
        let commit = arguments.commit.clone();
        Some(Self {
            folder,
            commit: commit.or_else(|| history::head_commit(Path::new("."))),
        })
    }

    /// Appends a run that has ended; one that was interrupted is left out, which is reported.
    pub(crate) fn append(&self, run: &Run) -> Result<(), CliError> {
        let verdict = run.ending.as_ref().map(|ending| ending.verdict);
        if matches!(verdict, None | Some(Verdict::Interrupted)) {
            eprint("note: the run was interrupted and is not in the history");
            return Ok(());
        }
        let metrics = match RunMetrics::of(run).outcome() {
            TrialOutcome::Measured(metrics) => metrics,
            // Not one good answer: there are no times, and that is no reason to compare nothing.
            TrialOutcome::Failed => MetricValues::from([(ERRORS.to_owned(), 1.0)]),
            TrialOutcome::Void => MetricValues::new(),
        };
        self.append_entry(&entry(run, verdict, metrics))
    }

    /// Appends what a comparison measured of its candidate; `candidate` is a run of it.
    pub(crate) fn append_comparison(
        &self,
        candidate: &Run,
        comparison: &Comparison,
    ) -> Result<(), CliError> {
        let is_void = !comparison.void().is_empty();
        let measured = comparison.metrics().iter().filter(|_| !is_void);
        let metrics = measured
            .filter_map(|metric| Some((metric.name.to_owned(), metric.candidate?)))
            .collect();
        let verdict = if is_void { Verdict::Void } else { Verdict::Met };
        let entry = HistoryEntry {
            command: "compare".to_owned(),
            // Its load is found anew each time.
            plan: digest(&candidate.header.plan, &["load"]),
            ..entry(candidate, Some(verdict), metrics)
        };
        self.append_entry(&entry)
    }

    fn append_entry(&self, entry: &HistoryEntry) -> Result<(), CliError> {
        let entry = HistoryEntry {
            commit: self.commit.clone(),
            ..entry.clone()
        };
        history::append(&self.folder, &entry).map_err(|error| {
            line_files::append_error(&error, "the run is not in the history", "--history DIR")
        })
    }
}

/// The line of a run.
fn entry(run: &Run, verdict: Option<Verdict>, metrics: MetricValues) -> HistoryEntry {
    let header = &run.header;
    HistoryEntry {
        format: HISTORY_FORMAT,
        at: header.started_at.clone(),
        command: header.command.clone(),
        name: header.plan.name.clone(),
        commit: None,
        plan: digest(&header.plan, &[]),
        machine: machine(&header.host),
        verdict,
        metrics: metrics
            .into_iter()
            .filter(|(_, value)| value.is_finite())
            .collect(),
        plimsoll: header.versions.get("plimsoll").cloned().unwrap_or_default(),
    }
}

/// What makes the work of a request, the load and the judgement, in 16 hexadecimal digits.
fn digest(plan: &Plan, left_out: &[&str]) -> String {
    let mut value = serde_json::to_value(plan).unwrap_or_default();
    if let Value::Object(parts) = &mut value {
        for part in LEFT_OUT.iter().chain(left_out) {
            parts.remove(*part);
        }
    }
    if let Some(Value::Array(headers)) = value.pointer_mut("/request/headers") {
        let is_left_out = |header: &Value| {
            let name = header[0].as_str().unwrap_or_default();
            HEADERS_LEFT_OUT
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
        };
        headers.retain(|header| !is_left_out(header));
    }
    let digest = Sha256::digest(value.to_string());
    hexadecimal(&digest[..DIGEST_LEN])
}

/// The class of a machine, such as `4 × AMD EPYC 7763, 16 GiB, x86_64`.
fn machine(host: &Facts) -> String {
    let fact = |name: &str| host.get(name).map(String::as_str);
    let cores = fact("cores_allowed").or(fact("cores")).unwrap_or("?");
    let model = fact("cpu_model").unwrap_or("unknown processor");
    let model: Vec<&str> = model.split_whitespace().collect();
    // Kernels reserve different parts of it.
    let memory = fact("memory_bytes").and_then(|bytes| bytes.parse::<u64>().ok());
    let memory = memory.map_or_else(String::new, |bytes| {
        format!(", {} GiB", (bytes + (1 << 29)) >> 30)
    });
    let quota = fact("cgroup_cpu_quota")
        .map_or_else(String::new, |quota| format!(", quota of {quota} cores"));
    let architecture = fact("architecture").unwrap_or("?");
    format!(
        "{cores} × {}{memory}{quota}, {architecture}",
        model.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_of_machine_is_readable() {
        let facts: Facts = [
            ("cores", "8"),
            ("cores_allowed", "4"),
            ("cpu_model", "AMD  EPYC"),
            ("memory_bytes", "16700000000"),
            ("architecture", "x86_64"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        assert_eq!(machine(&facts), "4 × AMD EPYC, 16 GiB, x86_64");
        assert_eq!(machine(&Facts::new()), "? × unknown processor, ?");
    }
}
