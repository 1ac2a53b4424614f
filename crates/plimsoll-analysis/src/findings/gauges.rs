//! Utilisation of each watched resource, as a share of its capacity.

use plimsoll_model::metric;
use plimsoll_model::reading::{SeriesTable, label};

use super::SecondRange;
use crate::diagnosis::component::place;
use crate::diagnosis::measure::{of_target, subject_of};
use crate::diagnosis::rule_id::RuleId::{
    self, C1, C3, D1, F1, H1, H7, H10, J1, K1, K4, K6, P1, P2, P7, Q1, Q2,
};

/// A resource whose utilisation is known.
#[derive(Clone, Debug)]
pub(super) struct Gauge {
    /// Its name in texts.
    pub(super) name: String,
    /// Address of its component; empty for the machine.
    pub(super) at: String,
    /// Rules that name it when it is full.
    pub(super) rules: &'static [RuleId],
    /// Share from which it is full.
    pub(super) full: f64,
    /// It counts concurrent items, which grow with response times too (Little's law), not only with load.
    pub(super) is_population: bool,
    level: String,
    whole: Whole,
}

/// What a level is a share of.
#[derive(Clone, Debug)]
enum Whole {
    /// It is a share already.
    Unit,
    /// It is the share that is free.
    Free,
    /// The mean of another series.
    Series(String),
}

