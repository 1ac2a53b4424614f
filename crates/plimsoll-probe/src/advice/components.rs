//! What each component allows at once: connections, workers and queues, against what the users need.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::{Readings, label};
use plimsoll_model::{labels, metric};

use super::component_readings::{ComponentReadings, written};
use super::service::Service;
use super::{Advice, Demand, apache, haproxy, nginx, pgbouncer};

/// A technology, and the setting that limits the requests that it handles at once.
const BUSY_PLACES: [(ComponentKind, &str); 6] = [
    (ComponentKind::Redis, "maxclients"),
    (ComponentKind::Postgres, "max_connections"),
    (ComponentKind::Mysql, "max_connections"),
    (ComponentKind::Mongo, "maxIncomingConnections"),
    (ComponentKind::Puma, "threads"),
    (ComponentKind::PhpFpm, "pm.max_children"),
];

/// A technology, and the setting that is the length of its queue of connections.
pub(super) const QUEUES: [(ComponentKind, &str); 4] = [
    (ComponentKind::Apache, "ListenBacklog"),
    (ComponentKind::Gunicorn, "backlog"),
    (ComponentKind::Uwsgi, "listen"),
    (ComponentKind::PhpFpm, "listen.backlog"),
];

/// Settings of the components that bind at this demand.
pub(super) fn advice(readings: &Readings, service: &Service, demand: &Demand) -> Vec<Advice> {
    let mut advice = Vec::new();
    let of = |kind| ComponentReadings::of(readings, kind);
    for component in of(ComponentKind::Nginx) {
        advice.extend(nginx::connections(&component, demand));
    }
    for component in of(ComponentKind::Haproxy) {
        advice.extend(haproxy::connections(&component, demand));
    }
    let is_pooled = of(ComponentKind::Pgbouncer).next().is_some();
    for (kind, setting) in BUSY_PLACES {
        // Behind a pooler its pools hold the sessions: they are compared with the limit in `chains`.
        if kind == ComponentKind::Postgres && is_pooled {
            continue;
        }
        for component in of(kind) {
            let found = component.setting(setting, "");
            let name = format!("{setting} of {}", kind.name());
            advice.extend(found.map(|found| busy(&component, &name, found, demand)));
        }
    }
    for component in of(ComponentKind::Apache) {
        let is_front = service.is_front(ComponentKind::Apache, component.at);
        advice.extend(apache::requests(&component, is_front, demand));
    }
    for component in of(ComponentKind::Gunicorn) {
        let counted = component.value(metric::GUNICORN_PLACES);
        let found = places(&component, counted, ("workers", "threads"));
        let name = "workers times threads of gunicorn";
        advice.extend(found.map(|found| busy(&component, name, found, demand)));
    }
    for component in of(ComponentKind::Uwsgi) {
        let counted = component.value(metric::UWSGI_PLACES);
        let found = places(&component, counted, ("processes", "threads"));
        let name = "processes times threads of uWSGI";
        advice.extend(found.map(|found| busy(&component, name, found, demand)));
    }
    for component in of(ComponentKind::Varnish) {
        let found = places(&component, None, ("thread_pools", "thread_pool_max"));
        let name = "thread_pools times thread_pool_max of Varnish";
        advice.extend(found.map(|found| busy(&component, name, found, demand)));
    }
    for component in of(ComponentKind::Pgbouncer) {
        advice.extend(pgbouncer::clients(&component, demand));
        advice.extend(pgbouncer::sessions_of_clients(&component, demand));
    }
    for (kind, setting) in QUEUES {
        for component in of(kind) {
            advice.extend(queue(&component, (kind, setting), demand));
        }
    }
    advice.extend(pools(readings, demand));
    advice
}

/// Requests that workers with threads handle at once: as counted, or as set; and the file where that is written.
pub(super) fn places<'a>(
    component: &ComponentReadings<'a>,
    counted: Option<f64>,
    (workers, threads): (&str, &str),
) -> Option<(f64, &'a str)> {
    let written = component.setting(workers, "");
    let each = component.setting(threads, "").map_or(1.0, |found| found.0);
    let count = counted.or_else(|| Some(written?.0 * each))?;
    Some((count, written.map_or("", |(_, file)| file)))
}

/// Workers, one of which a request occupies while it is in progress.
pub(super) fn busy(
    component: &ComponentReadings<'_>,
    of: &str,
    (limit, file): (f64, &str),
    demand: &Demand,
) -> Advice {
    let needed = demand.workers();
    Advice::new(
        format!("{of} ({})", component.at),
        format!("{limit:.0}{}", written(file)),
        format!("{needed:.0}, or share them"),
        limit >= needed,
    )
    .binds_at(demand.users_for(limit, demand.in_flight))
    .because(format!(
        "{} users have {needed:.0} requests in progress at once ({}), and each may hold one of these",
        demand.users, demand.source
    ))
}

/// A queue holds what arrives while nothing is accepted: a pause of a second is usual (a collection, a checkpoint).
fn queue(
    component: &ComponentReadings<'_>,
    (kind, setting): (ComponentKind, &str),
    demand: &Demand,
) -> Option<Advice> {
    // Below 0 it is as long as the kernel allows.
    let found = component
        .setting(setting, "")
        .filter(|(len, _)| *len >= 0.0)?;
    let name = format!("{setting} of {}", kind.name());
    Some(waiting(component, &name, found, demand))
}

/// A queue of connections of this length.
pub(super) fn waiting(
    component: &ComponentReadings<'_>,
    name: &str,
    (len, file): (f64, &str),
    demand: &Demand,
) -> Advice {
    let needed = demand.rate.ceil();
    Advice::new(
        format!("{name} ({})", component.at),
        format!("{len:.0}{}", written(file)),
        format!("{needed:.0} or more"),
        len >= needed,
    )
    .binds_at(demand.users_for(len, demand.rate))
    .because(format!(
        "connections that nobody accepts yet wait here: {} users open up to {needed:.0} in a second, and pauses of a \
         second are usual. Beyond it they are dropped, and clients try again after 1 s, 3 s, 7 s. net.core.somaxconn \
         caps it",
        demand.users
    ))
}

/// Pools of runtimes: of connections to a database, and of threads for requests.
fn pools(readings: &Readings, demand: &Demand) -> Vec<Advice> {
    let mut advice = Vec::new();
    for (series, &limit) in &readings.values {
        let (Some(at), Some(pool)) = (label(series, "at"), label(series, "pool")) else {
            continue;
        };
        let is_database = label(series, "to") == Some(metric::TO_DATABASE);
        let what = match labels::metric(series) {
            metric::POOL_LIMIT if is_database => "connections of the pool",
            metric::JVM_POOL_LIMIT if pool.starts_with("http") => "threads of the pool",
            _ => continue,
        };
        let component = ComponentReadings { at, readings };
        let name = format!("{what} {pool}");
        advice.push(busy(&component, &name, (limit, ""), demand));
    }
    advice
}

#[cfg(test)]
mod tests;
