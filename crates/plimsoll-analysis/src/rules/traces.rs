//! Rules over spans: slow callees, refused calls, connections held during calls, and repeated statements.

#[cfg(test)]
mod tests;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;
use crate::diagnosis::routes::routes;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{J7, J8, J9, J10, R1};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::rules::in_front::BEFORE_STORES;
use crate::rules::{repeated_statements, thread_waits};
use crate::traces::{ComponentUse, RouteUse};

/// Times in one request from which a statement is repeated.
const PER_REQUEST: f64 = 10.0;
/// Share of a route's time from which its database is the limit.
const IN_DATABASE: f64 = 0.3;
/// Share of the time of all requests from which a route counts.
const COUNTS: f64 = 0.2;
/// Sessions that are busy with a route's statements on average, from which they are work.
const SESSIONS: f64 = 1.0;
/// Share of a service's time that a dependency takes, and of its CPUs that are busy meanwhile.
const MOSTLY: f64 = 0.5;
/// Share of the calls that are refused.
const REFUSED: f64 = 0.01;
/// Share of a route's time spent acquiring connections.
const CONNECTING: f64 = 0.2;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        J7,
        "connection held during remote call or idle in transaction",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(held),
            words: held_words,
            remedy: "release connections before another service is called",
            explains: &[BEFORE_STORES],
        }],
    ),
    Rule::new(
        J9,
        "named dependency",
        &[
            Check {
                strength: Strength::Decomposition,
                tier: Tier::Runtime,
                symptom: Symptom::Signs(dependency),
                words: dependency_words,
                remedy: "cache its answers, batch calls, or run them in parallel",
                explains: &[BEFORE_STORES, &[J8]],
            },
            Check {
                strength: Strength::Decomposition,
                tier: Tier::Runtime,
                symptom: Symptom::Change(thread_waits::dependency),
                words: thread_waits::dependency_words,
                remedy: "find what limits it",
                explains: &[BEFORE_STORES, &[J8]],
            },
        ],
    )
    .follows_like(&[R1]),
    Rule::new(
        J10,
        "dependency's rate limit",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(refused),
            words: refused_words,
            remedy: "request a higher quota, cache its answers, retry with backoff",
            explains: &[BEFORE_STORES, &[J7, J8, J9]],
        }],
    ),
];

fn seconds(view: &View<'_>) -> f64 {
    view.rows().count().max(1) as f64
}

fn share_of(route: &RouteUse, kind: &str) -> f64 {
    let components = route
        .components
        .iter()
        .filter(|component| component.kind == kind);
    components.map(|component| component.share).sum()
}

/// A route by its labels.
fn route_of<'a>(routes: &'a [RouteUse], label_set: &str) -> Option<&'a RouteUse> {
    routes.iter().find(|route| {
        label(label_set, "at") == Some(route.at.as_str())
            && label(label_set, "service") == Some(route.service.as_str())
            && label(label_set, "route") == Some(route.route.as_str())
    })
}

/// Shares of a route's time spent in its databases and waiting for a session with them.
fn for_database(route: &RouteUse) -> f64 {
    share_of(route, "database") + share_of(route, "connecting")
}

/// A statement that a route repeats, over one stretch.
#[derive(Clone)]
struct RepeatedStatement {
    label_set: String,
    /// Executions in each request.
    calls: f64,
    /// Executions per second.
    per_second: f64,
    /// Whether the route's database is what its requests wait for.
    is_work: bool,
}

fn repeated_in(view: &View<'_>) -> Vec<RepeatedStatement> {
    let seconds = seconds(view);
    let statements = routes(view).into_iter().flat_map(move |route| {
        let busy = route.requests * route.each_ms / 1e3 / seconds * share_of(&route, "database");
        let is_work =
            route.share >= COUNTS && for_database(&route) >= IN_DATABASE && busy >= SESSIONS;
        let labels = (route.at, route.service, route.route);
        let requests = route.requests;
        route.repeated.into_iter().map(move |repeat| {
            let labels = [
                ("at", labels.0.as_str()),
                ("service", labels.1.as_str()),
                ("route", labels.2.as_str()),
                ("statement", repeat.statement.as_str()),
            ];
            RepeatedStatement {
                label_set: metric::series("", &labels),
                calls: repeat.calls,
                per_second: repeat.calls * requests / seconds,
                is_work,
            }
        })
    });
    statements.collect()
}

