//! Pools of connections that a program holds, to databases and to services, and programs without one.

#[cfg(test)]
mod tests;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::metric::{TO_DATABASE, TO_HTTP};
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;
use crate::diagnosis::measure::{subject_of, sustained};
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{C1, C3, J6, J8, J11, P2, Q2, R1};
use crate::diagnosis::stretch::{SecondValues, View, bounded};
use crate::rules::in_front::BEFORE_STORES;

/// Sessions that begin per second, in how many of the requests that were answered, and which share of all CPUs that takes, from
/// which a pool is missing.
const BEGUN_MIN: f64 = 5.0;
const BEGUN_SHARE: f64 = 0.5;
const BEGUN_COST: f64 = 0.25;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        J6,
        "DB connection pool",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(to_database),
            words: to_database_words,
            remedy: "raise the pool's size",
            explains: &[BEFORE_STORES],
        }],
    )
    .follows_like(&[R1]),
    Rule::new(
        J8,
        "client pool per host",
        &[Check {
            strength: Strength::Queue,
            tier: Tier::Runtime,
            symptom: Symptom::Signs(to_http),
            words: to_http_words,
            remedy: "raise the pool's size",
            explains: &[BEFORE_STORES],
        }],
    ),
    Rule::new(
        J11,
        "no pool: a session of the database for each request",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Store,
            symptom: Symptom::Signs(begun_per_request),
            words: begun_per_request_words,
            remedy: "keep sessions: a pool in the application, persistent connections \
                 (`PDO::ATTR_PERSISTENT` in PHP, `CONN_MAX_AGE` in Django), or a pooler before the \
                 database (pgbouncer, ProxySQL)",
            explains: &[BEFORE_STORES, &[P2, Q2, C1, C3]],
        }],
    ),
];

/// The same series of another metric.
fn beside(metric: &str, label_set: &str) -> String {
    format!("{metric}{label_set}")
}

/// Whether every slot is in use, as far as reported.
fn is_full(row: SecondValues<'_>, label_set: &str) -> bool {
    let value = |metric| row.get(&beside(metric, label_set));
    match (value(metric::POOL_USED), value(metric::POOL_LIMIT)) {
        (Some(used), Some(limit)) => used >= limit,
        _ => true,
    }
}

/// Pools of one kind whose connections are all in use while requests wait for one.
fn waited_for(view: &View<'_>, to: &str) -> Vec<Sign> {
    let waiting = view.series_of(metric::POOL_WAITING);
    let waits = view.series_of(metric::POOL_WAITS);
    let pools = waiting.chain(waits);
    let own = pools.filter(|series| label(series, "to") == Some(to));
    let signs = own.filter_map(|series| {
        let label_set = subject_of(series);
        let share =
            view.share_of_seconds(|row| Some(row.get(series)? > 0.0 && is_full(row, label_set)));
        sustained(label_set, share)
    });
    signs.collect()
}

/// J6: all connections of a pool to a database are used, and requests wait for one.
fn to_database(view: &View<'_>) -> Vec<Sign> {
    waited_for(view, TO_DATABASE)
}

/// Sessions opened per answered request, and the share of all CPUs that opening takes, estimated from the collector's
/// own session.
fn begun(view: &View<'_>, series: &str) -> Option<(f64, f64)> {
    let begun = view.mean(series)?;
    let answered = view.sum(|window| window.response.count())? as f64 / view.windows().len() as f64;
    let each_s = view.min(&beside(metric::DATABASE_SESSION_START, subject_of(series)))?;
    let cpus = view.max(metric::CPU_COUNT)?;
    Some((begun / answered.max(1.0), begun * each_s / cpus.max(1.0)))
}

/// J11: requests begin sessions of a database of their own, and that alone takes much of the CPUs.
fn begun_per_request(view: &View<'_>) -> Vec<Sign> {
    let all = view.series_of(metric::DATABASE_SESSIONS_BEGUN);
    let signs = all.filter_map(|series| {
        let (per_request, cost) = begun(view, series)?;
        let is_often = view.mean(series)? >= BEGUN_MIN && per_request >= BEGUN_SHARE;
        let present = is_often && cost >= BEGUN_COST && view.serves_requests();
        Some(Sign::of(subject_of(series), cost, present))
    });
    signs.collect()
}

