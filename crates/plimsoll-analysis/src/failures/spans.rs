//! What spans tell of requests that failed and of those that did not: their route, and which calls they made.

use std::collections::BTreeMap;

use plimsoll_model::labels::subject;
use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use super::Look;
use crate::findings::Span;

/// Failed and good ones.
type Counts = (f64, f64);
/// Service, kind and component.
type Part<'a> = (&'a str, &'a str, &'a str);

/// Routes and calls of services that are traced.
pub(super) fn looks(readings: &SeriesTable, (from, to): Span) -> Vec<Look> {
    let sum = |series: &str| -> f64 { readings.between(series, from, to).into_iter().sum() };
    let mut services = BTreeMap::<&str, Counts>::new();
    let mut routes = BTreeMap::<&str, BTreeMap<&str, Counts>>::new();
    for series in readings.names_of(metric::TRACE_REQUESTS) {
        let (Some(service), Some(route)) = (label(series, "service"), label(series, "route"))
        else {
            continue;
        };
        let subject = subject(series);
        let failed = sum(&format!("{}{subject}", metric::TRACE_FAILED));
        let good = (sum(series) - failed).max(0.0);
        add(services.entry(service).or_default(), (failed, good));
        let own = routes.entry(service).or_default();
        add(own.entry(route).or_default(), (failed, good));
    }
    services.retain(|_, counts| whole(counts.0) > 0);
    let mut looks = Vec::new();
    for (service, all) in &services {
        let own = routes.remove(service).unwrap_or_default();
        if own.len() < 2 {
            continue;
        }
        let own = own.into_iter().map(|(route, with)| {
            let thing = format!("route {route} of {service}");
            look(thing, with, *all)
        });
        looks.extend(own);
    }
    let parts = |metric| by_part(readings, metric, &sum);
    for (part, made) in parts(metric::TRACE_REACHED) {
        if let Some(all) = services.get(part.0) {
            let without = ((all.0 - made.0).max(0.0), (all.1 - made.1).max(0.0));
            let thing = format!("no call of {} by {}: it was never reached", part.2, part.0);
            looks.push(look(thing, without, *all));
        }
    }
    for (part, broken) in parts(metric::TRACE_BROKEN) {
        if let Some(all) = services.get(part.0) {
            let thing = format!("a call of {} by {} that failed", part.2, part.0);
            looks.push(look(thing, broken, *all));
        }
    }
    looks
}

fn add(to: &mut Counts, counts: Counts) {
    *to = (to.0 + counts.0, to.1 + counts.1);
}

/// Requests of each service by whom they called.
fn by_part<'a>(
    readings: &'a SeriesTable,
    metric: &'a str,
    sum: &impl Fn(&str) -> f64,
) -> BTreeMap<Part<'a>, Counts> {
    let mut parts = BTreeMap::<Part<'_>, Counts>::new();
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
        add(parts.entry((service, kind, component)).or_default(), counts);
    }
    parts
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sums of counts are positive and far below 2^53"
)]
fn whole(count: f64) -> u64 {
    count.round().max(0.0) as u64
}

fn look(thing: String, with: Counts, all: Counts) -> Look {
    let (failed, good) = (whole(all.0), whole(all.1));
    Look {
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
        let judged: Vec<_> = looks(&table, (0, 9))
            .into_iter()
            .map(Look::judged)
            .collect();
        assert_eq!(judged.len(), 4, "{judged:#?}");
        let named = |begin: &str| {
            let mut judged = judged.iter();
            judged.find(|one| one.thing.starts_with(begin)).unwrap()
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
        assert!(looks(&table, (4, 9)).is_empty());
    }
}
