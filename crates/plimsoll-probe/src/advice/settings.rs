//! Settings that cost time or safety at any load, and such that start processes anew.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::metric;
use plimsoll_model::reading::Readings;

use super::apache::{self, ApacheWorkers};
use super::component_readings::{ComponentReadings, places_of, written};
use super::service::Service;
use super::{Advice, Demand, haproxy, nginx};
use crate::files::Files;

/// A worker that ends more often than this costs its start each time, s.
const LIFE_MIN_S: f64 = 60.0;
/// PostgreSQL's own cost of a plan from which it compiles it.
const JIT_COST: f64 = 100_000.0;
/// Applications: clients of a database on this machine.
const APPLICATIONS: [ComponentKind; 6] = [
    ComponentKind::PhpFpm,
    ComponentKind::Puma,
    ComponentKind::Gunicorn,
    ComponentKind::Uwsgi,
    ComponentKind::Node,
    ComponentKind::Jvm,
];

/// Settings of the components that cost something at any load.
pub(super) fn advice(
    files: &mut Files,
    readings: &Readings,
    service: &Service,
    demand: &Demand,
) -> Vec<Advice> {
    let of = |kind| ComponentReadings::of(readings, kind);
    let mut advice = Vec::new();
    for component in of(ComponentKind::Nginx) {
        advice.extend(nginx::nodelay(&component));
    }
    for component in of(ComponentKind::Apache) {
        advice.extend(apache::keep_alive(&component));
        advice.extend(opcache(&component, "PHP in Apache"));
    }
    for component in of(ComponentKind::PhpFpm) {
        advice.extend(started_on_demand(&component));
        advice.extend(opcache(&component, "PHP-FPM"));
    }
    for component in of(ComponentKind::Postgres) {
        advice.extend(postgres(&component));
    }
    let has_application = service
        .components
        .iter()
        .any(|component| APPLICATIONS.contains(&component.kind));
    for component in of(ComponentKind::Mysql) {
        advice.extend(mysql(&component, has_application));
    }
    for lives in LIVES {
        for component in of(lives.kind) {
            advice.extend(lives.row(&component, demand));
        }
    }
    advice.extend(single_processes(readings));
    advice.extend(pools_of_node(readings, demand));
    advice.extend(threads_of_go(readings));
    advice.extend(nginx::cpus(files, readings));
    advice.extend(haproxy::threads(files, readings));
    advice
}

/// `pm = ondemand`.
fn started_on_demand(component: &ComponentReadings<'_>) -> Option<Advice> {
    let (manager, file) = component.word("pm")?;
    let row = Advice::new(
        format!("pm of PHP-FPM ({})", component.at),
        format!("{manager}{}", written(file)),
        "static, or dynamic",
        manager != "ondemand",
    );
    Some(row.hint().because(
        "with `ondemand` processes start when requests come and end after `pm.process_idle_timeout`: the first users of each \
         burst wait for that, and the processes fill their caches anew",
    ))
}

/// `OPcache` of PHP: without it each request compiles its scripts.
fn opcache(component: &ComponentReadings<'_>, program: &str) -> Vec<Advice> {
    let at = component.at;
    let mut advice = Vec::new();
    let mut row = |name: &str, advised: &str, is_right: &dyn Fn(f64) -> bool, why: &str| {
        let found = component.setting(name, "");
        advice.extend(found.map(|(value, file)| {
            let row = Advice::new(
                format!("{name} of {program} ({at})"),
                format!("{value:.0}{}", written(file)),
                advised,
                is_right(value),
            );
            row.hint().because(why)
        }));
    };
    row(
        "opcache",
        "1: `zend_extension=opcache` in an ini file",
        &|value| value > 0.0,
        "OPcache is not loaded: each request reads and compiles all of its scripts, which often takes more CPU time than \
         running them",
    );
    row(
        "opcache.enable",
        "1",
        &|value| value > 0.0,
        "OPcache is off: each request reads and compiles all of its scripts, which often takes more CPU time than running them",
    );
    row(
        "opcache.memory_consumption",
        "128 (MiB) or more",
        &|value| value >= 128.0,
        "scripts beyond it are compiled for each request; `opcache_get_status()` shows `cache_full` and what is free",
    );
    row(
        "opcache.max_accelerated_files",
        "10000 or more",
        &|value| value >= 10_000.0,
        "scripts beyond it are compiled for each request; a framework with its libraries has thousands",
    );
    row(
        "opcache.validate_timestamps",
        "0 where deployments reload PHP",
        // One look at each file in two seconds, unless `revalidate_freq` is 0.
        &|_| true,
        "at 1 the time of each script is read again every `opcache.revalidate_freq` seconds",
    );
    row(
        "opcache.jit_buffer_size",
        "0, or 64M for scripts that compute",
        &|_| true,
        "memory for compiled machine code; sites that wait for a database gain little from it",
    );
    advice
}

