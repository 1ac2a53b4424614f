//! Effects as texts, and as a table with intervals.

use maud::{Markup, html};
use plimsoll_analysis::experiment::effect::EffectVerdict;
use plimsoll_analysis::experiment::matrix::{Contrast, ContrastEffect};
use plimsoll_analysis::experiment::metrics;
use plimsoll_analysis::experiment::result::CONFIDENCE;
use plimsoll_analysis::experiment::trial::Scale;

use super::MatrixReport;
use crate::chart::percent_of;
use crate::number::short;
use crate::printable::printable;

/// The size of an effect: `+12.3 %`, or points of a share.
pub(super) fn size_text(metric: &str, size: f64) -> String {
    let is_difference =
        metrics::definition(metric).is_some_and(|definition| definition.scale == Scale::Difference);
    let change = if is_difference { size } else { size - 1.0 };
    // A tenth is enough: the interval is wider.
    let tenths = (change.abs() * 1000.0).round() / 10.0;
    let sign = match change {
        _ if tenths == 0.0 || !tenths.is_finite() => "",
        change if change < 0.0 => "−",
        _ => "+",
    };
    let unit = if is_difference { "points" } else { "%" };
    format!("{sign}{} {unit}", short(tenths))
}

/// How many pairs a change needs before any test can show it among so many that are judged together: 2/2ⁿ · m ≤ 5 %.
fn pairs_needed(changes: usize) -> usize {
    let error = 1.0 - CONFIDENCE;
    let smallest = |pairs: i32| 2.0 / 2.0_f64.powi(pairs) * changes.max(1) as f64;
    (1..64)
        .find(|&pairs| smallest(pairs) <= error * (1.0 + 1e-9))
        .and_then(|pairs| usize::try_from(pairs).ok())
        .unwrap_or(64)
}

/// How many pairs are missing before a change can be shown at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MissingPairs {
    /// Pairs that are needed.
    pub(super) pairs: usize,
    /// Trials of each cell that give them.
    pub(super) trials: usize,
}

impl MissingPairs {
    /// Of the undecided change with the fewest pairs among `found`; `None` where pairs are not what is missing.
    pub(super) fn of(report: &MatrixReport<'_>, found: &[ContrastEffect]) -> Option<Self> {
        let pairs = pairs_needed(found.len());
        let open = found.iter().filter(|found| {
            matches!(
                found.verdict,
                EffectVerdict::Undecided | EffectVerdict::TooFew
            )
        });
        let fewest = open.map(|found| found.effect.trials()).min()?;
        let blocks = report.trials.iter().map(|trial| trial.block).max()? as usize + 1;
        (fewest < pairs).then(|| Self {
            pairs,
            trials: (pairs * blocks).div_ceil(fewest.max(1)),
        })
    }

    /// For people.
    pub(super) fn sentence(self) -> String {
        format!(
            "Some changes have too few pairs to be told from chance: {} pairs are enough, which {} trials of each cell give.",
            self.pairs, self.trials
        )
    }
}

/// What is compared: `cores 1 → 4`.
pub(super) fn contrast_text(report: &MatrixReport<'_>, contrast: Contrast) -> String {
    let factors = &report.input.factors;
    let step = |factor: usize, (from, to): (usize, usize)| {
        let factor = &factors[factor];
        format!(
            "{} {} → {}",
            factor.name, factor.levels[from], factor.levels[to]
        )
    };
    match contrast {
        Contrast::Main { axis, from, to } => step(axis, (from, to)),
        Contrast::Interaction {
            first,
            first_levels,
            second,
            second_levels,
        } => format!(
            "{} with {}",
            step(first, first_levels),
            step(second, second_levels)
        ),
    }
}

/// The interval of an effect.
fn interval_text(metric: &str, found: &ContrastEffect) -> String {
    let (low, high) = (found.effect.low(), found.effect.high());
    if found.verdict == EffectVerdict::TooFew {
        return "–".to_owned();
    }
    format!("{} to {}", size_text(metric, low), size_text(metric, high))
}

/// An effect in a sentence.
pub(super) fn effect_sentence(
    report: &MatrixReport<'_>,
    metric: &str,
    found: &ContrastEffect,
) -> String {
    let name = MatrixReport::metric_text(metric);
    let what = contrast_text(report, found.contrast);
    let size = size_text(metric, found.effect.estimate());
    let more = match found.contrast {
        Contrast::Main { .. } => String::new(),
        Contrast::Interaction { .. } => " beyond both alone".to_owned(),
    };
    let interval = match found.verdict {
        EffectVerdict::TooFew => "too few pairs for an interval".to_owned(),
        _ => interval_text(metric, found),
    };
    format!("{what}: {name} {size}{more} ({interval})")
}

