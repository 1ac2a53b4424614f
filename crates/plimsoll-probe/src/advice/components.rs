//! What each component allows at once: connections, workers and queues, against what the users need.

use std::collections::BTreeSet;

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::{Readings, label};
use plimsoll_model::{labels, metric};

use super::apache::ApacheWorkers;
use super::service::Service;
use super::{Advice, Demand};

/// Readings of one component.
pub(super) struct ComponentReadings<'a> {
    pub(super) at: &'a str,
    pub(super) readings: &'a Readings,
}

impl<'a> ComponentReadings<'a> {
    /// All components of a technology.
    pub(super) fn of(readings: &'a Readings, kind: ComponentKind) -> impl Iterator<Item = Self> {
        let places = places_of(readings, kind).into_iter();
        places.map(move |at| Self { at, readings })
    }

    pub(super) fn setting(&self, name: &str, of: &str) -> Option<(f64, &'a str)> {
        self.find(name, |label| label == of)
    }

    /// A setting of several things: what each is of, the value, and its file.
    pub(super) fn each(&self, name: &str) -> Vec<(&'a str, f64, &'a str)> {
        let settings = self.readings.values.iter();
        let own = settings.filter(|(series, _)| self.is_setting(series, name));
        let own = own.map(|(series, &value)| {
            let of = label(series, "of").unwrap_or_default();
            (of, value, label(series, "file").unwrap_or_default())
        });
        own.collect()
    }

    /// A setting that is one of several words: the word, and its file.
    pub(super) fn word(&self, name: &str) -> Option<(&'a str, &'a str)> {
        let mut settings = self.readings.values.keys();
        let series = settings.find(|series| self.is_setting(series, name))?;
        let file = label(series, "file").unwrap_or_default();
        Some((label(series, "of")?, file))
    }

    fn find(&self, name: &str, is_of: impl Fn(&str) -> bool) -> Option<(f64, &'a str)> {
        let mut settings = self.readings.values.iter();
        let (series, &value) = settings.find(|(series, _)| {
            self.is_setting(series, name) && is_of(label(series, "of").unwrap_or_default())
        })?;
        Some((value, label(series, "file").unwrap_or_default()))
    }

    fn is_setting(&self, series: &str, name: &str) -> bool {
        series.starts_with(metric::SETTING)
            && label(series, "at") == Some(self.at)
            && label(series, "setting") == Some(name)
    }

    /// The value of a metric without further labels.
    pub(super) fn value(&self, metric: &str) -> Option<f64> {
        let series = metric::series(metric, &[("at", self.at)]);
        self.readings.values.get(&series).copied()
    }
}

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
pub(super) const QUEUES: [(ComponentKind, &str); 3] = [
    (ComponentKind::Gunicorn, "backlog"),
    (ComponentKind::Uwsgi, "listen"),
    (ComponentKind::PhpFpm, "listen.backlog"),
];

/// Settings of the components that bind at this demand.
pub(super) fn advice(readings: &Readings, service: &Service, demand: &Demand) -> Vec<Advice> {
    let mut advice = Vec::new();
    let of = |kind| ComponentReadings::of(readings, kind);
    for component in of(ComponentKind::Nginx) {
        advice.extend(nginx(&component, demand));
    }
    for component in of(ComponentKind::Haproxy) {
        advice.extend(haproxy(&component, demand));
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
        advice.extend(apache(&component, is_front, demand));
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
        advice.extend(pgbouncer(&component, demand));
        advice.extend(sessions_of_clients(&component, demand));
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

/// Addresses of the components that report a metric.
pub(super) fn places_with<'a>(readings: &'a Readings, metric: &str) -> Vec<&'a str> {
    let all = readings.values.keys();
    let all = all.filter(|series| labels::metric(series) == metric);
    let mut all: Vec<&str> = all.filter_map(|series| label(series, "at")).collect();
    all.dedup();
    all
}

/// Addresses of the components of a technology, by their metrics, and by the settings of their configurations.
pub(super) fn places_of(readings: &Readings, kind: ComponentKind) -> Vec<&str> {
    let all = readings.values.keys();
    let own = all.filter(|series| {
        let metric = labels::metric(series);
        let is_configured = metric == metric::SETTING
            && label(series, "kind").is_some_and(|word| kind.words().first() == Some(&word));
        is_configured || ComponentKind::of_metric(metric) == Some(kind)
    });
    let places: BTreeSet<&str> = own.filter_map(|series| label(series, "at")).collect();
    places.into_iter().collect()
}