/// N+1: requests of a route execute one statement many times, and wait mostly for the database. Skipped where the
/// database itself counts it.
///
/// Beyond its line, requests end where their clients leave, before all of their statements: how many there are in each
/// is known from the load at which it had most.
pub(crate) fn repeated(over: &Stretch3<'_>) -> Vec<Sign> {
    if repeated_statements::statements(&over.failing)
        .iter()
        .any(|sign| sign.present)
    {
        return Vec::new();
    }
    let lower = [repeated_in(&over.passing), repeated_in(&over.base)].concat();
    let signs = repeated_in(&over.failing).into_iter().map(|own| {
        let same = lower.iter().filter(|it| it.label_set == own.label_set);
        let calls = same.fold(own.calls, |most, it| most.max(it.calls));
        Sign {
            magnitude: own.per_second,
            present: own.is_work && calls >= PER_REQUEST,
            label_set: own.label_set,
        }
    });
    signs.collect()
}

pub(crate) fn repeated_words(case: &RuleMatch<'_>) -> Words {
    let statement = label(case.label_set, "statement").unwrap_or("?");
    let over = case.over;
    let all = routes(case.failing());
    let Some(route) = route_of(&all, case.label_set) else {
        return Words::new("one statement many times in each request", String::new());
    };
    let calls = |view: &View<'_>| {
        let routes = routes(view);
        let own = route_of(&routes, case.label_set)?.repeated.iter();
        let own = own.filter(|repeat| repeat.statement == statement);
        own.map(|repeat| repeat.calls).reduce(f64::max)
    };
    let most = [&over.failing, &over.passing, &over.base]
        .into_iter()
        .filter_map(|view| Some((calls(view)?, view)))
        .reduce(|most, other| if other.0 > most.0 { other } else { most });
    let whole = most.map_or_else(Vec::new, |(_, view)| routes(view));
    let whole = route_of(&whole, case.label_set).unwrap_or(route);
    let times = most.map_or(0.0, |(calls, _)| calls);
    let sentence = format!(
        "each {} of {} executed `{statement}` {times:.0} times, of {:.0} statements in {:.0} forms; its databases{} \
         took {:.0} % of its {:.0} ms",
        route.route,
        service(&route.service),
        whole.queries,
        whole.query_forms,
        if share_of(route, "connecting") >= share_of(route, "database") {
            ", mostly the wait for a session,"
        } else {
            ""
        },
        for_database(route) * 100.0,
        route.each_ms
    );
    let series = case.series(metric::TRACE_REPEATED);
    let line = case
        .over
        .evidence((&series, "executions per request", "1"), calls);
    Words::new(
        format!("one statement {times:.0} times in each {}", route.route),
        sentence,
    )
    .with(bounded(line, Some(PER_REQUEST)))
    .advising(repeated_statements::REMEDY.to_owned())
}

fn service(name: &str) -> &str {
    if name.is_empty() { "the service" } else { name }
}

/// A callee of a service: the time that all its requests together spend there.
#[derive(Clone, Debug, Default)]
struct Callee {
    /// Share of the time of all its requests.
    share: f64,
    /// Time in each request, ms.
    each_ms: f64,
    /// Time of each request, ms.
    request_ms: f64,
    /// Calls in each request.
    calls: f64,
    /// Share of the calls that were answered so.
    too_many: f64,
    unavailable: f64,
}

/// Labels of the callees of each service.
fn callees(routes: &[RouteUse]) -> Vec<String> {
    let named = routes.iter().flat_map(|route| {
        let called = route
            .components
            .iter()
            .filter(|component| !matches!(component.kind.as_str(), "itself" | "step"));
        called.map(move |component| {
            metric::series(
                "",
                &[
                    ("at", &route.at),
                    ("service", &route.service),
                    ("kind", &component.kind),
                    ("component", &component.component),
                ],
            )
        })
    });
    let mut named: Vec<String> = named.collect();
    named.sort();
    named.dedup();
    named
}

