//! Effects as texts, and as a table with intervals.

use maud::{Markup, html};
use plimsoll_analysis::experiment::effect::EffectVerdict;
use plimsoll_analysis::experiment::matrix::{Contrast, ContrastEffect};
use plimsoll_analysis::experiment::metrics;
use plimsoll_analysis::experiment::trial::Scale;

use super::MatrixReport;
use crate::chart::percent_of;
use crate::number::{percent, short};
use crate::printable::printable;

/// The size of an effect: `+12.3 %`, or points of a share.
pub(super) fn size_text(metric: &str, size: f64) -> String {
    let is_difference =
        metrics::definition(metric).is_some_and(|definition| definition.scale == Scale::Difference);
    let change = if is_difference { size } else { size - 1.0 };
    let sign = if change > 0.0 { "+" } else { "" };
    if is_difference {
        format!("{sign}{} points", short(change * 100.0))
    } else {
        format!("{sign}{}", percent(change))
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
        return format!("too few trials: {} pairs", found.effect.trials());
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
    format!(
        "{what}: {name} {size}{more} ({})",
        interval_text(metric, found)
    )
}

/// The word of a verdict for people.
fn verdict_text(verdict: EffectVerdict) -> &'static str {
    match verdict {
        EffectVerdict::Better => "better",
        EffectVerdict::Worse => "worse",
        EffectVerdict::Same => "no difference",
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
    html! {
        @if !found.is_empty() {
            div.scroll tabindex="0" role="region" aria-label="Effects" {
                table {
                    thead { tr {
                        th scope="col" { "change" }
                        th scope="col" { "effect on " (MatrixReport::metric_text(metric)) }
                        th scope="col" { "95 % interval" }
                        th.wide scope="col" { "" }
                        th scope="col" { "pairs" }
                        th scope="col" { "judged" }
                    } }
                    tbody { @for effect in found { tr {
                        th scope="row" { (printable(&contrast_text(report, effect.contrast))) }
                        td { (size_text(metric, effect.effect.estimate())) }
                        td { (interval_text(metric, effect)) }
                        td.wide { (scale.draw(effect)) }
                        td { (effect.effect.trials()) }
                        td { span class=(verdict_class(effect.verdict)) { (verdict_text(effect.verdict)) } }
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
                [effect.low(), effect.estimate(), effect.high()]
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
        f64::midpoint(distance / self.reach, 1.0)
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
                line.reach x1=(percent_of(low)) x2=(percent_of(high)) y1="7" y2="7" {}
                circle cx=(at) cy="7" r="4" {}
            }
        }
    }
}
