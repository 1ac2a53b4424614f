//! Rows of the result: knobs, settings that were tried, numbers of users.

use plimsoll_analysis::tuning::{BestSetting, Rejected, RejectedWhy, Score};

use super::{TuneReport, TuneTrial, UserRow, UserRowResult};
use crate::number::percent;

/// Importance below which a knob changes nothing that can be measured.
const NO_IMPORTANCE: f64 = 0.01;

/// A knob in the result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnobRow {
    pub(super) name: String,
    pub(super) from: String,
    /// The recommended level; `None` where it stays.
    pub(super) to: Option<String>,
    /// Its share of the differences between settings; `None` before anything was measured.
    pub(super) importance: Option<f64>,
    pub(super) remark: String,
}

/// A setting that was tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TriedRow {
    pub(super) levels: Vec<usize>,
    pub(super) trials: usize,
    /// The median of its lines, without those of full searches.
    pub(super) line: Option<f64>,
    /// Whether the load ended before the service did, so that the line is higher.
    pub(super) is_at_least: bool,
    pub(super) remark: String,
}

/// All knobs in their order.
pub(super) fn knobs(report: &TuneReport<'_>) -> Vec<KnobRow> {
    let levels = report.levels();
    let knobs = report.knobs.iter().enumerate();
    knobs
        .map(|(index, knob)| {
            let level = levels[index];
            let importance = report.outcome.importance.get(index).copied();
            KnobRow {
                name: knob.name.clone(),
                from: report.level_text(index, knob.default).to_owned(),
                to: (level != knob.default).then(|| report.level_text(index, level).to_owned()),
                importance: importance
                    .filter(|share| share.is_finite() && report.outcome.evaluations > 0),
                remark: knob_remark(report, index, level == knob.default, importance),
            }
        })
        .collect()
}

fn knob_remark(
    report: &TuneReport<'_>,
    knob: usize,
    stays: bool,
    importance: Option<f64>,
) -> String {
    let mut reverted = report.outcome.reverted.iter();
    if let Some(change) = reverted.find(|change| change.knob == knob) {
        let cost = cost_text(change.cost);
        return match change.together {
            0 | 1 => format!("back to what stands: that costs {cost}"),
            together => format!("back to what stands: {together} together cost {cost}"),
        };
    }
    if report.outcome.unshown.contains(&knob) {
        return "not shown to matter".to_owned();
    }
    let is_known = importance.is_some_and(|share| share < NO_IMPORTANCE);
    if stays && is_known && report.outcome.evaluations > 0 {
        return "no measurable effect".to_owned();
    }
    String::new()
}

/// A cost as a share: nothing where it is none.
fn cost_text(cost: f64) -> String {
    if cost <= 0.0 {
        "nothing".to_owned()
    } else {
        percent(cost)
    }
}

/// Every setting that was tried, in the order of its first trial; the settings that stand first.
pub(super) fn tried(report: &TuneReport<'_>) -> Vec<TriedRow> {
    let mut groups: Vec<(&[usize], Vec<&TuneTrial>)> = Vec::new();
    for trial in report.trials {
        let found = groups
            .iter_mut()
            .find(|(levels, _)| *levels == trial.levels.as_slice());
        match found {
            Some((_, trials)) => trials.push(trial),
            None => groups.push((&trial.levels, vec![trial])),
        }
    }
    let rows = groups.iter();
    rows.map(|(levels, trials)| tried_row(report, levels, trials))
        .collect()
}

fn tried_row(report: &TuneReport<'_>, levels: &[usize], trials: &[&TuneTrial]) -> TriedRow {
    let rising = trials.iter().filter(|trial| !trial.is_search);
    let lines = rising.filter_map(|trial| match trial.score {
        Score::Line(line) => Some((line, false)),
        Score::AtLeast(line) => Some((line, true)),
        Score::Failed | Score::Void => None,
    });
    let mut lines: Vec<(f64, bool)> = lines.collect();
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let median = lines.get(lines.len() / 2).copied();
    TriedRow {
        levels: levels.to_vec(),
        trials: trials.len(),
        line: median.map(|(line, _)| line),
        is_at_least: median.is_some_and(|(_, is_at_least)| is_at_least),
        remark: tried_remark(report, levels, trials),
    }
}

fn tried_remark(report: &TuneReport<'_>, levels: &[usize], trials: &[&TuneTrial]) -> String {
    if levels == report.default_levels() {
        return "stands".to_owned();
    }
    let best = report.outcome.best.as_ref();
    if best.is_some_and(|best| best.levels == levels) {
        return if report.outcome.adopt {
            "the best, confirmed".to_owned()
        } else {
            "the best so far, not confirmed".to_owned()
        };
    }
    let mut rejected = report.outcome.rejected.iter();
    if let Some(rejected) = rejected.find(|rejected| rejected.levels == levels) {
        return rejected_text(report, rejected);
    }
    reason(trials).map_or_else(String::new, str::to_owned)
}