fn postgres(component: &ComponentReadings<'_>) -> Vec<Advice> {
    let at = component.at;
    let mut advice = Vec::new();
    let on = |value: f64| if value > 0.0 { "on" } else { "off" };
    if let Some((value, file)) = component.setting("fsync", "") {
        let row = Advice::new(
            format!("fsync of PostgreSQL ({at})"),
            format!("{}{}", on(value), written(file)),
            "on",
            value > 0.0,
        );
        advice.push(row.hint().because(
            "without it a power failure or a crash of the machine destroys the database; `synchronous_commit = off` is nearly \
             as fast and loses only the last commits",
        ));
    }
    if let Some((value, file)) = component.setting("synchronous_commit", "") {
        let row = Advice::new(
            format!("synchronous_commit of PostgreSQL ({at})"),
            format!("{}{}", on(value), written(file)),
            "on; off for transactions of which the last ones may be lost",
            true,
        );
        advice.push(row.hint().because(
            "when on, each commit waits until the log is on disk; those that commit at the same time share the wait. When \
             off, a crash of the machine loses the commits of about the last second",
        ));
    }
    let (jit, cost) = (
        component.setting("jit", ""),
        component.setting("jit_above_cost", ""),
    );
    if let (Some((jit, file)), Some((cost, _))) = (jit, cost) {
        let row = Advice::new(
            format!("jit of PostgreSQL ({at})"),
            format!("{}, from a cost of {cost:.0}{}", on(jit), written(file)),
            "off, or jit_above_cost of 100000 or more",
            jit <= 0.0 || !(0.0..JIT_COST).contains(&cost),
        );
        advice.push(row.hint().because(
            "compiling a statement takes tens of milliseconds of CPU time in each session, more than short statements take; \
             `EXPLAIN (ANALYZE)` shows it under `JIT`",
        ));
    }
    advice
}

fn mysql(component: &ComponentReadings<'_>, has_application: bool) -> Vec<Advice> {
    let at = component.at;
    let mut advice = Vec::new();
    if let Some((value, file)) = component.setting("innodb_flush_log_at_trx_commit", "") {
        let row = Advice::new(
            format!("innodb_flush_log_at_trx_commit of MariaDB ({at})"),
            format!("{value:.0}{}", written(file)),
            "1 where no commit may be lost, else 2",
            value > 0.0,
        );
        advice.push(row.hint().because(
            "at 1 each commit waits until the log is on disk; at 2 a crash of the machine loses the commits of about the last \
             second, at 0 one of the database does so too, and it is hardly faster than 2",
        ));
    }
    if let Some((value, file)) = component.setting("skip_name_resolve", "") {
        let is_on = value > 0.0;
        let row = Advice::new(
            format!("skip_name_resolve of MariaDB ({at})"),
            format!("{}{}", if is_on { "ON" } else { "OFF" }, written(file)),
            "ON, unless accounts are granted by names of hosts",
            is_on || has_application,
        );
        advice.push(row.hint().because(
            "the first connection from each other machine waits for the name of its address, for seconds where the resolver \
             does not respond, and again when the cache of hosts is full. Connections of this machine do not",
        ));
    }
    advice
}

/// A technology whose workers end after a number of requests or connections.
#[derive(Clone, Copy, Debug)]
struct Lives {
    kind: ComponentKind,
    setting: &'static str,
    /// Settings that multiplied are the requests at once that share these ends.
    processes: &'static str,
}

const LIVES: [Lives; 4] = [
    Lives {
        kind: ComponentKind::Apache,
        setting: "MaxConnectionsPerChild",
        processes: "ServerLimit",
    },
    Lives {
        kind: ComponentKind::PhpFpm,
        setting: "pm.max_requests",
        processes: "pm.max_children",
    },
    Lives {
        kind: ComponentKind::Gunicorn,
        setting: "max_requests",
        processes: "workers",
    },
    Lives {
        kind: ComponentKind::Uwsgi,
        setting: "max-requests",
        processes: "processes",
    },
];