/// What a service's requests spend with one that it calls; `None` where nothing came of that service.
fn callee(routes: &[RouteUse], label_set: &str) -> Option<Callee> {
    let own = |route: &&RouteUse| {
        label(label_set, "at") == Some(route.at.as_str())
            && label(label_set, "service") == Some(route.service.as_str())
    };
    let is_it = |component: &&ComponentUse| {
        label(label_set, "kind") == Some(component.kind.as_str())
            && label(label_set, "component") == Some(component.component.as_str())
    };
    let (mut requests, mut time_ms, mut found) = (0.0, 0.0, Callee::default());
    for route in routes.iter().filter(own) {
        requests += route.requests;
        time_ms += route.requests * route.each_ms;
        for component in route.components.iter().filter(is_it) {
            let calls = component.calls * route.requests;
            found.each_ms += component.share * route.each_ms * route.requests;
            found.calls += calls;
            found.too_many += component.too_many * calls;
            found.unavailable += component.unavailable * calls;
        }
    }
    if requests <= 0.0 || found.calls <= 0.0 {
        return None;
    }
    found.share = found.each_ms / time_ms.max(f64::MIN_POSITIVE);
    found.each_ms /= requests;
    found.request_ms = time_ms / requests;
    found.too_many /= found.calls;
    found.unavailable /= found.calls;
    found.calls /= requests;
    Some(found)
}

/// Whether a store has its own collector, whose rules are more specific.
fn is_watched(view: &View<'_>, component: &str) -> bool {
    let system = component.split(' ').next().unwrap_or_default();
    let kind = ComponentKind::of_span_system(system);
    kind.is_some_and(|kind| view.has_component(kind))
}

/// J9: most of the time of a service's requests goes into calls of one other, while CPUs have time.
fn dependency(view: &View<'_>) -> Vec<Sign> {
    let routes = routes(view);
    let has_time = view.mean(metric::CPU_BUSY).is_none_or(|busy| busy < MOSTLY);
    let signs = callees(&routes).into_iter().filter_map(|label_set| {
        let called = callee(&routes, &label_set)?;
        let component = label(&label_set, "component").unwrap_or_default();
        let is_store = matches!(
            label(&label_set, "kind"),
            Some("database" | "cache" | "connecting")
        );
        let is_covered = is_store && is_watched(view, component);
        Some(Sign {
            magnitude: called.each_ms,
            present: called.share > MOSTLY && has_time && !is_covered,
            label_set,
        })
    });
    signs.collect()
}

fn dependency_words(case: &RuleMatch<'_>) -> Words {
    let component = label(case.label_set, "component").unwrap_or("?");
    let client = service(label(case.label_set, "service").unwrap_or_default());
    let called = callee(&routes(case.failing()), case.label_set).unwrap_or_default();
    let mut sentence = format!(
        "of the {:.0} ms of each request of {client}, {:.0} ms ({:.0} %) went into {} of {component}",
        called.request_ms,
        called.each_ms,
        called.share * 100.0,
        calls_of(called.calls)
    );
    if let Some(busy) = case.failing().mean(metric::CPU_BUSY) {
        append_clause(
            &mut sentence,
            format_args!(", while the CPUs here were {:.0} % busy", busy * 100.0),
        );
    }
    let series = case.series(metric::TRACE_SHARED_TIME);
    let line = case
        .over
        .evidence((&series, "time in it per request", "ms"), |view| {
            Some(callee(&routes(view), case.label_set)?.each_ms)
        });
    let request = case
        .over
        .evidence((metric::TRACE_TIME, "time of each request", "ms"), |view| {
            Some(callee(&routes(view), case.label_set)?.request_ms)
        });
    Words::new(format!("{component}, which {client} waits for"), sentence)
        .with(line)
        .with(request)
        .advising(format!(
            "find what limits {component}: watch it too. Here: cache its answers, batch or parallelize calls, and give \
             each call a timeout within the request's"
        ))
}

fn calls_of(calls: f64) -> String {
    match times(calls).as_str() {
        "1" => "1 call".to_owned(),
        many => format!("{many} calls"),
    }
}

/// A number of calls: whole ones without a fraction.
fn times(calls: f64) -> String {
    if calls < 10.0 && (calls - calls.round()).abs() > 0.05 {
        format!("{calls:.1}")
    } else {
        format!("{calls:.0}")
    }
}

