//! The object of `plimsoll tune --json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plimsoll_analysis::tuning::{BestSetting, Rejected, Score};
use plimsoll_model::experiment::Knob;
use schemars::JsonSchema;
use serde::Serialize;

use super::rows::{self, rejected_detail, why_word};
use super::text::sentence;
use super::{SearchedLine, TuneReport, UserRow, UserRowResult, line_from};
use crate::pretty;

/// The output of `plimsoll tune --json`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "plimsoll tune --json")]
pub struct TuneObject {
    /// Version of this object, `major.minor`.
    pub format_version: String,
    /// Name of the experiment.
    pub name: String,
    /// Its begin, RFC 3339.
    pub started_at: String,
    /// `complete`, `budget_spent` or `interrupted`.
    pub state: &'static str,
    /// Seed of the search.
    pub seed: u64,
    /// The result in a sentence.
    pub answer: String,
    /// The objective that defines the load line.
    pub objective: Option<String>,
    /// Unit of load lines: `req/s` or `users`.
    pub load_unit: String,
    /// The load line of the settings that stand, of the trials that `baseline_from` names; null when it was not measured. With
    /// `best` it is of the same trials, so that `best.line` divided by it is the gain but for the noise that the intervals have.
    pub baseline: Option<f64>,
    /// `pairs`: its trials in the pairs of the confirmation. `ramps`: its trials of the search, before the first pair.
    /// `search`: a full search, where there is no `best`.
    pub baseline_from: &'static str,
    /// Lower end of the 95 % interval of `baseline` from pairs; else null.
    pub baseline_low: Option<f64>,
    /// Upper end.
    pub baseline_high: Option<f64>,
    /// The full searches of the load line, each a measurement apart from the pairs: their ratio is not the gain.
    pub searches: SearchesObject,
    /// The best settings that were measured beside those that stand; null when none was. Without `pairs` nothing is confirmed.
    pub best: Option<BestObject>,
    /// Whether to change the settings: the gain is above 3 % with 95 % confidence, and nothing else gets worse.
    pub adopt: bool,
    /// Why, in a sentence.
    pub reason: String,
    /// The knobs, by their name.
    pub settings: BTreeMap<String, KnobObject>,
    /// Trials of the search and the confirmation.
    pub evaluations: u64,
    /// Trials by their outcome.
    pub trials: TuneCounts,
    /// Time of all trials together, s.
    pub seconds: f64,
    /// Settings that were tried and rejected.
    pub rejected: Vec<RejectedObject>,
    /// Knobs that went back to what stands, because that costs less than 1 %.
    pub reverted: Vec<RevertedObject>,
    /// What limits the service with the settings of this result; null when it is not known.
    pub next_limit: Option<String>,
    /// Whether everything that was changed for trials is put back.
    pub undone: bool,
    /// What `--apply` has made permanent.
    pub applied: Vec<String>,
    /// What has to be changed by hand, because Plimsoll starts the service itself.
    pub by_hand: Vec<String>,
    /// Numbers of users and their settings; empty without `--for`.
    pub users: Vec<UserRowObject>,
    /// Files that were written.
    pub files: TuneFiles,
}

/// The best settings.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BestObject {
    /// The level of each knob.
    pub settings: BTreeMap<String, String>,
    /// Their load line, of the trials that `line_from` names.
    pub line: f64,
    /// How it was measured: `pairs`, their trials in the pairs of the confirmation, or `ramps`, their trials of the search, before
    /// the first pair. Both are loads that rise, less the queue that grows before they are noticed to be beyond the line.
    pub line_from: &'static str,
    /// Whether line and gain are only what was carried: a load ended before the service did.
    pub is_at_least: bool,
    /// Lower end of its 95 % interval; null with too few trials.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Gain over the settings that stand, of the same trials as `line` and `baseline`, as a share: 0.25 is 25 % more.
    pub gain: f64,
    /// Lower end of its 95 % interval; null with too few pairs.
    pub gain_low: Option<f64>,
    /// Upper end.
    pub gain_high: Option<f64>,
    /// Pairs of trials of the confirmation; 0 when it was not reached, and the gain is that of the search.
    pub pairs: usize,
}

/// The full searches of the load line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SearchesObject {
    /// With the settings that stand; null where none found a line.
    pub baseline: Option<SearchedObject>,
    /// With the settings that are adopted; null where none found a line.
    pub best: Option<SearchedObject>,
}

