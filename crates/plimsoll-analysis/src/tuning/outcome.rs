//! The result of a search for better settings.

use super::space::Levels;

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct TuneOutcome {
    /// Load line of the default by a full search; without one, by its trials of the search; `None` when it was never
    /// measured.
    pub baseline: Option<f64>,
    /// The best setting; `None` when none is better than the default.
    pub best: Option<BestSetting>,
    /// Whether the best setting is to be adopted.
    pub adopt: bool,
    /// Why or why not, as a sentence.
    pub reason: String,
    /// Share of each knob in the differences between settings, 0 to 1; together 1, or all 0 without differences.
    pub importance: Vec<f64>,
    /// Knobs of the best setting that went back to the default.
    pub reverted: Vec<RevertedKnob>,
    /// Knobs of the setting that is adopted of whose change nothing shows that it matters: the setting was not measured
    /// without it alone, or carried as much.
    pub unshown: Vec<usize>,
    /// Other settings that were tried, the best first.
    pub rejected: Vec<Rejected>,
    /// Trials of search and confirmation.
    pub evaluations: usize,
    /// Those in which the service failed.
    pub failed: usize,
    /// Those that are void.
    pub void: usize,
}

/// A knob whose change went back, because the setting carries as much without it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RevertedKnob {
    /// Index of the knob.
    pub knob: usize,
    /// What that costs: 0.005 is half a percent of the load line; negative when it gains.
    pub cost: f64,
    /// As many knobs went back together, this among them, and that is what they cost together.
    pub together: usize,
}

/// The best setting, by what was measured of it: its trials beside the default in the confirmation; before the first pair,
/// those of the search. All lines and the gain are of the same trials.
#[derive(Clone, Debug, PartialEq)]
pub struct BestSetting {
    /// The setting.
    pub levels: Levels,
    /// Its load line, by loads that rise.
    pub line: f64,
    /// Whether line and gain are what was carried, and more may be: a load ended before the service did.
    pub is_at_least: bool,
    /// Lower end of its 95 % interval: 0 with too few trials.
    pub low: f64,
    /// Upper end: ∞ with too few trials.
    pub high: f64,
    /// Load line of the default in the same trials.
    pub default_line: f64,
    /// Lower end of its 95 % interval: 0 with too few trials.
    pub default_low: f64,
    /// Upper end: ∞ with too few trials.
    pub default_high: f64,
    /// Gain over the default: 0.2 is a fifth more.
    pub gain: f64,
    /// Lower end of the 95 % interval of the gain: −1 with too few pairs.
    pub gain_low: f64,
    /// Upper end: ∞ with too few pairs.
    pub gain_high: f64,
    /// Pairs of trials of the confirmation; 0 when it was not reached, and the gain is that of the search.
    pub pairs: usize,
}

/// A setting that was tried and is not the best.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// The setting.
    pub levels: Levels,
    /// Why it is rejected.
    pub why: RejectedWhy,
    /// What it carried divided by the default's line; `None` where one of them was not measured.
    pub ratio: Option<f64>,
    /// Whether it may carry more.
    pub is_at_least: bool,
}

/// Why a setting is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectedWhy {
    /// Its load line is lower than that of the setting that is adopted, or else of the default.
    Slower,
    /// Its load line differs too much from trial to trial.
    Unstable,
    /// The service failed with it.
    Failed,
    /// Its gain over the default was not confirmed.
    NotConfirmed,
    /// It makes more errors.
    WorseErrors,
    /// It uses more memory than allowed.
    WorseMemory,
    /// It costs more.
    WorsePrice,
}