/// J10: another service refuses calls for now.
fn refused(view: &View<'_>) -> Vec<Sign> {
    let routes = routes(view);
    let signs = callees(&routes).into_iter().filter_map(|label_set| {
        let called = callee(&routes, &label_set)?;
        let share = called.too_many + called.unavailable;
        Some(Sign {
            label_set,
            magnitude: share,
            present: share > REFUSED,
        })
    });
    signs.collect()
}

fn refused_words(case: &RuleMatch<'_>) -> Words {
    let component = label(case.label_set, "component").unwrap_or("?");
    let client = service(label(case.label_set, "service").unwrap_or_default());
    let called = callee(&routes(case.failing()), case.label_set).unwrap_or_default();
    let is_quota = called.too_many > REFUSED;
    let status = if is_quota { "429" } else { "503" };
    let share = if is_quota {
        called.too_many
    } else {
        called.unavailable
    };
    let limit = if is_quota {
        format!("the rate limit of {component}")
    } else {
        format!("{component}, which is unavailable at times")
    };
    let sentence = format!(
        "{component} answered {status} to {:.0} % of the calls of {client}, {} in each request",
        share * 100.0,
        times(called.calls)
    );
    let series = case.series(metric::TRACE_REFUSED);
    let line = case
        .over
        .evidence((&series, "share of the calls refused", "1"), |view| {
            let called = callee(&routes(view), case.label_set)?;
            Some(called.too_many + called.unavailable)
        });
    let remedy = if is_quota {
        format!(
            "request a higher quota from {component}, cache its answers, batch calls, honour its `Retry-After`, and \
             limit retries"
        )
    } else {
        format!(
            "find what limits {component}: watch it too; retry only a limited share of the calls, with backoff"
        )
    };
    Words::new(limit, sentence)
        .with(bounded(line, Some(REFUSED)))
        .advising(remedy)
        .doubtful_if(!is_quota)
}

/// J7: connections to a database are waited for, and most of the time that they are held another service is waited for.
fn held(view: &View<'_>) -> Vec<Sign> {
    let signs = routes(view).into_iter().map(|route| {
        let connecting = share_of(&route, "connecting");
        Sign {
            magnitude: connecting * route.each_ms,
            present: connecting > CONNECTING && route.held_remote_ms > MOSTLY * route.held_ms,
            label_set: metric::series(
                "",
                &[
                    ("at", &route.at),
                    ("service", &route.service),
                    ("route", &route.route),
                ],
            ),
        }
    });
    signs.collect()
}

fn held_words(case: &RuleMatch<'_>) -> Words {
    let all = routes(case.failing());
    let Some(route) = route_of(&all, case.label_set) else {
        return Words::new("connections held", String::new());
    };
    let mut remote = route
        .components
        .iter()
        .filter(|component| matches!(component.kind.as_str(), "http" | "rpc" | "messaging"));
    let remote = remote.next().map_or("another service", ComponentUse::name);
    let wait = |view: &View<'_>| {
        let routes = routes(view);
        let route = route_of(&routes, case.label_set)?;
        Some(share_of(route, "connecting") * route.each_ms)
    };
    let hold = |view: &View<'_>| {
        let routes = routes(view);
        Some(route_of(&routes, case.label_set)?.held_ms)
    };
    let sentence = format!(
        "each {} waited {:.0} ms for a connection to the database; it then holds one in a transaction for {:.0} ms, \
         {:.0} ms of that waiting for {remote}",
        route.route,
        wait(case.failing()).unwrap_or(0.0),
        route.held_ms,
        route.held_remote_ms
    );
    let time = case.series(metric::TRACE_OWN_TIME);
    let waited = (time.as_str(), "wait for a connection per request", "ms");
    let series = case.series(metric::TRACE_HELD);
    let open = (series.as_str(), "time in a transaction per request", "ms");
    Words::new(
        format!(
            "database connections held during calls to {remote} ({})",
            place(case.label_set)
        ),
        sentence,
    )
    .with(case.over.evidence(waited, wait))
    .with(case.over.evidence(open, hold))
    .advising(format!(
        "call {remote} before the transaction begins or after it has ended; then the same connections serve more requests"
    ))
}
