//! Attributes from spans, of failed and of successful requests: their route, and the calls they made.

use std::collections::BTreeMap;

use plimsoll_model::labels::label_set;
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use super::FailureCandidate;
use crate::findings::SecondRange;

/// Failed and good ones.
type FailedAndGood = (f64, f64);
/// Service, kind and component.
type CallKey<'a> = (&'a str, &'a str, &'a str);

/// Routes and calls of services that are traced.
pub(super) fn candidates(readings: &SeriesTable, (from, to): SecondRange) -> Vec<FailureCandidate> {
    let sum = |series: &str| -> f64 { readings.between(series, from, to).into_iter().sum() };
    let mut services = BTreeMap::<&str, FailedAndGood>::new();
    let mut routes = BTreeMap::<&str, BTreeMap<&str, FailedAndGood>>::new();
    for series in readings.names_of(metric::TRACE_REQUESTS) {
        let (Some(service), Some(route)) = (label(series, "service"), label(series, "route"))
        else {
            continue;
        };
        let label_set = label_set(series);
        let failed = sum(&format!("{}{label_set}", metric::TRACE_FAILED));
        let good = (sum(series) - failed).max(0.0);
        add(services.entry(service).or_default(), (failed, good));
        let own = routes.entry(service).or_default();
        add(own.entry(route).or_default(), (failed, good));
    }
    services.retain(|_, counts| whole(counts.0) > 0);
    let mut candidates = Vec::new();
    for (service, all) in &services {
        let own = routes.remove(service).unwrap_or_default();
        if own.len() < 2 {
            continue;
        }
        let own = own.into_iter().map(|(route, with)| {
            let thing = format!("route {route} of {service}");
            candidate(thing, with, *all)
        });
        candidates.extend(own);
    }
    let by_callee = |metric| by_callee(readings, metric, &sum);
    for (callee, made) in by_callee(metric::TRACE_REACHED) {
        if let Some(all) = services.get(callee.0) {
            let without = ((all.0 - made.0).max(0.0), (all.1 - made.1).max(0.0));
            let thing = format!(
                "no call of {} by {}: it was never reached",
                callee.2, callee.0
            );
            candidates.push(candidate(thing, without, *all));
        }
    }
    for (callee, broken) in by_callee(metric::TRACE_BROKEN) {
        if let Some(all) = services.get(callee.0) {
            let thing = format!("a call of {} by {} that failed", callee.2, callee.0);
            candidates.push(candidate(thing, broken, *all));
        }
    }
    candidates
}

fn add(to: &mut FailedAndGood, counts: FailedAndGood) {
    *to = (to.0 + counts.0, to.1 + counts.1);
}

/// Requests of each service by callee.
fn by_callee<'a>(
    readings: &'a SeriesTable,
    metric: &'a str,
    sum: &impl Fn(&str) -> f64,
) -> BTreeMap<CallKey<'a>, FailedAndGood> {
    let mut callees = BTreeMap::<CallKey<'_>, FailedAndGood>::new();
    for series in readings.names_of(metric) {
        let named = (
            label(series, "service"),
            label(series, "kind"),
            label(series, "component"),
        );
        let (Some(service), Some(kind), Some(component)) = named else {
            continue;
        };
        let count = sum(series);
        let counts = match label(series, "ended") {
            Some("failed") => (count, 0.0),
            _ => (0.0, count),
        };
        add(
            callees.entry((service, kind, component)).or_default(),
            counts,
        );
    }
    callees
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sums of counts are positive and far below 2^53"
)]
fn whole(count: f64) -> u64 {
    count.round().max(0.0) as u64
}

fn candidate(thing: String, with: FailedAndGood, all: FailedAndGood) -> FailureCandidate {
    let (failed, good) = (whole(all.0), whole(all.1));
    FailureCandidate {
        thing,
        failed_with: whole(with.0).min(failed),
        failed,
        good_with: whole(with.1).min(good),
        good,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::reading::Readings;

    use super::*;

    #[test]
    fn failures_that_never_reached_the_database() {
        let of = |metric: &str, route: &str, more: &[(&str, &str)]| {
            let labels = [("at", "a:1"), ("service", "shop"), ("route", route)];
            metric::series(metric, &[&labels[..], more].concat())
        };
        let database = |metric: &str, ended: &str| {
            let more = [
                ("kind", "database"),
                ("component", "postgresql db:5432"),
                ("ended", ended),
            ];
            of(metric, "GET /a", &more)
        };
        let values = [
            (of(metric::TRACE_REQUESTS, "GET /a", &[]), 900.0),
            (of(metric::TRACE_FAILED, "GET /a", &[]), 90.0),
            (of(metric::TRACE_REQUESTS, "GET /b", &[]), 100.0),
            (of(metric::TRACE_FAILED, "GET /b", &[]), 10.0),
            (database(metric::TRACE_REACHED, "failed"), 60.0),
            (database(metric::TRACE_REACHED, "good"), 890.0),
            (database(metric::TRACE_BROKEN, "failed"), 55.0),
            (database(metric::TRACE_BROKEN, "good"), 1.0),
        ];
        let mut table = SeriesTable::default();
        table.push(&Readings {
            second: 3,
            values: values.into(),
            new_series: BTreeMap::new(),
        });
        let evaluated: Vec<_> = candidates(&table, (0, 9))
            .into_iter()
            .map(FailureCandidate::evaluate)
            .collect();
        assert_eq!(evaluated.len(), 4, "{evaluated:#?}");
        let named = |begin: &str| {
            let mut evaluated = evaluated.iter();
            evaluated
                .find(|candidate| candidate.thing.starts_with(begin))
                .unwrap()
        };
        assert!(named("route GET /a of shop").p > 0.1);
        let never = named("no call of postgresql db:5432 by shop");
        assert!(
            never.p < 1e-9 && (never.of_failures - 0.4).abs() < 1e-9,
            "{never:?}"
        );
        let broken = named("a call of postgresql db:5432 by shop that failed");
        assert!(
            broken.p < 1e-9 && (broken.of_failures - 0.55).abs() < 1e-9,
            "{broken:?}"
        );
        assert!(candidates(&table, (4, 9)).is_empty());
    }
}
