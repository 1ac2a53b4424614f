//! Rules about pools that a program holds: connections to databases and services, threads of Node's libuv and of .NET.

use plimsoll_model::metric::{self, TO_DATABASE, TO_HTTP};
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;
use crate::diagnosis::measure::{SUSTAINED, subject_of, sustained};
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{SecondValues, View, bounded};

/// How long a task may wait for a thread of libuv's pool, s; and the busy share from which the event loop is the
/// limit instead.
const TASK_WAIT_S: f64 = 0.010;
const LOOP_BUSY: f64 = 0.95;
/// Threads by which .NET's pool grows within a stretch where it is starved: it adds one or two a second.
const CLIMB_MIN: f64 = 2.0;

/// Sessions that begin per second, in how many of the requests that were answered, and which share of all CPUs that takes, from
/// which a pool is missing.
const BEGUN_MIN: f64 = 5.0;
const BEGUN_SHARE: f64 = 0.5;
const BEGUN_COST: f64 = 0.25;

fn of(metric: &str, label_set: &str) -> String {
    metric::series(metric, &[("at", place(label_set))])
}

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
pub(crate) fn to_database(view: &View<'_>) -> Vec<Sign> {
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
pub(crate) fn begun_per_request(view: &View<'_>) -> Vec<Sign> {
    let all = view.series_of(metric::DATABASE_SESSIONS_BEGUN);
    let signs = all.filter_map(|series| {
        let (per_request, cost) = begun(view, series)?;
        let is_often = view.mean(series)? >= BEGUN_MIN && per_request >= BEGUN_SHARE;
        let present = is_often && cost >= BEGUN_COST && view.target_is_local();
        Some(Sign::of(subject_of(series), cost, present))
    });
    signs.collect()
}

pub(crate) fn begun_per_request_words(case: &RuleMatch<'_>) -> Words {
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
pub(crate) fn to_http(view: &View<'_>) -> Vec<Sign> {
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

pub(crate) fn to_database_words(case: &RuleMatch<'_>) -> Words {
    words(
        case,
        "the pool of connections to the database",
        "first find what holds its connections: slow statements, or work done between acquiring and releasing one; \
         then raise its size{now} (`maximumPoolSize` of HikariCP, `maxActive` of Tomcat, `SetMaxOpenConns` of Go, \
         `max` of node-postgres), so that the pools of all processes together stay below the database's \
         `max_connections`",
    )
}

pub(crate) fn to_http_words(case: &RuleMatch<'_>) -> Words {
    words(
        case,
        "the HTTP client's pool of connections",
        "raise its size{now} (`maxSockets` of Node's http.Agent, `setMaxConnPerRoute` and `setMaxConnTotal` of \
         Apache's client, `maxConnections` of Reactor Netty), keep connections alive, or use HTTP/2; if the service \
         behind it is slow, fix that first",
    )
}

/// J2: tasks wait for a thread of libuv's pool while the event loop has time.
pub(crate) fn libuv(view: &View<'_>) -> Vec<Sign> {
    let processes = view.series_of(metric::NODE_POOL_WAIT);
    let signs = processes.filter_map(|wait| {
        let label_set = subject_of(wait);
        let active = of(metric::NODE_ACTIVE, label_set);
        let share = view.share_of_seconds(|row| {
            let has_time = row.get(&active).is_none_or(|active| active <= LOOP_BUSY);
            Some(has_time && row.get(wait)? > TASK_WAIT_S)
        })?;
        Some(Sign {
            label_set: label_set.to_owned(),
            // Against low load, the time is more significant than the count.
            magnitude: view.mean(wait)?,
            present: share >= SUSTAINED,
        })
    });
    signs.collect()
}

pub(crate) fn libuv_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [wait, threads, active] = [
        metric::NODE_POOL_WAIT,
        metric::NODE_POOL_THREADS,
        metric::NODE_ACTIVE,
    ]
    .map(|metric| of(metric, case.label_set));
    let now = view.max(&threads).unwrap_or(4.0);
    let used = if now < 1.5 {
        "the only thread of libuv's pool in Node was busy".to_owned()
    } else {
        format!("all {now:.0} threads of libuv's pool in Node were busy")
    };
    Words::new(
        format!("libuv's pool of threads in Node ({at})"),
        format!(
            "{used}: files, DNS, crypto and compression waited up to {:.0} ms for one, while \
             the event loop was busy only {:.0} % of the time",
            view.max(&wait).unwrap_or(0.0) * 1e3,
            (view.mean(&active).unwrap_or(0.0) * 100.0).min(100.0)
        ),
    )
    .with(bounded(case.line(&wait, "longest wait for a thread of the pool"), Some(TASK_WAIT_S)))
    .with(bounded(case.line(&active, "busy time of the event loop, per second"), Some(LOOP_BUSY)))
    .advising(format!(
        "start Node with a larger pool, `UV_THREADPOOL_SIZE=16 node …` (now {now:.0}), as far as the CPUs allow if its \
         tasks compute; cache DNS results (`dns.resolve` does not use the pool), and avoid needless hashing and \
         compression"
    ))
}

/// R6: tasks wait for .NET's pool, which adds threads all the time: those that it has are blocked.
pub(crate) fn dotnet(view: &View<'_>) -> Vec<Sign> {
    let programs = view.series_of(metric::DOTNET_QUEUE);
    let signs = programs.filter_map(|queue| {
        let threads = view.points(&of(metric::DOTNET_THREADS, subject_of(queue)));
        let climb = threads.last()?.1 - threads.first()?.1;
        let waited = view.share_of_seconds(|row| Some(row.get(queue)? > 0.0))?;
        Some(Sign {
            label_set: subject_of(queue).to_owned(),
            magnitude: view.mean(queue)?,
            present: waited >= SUSTAINED && climb >= CLIMB_MIN,
        })
    });
    signs.collect()
}

pub(crate) fn dotnet_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [queue, threads] =
        [metric::DOTNET_QUEUE, metric::DOTNET_THREADS].map(|metric| of(metric, case.label_set));
    Words::new(
        format!("threads of .NET's pool ({at})"),
        format!(
            "up to {:.0} tasks waited for a thread of .NET's pool, which grew from {:.0} to {:.0} threads and still \
             had too few: its threads are blocked",
            view.max(&queue).unwrap_or(0.0),
            view.min(&threads).unwrap_or(0.0),
            view.max(&threads).unwrap_or(0.0)
        ),
    )
    .with(bounded(case.line(&queue, "tasks waiting for a thread"), Some(0.0)))
    .with(case.line(&threads, "threads of the pool"))
}
