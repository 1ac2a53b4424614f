//! What a search did on its way, by its log: what it spent on settings that carry less, and what it took for better than it is.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;

/// Name of the log in the folder of an experiment.
const LOG: &str = "experiment.log";

/// The trials of a search, without those of whole load lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SearchCourse {
    trials: Vec<SearchTrial>,
    /// The cell of the settings at the start.
    default_cell: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct SearchTrial {
    cell: u64,
    is_confirmation: bool,
    /// From the begin of the search to its end.
    ended_ms: u64,
    /// Load line, or the nearest that is known of it; `None` for a trial that failed or is void.
    line: Option<f64>,
}

/// An event of the log; others are not of interest here.
#[derive(Deserialize)]
struct LoggedEvent {
    trial_ended: Option<LoggedRecord>,
}

#[derive(Deserialize)]
struct LoggedRecord {
    trial: LoggedTrial,
    ended_ms: u64,
    outcome: Value,
}

#[derive(Deserialize)]
struct LoggedTrial {
    cell: u64,
    role: String,
}

impl SearchCourse {
    /// Reads the log in the folder of a search.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(LOG);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        Self::of(&text)
    }

    fn of(log: &str) -> Result<Self> {
        let mut course = Self::default();
        for line in log.lines() {
            let event: LoggedEvent =
                serde_json::from_str(line).context("the log of the search has another form")?;
            let Some(record) = event.trial_ended else {
                continue;
            };
            if record.trial.role == "limit" {
                // The first is of the settings at the start.
                course.default_cell.get_or_insert(record.trial.cell);
                continue;
            }
            course.trials.push(SearchTrial {
                cell: record.trial.cell,
                is_confirmation: record.trial.role == "confirm",
                ended_ms: record.ended_ms,
                line: line_of(&record.outcome["measured"]),
            });
        }
        Ok(course)
    }

    /// What there is to say, a sentence each.
    pub(super) fn sentences(&self) -> Vec<String> {
        let others = || self.trials.iter().filter(|trial| !self.is_default(trial));
        let settings = distinct(others());
        let mut sentences = vec![format!(
            "It tried {} settings beside those at the start, in {} trials.",
            settings.len(),
            others().count()
        )];
        if let Some(default) = self.mean(|trial| self.is_default(trial)) {
            let is_worse = |cell: &u64| self.mean_of(*cell).is_none_or(|line| line < default);
            let worse = settings.iter().filter(|cell| is_worse(cell)).count();
            sentences.push(format!(
                "{worse} of these settings failed or carried less than those at the start."
            ));
        }
        let Some(winner) = self.confirmed_last() else {
            sentences.push("No setting came as far as the confirmation.".to_owned());
            return sentences;
        };
        sentences.extend(self.first_trial(winner));
        sentences.extend(self.overestimated(winner, &settings));
        let candidates = distinct(others().filter(|trial| trial.is_confirmation));
        if candidates.len() > 1 {
            sentences.push(format!(
                "It compared {} settings with those at the start in pairs, one after the other.",
                candidates.len()
            ));
        }
        sentences
    }

    /// When the setting that was confirmed last was tried first.
    fn first_trial(&self, winner: u64) -> Option<String> {
        let place = self.trials.iter().position(|trial| trial.cell == winner)?;
        let searched = self.trials.iter().filter(|trial| !trial.is_confirmation);
        Some(format!(
            "The setting that it confirmed was tried first in trial {} of {}, after {:.0} minutes.",
            place + 1,
            searched.count(),
            self.trials[place].ended_ms as f64 / 60_000.0
        ))
    }

    /// Settings whose highest value is above the mean of the winner: luck, or a better setting that it let go.
    fn overestimated(&self, winner: u64, settings: &[u64]) -> Option<String> {
        let line = self.mean_of(winner)?;
        let above = settings.iter().filter(|cell| {
            let mut values = self.trials.iter().filter(|trial| trial.cell == **cell);
            **cell != winner && values.any(|trial| trial.line.is_some_and(|value| value > line))
        });
        Some(format!(
            "{} other settings had a trial above the mean of that one, and it left them out.",
            above.count()
        ))
    }

    fn confirmed_last(&self) -> Option<u64> {
        let mut trials = self.trials.iter();
        let last = trials.rfind(|trial| trial.is_confirmation && !self.is_default(trial));
        last.map(|trial| trial.cell)
    }

    fn is_default(&self, trial: &SearchTrial) -> bool {
        Some(trial.cell) == self.default_cell
    }

    fn mean_of(&self, cell: u64) -> Option<f64> {
        self.mean(|trial| trial.cell == cell)
    }

    fn mean(&self, is_chosen: impl Fn(&SearchTrial) -> bool) -> Option<f64> {
        let chosen = self.trials.iter().filter(|trial| is_chosen(trial));
        let lines: Vec<f64> = chosen.filter_map(|trial| trial.line).collect();
        (!lines.is_empty()).then(|| lines.iter().sum::<f64>() / lines.len() as f64)
    }
}

/// The cells of trials, each once.
fn distinct<'t>(trials: impl Iterator<Item = &'t SearchTrial>) -> Vec<u64> {
    let mut cells: Vec<u64> = trials.map(|trial| trial.cell).collect();
    cells.sort_unstable();
    cells.dedup();
    cells
}

/// The load line among the metrics of a trial, or the bound of it that is known.
fn line_of(metrics: &Value) -> Option<f64> {
    let names = ["load_line", "load_line_min", "load_line_max"];
    names.iter().find_map(|name| metrics[name].as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cell: u64, role: &str, ended_ms: u64, outcome: &str) -> String {
        format!(
            r#"{{"trial_ended":{{"trial":{{"index":0,"block":0,"position":0,"cell":{cell},"role":"{role}","seed":1}},"began_ms":0,"ended_ms":{ended_ms},"outcome":{outcome},"runs":[]}}}}"#
        )
    }

    #[test]
    fn the_way_is_told_from_the_log() {
        let line = |line: u64| format!(r#"{{"measured":{{"load_line":{line}}}}}"#);
        let log = [
            r#"{"experiment_started":{"seed":1}}"#.to_owned(),
            record(0, "limit", 1000, &line(100)),
            record(0, "reference", 2000, &line(100)),
            record(1, "cell", 3000, &line(50)),
            record(2, "cell", 4000, r#"{"failed":"it died"}"#),
            record(3, "cell", 120_000, &line(300)),
            record(4, "cell", 180_000, &line(320)),
            record(3, "confirm", 200_000, &line(280)),
            record(0, "confirm", 210_000, &line(100)),
            record(3, "limit", 300_000, &line(250)),
        ];
        let sentences = SearchCourse::of(&log.join("\n")).unwrap().sentences();
        assert_eq!(
            sentences,
            [
                "It tried 4 settings beside those at the start, in 5 trials.",
                "2 of these settings failed or carried less than those at the start.",
                "The setting that it confirmed was tried first in trial 4 of 5, after 2 minutes.",
                "1 other settings had a trial above the mean of that one, and it left them out.",
            ]
        );
        assert!(SearchCourse::of("no log").is_err());
    }

    #[test]
    fn a_search_without_a_confirmation_says_so() {
        let log = [
            record(7, "limit", 1000, r#"{"measured":{"load_line":9}}"#),
            record(8, "cell", 2000, r#"{"void":"busy"}"#),
        ];
        let sentences = SearchCourse::of(&log.join("\n")).unwrap().sentences();
        assert_eq!(
            sentences.last().unwrap(),
            "No setting came as far as the confirmation."
        );
    }
}