/// A load line by a full search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SearchedObject {
    /// The line.
    pub line: f64,
    /// Lower end of its 90 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A knob.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KnobObject {
    /// The level that stands.
    pub from: String,
    /// The recommended level, the same where it stays.
    pub to: String,
    /// Its share of the differences between settings, 0 to 1.
    pub importance: f64,
    /// False where it is changed and nothing shows that this matters: these settings were not measured without it alone, or
    /// carried as much. The gain is that of all changes together.
    pub shown: bool,
    /// All of its levels.
    pub levels: Vec<String>,
    /// Whether a change needs a restart.
    pub restart: bool,
    /// What it does.
    pub meaning: Option<String>,
    /// What the search shows of it: `no measurable effect`, as of a knob that nothing reads, or why it is as it is; null where
    /// there is nothing to add.
    pub remark: Option<String>,
}

/// Trials by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TuneCounts {
    /// All of them.
    pub total: u64,
    /// Trials with a measurement.
    pub measured: u64,
    /// Trials in which the service failed.
    pub failed: u64,
    /// Void trials.
    pub void: u64,
}

/// A setting that was tried and rejected.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RejectedObject {
    /// The knobs that differ from what stands.
    pub settings: BTreeMap<String, String>,
    /// `slower`, `unstable`, `failed`, `not_confirmed`, `worse_errors`, `worse_memory` or `worse_price`.
    pub why: &'static str,
    /// Why the service failed.
    pub detail: Option<String>,
    /// What it carried by the load line of the settings that stand; null when one of them was not measured.
    pub ratio: Option<f64>,
    /// Whether it may carry more: a load ended before the service did.
    pub is_at_least: bool,
}

/// A knob that went back to what stands.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RevertedObject {
    /// The knob.
    pub knob: String,
    /// What that costs of the load line, as a share.
    pub cost: f64,
    /// As many knobs went back together, this among them, and that is what they cost together.
    pub together: usize,
}

/// A number of users and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UserRowObject {
    /// The users.
    pub users: u32,
    /// `confirmed`, `not_reachable`, `not_confirmed` or `open`.
    pub result: &'static str,
    /// The smallest settings that carry them; null when there are none.
    pub settings: Option<BTreeMap<String, String>>,
    /// The line of these settings, users.
    pub line: Option<f64>,
}

/// Files that were written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TuneFiles {
    /// The settings, for `--apply`.
    pub settings: Option<PathBuf>,
    /// The page.
    pub report: Option<PathBuf>,
    /// The log of the experiment.
    pub log: Option<PathBuf>,
}

impl TuneObject {
    /// Version of the object.
    pub const FORMAT_VERSION: &'static str = "1.2";

    /// The object of a search.
    pub fn of(report: &TuneReport<'_>) -> Self {
        let outcome = report.outcome;
        let best = outcome.best.as_ref().map(|best| best_object(report, best));
        let (baseline, baseline_from) = report.baseline();
        let paired = outcome.best.as_ref().filter(|best| best.pairs > 0);
        let paired = paired.filter(|best| best.default_high.is_finite());
        let reverted = outcome.reverted.iter().map(|change| RevertedObject {
            knob: name(report, change.knob),
            cost: change.cost,
            together: change.together,
        });
        Self {
            format_version: Self::FORMAT_VERSION.to_owned(),
            name: report.name.to_owned(),
            started_at: report.started_at.to_owned(),
            state: report.state.name(),
            seed: report.seed,
            answer: sentence(report),
            objective: report.objective.clone(),
            load_unit: report.load_unit.to_owned(),
            baseline,
            baseline_from,
            baseline_low: paired.map(|best| best.default_low),
            baseline_high: paired.map(|best| best.default_high),
            searches: SearchesObject {
                baseline: report.searches.default.map(SearchedObject::of),
                best: report.searches.best.map(SearchedObject::of),
            },
            best,
            adopt: report.is_adopted(),
            reason: outcome.reason.clone(),
            settings: knobs(report),
            evaluations: outcome.evaluations as u64,
            trials: counts(report),
            seconds: report.seconds(),
            rejected: outcome
                .rejected
                .iter()
                .map(|rejected| rejected_object(report, rejected))
                .collect(),
            reverted: reverted.collect(),
            next_limit: report.next_limit.map(str::to_owned),
            undone: report.undone,
            applied: report.applied.to_vec(),
            by_hand: report.by_hand.to_vec(),
            users: report
                .users
                .iter()
                .map(|row| user_row(report, row))
                .collect(),
            files: report.files.clone(),
        }
    }

