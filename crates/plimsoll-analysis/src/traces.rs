//! Where requests spend their time, route by route, from spans.

use std::collections::BTreeMap;

use plimsoll_model::labels::{label, label_set, labels};
use plimsoll_model::metric;
use plimsoll_model::run::Run;

/// Most routes, and components of each, reported.
const ROUTES_MAX: usize = 12;
const COMPONENTS_MAX: usize = 12;

/// A route of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteUse {
    /// Where its spans were received.
    pub at: String,
    /// The service; empty where unknown.
    pub service: String,
    /// The route, such as `GET /orders/:id`.
    pub route: String,
    /// Requests that were traced.
    pub requests: f64,
    /// Share of the time of all requests that were traced.
    pub share: f64,
    /// Time of each request, ms.
    pub each_ms: f64,
    /// Share of its requests that failed by the service's fault.
    pub failed: f64,
    /// Statements of databases in each request.
    pub queries: f64,
    /// The same, with those of one form counted once.
    pub query_forms: f64,
    /// Time that transactions were open in each request, ms.
    pub held_ms: f64,
    /// Of this, time in which another service was waited for, ms.
    pub held_remote_ms: f64,
    /// What its time went to, most first.
    pub components: Vec<ComponentUse>,
    /// Statements that a request repeats, most first.
    pub repeated: Vec<RepeatedUse>,
}

/// What a route's time went to.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentUse {
    /// `itself`, `database`, `connecting`, `cache`, `http`, `rpc`, `messaging` or `step`.
    pub kind: String,
    /// The callee or operation; empty for the service's own work.
    pub component: String,
    /// Share of the route's time; concurrent components divide it.
    pub share: f64,
    /// Calls in each request.
    pub calls: f64,
    /// Time of each call, ms, without its own calls.
    pub each_ms: f64,
    /// Share of the calls that failed.
    pub failed: f64,
    /// Share of the calls that were answered 429.
    pub too_many: f64,
    /// Share of the calls that were answered 503.
    pub unavailable: f64,
}

impl ComponentUse {
    /// Its name in texts.
    pub fn name(&self) -> &str {
        if self.component.is_empty() {
            "the service itself"
        } else {
            &self.component
        }
    }
}

/// A statement that a request repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedUse {
    /// Its form, without values.
    pub statement: String,
    /// Times in each request.
    pub calls: f64,
}

/// The routes that took most time over a run, most first; empty where no spans came.
pub fn of(run: &Run) -> Vec<RouteUse> {
    let table = &run.readings;
    let sum = |series: &str| -> f64 {
        let values = table.values(series).unwrap_or(&[]).iter();
        values.filter(|value| !value.is_nan()).sum()
    };
    let mut routes = collect_routes(|metric| table.names_of(metric).collect(), sum);
    routes.truncate(ROUTES_MAX);
    for route in &mut routes {
        route.components.truncate(COMPONENTS_MAX);
    }
    routes
}

/// Labels of a route.
type TraceRouteKey<'a> = (&'a str, &'a str, &'a str);

fn key(series: &str) -> Option<TraceRouteKey<'_>> {
    Some((
        label(series, "at")?,
        label(series, "service")?,
        label(series, "route")?,
    ))
}

/// All routes, of the series of each metric and the sum of each series over a stretch.
pub(crate) fn collect_routes<'a>(
    names: impl Fn(&'static str) -> Vec<&'a str>,
    sum: impl Fn(&str) -> f64,
) -> Vec<RouteUse> {
    let mut routes = BTreeMap::<TraceRouteKey<'_>, RouteUse>::new();
    for series in names(metric::TRACE_REQUESTS) {
        let requests = sum(series);
        if let Some(key) = key(series).filter(|_| requests > 0.0) {
            routes.insert(key, route(key, requests, &sum));
        }
    }
    for series in names(metric::TRACE_CALLS) {
        let found = key(series).and_then(|key| routes.get_mut(&key));
        if let Some(route) = found {
            let component = component_use(series, route.requests, route.each_ms, &sum);
            route.components.extend(component);
        }
    }
    for series in names(metric::TRACE_REPEATED) {
        let found = key(series).and_then(|key| routes.get_mut(&key));
        if let (Some(route), Some(statement)) = (found, label(series, "statement")) {
            route.repeated.push(RepeatedUse {
                statement: statement.to_owned(),
                calls: sum(series) / route.requests,
            });
        }
    }
    let whole: f64 = routes
        .values()
        .map(|route| route.requests * route.each_ms)
        .sum();
    let mut routes: Vec<RouteUse> = routes.into_values().collect();
    for route in &mut routes {
        route.share = ratio(route.requests * route.each_ms, whole);
        route.components.sort_by(|a, b| b.share.total_cmp(&a.share));
        route.repeated.sort_by(|a, b| b.calls.total_cmp(&a.calls));
    }
    routes.sort_by(|a, b| b.share.total_cmp(&a.share));
    routes
}