pub(super) fn written(file: &str) -> String {
    if file.is_empty() {
        String::new()
    } else {
        format!(" ({file})")
    }
}

/// Each user holds a connection; a proxied request takes a second one.
fn nginx(component: &ComponentReadings<'_>, demand: &Demand) -> Option<Advice> {
    let (connections, file) = component.setting("worker_connections", "")?;
    let (workers, _) = component.setting("worker_processes", "")?;
    let places = connections * workers;
    let needed = 2.0 * demand.connections;
    let advised = (needed / workers).ceil();
    let name = format!("worker_connections of nginx ({})", component.at);
    Some(
        Advice::new(
            name,
            format!("{connections:.0}{}", written(file)),
            format!("{advised:.0} or more"),
            places >= needed,
        )
        .binds_at(demand.users_for(places, needed))
        .because(format!(
            "{workers:.0} workers have {places:.0} connections in total; each connection of a user takes one, and a \
             second one while a request is proxied to an upstream. worker_rlimit_nofile must be higher than \
             worker_connections"
        )),
    )
}

/// A `maxconn` of `HAProxy`.
struct Maxconn<'a> {
    proxy: &'a str,
    /// `FRONTEND`, or the name of a server; `None` for the process.
    server: Option<&'a str>,
    limit: f64,
    file: &'a str,
}

/// The limits that `HAProxy` reports, or without its socket those of its configuration.
fn maxconns<'a>(component: &ComponentReadings<'a>) -> Vec<Maxconn<'a>> {
    let own = |series: &&String| label(series, "at") == Some(component.at);
    let settings = component.readings.values.iter();
    let reported = settings.clone().filter(|(series, _)| {
        own(series)
            && (series.starts_with(metric::HAPROXY_CONNECTIONS_LIMIT)
                || series.starts_with(metric::HAPROXY_SESSIONS_LIMIT))
    });
    let reported = reported.map(|(series, &limit)| {
        let server = label(series, "server");
        let proxy = label(series, "proxy").unwrap_or_default();
        let of = match server {
            None => String::new(),
            Some("FRONTEND") => proxy.to_owned(),
            Some(server) => format!("{proxy}/{server}"),
        };
        let file = component
            .setting("maxconn", &of)
            .map_or("", |(_, file)| file);
        Maxconn {
            proxy,
            server,
            limit,
            file,
        }
    });
    let reported: Vec<Maxconn<'a>> = reported.collect();
    if !reported.is_empty() {
        return reported;
    }
    let written =
        settings.filter(|(series, _)| own(series) && component.is_setting(series, "maxconn"));
    let written = written.map(|(series, &limit)| {
        let of = label(series, "of").unwrap_or_default();
        let (proxy, server) = match of.split_once('/') {
            Some((proxy, server)) => (proxy, Some(server)),
            None => (of, (!of.is_empty()).then_some("FRONTEND")),
        };
        Maxconn {
            proxy,
            server,
            limit,
            file: label(series, "file").unwrap_or_default(),
        }
    });
    written.collect()
}

/// Each user holds a connection; where servers accept fewer, requests queue.
fn haproxy(component: &ComponentReadings<'_>, demand: &Demand) -> Vec<Advice> {
    let of = |maxconn: Maxconn<'_>| {
        let Maxconn {
            proxy,
            server,
            limit,
            file,
        } = maxconn;
        let is_server = server.is_some_and(|server| server != "FRONTEND");
        let (whose, needed, exact) = match server {
            None => (
                "HAProxy as a whole".to_owned(),
                demand.connections,
                demand.connections,
            ),
            Some("FRONTEND") => (
                format!("HAProxy's frontend {proxy}"),
                demand.connections,
                demand.connections,
            ),
            Some(server) => (
                format!("server {server} in HAProxy's {proxy}"),
                demand.workers(),
                demand.in_flight,
            ),
        };
        let why = if is_server {
            format!(
                "requests beyond it queue for this server; {} users have {needed:.0} in progress at once ({}), all of \
                 them here if it is the only one",
                demand.users, demand.source
            )
        } else {
            "connections beyond it wait in the kernel's accept queue, which HAProxy does not report"
                .to_owned()
        };
        Advice::new(
            format!("maxconn of {whose} ({})", component.at),
            format!("{limit:.0}{}", written(file)),
            format!("{:.0} or more", needed.ceil()),
            limit >= needed,
        )
        .binds_at(demand.users_for(limit, exact))
        .because(why)
    };
    maxconns(component).into_iter().map(of).collect()
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