    /// As pretty JSON with a newline at the end.
    pub fn json(&self) -> String {
        pretty::object(self)
    }
}

impl SearchedObject {
    fn of(line: SearchedLine) -> Self {
        let SearchedLine { low, line, high } = line;
        Self { line, low, high }
    }
}

/// The JSON schema of [`TuneObject`].
pub fn schema() -> String {
    pretty::schema::<TuneObject>()
}

/// Trials by their outcome.
pub(super) fn counts(report: &TuneReport<'_>) -> TuneCounts {
    let mut counts = TuneCounts::default();
    for trial in report.trials {
        counts.total += 1;
        match trial.score {
            Score::Line(_) | Score::AtLeast(_) => counts.measured += 1,
            Score::Failed => counts.failed += 1,
            Score::Void => counts.void += 1,
        }
    }
    counts
}

fn best_object(report: &TuneReport<'_>, best: &BestSetting) -> BestObject {
    // Without an interval its ends are those of all that is possible.
    let has_gain = best.gain_high.is_finite();
    let has_line = best.high.is_finite();
    BestObject {
        settings: settings(report, &best.levels, false),
        line: best.line,
        line_from: line_from(best),
        is_at_least: best.is_at_least,
        low: has_line.then_some(best.low),
        high: has_line.then_some(best.high),
        gain: best.gain,
        gain_low: has_gain.then_some(best.gain_low),
        gain_high: has_gain.then_some(best.gain_high),
        pairs: best.pairs,
    }
}

fn name(report: &TuneReport<'_>, knob: usize) -> String {
    let knob = report.knobs.get(knob);
    knob.map_or_else(String::new, |knob| knob.name.clone())
}

fn knobs(report: &TuneReport<'_>) -> BTreeMap<String, KnobObject> {
    let levels = report.levels();
    let rows = rows::knobs(report);
    let knobs = report.knobs.iter().enumerate();
    let object = |(index, knob): (usize, &Knob)| {
        let remark = rows.get(index).map(|row| row.remark.clone());
        let importance = report.outcome.importance.get(index).copied();
        let object = KnobObject {
            from: report.level_text(index, knob.default).to_owned(),
            to: report.level_text(index, levels[index]).to_owned(),
            importance: importance.filter(|share| share.is_finite()).unwrap_or(0.0),
            shown: !report.outcome.unshown.contains(&index),
            levels: knob.levels.clone(),
            restart: knob.needs_restart,
            meaning: knob.meaning.clone(),
            remark: remark.filter(|remark| !remark.is_empty()),
        };
        (knob.name.clone(), object)
    };
    knobs.map(object).collect()
}

/// The levels of a setting by the names of the knobs: all, or those that differ from what stands.
fn settings(
    report: &TuneReport<'_>,
    levels: &[usize],
    changed_only: bool,
) -> BTreeMap<String, String> {
    let knobs = report.knobs.iter().zip(levels).enumerate();
    knobs
        .filter(|(_, (knob, level))| !changed_only || knob.default != **level)
        .map(|(index, (knob, level))| {
            let text = report.level_text(index, *level).to_owned();
            (knob.name.clone(), text)
        })
        .collect()
}

fn rejected_object(report: &TuneReport<'_>, rejected: &Rejected) -> RejectedObject {
    RejectedObject {
        settings: settings(report, &rejected.levels, true),
        why: why_word(rejected.why),
        detail: rejected_detail(report, rejected),
        ratio: rejected.ratio.filter(|ratio| ratio.is_finite()),
        is_at_least: rejected.is_at_least,
    }
}

fn user_row(report: &TuneReport<'_>, row: &UserRow) -> UserRowObject {
    let (result, found) = match &row.result {
        UserRowResult::Confirmed { levels, line } => ("confirmed", Some((levels, *line))),
        UserRowResult::NotReachable => ("not_reachable", None),
        UserRowResult::NotConfirmed => ("not_confirmed", None),
        UserRowResult::Open => ("open", None),
    };
    UserRowObject {
        users: row.users,
        result,
        settings: found.map(|(levels, _)| settings(report, levels, false)),
        line: found.map(|(_, line)| line),
    }
}
