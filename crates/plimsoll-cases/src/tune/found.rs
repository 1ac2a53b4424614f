//! What `plimsoll tune --json` and `plimsoll matrix --json` printed; their schemas are in `docs/reference`.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::run_report::RunReport;
use serde::Deserialize;

/// Name of the load line among the metrics of a matrix.
const LOAD_LINE: &str = "load_line";

/// The result of a search for settings.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct FoundSettings {
    pub(super) answer: String,
    pub(super) state: String,
    pub(super) seed: u64,
    pub(super) load_unit: String,
    /// Of the same trials as the line of the best.
    pub(super) baseline: Option<f64>,
    #[serde(default)]
    pub(super) searches: SearchedLines,
    pub(super) best: Option<BestSetting>,
    pub(super) adopt: bool,
    pub(super) reason: String,
    pub(super) settings: BTreeMap<String, FoundKnob>,
    pub(super) trials: TrialCounts,
    pub(super) seconds: f64,
    pub(super) rejected: Vec<RejectedSetting>,
    pub(super) reverted: Vec<RevertedKnob>,
    pub(super) next_limit: Option<String>,
    pub(super) undone: bool,
    pub(super) users: Vec<UsersRow>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct BestSetting {
    pub(super) line: f64,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    pub(super) gain: f64,
    pub(super) gain_low: Option<f64>,
    pub(super) gain_high: Option<f64>,
    pub(super) pairs: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct FoundKnob {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) importance: f64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct TrialCounts {
    pub(super) total: u64,
    pub(super) measured: u64,
    pub(super) failed: u64,
    pub(super) void: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct RejectedSetting {
    pub(super) settings: BTreeMap<String, String>,
    pub(super) why: String,
    pub(super) detail: Option<String>,
    pub(super) ratio: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct RevertedKnob {
    pub(super) knob: String,
    pub(super) cost: f64,
    /// As many went back together, and that is what they cost.
    #[serde(default)]
    pub(super) together: usize,
}

/// Load lines by full searches.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct SearchedLines {
    pub(super) baseline: Option<SearchedLine>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct SearchedLine {
    pub(super) line: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct UsersRow {
    pub(super) users: u32,
    pub(super) result: String,
    pub(super) settings: Option<BTreeMap<String, String>>,
    pub(super) line: Option<f64>,
}

impl FoundSettings {
    /// The load line at the start by a full search, as those of the comparison are.
    pub(super) fn searched_start(&self) -> Option<f64> {
        let searched = self.searches.baseline.map(|found| found.line);
        searched.or(self.baseline)
    }

    pub(super) fn of(report: &RunReport) -> Result<Self> {
        let found: Self = report.read().context("`plimsoll tune --json`")?;
        ensure!(
            found.undone,
            "`plimsoll tune` could not put everything back: {}",
            found.answer
        );
        Ok(found)
    }

    /// Knobs of which the settings known by hand have another level; none if nothing is known by hand.
    pub(super) fn differing(&self, by_hand: &BTreeMap<String, String>) -> Vec<&str> {
        let knobs = self.settings.iter();
        knobs
            .filter(|(name, knob)| by_hand.get(*name).is_some_and(|hand| *hand != knob.to))
            .map(|(name, _)| name.as_str())
            .collect()
    }
}

/// The load lines of the settings known by hand and of those that were found, measured in turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HandComparison {
    pub(super) by_hand: LineInterval,
    pub(super) tuned: LineInterval,
    /// Of the line of the settings known by hand.
    pub(super) share: LineInterval,
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LineInterval {
    pub(super) value: f64,
    pub(super) ends: Option<(f64, f64)>,
}

#[derive(Deserialize)]
struct ComparisonObject {
    cells: Vec<MatrixCell>,
    effects: Vec<MatrixEffect>,
}

#[derive(Deserialize)]
struct MatrixCell {
    levels: BTreeMap<String, String>,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Deserialize)]
struct MatrixEffect {
    metric: String,
    estimate: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl HandComparison {
    pub(super) fn of(
        report: &RunReport,
        found: &FoundSettings,
        by_hand: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let ComparisonObject { cells, effects } =
            report.read().context("`plimsoll matrix --json`")?;
        let line = |is_hand: bool| {
            let cell = cells.iter().find(|cell| {
                let mut levels = cell.levels.iter();
                levels.all(|(knob, level)| {
                    let setting = found.settings.get(knob);
                    let own = || setting.map(|it| if is_hand { &it.from } else { &it.to });
                    let known = by_hand.get(knob).filter(|_| is_hand);
                    known.or_else(own) == Some(level)
                })
            });
            let cell = cell.context("`plimsoll matrix --json` lacks a cell")?;
            let value = cell
                .value
                .context("a side of the comparison has no load line")?;
            anyhow::Ok(LineInterval {
                value,
                ends: cell.low.zip(cell.high),
            })
        };
        let (by_hand, tuned) = (line(true)?, line(false)?);
        let effect = effects.iter().find(|effect| effect.metric == LOAD_LINE);
        let measured = effect.map(|effect| LineInterval {
            value: effect.estimate,
            ends: effect.low.zip(effect.high),
        });
        let share = measured.unwrap_or(LineInterval {
            value: tuned.value / by_hand.value,
            ends: None,
        });
        Ok(Self {
            by_hand,
            tuned,
            share,
        })
    }
}