/// Why a setting was rejected, with the reason of its trials.
pub(super) fn rejected_text(report: &TuneReport<'_>, rejected: &Rejected) -> String {
    let word = why_text(rejected.why);
    let detail = rejected_detail(report, rejected);
    match (detail, rejected.ratio) {
        (Some(detail), _) => format!("{word}: {detail}"),
        (None, Some(ratio))
            if matches!(
                rejected.why,
                RejectedWhy::Slower | RejectedWhy::NotConfirmed
            ) =>
        {
            let least = if rejected.is_at_least {
                "at least "
            } else {
                ""
            };
            format!(
                "{word}: {least}{} against what stands",
                change_text(ratio - 1.0)
            )
        }
        _ => word.to_owned(),
    }
}

/// The reason of a trial of a setting in which the service failed.
pub(super) fn rejected_detail(report: &TuneReport<'_>, rejected: &Rejected) -> Option<String> {
    if !matches!(rejected.why, RejectedWhy::Failed) {
        return None;
    }
    let trials = report.trials.iter();
    let trials: Vec<&TuneTrial> = trials
        .filter(|trial| trial.levels == rejected.levels)
        .collect();
    reason(&trials).map(str::to_owned)
}

fn reason<'t>(trials: &[&'t TuneTrial]) -> Option<&'t str> {
    trials.iter().find_map(|trial| trial.reason.as_deref())
}

/// A reason of rejection for people.
pub(super) fn why_text(why: RejectedWhy) -> &'static str {
    match why {
        RejectedWhy::Slower => "not the best",
        RejectedWhy::Unstable => "unstable: its lines differ by more than a fifth",
        RejectedWhy::Failed => "the service failed",
        RejectedWhy::NotConfirmed => "not confirmed",
        RejectedWhy::WorseErrors => "more errors",
        RejectedWhy::WorseMemory => "more memory",
        RejectedWhy::WorsePrice => "a higher price",
    }
}

/// A reason of rejection in JSON.
pub(super) fn why_word(why: RejectedWhy) -> &'static str {
    match why {
        RejectedWhy::Slower => "slower",
        RejectedWhy::Unstable => "unstable",
        RejectedWhy::Failed => "failed",
        RejectedWhy::NotConfirmed => "not_confirmed",
        RejectedWhy::WorseErrors => "worse_errors",
        RejectedWhy::WorseMemory => "worse_memory",
        RejectedWhy::WorsePrice => "worse_price",
    }
}

/// A change as people write it: `+38 %`, `−12 %`.
pub(super) fn change_text(change: f64) -> String {
    let sign = if change < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent(change.abs()))
}

/// A gain: from twice as much on as a factor.
pub(super) fn gain_text(gain: f64) -> String {
    if gain >= 1.0 {
        format!("{} times", crate::number::short(gain + 1.0))
    } else {
        change_text(gain)
    }
}

/// The load line of the best settings, or what they carry at least.
pub(super) fn best_line_text(report: &TuneReport<'_>, best: &BestSetting) -> String {
    let least = if best.is_at_least { "at least " } else { "" };
    format!("{least}{}", report.line_text(best.line))
}

/// The gain of the best settings, and whether it is confirmed.
pub(super) fn best_gain_text(best: &BestSetting) -> String {
    let gain = gain_text(best.gain);
    match (best.pairs, best.is_at_least) {
        (0, true) => format!("at least {gain}, not confirmed"),
        (0, false) => format!("{gain}, not confirmed"),
        _ => gain,
    }
}

/// The setting of a row, or why it has none.
pub(super) fn user_row_text(report: &TuneReport<'_>, row: &UserRow) -> String {
    match &row.result {
        UserRowResult::Confirmed { levels, .. } => report.setting_text(levels),
        UserRowResult::NotReachable => "not reachable here".to_owned(),
        UserRowResult::NotConfirmed => {
            "not confirmed: settings with enough room missed the objective".to_owned()
        }
        UserRowResult::Open => "not tried to the end".to_owned(),
    }
}

/// A line, or that it is higher.
pub(super) fn line_text(report: &TuneReport<'_>, row: &TriedRow) -> String {
    match row.line {
        Some(line) if row.is_at_least => format!("at least {}", report.line_text(line)),
        Some(line) => report.line_text(line),
        None => "–".to_owned(),
    }
}
