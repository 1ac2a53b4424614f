//! What `plimsoll tune` prints: a sentence, one object as JSON, the terminal, a page, and the file of the settings.

mod advice;
mod chart;
mod object;
mod page;
mod rows;
mod settings_file;
#[cfg(test)]
mod tests;
mod text;

use std::path::PathBuf;

use plimsoll_analysis::tuning::{BestSetting, Score, TuneOutcome};
use plimsoll_model::experiment::{ExperimentEnd, Knob};

pub use advice::{AdvisedSetting, TuneAdviceObject, advice_schema};
pub use object::{
    BestObject, KnobObject, RejectedObject, RevertedObject, TuneCounts, TuneFiles, TuneObject,
    UserRowObject, schema,
};
pub use page::render;
pub use settings_file::{TunedSource, settings_file};
pub use text::{sentence, summary};

/// A trial of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct TuneTrial {
    /// Its number, from 0.
    pub index: u32,
    /// Its level of each knob.
    pub levels: Vec<usize>,
    /// What it is for: `search`, `confirmation`.
    pub purpose: &'static str,
    /// Whether it is a full search of the load line, whose result is not comparable with those of loads that rise.
    pub is_search: bool,
    /// Seconds from the begin of the experiment.
    pub began_s: f64,
    /// How long it took, s.
    pub lasted_s: f64,
    /// What it measured.
    pub score: Score,
    /// Why it failed or is void.
    pub reason: Option<String>,
}

/// A number of users, and the smallest setting that carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct UserRow {
    /// The users.
    pub users: u32,
    /// What came of it.
    pub result: UserRowResult,
}

/// What came of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum UserRowResult {
    /// This setting carried the users in a trial of their number.
    Confirmed {
        /// Its level of each knob.
        levels: Vec<usize>,
        /// Its line, users.
        line: f64,
    },
    /// No setting that was measured carries as many.
    NotReachable,
    /// The settings that should carry them did not in a trial of their number.
    NotConfirmed,
    /// Its trials are not all carried out.
    Open,
}

/// A load line by a full search, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchedLine {
    /// Lower end of its 90 % interval.
    pub low: f64,
    /// The line.
    pub line: f64,
    /// Upper end.
    pub high: f64,
}

/// The full searches of the load line: one before, and one with what is adopted. Each is a measurement of its own, at
/// another time than the pairs of the confirmation and by another kind of load, so that none is a figure of the gain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchedLines {
    /// Of the settings that stand.
    pub default: Option<SearchedLine>,
    /// Of the settings that are adopted.
    pub best: Option<SearchedLine>,
}

/// Everything about a search that is shown.
#[derive(Clone, Debug)]
pub struct TuneReport<'t> {
    /// Name of the experiment.
    pub name: &'t str,
    /// Begin, RFC 3339.
    pub started_at: &'t str,
    /// Seed of the search.
    pub seed: u64,
    /// How far it came.
    pub state: ExperimentEnd,
    /// The knobs, in the order of levels.
    pub knobs: &'t [Knob],
    /// Unit of load lines: `req/s`, `users`.
    pub load_unit: &'t str,
    /// The objective that defines the line.
    pub objective: Option<String>,
    /// The trials in their order.
    pub trials: &'t [TuneTrial],
    /// What they show.
    pub outcome: &'t TuneOutcome,
    /// The full searches of the load line.
    pub searches: SearchedLines,
    /// What limits the service with these settings.
    pub next_limit: Option<&'t str>,
    /// Everything that was changed for trials is put back.
    pub undone: bool,
    /// What was made permanent.
    pub applied: &'t [String],
    /// What has to be changed by hand.
    pub by_hand: &'t [String],
    /// Numbers of users and their settings.
    pub users: &'t [UserRow],
    /// Files that were written.
    pub files: TuneFiles,
    /// The command that makes the settings permanent.
    pub apply_command: &'t str,
}

/// What the lines beside a gain are from: `pairs` of the confirmation, or `ramps`, trials of the search.
fn line_from(best: &BestSetting) -> &'static str {
    if best.pairs > 0 { "pairs" } else { "ramps" }
}

impl TuneReport<'_> {
    /// Whether the settings are to be changed.
    pub fn is_adopted(&self) -> bool {
        self.outcome.adopt && self.outcome.best.is_some()
    }

    /// The level of each knob that is recommended: the best, or what stands.
    fn levels(&self) -> Vec<usize> {
        match &self.outcome.best {
            Some(best) if self.outcome.adopt => best.levels.clone(),
            _ => self.default_levels(),
        }
    }

    fn default_levels(&self) -> Vec<usize> {
        self.knobs.iter().map(|knob| knob.default).collect()
    }

    /// A level of a knob as a person wrote it.
    fn level_text(&self, knob: usize, level: usize) -> &str {
        let levels = self.knobs.get(knob).map(|knob| &knob.levels);
        levels
            .and_then(|levels| levels.get(level))
            .map_or("–", String::as_str)
    }

    /// What differs from the settings that stand: `workers=16 pool=20`.
    fn setting_text(&self, levels: &[usize]) -> String {
        let changed = self.changed(levels);
        if changed.is_empty() {
            return "the settings that stand".to_owned();
        }
        let pairs = changed.iter().map(|&knob| {
            let level = self.level_text(knob, levels[knob]);
            format!("{}={level}", self.knobs[knob].name)
        });
        pairs.collect::<Vec<_>>().join(" ")
    }

    /// The knobs whose level is not the one that stands.
    fn changed(&self, levels: &[usize]) -> Vec<usize> {
        let knobs = self.knobs.iter().zip(levels).enumerate();
        knobs
            .filter(|(_, (knob, level))| knob.default != **level)
            .map(|(index, _)| index)
            .collect()
    }

    /// The load line of the settings that stand, and what it is from: of the trials that the gain is of, where there is one.
    fn baseline(&self) -> (Option<f64>, &'static str) {
        match &self.outcome.best {
            Some(best) => (Some(best.default_line), line_from(best)),
            None => (self.outcome.baseline, "search"),
        }
    }

    /// A load line with its unit.
    fn line_text(&self, line: f64) -> String {
        format!("{} {}", crate::number::short(line), self.load_unit)
    }

    /// Time of all trials, s.
    fn seconds(&self) -> f64 {
        self.trials.iter().map(|trial| trial.lasted_s).sum()
    }

    /// Files of the result with their labels.
    fn named_files(&self) -> [(&'static str, &Option<PathBuf>); 3] {
        let files = &self.files;
        [
            ("settings", &files.settings),
            ("page", &files.report),
            ("log", &files.log),
        ]
    }
}
