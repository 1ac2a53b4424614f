//! Objects of traced requests.

use plimsoll_analysis::traces::{ComponentUse, RouteUse, of};
use plimsoll_model::run::Run;
use schemars::JsonSchema;
use serde::Serialize;

/// A route of a service that was traced.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TracedRoute")]
pub struct RouteObject {
    /// The service; empty if unknown.
    pub service: String,
    /// The operation, such as `GET /orders/:id`.
    pub route: String,
    /// Traced requests, estimated.
    pub requests: f64,
    /// Share of the time of all traced requests, 0 to 1.
    pub share: f64,
    /// Time of each request, ms.
    pub each_ms: f64,
    /// Share of its requests that failed in the service, 0 to 1.
    pub failed: f64,
    /// Database statements per request.
    pub queries: f64,
    /// The same, with each form counted once.
    pub query_forms: f64,
    /// Components of its time, the most first.
    pub components: Vec<ComponentObject>,
    /// Statements that a request repeats, most first.
    pub repeated: Vec<RepeatedObject>,
}

/// A component of a route's time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "TracedComponent")]
pub struct ComponentObject {
    /// `itself`, `database`, `connecting`, `cache`, `http`, `rpc`, `messaging` or `step`.
    pub kind: String,
    /// The callee or the operation.
    pub component: String,
    /// Share of the route's time, 0 to 1; parallel calls share it.
    pub share: f64,
    /// Calls per request.
    pub calls: f64,
    /// Time per call, ms, without the calls that it made itself.
    pub each_ms: f64,
    /// Share of the calls that failed, 0 to 1.
    pub failed: f64,
    /// Share of the calls with status 429, 0 to 1.
    pub too_many: f64,
    /// Share of the calls with status 503, 0 to 1.
    pub unavailable: f64,
}

/// A statement that a request repeats.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "RepeatedStatement")]
pub struct RepeatedObject {
    /// Its form, without values.
    pub statement: String,
    /// Repetitions per request.
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