/// Workers of Apache: `prefork` and `worker` hold one for each idle connection too, `event` does not.
fn apache(component: &ComponentReadings<'_>, is_front: bool, demand: &Demand) -> Vec<Advice> {
    let Some((limit, file)) = component.setting("MaxRequestWorkers", "") else {
        return Vec::new();
    };
    // Apache lowers what its processes have no room for.
    let limit = ApacheWorkers::of(component).map_or(limit, |workers| workers.count());
    let module = component.word("MPM").map_or("", |(module, _)| module);
    let keeps = component
        .setting("KeepAlive", "")
        .is_none_or(|(keeps, _)| keeps > 0.0);
    let name = "MaxRequestWorkers of Apache";
    if is_front && keeps && ["prefork", "worker"].contains(&module) {
        return vec![idle_connections(component, (limit, file), module, demand)];
    }
    let mut advice = vec![busy(component, name, (limit, file), demand)];
    if is_front && module == "event" {
        // Documentation of `AsyncRequestWorkerFactor`.
        let factor = component.setting("AsyncRequestWorkerFactor", "");
        let factor = factor.map_or(2.0, |(factor, _)| factor);
        let most = limit * (factor + 1.0);
        advice.push(
            Advice::new(
                format!("connections of Apache ({})", component.at),
                format!("{most:.0}"),
                format!("{:.0} or more", demand.connections.ceil()),
                most >= demand.connections,
            )
            .binds_at(demand.users_for(most, demand.connections))
            .because(format!(
                "with `event` it accepts MaxRequestWorkers times (AsyncRequestWorkerFactor + 1) connections, if most \
                 of them are idle: {limit:.0} times {:.0}",
                factor + 1.0
            )),
        );
    }
    advice
}

fn idle_connections(
    component: &ComponentReadings<'_>,
    (limit, file): (f64, &str),
    module: &str,
    demand: &Demand,
) -> Advice {
    let needed = demand.connections.ceil();
    Advice::new(
        format!("MaxRequestWorkers of Apache ({})", component.at),
        format!("{limit:.0}{}", written(file)),
        format!("{needed:.0} or more; or `event` as the MPM, or a shorter KeepAliveTimeout"),
        limit >= needed,
    )
    .binds_at(demand.users_for(limit, demand.connections))
    .because(format!(
        "with `{module}` each connection holds a worker while it is idle too, up to KeepAliveTimeout; {} users have \
         {needed:.0} connections",
        demand.users
    ))
}

/// Clients of pgbouncer: the workers before it, one for each request in progress.
fn pgbouncer(component: &ComponentReadings<'_>, demand: &Demand) -> Option<Advice> {
    let found = component.setting("max_client_conn", "")?;
    let advice = busy(component, "max_client_conn of pgbouncer", found, demand);
    Some(advice.because(format!(
        "{} users have {:.0} requests in progress at once ({}), and each may hold a connection to pgbouncer; beyond \
         the limit it refuses them",
        demand.users,
        demand.workers(),
        demand.source
    )))
}

/// The pool of a pgbouncer in session mode: a client keeps its session for as long as it is connected.
fn sessions_of_clients(component: &ComponentReadings<'_>, demand: &Demand) -> Option<Advice> {
    let (_, mode) = component
        .word("pool_mode")
        .filter(|found| found.0 == "session")?;
    let found = component.setting("default_pool_size", "")?;
    let name = "default_pool_size of pgbouncer in session mode";
    let advice = busy(component, name, found, demand);
    Some(advice.because(format!(
        "`pool_mode` is session{}: a client keeps a session of PostgreSQL until it disconnects, and {} users have {:.0} \
         requests in progress at once ({}); further clients wait. With `pool_mode = transaction` a session is free again after \
         each transaction, which suits programs without session features (`LISTEN`, advisory locks, temporary tables, `SET`)",
        if mode.is_empty() {
            ", its default".to_owned()
        } else {
            written(mode)
        },
        demand.users,
        demand.workers(),
        demand.source
    )))
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
