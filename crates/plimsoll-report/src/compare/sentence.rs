//! The result in a sentence, and the words for single metrics.

use plimsoll_analysis::experiment::comparison::{
    ComparedMetric, Comparison, ComparisonVerdict, Evidence, MetricWeight,
};
use plimsoll_analysis::experiment::effect::EffectVerdict;
use plimsoll_analysis::experiment::metrics::LOAD_LINE;
use plimsoll_analysis::experiment::trial::Scale;

use super::capacity::{CapacityCost, line_per_core};
use super::{ComparedRuns, ComparedSide};
use crate::cost::{CostEstimate, CostObject as LineCost};
use crate::number::{percent, reading, short};
use crate::printable::printable;
use crate::report::Report;

/// Most metrics and differences that a sentence names.
const NAMED_MAX: usize = 4;

/// The result in one sentence for each candidate.
pub fn answer(runs: &ComparedRuns<'_>) -> String {
    let sentences: Vec<String> = runs
        .candidates
        .iter()
        .map(|(candidate, comparison)| sentence(runs, candidate, comparison))
        .collect();
    sentences.join(" ")
}

/// The result for a candidate in two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CandidateAnswer {
    /// `b is worse than a`.
    pub(super) headline: String,
    /// By how much, or why; empty when the headline says it all.
    pub(super) detail: String,
}

fn sentence(
    runs: &ComparedRuns<'_>,
    candidate: &ComparedSide<'_>,
    comparison: &Comparison,
) -> String {
    let CandidateAnswer { headline, detail } = candidate_answer(runs, candidate, comparison);
    if detail.is_empty() {
        format!("{headline}.")
    } else {
        format!("{headline}: {detail}.")
    }
}

/// The result for a candidate.
pub(super) fn candidate_answer(
    runs: &ComparedRuns<'_>,
    candidate: &ComparedSide<'_>,
    comparison: &Comparison,
) -> CandidateAnswer {
    let (before, after) = (printable(&runs.baseline.name), printable(&candidate.name));
    let margin = percent(comparison.margin());
    let (headline, detail) = match comparison.verdict() {
        _ if !comparison.void().is_empty() => (
            format!("The comparison of {after} with {before} is void"),
            comparison.void().join("; "),
        ),
        ComparisonVerdict::Incomparable => (
            format!("{after} cannot be compared with {before}"),
            differences(comparison),
        ),
        ComparisonVerdict::Better | ComparisonVerdict::Worse if runs.is_across_machines => {
            let all = [EffectVerdict::Worse, EffectVerdict::Better];
            (
                format!("On the other machine {after} differs from {before}"),
                changes(runs, comparison, &all),
            )
        }
        ComparisonVerdict::Worse => (
            format!("{after} is worse than {before}"),
            worse_detail(runs, comparison),
        ),
        ComparisonVerdict::Better => (
            format!("{after} is better than {before}"),
            changes(runs, comparison, &[EffectVerdict::Better]),
        ),
        ComparisonVerdict::Same => (
            format!(
                "No difference larger than {margin} between {after} and {before} in {}",
                main_names(comparison)
            ),
            String::new(),
        ),
        ComparisonVerdict::Undecided => (
            format!("Undecided whether {after} differs from {before} by more than {margin}"),
            open_questions(comparison),
        ),
    };
    CandidateAnswer { headline, detail }
}

fn worse_detail(runs: &ComparedRuns<'_>, comparison: &Comparison) -> String {
    let worse = changes(runs, comparison, &[EffectVerdict::Worse]);
    let better = changes(runs, comparison, &[EffectVerdict::Better]);
    if better.is_empty() {
        worse
    } else {
        format!("{worse}; better: {better}")
    }
}