impl Gauge {
    /// Mean utilisation over a stretch, 0 to 1 and above.
    pub(super) fn share(&self, readings: &SeriesTable, (from, to): SecondRange) -> Option<f64> {
        let mean = |series: &str| {
            let values = readings.between(series, from, to);
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let level = mean(&self.level)?;
        match &self.whole {
            Whole::Unit => Some(level),
            Whole::Free => Some(1.0 - level),
            Whole::Series(whole) => {
                let whole = mean(whole).filter(|&whole| whole > 0.0)?;
                Some(level / whole)
            }
        }
    }
}

/// Shares by metric: its rules, from which share it is full, and its name.
const SHARES: &[(&str, &[RuleId], f64, &str)] = &[
    (metric::CPU_BUSY, &[C1, P2, Q2], 0.95, "CPU of the machine"),
    (
        metric::REDIS_MAIN_THREAD,
        &[K1],
        0.95,
        "the one thread of Redis",
    ),
    (
        metric::NODE_ACTIVE,
        &[J1, C3],
        0.95,
        "the event loop of Node",
    ),
    (metric::DISK_UTILIZATION, &[D1], 0.9, "disk"),
];

/// Occupied slots: metric, label that it must have, setting, rules, and name.
type Places = (
    &'static str,
    Option<(&'static str, &'static str)>,
    &'static str,
    &'static [RuleId],
    &'static str,
);

const PLACES: &[Places] = &[
    (
        metric::POSTGRES_SESSIONS,
        Some(("state", "all")),
        "max_connections",
        &[P1],
        "max_connections of PostgreSQL",
    ),
    (
        metric::MYSQL_SESSIONS,
        None,
        "max_connections",
        &[Q1],
        "max_connections of MariaDB",
    ),
    (
        metric::REDIS_CLIENTS,
        None,
        "maxclients",
        &[K4],
        "maxclients of Redis",
    ),
    (
        metric::MEMCACHED_CONNECTIONS,
        None,
        "max_connections",
        &[K6],
        "connections of memcached",
    ),
];

/// Every resource of a run whose utilisation is known.
pub(super) fn all(readings: &SeriesTable) -> Vec<Gauge> {
    let mut gauges = Vec::new();
    for &(metric, rules, full, name) in SHARES {
        let own = readings.names_of(metric);
        gauges.extend(own.map(|series| share(series, rules, full, name)));
    }
    for series in readings.names_of(metric::HAPROXY_IDLE) {
        gauges.push(Gauge {
            whole: Whole::Free,
            ..share(series, &[H10], 0.8, "CPU of HAProxy")
        });
    }
    gauges.extend(thread(readings));
    gauges.extend(files(readings));
    gauges.extend(postgres_cpu(readings));
    for &(metric, with, setting, rules, name) in PLACES {
        let own = readings.names_of(metric);
        let own =
            own.filter(|series| with.is_none_or(|(key, value)| label(series, key) == Some(value)));
        gauges.extend(own.filter_map(|series| {
            let whole = setting_of(readings, place(series), setting)?;
            Some(population(series, whole, rules, name))
        }));
    }
    gauges.extend(haproxy(readings));
    gauges
}

fn share(series: &str, rules: &'static [RuleId], full: f64, name: &str) -> Gauge {
    let at = label(series, "at").unwrap_or_default();
    let what = label(series, "system.device").or(label(series, "at"));
    Gauge {
        name: match what {
            Some(what) => format!("{name} ({what})"),
            None => name.to_owned(),
        },
        at: at.to_owned(),
        rules,
        full,
        is_population: false,
        level: series.to_owned(),
        whole: Whole::Unit,
    }
}

fn population(series: &str, whole: String, rules: &'static [RuleId], name: &str) -> Gauge {
    Gauge {
        is_population: true,
        whole: Whole::Series(whole),
        ..share(series, rules, 0.95, name)
    }
}

fn setting_of(readings: &SeriesTable, at: &str, setting: &str) -> Option<String> {
    let mut own = readings.names_of(metric::SETTING);
    let own = own.find(|series| place(series) == at && label(series, "setting") == Some(setting));
    own.map(str::to_owned)
}

/// Groups of processes of the service, and how they are called.
const GROUPS: [(&str, &str); 2] = [
    (metric::TARGET, "the target"),
    (metric::BEHIND, "the processes behind the target"),
];

/// One thread of the target; on a single CPU it is the CPU. What is behind has many that take turns.
fn thread(readings: &SeriesTable) -> Option<Gauge> {
    let series = of_target(metric::THREAD_BUSIEST);
    let cpus = readings.values(metric::CPU_COUNT)?.iter().copied();
    let has_several = cpus.filter(|cpus| !cpus.is_nan()).any(|cpus| cpus > 1.5);
    let is_known = readings.values(&series).is_some();
    (has_several && is_known).then(|| {
        let name = "the busiest thread of the target";
        share(&series, &[C3, J1, K1], 0.95, name)
    })
}

fn files(readings: &SeriesTable) -> Vec<Gauge> {
    let of_group = |(process, name)| {
        let own = [("process", process)];
        let level = metric::series(metric::PROCESS_FILES, &own);
        let whole = metric::series(metric::PROCESS_FILES_LIMIT, &own);
        readings.values(&whole)?;
        readings.values(&level)?;
        let name = format!("file descriptors of {name}");
        Some(population(&level, whole, &[F1], &name))
    };
    GROUPS.into_iter().filter_map(of_group).collect()
}

/// Sessions of a PostgreSQL on this machine that compute, as a share of its CPUs.
fn postgres_cpu(readings: &SeriesTable) -> Vec<Gauge> {
    let own = readings.names_of(metric::POSTGRES_ACTIVE);
    let computing = own.filter(|series| label(series, "wait") == Some("none"));
    let here = computing.filter(|series| {
        let at = place(series);
        let near = ["/", "127.", "localhost", "[::1]"];
        near.iter().any(|begin| at.starts_with(begin))
    });
    here.map(|series| Gauge {
        whole: Whole::Series(metric::CPU_COUNT.to_owned()),
        ..share(series, &[P2, P7, C1], 1.0, "CPU of PostgreSQL")
    })
    .collect()
}

/// Sessions of servers and frontends of HAProxy that have a limit.
fn haproxy(readings: &SeriesTable) -> Vec<Gauge> {
    let limits = readings.names_of(metric::HAPROXY_SESSIONS_LIMIT);
    limits
        .filter_map(|limit| {
            let level = format!("{}{}", metric::HAPROXY_SESSIONS, subject_of(limit));
            readings.values(&level)?;
            let proxy = label(limit, "proxy")?;
            let (name, rules): (String, &'static [RuleId]) = match label(limit, "server")? {
                "FRONTEND" => (format!("maxconn of HAProxy's frontend {proxy}"), &[H7]),
                server => (
                    format!("maxconn of server {server} in HAProxy's {proxy}"),
                    &[H1],
                ),
            };
            Some(population(&level, limit.to_owned(), rules, &name))
        })
        .collect()
}