/// 0 of nothing.
fn ratio(amount: f64, whole: f64) -> f64 {
    if whole > 0.0 { amount / whole } else { 0.0 }
}

fn route(
    (at, service, route): TraceRouteKey<'_>,
    requests: f64,
    sum: &impl Fn(&str) -> f64,
) -> RouteUse {
    let labels = [("at", at), ("service", service), ("route", route)];
    let each = |metric: &str| sum(&metric::series(metric, &labels)) / requests;
    RouteUse {
        at: at.to_owned(),
        service: service.to_owned(),
        route: route.to_owned(),
        requests,
        share: 0.0,
        each_ms: each(metric::TRACE_TIME) * 1e3,
        failed: each(metric::TRACE_FAILED),
        queries: each(metric::TRACE_QUERIES),
        query_forms: each(metric::TRACE_QUERY_FORMS),
        held_ms: each(metric::TRACE_HELD) * 1e3,
        held_remote_ms: each(metric::TRACE_HELD_REMOTE) * 1e3,
        components: Vec::new(),
        repeated: Vec::new(),
    }
}

/// A component of a route, by the series of its calls.
fn component_use(
    calls: &str,
    requests: f64,
    each_ms: f64,
    sum: &impl Fn(&str) -> f64,
) -> Option<ComponentUse> {
    let label_set = label_set(calls);
    let of = |metric: &str| sum(&format!("{metric}{label_set}"));
    let count = sum(calls);
    let refused = |status: &str| {
        let labelled: Vec<(&str, &str)> = labels(calls).chain([("status", status)]).collect();
        ratio(
            sum(&metric::series(metric::TRACE_REFUSED, &labelled)),
            count,
        )
    };
    Some(ComponentUse {
        kind: label(calls, "kind")?.to_owned(),
        component: label(calls, "component").unwrap_or_default().to_owned(),
        share: ratio(of(metric::TRACE_SHARED_TIME) * 1e3, requests * each_ms),
        calls: count / requests,
        each_ms: ratio(of(metric::TRACE_OWN_TIME) * 1e3, count),
        failed: ratio(of(metric::TRACE_CALLS_FAILED), count),
        too_many: refused("429"),
        unavailable: refused("503"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_made_of_sums() {
        let route = [
            ("at", "a:1"),
            ("service", "shop"),
            ("route", "GET /{shop},{item}"),
        ];
        let with = |metric: &str, more: &[(&str, &str)]| {
            metric::series(metric, &[&route[..], more].concat())
        };
        let database = [("kind", "database"), ("component", "postgresql db:1")];
        let itself = [("kind", "itself")];
        let refused = [&database[..], &[("status", "429")]].concat();
        let values = BTreeMap::from([
            (with(metric::TRACE_REQUESTS, &[]), 10.0),
            (with(metric::TRACE_TIME, &[]), 2.0),
            (with(metric::TRACE_FAILED, &[]), 1.0),
            (with(metric::TRACE_QUERIES, &[]), 120.0),
            (with(metric::TRACE_QUERY_FORMS, &[]), 30.0),
            (with(metric::TRACE_CALLS, &database), 120.0),
            (with(metric::TRACE_OWN_TIME, &database), 2.4),
            (with(metric::TRACE_SHARED_TIME, &database), 1.5),
            (with(metric::TRACE_REFUSED, &refused), 12.0),
            (with(metric::TRACE_CALLS, &itself), 10.0),
            (with(metric::TRACE_OWN_TIME, &itself), 0.5),
            (with(metric::TRACE_SHARED_TIME, &itself), 0.5),
            (
                with(metric::TRACE_REPEATED, &[("statement", "SELECT ?")]),
                100.0,
            ),
        ]);
        let names = |metric: &'static str| {
            let begin = format!("{metric}{{");
            let names = values.keys().filter(|name| name.starts_with(&begin));
            names.map(String::as_str).collect()
        };
        let routes = collect_routes(names, |series| values.get(series).copied().unwrap_or(0.0));
        let [route] = &routes[..] else {
            panic!("{routes:?}");
        };
        assert_eq!(route.route, "GET /{shop},{item}");
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(route.each_ms, 200.0) && near(route.failed, 0.1) && near(route.share, 1.0));
        assert!(near(route.queries, 12.0) && near(route.query_forms, 3.0));
        assert!(near(route.repeated[0].calls, 10.0));
        let [first, second] = &route.components[..] else {
            panic!("{route:?}");
        };
        assert_eq!(first.name(), "postgresql db:1");
        assert!(near(first.share, 0.75) && near(first.calls, 12.0) && near(first.each_ms, 20.0));
        assert!(near(first.too_many, 0.1) && near(first.unavailable, 0.0));
        assert_eq!(second.name(), "the service itself");
        assert!(near(second.share, 0.25) && near(second.each_ms, 50.0));
    }
}
