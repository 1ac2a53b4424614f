//! Objects of what requests spend their time on.

use plimsoll_analysis::traces::{ComponentUse, RouteUse, of};
use plimsoll_model::run::Run;
use schemars::JsonSchema;
use serde::Serialize;

/// A route of a service that was traced.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TracedRoute")]
pub struct RouteObject {
    /// The service; empty where it does not say.
    pub service: String,
    /// What was asked for, such as `GET /orders/:id`.
    pub route: String,
    /// Requests that were traced, about.
    pub requests: f64,
    /// Share of the time of all requests that were traced, 0 to 1.
    pub share: f64,
    /// Time of each request, ms.
    pub each_ms: f64,
    /// Share of its requests that failed by the service's fault, 0 to 1.
    pub failed: f64,
    /// Statements of databases in each request.
    pub queries: f64,
    /// The same, with those of one form counted once.
    pub query_forms: f64,
    /// What its time went to, most first.
    pub components: Vec<ComponentObject>,
    /// Statements that a request repeats, most first.
    pub repeated: Vec<RepeatedObject>,
}

/// What a route's time went to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TracedComponent")]
pub struct ComponentObject {
    /// `itself`, `database`, `connecting`, `cache`, `http`, `rpc`, `messaging` or `step`.
    pub kind: String,
    /// Who was called or what was done.
    pub component: String,
    /// Share of the route's time, 0 to 1; what ran at once shares it.
    pub share: f64,
    /// Calls in each request.
    pub calls: f64,
    /// Time of each call, ms, without what it called itself.
    pub each_ms: f64,
    /// Share of the calls that failed, 0 to 1.
    pub failed: f64,
    /// Share of the calls that were answered 429, 0 to 1.
    pub too_many: f64,
    /// Share of the calls that were answered 503, 0 to 1.
    pub unavailable: f64,
}

/// A statement that a request repeats.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RepeatedStatement")]
pub struct RepeatedObject {
    /// Its form, without values.
    pub statement: String,
    /// Times in each request.
    pub calls: f64,
}

impl RouteObject {
    /// All routes of a run.
    pub(super) fn all(run: &Run) -> Vec<Self> {
        of(run).into_iter().map(Self::from_route).collect()
    }

    fn from_route(route: RouteUse) -> Self {
        let repeated = route.repeated.into_iter().map(|repeat| RepeatedObject {
            statement: repeat.statement,
            calls: repeat.calls,
        });
        Self {
            service: route.service,
            route: route.route,
            requests: route.requests,
            share: route.share,
            each_ms: route.each_ms,
            failed: route.failed,
            queries: route.queries,
            query_forms: route.query_forms,
            components: route.components.iter().map(ComponentObject::of).collect(),
            repeated: repeated.collect(),
        }
    }
}

impl ComponentObject {
    fn of(component: &ComponentUse) -> Self {
        Self {
            kind: component.kind.clone(),
            component: component.name().to_owned(),
            share: component.share,
            calls: component.calls,
            each_ms: component.each_ms,
            failed: component.failed,
            too_many: component.too_many,
            unavailable: component.unavailable,
        }
    }
}