/// The word of a verdict for people; with fewer pairs than needed it cannot be another.
fn verdict_text(found: &ContrastEffect, needed: usize) -> &'static str {
    match found.verdict {
        EffectVerdict::Better => "better",
        EffectVerdict::Worse => "worse",
        EffectVerdict::Same => "no difference",
        EffectVerdict::Undecided if found.effect.trials() < needed => "too few trials",
        EffectVerdict::Undecided => "undecided",
        EffectVerdict::TooFew => "too few trials",
    }
}

fn verdict_class(verdict: EffectVerdict) -> &'static str {
    match verdict {
        EffectVerdict::Better => "judged pass",
        EffectVerdict::Worse => "judged fail",
        EffectVerdict::Same | EffectVerdict::Undecided | EffectVerdict::TooFew => "judged void",
    }
}

/// A table of effects with their intervals drawn; nothing without effects.
pub(super) fn effects_table(
    report: &MatrixReport<'_>,
    metric: &str,
    found: &[ContrastEffect],
) -> Markup {
    let scale = IntervalScale::of(metric, found);
    let needed = pairs_needed(found.len());
    html! {
        @if !found.is_empty() {
            @if let Some(missing) = MissingPairs::of(report, found) { p { (missing.sentence()) } }
            div.scroll tabindex="0" role="group" aria-label="Effects" {
                table {
                    thead { tr {
                        th scope="col" { "change" }
                        th scope="col" { "effect on " (MatrixReport::metric_text(metric)) }
                        th scope="col" { "judged" }
                        th scope="col" { "95 % interval" }
                        th.wide.zero scope="col" { "no effect" }
                        th scope="col" { "pairs" }
                    } }
                    tbody { @for effect in found { tr {
                        th scope="row" { (printable(&contrast_text(report, effect.contrast))) }
                        td { (size_text(metric, effect.effect.estimate())) }
                        td { span class=(verdict_class(effect.verdict)) { (verdict_text(effect, needed)) } }
                        td { (interval_text(metric, effect)) }
                        td.wide { (scale.draw(effect)) }
                        td { (effect.effect.trials()) }
                    } } }
                }
            }
        }
    }
}

/// Where intervals lie: no difference is in the middle.
struct IntervalScale {
    is_ratio: bool,
    /// Largest distance from no difference, on the scale of the arithmetic.
    reach: f64,
}

impl IntervalScale {
    fn of(metric: &str, found: &[ContrastEffect]) -> Self {
        let is_ratio =
            metrics::definition(metric).is_none_or(|definition| definition.scale == Scale::Ratio);
        let mut scale = Self {
            is_ratio,
            reach: 0.0,
        };
        scale.reach = found
            .iter()
            .flat_map(|found| {
                let effect = &found.effect;
                let estimate = effect.estimate();
                match found.verdict {
                    EffectVerdict::TooFew => [estimate; 3],
                    _ => [effect.low(), estimate, effect.high()],
                }
            })
            .map(|size| scale.distance(size).abs())
            .filter(|distance| distance.is_finite())
            .fold(0.05, f64::max);
        scale
    }

    fn distance(&self, size: f64) -> f64 {
        if self.is_ratio { size.ln() } else { size }
    }

    /// The share of the width at which a size lies.
    fn place(&self, size: f64) -> f64 {
        let distance = self.distance(size).clamp(-self.reach, self.reach);
        // Within the box, so that no mark is cut off.
        f64::midpoint(0.96 * distance / self.reach, 1.0)
    }

    fn draw(&self, found: &ContrastEffect) -> Markup {
        let (low, high) = (
            self.place(found.effect.low()),
            self.place(found.effect.high()),
        );
        let at = percent_of(self.place(found.effect.estimate()));
        html! {
            svg.effect width="100%" height="14" aria-hidden="true" {
                line.none x1="50%" x2="50%" y1="0" y2="14" {}
                @if found.verdict != EffectVerdict::TooFew {
                    line.reach x1=(percent_of(low)) x2=(percent_of(high)) y1="7" y2="7" {}
                }
                circle cx=(at) cy="7" r="4" {}
            }
        }
    }
}