fn begun_per_request_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let series = case.series(metric::DATABASE_SESSIONS_BEGUN);
    let cost = begun(view, &series).map_or(0.0, |sessions| sessions.1);
    let at = place(case.label_set);
    let start = case.series(metric::DATABASE_SESSION_START);
    let evidence = case
        .over
        .evidence((&series, "sessions opened per request", "1"), |view| {
            Some(begun(view, &series)?.0)
        });
    // Under the failing load some sessions were opened for requests that were never answered.
    let per_request = evidence.passing.or(evidence.base).or(evidence.failing);
    Words::new(
        format!("new database sessions at {at} for each request"),
        format!(
            "each request opened {:.1} sessions at {at}, {:.0} a second in all; at {:.1} ms each, opening them takes \
             {:.0} % of all CPUs before any statement runs",
            per_request.unwrap_or(0.0),
            view.mean(&series).unwrap_or(0.0),
            view.min(&start).unwrap_or(0.0) * 1e3,
            cost * 100.0
        ),
    )
    .with(bounded(evidence, Some(BEGUN_SHARE)))
    .with(case.line(&series, "sessions opened, per second"))
    .with(case.line(&start, "time to open a session"))
}

/// J8: all connections of an HTTP client's pool are used, and requests wait for one.
fn to_http(view: &View<'_>) -> Vec<Sign> {
    waited_for(view, TO_HTTP)
}

/// Texts of both, with the remedy.
fn words(case: &RuleMatch<'_>, what: &str, advice: &str) -> Words {
    let view = case.failing();
    let [used, limit, waiting, waits] = [
        metric::POOL_USED,
        metric::POOL_LIMIT,
        metric::POOL_WAITING,
        metric::POOL_WAITS,
    ]
    .map(|metric| case.series(metric));
    let name = label(case.label_set, "pool").filter(|name| !name.is_empty());
    let pool = name.map_or(what.to_owned(), |name| format!("{what} {name}"));
    let most = view.max(&limit);
    let mut sentence = match most {
        Some(most) if most < 1.5 => format!("the only connection of {pool} was busy"),
        Some(most) => format!("all {most:.0} connections of {pool} were busy"),
        None => format!("all connections of {pool} were busy"),
    };
    match (view.max(&waiting), view.mean(&waits)) {
        (Some(waiting), _) => append_clause(
            &mut sentence,
            format_args!(" while up to {waiting:.0} requests waited for one"),
        ),
        (None, Some(waits)) => append_clause(
            &mut sentence,
            format_args!(", so that {waits:.0} requests a second had to wait for one"),
        ),
        (None, None) => {}
    }
    let now = most.map_or(String::new(), |most| format!(" (now {most:.0})"));
    Words::new(format!("{pool} ({})", place(case.label_set)), sentence)
        .with(bounded(case.line(&used, "connections in use"), most))
        .with(bounded(
            case.line(&waiting, "requests waiting for a connection"),
            Some(0.0),
        ))
        .with(bounded(
            case.line(
                &waits,
                "requests that had to wait for a connection, per second",
            ),
            Some(0.0),
        ))
        .advising(advice.replace("{now}", &now))
}

fn to_database_words(case: &RuleMatch<'_>) -> Words {
    words(
        case,
        "the pool of connections to the database",
        "first find what holds its connections: slow statements, or work done between acquiring and releasing one; \
         then raise its size{now} (`maximumPoolSize` of HikariCP, `maxActive` of Tomcat, `SetMaxOpenConns` of Go, \
         `max` of node-postgres), so that the pools of all processes together stay below the database's \
         `max_connections`",
    )
}

fn to_http_words(case: &RuleMatch<'_>) -> Words {
    words(
        case,
        "the HTTP client's pool of connections",
        "raise its size{now} (`maxSockets` of Node's http.Agent, `setMaxConnPerRoute` and `setMaxConnTotal` of \
         Apache's client, `maxConnections` of Reactor Netty), keep connections alive, or use HTTP/2; if the service \
         behind it is slow, fix that first",
    )
}
