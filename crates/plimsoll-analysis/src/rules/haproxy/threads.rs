//! CPU of HAProxy's threads.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::SeriesTable;

use crate::diagnosis::component::place;
use crate::diagnosis::gauges::{Gauge, shares};
use crate::diagnosis::measure::{subject_of, sustained};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{H10, N1};
use crate::diagnosis::stretch::{View, bounded};

/// Idle share of HAProxy's threads below which they have little to spare.
const IDLE_MIN: f64 = 0.20;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    H10,
    "HAProxy CPU",
    &[Check {
        strength: Strength::Utilisation,
        tier: Tier::Proxy,
        symptom: Symptom::Signs(busy),
        words: busy_words,
        remedy: "give HAProxy more threads (`nbthread`), resume TLS sessions or terminate \
                 TLS elsewhere, and keep connections alive",
        explains: &[&[N1]],
    }],
)
.tried_on_series()];

/// H10.
fn busy(view: &View<'_>) -> Vec<Sign> {
    let idle = view.series_of(metric::HAPROXY_IDLE);
    idle.filter_map(|series| {
        let share = view.share_of_seconds(|row| Some(row.get(series)? < IDLE_MIN));
        sustained(subject_of(series), share)
    })
    .collect()
}

fn busy_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let idle = case.series(metric::HAPROXY_IDLE);
    let at = place(case.label_set);
    Words::new(
        format!("CPU of HAProxy ({at})"),
        format!(
            "HAProxy's threads were idle {:.0} % of the time",
            view.mean(&idle).unwrap_or(0.0) * 100.0
        ),
    )
    .with(bounded(
        case.line(&idle, "idle share of HAProxy's threads"),
        Some(IDLE_MIN),
    ))
    .with(case.line(metric::CPU_BUSY, "share of all CPUs that was busy"))
}

/// CPU of the threads.
pub(crate) fn gauges(readings: &SeriesTable) -> Vec<Gauge> {
    let idle = shares(
        readings,
        metric::HAPROXY_IDLE,
        (&[H10], 0.8),
        "CPU of HAProxy",
    );
    idle.into_iter().map(Gauge::of_free).collect()
}
