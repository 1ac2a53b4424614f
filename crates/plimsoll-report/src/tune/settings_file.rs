//! The settings that were found, as a file that `plimsoll tune --apply` reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::TuneReport;
use super::rows::{self, KnobRow};
use super::text::sentence;
use crate::number::{percent, seconds, whole};
use crate::printable::printable;

/// What the settings were measured with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TunedSource {
    /// The experiment file.
    pub experiment: String,
    /// Time that the search had.
    pub within: Duration,
    /// Digests of the files as they were before, by their path; `None` for a file that was not there.
    pub files: BTreeMap<String, Option<String>>,
    /// Version of the program.
    pub version: String,
}

/// The file: settings, and as comments where they come from.
pub fn settings_file(report: &TuneReport<'_>, source: &TunedSource) -> String {
    let mut text = String::new();
    let mut comment = |line: &str| {
        let _ = writeln!(text, "# {}", printable(line).trim_end());
    };
    comment(&format!(
        "Settings of {}, found by plimsoll tune {} (seed {}, {})",
        report.name, source.version, report.seed, report.started_at
    ));
    comment(&sentence(report));
    comment(&format!(
        "{} settings in {} trials, {}",
        rows::tried(report).len(),
        report.trials.len(),
        seconds(whole(report.seconds()))
    ));
    if let Some(objective) = &report.objective {
        comment(&format!("objective: {objective}"));
    }
    if let Some(limit) = report.next_limit {
        comment(&format!("next limit: {limit}"));
    }
    comment(&format!(
        "Make them permanent with: {}",
        report.apply_command
    ));
    text.push_str("tuned: 1\n");
    let _ = writeln!(text, "experiment: {}", quoted(&source.experiment));
    let _ = writeln!(text, "within: {}ms", source.within.as_millis());
    let _ = writeln!(text, "adopt: {}", report.is_adopted());
    let rows = rows::knobs(report);
    text.push_str("settings:\n");
    for row in &rows {
        let level = row.to.as_ref().unwrap_or(&row.from);
        let note = knob_comment(row);
        let _ = writeln!(text, "  {}: {}{note}", quoted(&row.name), quoted(level));
    }
    text.push_str("before:\n");
    for row in &rows {
        let _ = writeln!(text, "  {}: {}", quoted(&row.name), quoted(&row.from));
    }
    if !source.files.is_empty() {
        text.push_str("# As they were while this was measured; a file that has changed is not written over.\nfiles:\n");
        for (path, digest) in &source.files {
            let digest = digest.as_deref().map_or_else(|| "none".to_owned(), quoted);
            let _ = writeln!(text, "  {}: {digest}", quoted(path));
        }
    }
    text
}

/// Importance and remark of a knob.
fn knob_comment(row: &KnobRow) -> String {
    let importance = row
        .importance
        .map(|share| format!("{} of the differences", percent(share)));
    let remark = Some(row.remark.clone()).filter(|remark| !remark.is_empty());
    let parts: Vec<String> = importance.into_iter().chain(remark).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(" # {}", printable(&parts.join(", ")))
    }
}

/// A text in double quotes, as YAML and JSON share them.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