/// The answer in a few words: of a single candidate its headline, of several how many are worse, better, no different.
pub(super) fn headline(runs: &ComparedRuns<'_>) -> String {
    if let [(candidate, comparison)] = &runs.candidates[..] {
        return candidate_answer(runs, candidate, comparison).headline;
    }
    let before = printable(&runs.baseline.name);
    if runs.is_across_machines {
        return format!("{} machines against {before}", runs.candidates.len());
    }
    let number = |is_counted: &dyn Fn(&Comparison) -> bool| {
        let candidates = runs.candidates.iter();
        candidates
            .filter(|(_, comparison)| is_counted(comparison))
            .count()
    };
    let is_void = |comparison: &Comparison| !comparison.void().is_empty();
    let of = |verdict: ComparisonVerdict| {
        number(&|comparison| !is_void(comparison) && comparison.verdict() == verdict)
    };
    let parts = [
        (of(ComparisonVerdict::Worse), "worse"),
        (of(ComparisonVerdict::Better), "better"),
        (of(ComparisonVerdict::Same), "no different"),
        (of(ComparisonVerdict::Undecided), "undecided"),
        (of(ComparisonVerdict::Incomparable), "incomparable"),
        (number(&is_void), "void"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    format!(
        "{} runs against {before}: {}",
        runs.candidates.len(),
        parts.join(", ")
    )
}

fn differences(comparison: &Comparison) -> String {
    let texts: Vec<String> = comparison
        .differences()
        .iter()
        .take(NAMED_MAX)
        .map(|difference| {
            format!(
                "{} is {} instead of {}",
                difference.what(),
                printable(difference.candidate()),
                printable(difference.baseline())
            )
        })
        .collect();
    more(&texts, comparison.differences().len())
}

fn more(texts: &[String], all: usize) -> String {
    let rest = all - texts.len();
    let text = texts.join(", ");
    if rest == 0 {
        text
    } else {
        format!("{text}, and {rest} more")
    }
}

fn changes(runs: &ComparedRuns<'_>, comparison: &Comparison, wanted: &[EffectVerdict]) -> String {
    let is_wanted = |metric: &&ComparedMetric| {
        metric.weight != MetricWeight::Reported && wanted.contains(&metric.verdict)
    };
    let whole = comparison.metrics().iter().filter(is_wanted);
    let mut texts: Vec<String> = whole
        .map(|metric| format!("{} {}", metric.definition.label, with_interval(metric)))
        .collect();
    for step in comparison.steps() {
        let metrics = step.metrics.iter().filter(is_wanted);
        texts.extend(metrics.map(|metric| {
            format!(
                "{} of {} {}",
                metric.definition.label,
                printable(&step.key.1),
                with_interval(metric)
            )
        }));
    }
    let (before, after) = runs.blocks.map_or((0, 0), |blocks| blocks.failed);
    let is_worse = after > before && wanted.contains(&EffectVerdict::Worse);
    let is_better = after < before && wanted.contains(&EffectVerdict::Better);
    if is_worse || is_better {
        texts.insert(
            0,
            format!("the service failed in {after} trials instead of {before}"),
        );
    }
    let all = texts.len();
    texts.truncate(NAMED_MAX);
    more(&texts, all)
}

fn main_names(comparison: &Comparison) -> String {
    let main = comparison.metrics().iter();
    let names: Vec<&str> = main
        .filter(|metric| metric.weight == MetricWeight::Main)
        .map(|metric| metric.definition.label)
        .collect();
    names.join(", ")
}

fn open_questions(comparison: &Comparison) -> String {
    let open = comparison.metrics().iter().filter(|metric| {
        metric.weight == MetricWeight::Main && metric.verdict != EffectVerdict::Same
    });
    let texts: Vec<String> = open
        .map(|metric| match metric.verdict {
            EffectVerdict::TooFew => {
                format!("too little data on the {}", metric.definition.label)
            }
            _ => format!("{} {}", metric.definition.label, with_interval(metric)),
        })
        .collect();
    if texts.is_empty() {
        "nothing was measured on both sides".to_owned()
    } else {
        texts.join(", ")
    }
}

fn with_interval(metric: &ComparedMetric) -> String {
    let change = change(metric);
    match interval(metric) {
        Some(interval) => format!("{change} ({interval})"),
        None => change,
    }
}

/// A change as people write it: `+12 %`, `−3.1 %`, `+0.4 points`; an en dash where it is not known.
pub(super) fn change(metric: &ComparedMetric) -> String {
    let of_mean = if metric.is_of_mean {
        " in the mean"
    } else {
        ""
    };
    match metric.estimate {
        Some(estimate) => format!("{}{of_mean}", signed(metric, estimate)),
        None => "–".to_owned(),
    }
}

/// The 95 % interval of a change: `−1 % to +4 %`.
pub(super) fn interval(metric: &ComparedMetric) -> Option<String> {
    match (metric.low, metric.high) {
        (Some(low), Some(high)) => Some(format!(
            "{} to {}",
            signed(metric, low),
            signed(metric, high)
        )),
        (Some(low), None) => Some(format!("at least {}", signed(metric, low))),
        (None, Some(high)) => Some(format!("at most {}", signed(metric, high))),
        (None, None) => None,
    }
}

/// Ratio above which a change is written as a factor.
const FACTOR_FROM: f64 = 3.0;

fn signed(metric: &ComparedMetric, value: f64) -> String {
    match metric.definition.scale {
        Scale::Ratio if value >= FACTOR_FROM => format!("× {}", short(value)),
        Scale::Ratio => format!("{} %", with_sign((value - 1.0) * 100.0)),
        Scale::Difference => format!("{} points", with_sign(value * 100.0)),
    }
}

/// A number with its sign; a change that is shown as zero has none.
fn with_sign(value: f64) -> String {
    // A tenth is enough: the interval is wider.
    let rounded = (value * 10.0).round() / 10.0;
    let text = short(rounded.abs());
    match text.as_str() {
        "0" => text,
        text if value < 0.0 => format!("−{text}"),
        text => format!("+{text}"),
    }
}

/// A value of a metric in its unit.
pub(super) fn value(
    metric: &ComparedMetric,
    value: Option<f64>,
    side: &ComparedSide<'_>,
) -> String {
    let Some(value) = value else {
        return "–".to_owned();
    };
    if metric.name == LOAD_LINE {
        let unit = side.report.as_ref().map(Report::unit).unwrap_or_default();
        return crate::number::load(value, unit);
    }
    match metric.definition.unit {
        "1/s" => crate::number::rate(value),
        unit => reading(value, unit),
    }
}

/// The word for a verdict.
pub(super) fn verdict_text(verdict: EffectVerdict, is_across_machines: bool) -> &'static str {
    match verdict {
        EffectVerdict::Better | EffectVerdict::Worse if is_across_machines => "differs",
        EffectVerdict::Better => "better",
        EffectVerdict::Worse => "worse",
        EffectVerdict::Same => "same",
        EffectVerdict::Undecided => "undecided",
        EffectVerdict::TooFew => "too little data",
    }
}

/// What the intervals are made of, and what they cannot hold.
pub(super) fn evidence(runs: &ComparedRuns<'_>) -> String {
    if let Some(blocks) = runs.blocks {
        let failed = match blocks.failed {
            (0, 0) => String::new(),
            (before, after) => {
                format!("; the service failed in {before} trials before and {after} after")
            }
        };
        let is_short = runs
            .candidates
            .iter()
            .flat_map(|(_, comparison)| comparison.metrics())
            .any(|metric| {
                metric.weight == MetricWeight::Main && metric.verdict == EffectVerdict::TooFew
            });
        let more = if is_short {
            "; these are too few for an interval, --within allows more"
        } else {
            ""
        };
        return format!(
            "{} valid blocks of four trials in turn, {} void{failed}; 95 % intervals by ranks and bootstrap over blocks{more}",
            blocks.valid, blocks.void
        );
    }
    let first = runs
        .candidates
        .iter()
        .flat_map(|(_, comparison)| comparison.metrics())
        .find(|metric| metric.weight == MetricWeight::Main)
        .map(|metric| metric.evidence);
    match first {
        Some(Evidence::Lines) => "the ratio of the lines has the intervals of both searches; other metrics are those at each \
             search's own line; how much a repeated search would differ is not known"
            .to_owned(),
        Some(Evidence::Batches { counts, seconds }) => format!(
            "one run on each side: the intervals hold the variation within them ({} batches of {} s, {} of {} s), not that \
             between runs; runs in turn (--base and --head) hold both. A change is that of typical batches, of the throughput \
             as a share of the load that each run offered, so it may differ a little from the ratio of the two values",
            counts.0, seconds.0, counts.1, seconds.1
        ),
        _ => "too little data for intervals: at least 25 judged seconds on each side are needed".to_owned(),
    }
}

/// A cost in words, and which it is.
type CostOf = (&'static str, fn(&LineCost) -> Option<CostEstimate>);

/// Line per core and cost of capacity, where both sides have them: label and text.
pub(super) fn capacity(
    baseline: &ComparedSide<'_>,
    candidate: &ComparedSide<'_>,
) -> Vec<(&'static str, String)> {
    let further: [CostOf; 2] = [
        ("a thousand users for an hour", |cost| {
            cost.per_thousand_users_hour
        }),
        ("the demand of a month", |cost| cost.per_month),
    ];
    let mut texts = Vec::new();
    let per_core = [baseline, candidate].map(line_per_core);
    if let [Some(before), Some(after)] = per_core {
        let unit = candidate
            .report
            .as_ref()
            .map(Report::unit)
            .unwrap_or_default();
        let text = format!(
            "the line is {} per core, before: {}",
            crate::number::load(after, unit),
            crate::number::load(before, unit)
        );
        texts.push(("per core", text));
    }
    let cost = [baseline, candidate].map(CapacityCost::of);
    if let [Some(before), Some(after)] = cost {
        let text = format!(
            "a million requests at the line cost {}, before: {}",
            after.text(),
            before.text()
        );
        texts.push(("cost", text));
    }
    for (name, of) in further {
        let costs = [baseline, candidate].map(|side| {
            let cost = LineCost::of(side.report.as_ref()?)?;
            Some((of(&cost)?, cost.currency))
        });
        if let [Some((before, _)), Some((after, currency))] = costs {
            let text = format!(
                "{name} cost {}, before: {}",
                after.text(&currency),
                before.text(&currency)
            );
            texts.push(("cost", text));
        }
    }
    texts
}

/// What sets the line on both sides: `another limit now: …`. `None` where neither side has a finding.
pub(super) fn limits(baseline: &ComparedSide<'_>, candidate: &ComparedSide<'_>) -> Option<String> {
    let limit = |side: &ComparedSide<'_>| {
        let finding = side.report.as_ref()?.set_by()?;
        Some(printable(&finding.limit))
    };
    match (limit(baseline), limit(candidate)) {
        (None, None) => None,
        (Some(before), Some(after)) if before == after => Some(format!("the same: {before}")),
        (Some(before), Some(after)) => {
            Some(format!("another limit now: {after}, before: {before}"))
        }
        (Some(before), None) => Some(format!("no longer named; before: {before}")),
        (None, Some(after)) => Some(format!("named now: {after}; none before")),
    }
}
