//! Totals of requests by route since the last sample.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_model::metric;

use super::meaning::SpanRole;
use super::request::{Done, Spent};
use crate::collectors::metrics::MetricsRecorder;

/// Routes recorded by name at most; later ones are merged.
const ROUTES_MAX: usize = 32;
/// Components of a route recorded by name at most, and own steps.
const COMPONENTS_MAX: usize = 12;
const STEPS_MAX: usize = 12;
/// Statements of a route that are recorded at most.
const STATEMENTS_MAX: usize = 6;
/// Executions in one request from which a statement counts as repeated.
const REPEATED: u64 = 2;
/// Label of all others together.
const OTHERS: &str = "others";

/// A route of a service.
type TracedRoute = (Arc<str>, Arc<str>);
/// A component of a route.
type ComponentKey = (SpanRole, Arc<str>);

/// Totals of a route; kept after recording, so that each series continues.
#[derive(Debug, Default)]
struct RouteTotals {
    components: BTreeSet<ComponentKey>,
    statements: BTreeSet<Arc<str>>,
    numbers: Numbers,
}

#[derive(Debug, Default)]
struct Numbers {
    requests: u64,
    failed: u64,
    time_ns: u64,
    queries: u64,
    forms: u64,
    held_ns: u64,
    held_remote_ns: u64,
    components: BTreeMap<ComponentKey, Spent>,
    /// Requests with a call, and with one that failed, by how they ended: whether they failed.
    reached: BTreeMap<(ComponentKey, bool), (u64, u64)>,
    statements: BTreeMap<Arc<str>, u64>,
}

/// All routes.
#[derive(Debug, Default)]
pub(super) struct TraceTotals {
    routes: BTreeMap<TracedRoute, RouteTotals>,
}

impl TraceTotals {
    /// Adds a request.
    pub(super) fn add(
        &mut self,
        service: &Arc<str>,
        route: &Arc<str>,
        is_failed: bool,
        done: &Done,
    ) {
        let mut key = (Arc::clone(service), Arc::clone(route));
        if !self.routes.contains_key(&key) && self.routes.len() >= ROUTES_MAX {
            key = (Arc::from(OTHERS), Arc::from(OTHERS));
        }
        let totals = self.routes.entry(key).or_default();
        let numbers = &mut totals.numbers;
        numbers.requests += 1;
        numbers.failed += u64::from(is_failed);
        numbers.time_ns += done.time_ns;
        numbers.queries += done.statements.values().sum::<u64>();
        numbers.forms += done.statements.len() as u64;
        numbers.held_ns += done.held_ns;
        numbers.held_remote_ns += done.held_remote_ns;
        for (component, spent) in &done.components {
            let own = admitted(&mut totals.components, component);
            if !matches!(own.0, SpanRole::Entry | SpanRole::Step) {
                let reached = numbers.reached.entry((own.clone(), is_failed));
                let reached = reached.or_default();
                reached.0 += u64::from(spent.calls > 0);
                reached.1 += u64::from(spent.failed > 0);
            }
            numbers.components.entry(own).or_default().add(spent);
        }
        for (statement, &count) in &done.statements {
            let has_room = totals.statements.len() < STATEMENTS_MAX;
            if count >= REPEATED && has_room {
                totals.statements.insert(Arc::clone(statement));
            }
            if totals.statements.contains(statement) {
                *numbers.statements.entry(Arc::clone(statement)).or_default() += count;
            }
        }
    }

    /// Records the routes, as increases per second over this many seconds, and resets them.
    pub(super) fn record(&mut self, seconds: f64, metrics: &mut MetricsRecorder<'_>) {
        for ((service, route), totals) in &mut self.routes {
            let numbers = std::mem::take(&mut totals.numbers);
            if numbers.requests == 0 || seconds <= 0.0 {
                continue;
            }
            let labels = [("service", &**service), ("route", &**route)];
            numbers.record(&labels, seconds, metrics);
        }
    }
}

/// The component, or the label for all others where there are too many.
fn admitted(components: &mut BTreeSet<ComponentKey>, component: &ComponentKey) -> ComponentKey {
    if components.contains(component) {
        return component.clone();
    }
    let is_step = component.0 == SpanRole::Step;
    let alike = components
        .iter()
        .filter(|known| (known.0 == SpanRole::Step) == is_step);
    let max = if is_step { STEPS_MAX } else { COMPONENTS_MAX };
    if alike.count() >= max {
        return (component.0, Arc::from(OTHERS));
    }
    components.insert(component.clone());
    component.clone()
}

impl Numbers {
    fn record(&self, of: &[(&str, &str); 2], seconds: f64, metrics: &mut MetricsRecorder<'_>) {
        let count = |number: u64| Some(number as f64 / seconds);
        let time = |ns: u64| Some(ns as f64 / 1e9 / seconds);
        for (name, value) in [
            (metric::TRACE_REQUESTS, count(self.requests)),
            (metric::TRACE_FAILED, count(self.failed)),
            (metric::TRACE_TIME, time(self.time_ns)),
            (metric::TRACE_QUERIES, count(self.queries)),
            (metric::TRACE_QUERY_FORMS, count(self.forms)),
            (metric::TRACE_HELD, time(self.held_ns)),
            (metric::TRACE_HELD_REMOTE, time(self.held_remote_ns)),
        ] {
            metrics.level(name, of, value);
        }
        for ((role, name), spent) in &self.components {
            let labels = [of[0], of[1], ("kind", role.name()), ("component", &**name)];
            // The request's own time has no component name.
            let labels = &labels[..if name.is_empty() { 3 } else { 4 }];
            let shared = Some(spent.shared_ns / 1e9 / seconds);
            metrics.level(metric::TRACE_CALLS, labels, count(spent.calls));
            metrics.level(metric::TRACE_OWN_TIME, labels, time(spent.own_ns));
            metrics.level(metric::TRACE_SHARED_TIME, labels, shared);
            if *role != SpanRole::Entry {
                metrics.level(metric::TRACE_CALLS_FAILED, labels, count(spent.failed));
            }
            if role.is_remote() {
                for (status, number) in [("429", spent.too_many), ("503", spent.unavailable)] {
                    let labels = [labels, &[("status", status)][..]].concat();
                    metrics.level(metric::TRACE_REFUSED, &labels, count(number));
                }
            }
        }
        for (((role, name), is_failed), (made, broken)) in &self.reached {
            let ended = if *is_failed { "failed" } else { "good" };
            let labels = [
                of[0],
                of[1],
                ("kind", role.name()),
                ("component", &**name),
                ("ended", ended),
            ];
            metrics.level(metric::TRACE_REACHED, &labels, count(*made));
            metrics.level(metric::TRACE_BROKEN, &labels, count(*broken));
        }
        for (statement, calls) in &self.statements {
            let labels = [of[0], of[1], ("statement", &**statement)];
            metrics.level(metric::TRACE_REPEATED, &labels, count(*calls));
        }
    }
}