impl Lives {
    /// How long a worker lives at this demand.
    fn row(self, component: &ComponentReadings<'_>, demand: &Demand) -> Option<Advice> {
        let (requests, file) = component.setting(self.setting, "")?;
        let started = ApacheWorkers::of(component).map(|workers| workers.processes());
        let named = || Some(component.setting(self.processes, "")?.0);
        let processes = started.or_else(named).unwrap_or(1.0);
        let life_s = requests * processes / demand.rate.max(1e-9);
        let advised = (demand.rate * LIFE_MIN_S / processes.max(1.0)).ceil();
        let row = Advice::new(
            format!(
                "{} of {} ({})",
                self.setting,
                self.kind.name(),
                component.at
            ),
            format!("{requests:.0}{}", written(file)),
            format!("0, or {advised:.0} or more"),
            requests <= 0.0 || life_s >= LIFE_MIN_S,
        );
        Some(row.hint().because(format!(
            "at {:.0} requests per second each of {processes:.0} processes ends after {life_s:.0} s and is started anew, with \
             empty caches and new connections; 0 means never",
            demand.rate
        )))
    }
}

/// Processes of Node: one of them runs JavaScript on one CPU.
fn single_processes(readings: &Readings) -> Vec<Advice> {
    let Some(&cpus) = readings.values.get(metric::CPU_COUNT) else {
        return Vec::new();
    };
    let places = places_of(readings, ComponentKind::Node).into_iter();
    let rows = places.filter_map(|at| {
        let component = ComponentReadings { at, readings };
        let (processes, _) = component.setting("processes", "")?;
        let row = Advice::new(
            format!("processes of Node ({at})"),
            format!("{processes:.0}"),
            format!("up to {cpus:.0}: one for each CPU that nothing else uses"),
            processes > 1.0 || cpus < 2.0,
        );
        Some(row.hint().because(format!(
            "a process of Node runs JavaScript on one CPU, and this machine has {cpus:.0}: `node:cluster`, a process manager, \
             or several ports behind a proxy use more"
        )))
    });
    rows.collect()
}

/// Threads of libuv's pool in a process of Node. Settings do not show whether requests use it: the row is no fault.
fn pools_of_node(readings: &Readings, demand: &Demand) -> Vec<Advice> {
    let components = ComponentReadings::of(readings, ComponentKind::Node);
    let rows = components.filter_map(|component| {
        let known = component.setting("UV_THREADPOOL_SIZE", "");
        let reported = component.value(metric::NODE_POOL_THREADS);
        let (threads, file) = known.or_else(|| Some((reported?, "reported by its module")))?;
        let processes = component
            .setting("processes", "")
            .map_or(1.0, |found| found.0);
        let needed = (demand.in_flight / processes.max(1.0)).ceil().max(1.0);
        let source = if file.is_empty() { "by default" } else { file };
        let row = Advice::new(
            format!("UV_THREADPOOL_SIZE of Node ({})", component.at),
            format!("{threads:.0} ({source})"),
            if needed <= threads {
                format!("{threads:.0}")
            } else {
                format!("{threads:.0}, or up to {needed:.0} if the requests wait for this pool")
            },
            true,
        );
        Some(row.hint().because(format!(
            "the tasks of a process for files, `dns.lookup` (each new connection to a host by its name), asynchronous \
             cryptography and compression share these threads; sockets and `dns.resolve` need none. Whether requests have \
             such tasks, no setting shows, so this is no limit by itself: {} users have {needed:.0} requests in progress in \
             each process at once ({}), and tasks beyond {threads:.0} wait. `plimsoll watch --node-module` measures that wait; \
             start Node with `UV_THREADPOOL_SIZE={:.0} node …` (at most 1024), and with no more than the CPUs carry where the \
             tasks compute",
            demand.users,
            demand.source,
            needed.max(threads)
        )))
    });
    rows.collect()
}

/// Threads of Go beyond the quota of its cgroup are throttled.
fn threads_of_go(readings: &Readings) -> Vec<Advice> {
    let quotas = readings
        .values
        .iter()
        .filter(|(series, _)| plimsoll_model::labels::metric(series) == metric::CGROUP_CPU_QUOTA);
    let tightest = quotas.map(|(_, &quota)| quota).min_by(f64::total_cmp);
    let Some(quota) = tightest else {
        return Vec::new();
    };
    let places = places_of(readings, ComponentKind::Go).into_iter();
    let rows = places.filter_map(|at| {
        let component = ComponentReadings { at, readings };
        let (threads, _) = component.setting("GOMAXPROCS", "")?;
        let row = Advice::new(
            format!("GOMAXPROCS of the Go program ({at})"),
            format!("{threads:.0}"),
            format!("{:.0}", quota.ceil()),
            threads <= quota.ceil(),
        );
        Some(row.hint().because(format!(
            "its cgroup may use {quota:.1} CPUs: more threads use that up early in each period of 100 ms, and all of them \
             stop for its rest. Go does not set it by the quota before 1.25"
        )))
    });
    rows.collect()
}

#[cfg(test)]
mod tests;
