//! Settings that constrain each other: of two adjacent components, or of a component and this host.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::component::ComponentKind;
use plimsoll_model::reading::{Readings, label};
use plimsoll_model::{labels, metric};

use super::component_readings::{ComponentReadings, places_of, written};
use super::components::{QUEUES, places};
use super::jvm::connection_pool;
use super::{Advice, apache, haproxy, nginx, pgbouncer};
use crate::files::Files;
use crate::parse::whole;

/// Sessions that PostgreSQL keeps for its administrator, by default, and MariaDB.
const RESERVED: f64 = 3.0;
const RESERVED_BY_MARIADB: f64 = 1.0;

/// Inconsistent settings of the observed components.
pub(super) fn advice(readings: &Readings, files: &mut Files) -> Vec<Advice> {
    let mut advice = Vec::new();
    advice.extend(sessions(readings));
    advice.extend(pgbouncer::workers(readings));
    for at in places_of(readings, ComponentKind::Nginx) {
        advice.extend(nginx::descriptors(
            &ComponentReadings { at, readings },
            files,
        ));
    }
    for at in places_of(readings, ComponentKind::Haproxy) {
        advice.extend(haproxy::global_maxconn(&ComponentReadings { at, readings }));
    }
    for at in places_of(readings, ComponentKind::Apache) {
        advice.extend(apache::advice(&ComponentReadings { at, readings }));
    }
    for (kind, setting) in QUEUES {
        for at in places_of(readings, kind) {
            let component = ComponentReadings { at, readings };
            advice.extend(queue_in_kernel(&component, (kind, setting), files));
        }
    }
    advice
}

/// Workers that may each hold a database session, and their name.
pub(super) fn holders(readings: &Readings) -> Vec<(f64, String)> {
    let mut holders = Vec::new();
    let mut add = |kind, setting: &str, name: &str| {
        for at in places_of(readings, kind) {
            let component = ComponentReadings { at, readings };
            if let Some((count, _)) = component.setting(setting, "") {
                holders.push((count, format!("{count:.0} of {name}")));
            }
        }
    };
    add(ComponentKind::Puma, "threads", "Puma's threads");
    add(
        ComponentKind::PhpFpm,
        "pm.max_children",
        "PHP-FPM's processes",
    );
    for (kind, metric, words, name) in [
        (
            ComponentKind::Gunicorn,
            metric::GUNICORN_PLACES,
            ("workers", "threads"),
            "gunicorn's workers",
        ),
        (
            ComponentKind::Uwsgi,
            metric::UWSGI_PLACES,
            ("processes", "threads"),
            "uWSGI's processes and threads",
        ),
    ] {
        for at in places_of(readings, kind) {
            let component = ComponentReadings { at, readings };
            let found = places(&component, component.value(metric), words);
            holders.extend(found.map(|(places, _)| (places, format!("{places:.0} of {name}"))));
        }
    }
    for component in ComponentReadings::of(readings, ComponentKind::Jvm) {
        let pool = connection_pool(&component);
        holders.extend(pool.map(|(count, file)| {
            let name = format!("{count:.0} of HikariCP's pool{}", written(file));
            (count, name)
        }));
    }
    let pools = readings.values.iter().filter(|(series, _)| {
        labels::metric(series) == metric::POOL_LIMIT
            && label(series, "to") == Some(metric::TO_DATABASE)
    });
    for (series, &limit) in pools {
        let pool = label(series, "pool").unwrap_or_default();
        holders.push((limit, format!("{limit:.0} of the pool {pool}")));
    }
    holders
}

/// Sessions that pgbouncer may open to its database: a pool for each observed pair of database and role; for each
/// database of its configuration where it was not scraped.
fn pools(readings: &Readings) -> Option<(f64, String)> {
    let (mut sum, mut all) = (0.0, Vec::new());
    for component in ComponentReadings::of(readings, ComponentKind::Pgbouncer) {
        for (database, count) in databases_of(&component) {
            let sessions = sessions_of_pools(&component, &database, count);
            sum += sessions;
            let name = if database.is_empty() {
                "each pool".to_owned()
            } else {
                database
            };
            all.push(format!("{name} {sessions:.0}"));
        }
    }
    (sum > 0.0).then(|| {
        (
            sum,
            format!("{sum:.0} in pgbouncer's pools ({})", all.join(", ")),
        )
    })
}

/// The databases of a pgbouncer, each with its number of pools; a nameless one where none is known.
fn databases_of(component: &ComponentReadings<'_>) -> BTreeMap<String, usize> {
    let own = |series: &&String| label(series, "at") == Some(component.at);
    let all = component.readings.values.keys().filter(own);
    // Each pool has a series for each state of its clients.
    let pools = all.clone().filter_map(|series| {
        let is_pool = labels::metric(series) == metric::PGBOUNCER_CLIENTS;
        label(series, "pool").filter(|_| is_pool)
    });
    let pools: BTreeSet<&str> = pools.collect();
    let mut databases = BTreeMap::new();
    for pool in pools {
        let database = pool.split('/').next().unwrap_or_default();
        *databases.entry(database.to_owned()).or_default() += 1;
    }
    if databases.is_empty() {
        let written = all.filter(|series| label(series, "setting") == Some("pool_size"));
        let written = written.filter_map(|series| label(series, "of"));
        let named = written.filter(|database| *database != "*");
        databases = named.map(|database| (database.to_owned(), 1)).collect();
    }
    if databases.is_empty() {
        databases.insert(String::new(), 1);
    }
    databases
}

/// Sessions of the pools of a database: their size and reserve, and no more than `max_db_connections`.
fn sessions_of_pools(component: &ComponentReadings<'_>, database: &str, count: usize) -> f64 {
    let of = |own: &str, general: &str| {
        let known = component
            .setting(own, database)
            .filter(|_| !database.is_empty());
        let known = known.or_else(|| component.setting(general, ""));
        known.map_or(0.0, |found| found.0)
    };
    let each = of("pool_size", "default_pool_size") + of("reserve_pool_size", "reserve_pool_size");
    let most = of("max_db_connections", "max_db_connections");
    let sum = each * count as f64;
    if most > 0.0 { sum.min(most) } else { sum }
}

/// Sessions of a database that no worker gets.
fn reserved(component: &ComponentReadings<'_>, kind: ComponentKind) -> f64 {
    if kind != ComponentKind::Postgres {
        return RESERVED_BY_MARIADB;
    }
    let of = |name: &str, default: f64| {
        let known = component.setting(name, "");
        known.map_or(default, |found| found.0)
    };
    // From 16 on some are kept for a role.
    of("superuser_reserved_connections", RESERVED) + of("reserved_connections", 0.0)
}

/// Sessions that all workers together may hold, against the limit of the database. With more than one database it
/// is unknown which worker uses which.
fn sessions(readings: &Readings) -> Option<Advice> {
    let kinds = [ComponentKind::Postgres, ComponentKind::Mysql];
    let mut all = kinds.iter().flat_map(|&kind| {
        let places = places_of(readings, kind).into_iter();
        places.map(move |at| (at, kind))
    });
    let (at, kind) = all.next()?;
    if all.next().is_some() {
        return None;
    }
    let component = ComponentReadings { at, readings };
    let (limit, file) = component.setting("max_connections", "")?;
    let reserved = reserved(&component, kind);
    let pooled = pools(readings).filter(|_| kind == ComponentKind::Postgres);
    let is_pooled = pooled.is_some();
    let holders = pooled.map_or_else(|| holders(readings), |pools| vec![pools]);
    let wanted: f64 = holders.iter().map(|holder| holder.0).sum();
    let who: Vec<&str> = holders.iter().map(|holder| holder.1.as_str()).collect();
    let room = (limit - reserved).max(0.0);
    let name = kind.name();
    let remedy = if is_pooled {
        "A pool that PostgreSQL refuses a session leaves its clients waiting: lower `default_pool_size`, `pool_size` of a \
         database or `reserve_pool_size`, or cap them by `max_db_connections`, in pgbouncer's file, then `RELOAD` in its \
         console; each further role that connects has pools of its own"
    } else {
        "Put a connection pooler between them, or let workers share sessions"
    };
    (wanted > 0.0).then(|| {
        Advice::new(
            format!("sessions that workers may hold in {name} ({at})"),
            format!("{wanted:.0} of {room:.0}{}", written(file)),
            format!("at most {room:.0}"),
            wanted <= room,
        )
        .because(format!(
            "{}: if each holds a session, {wanted:.0} are needed, but {name} allows {limit:.0}, {reserved:.0} of \
             them reserved for its administrator. {remedy}; a higher `max_connections` costs memory for each session",
            who.join(", ")
        ))
    })
}

/// A longer queue than the kernel allows is cut without a word.
fn queue_in_kernel(
    component: &ComponentReadings<'_>,
    (kind, setting): (ComponentKind, &str),
    files: &mut Files,
) -> Option<Advice> {
    // Below 0 it is as long as the kernel allows.
    let (backlog, file) = component
        .setting(setting, "")
        .filter(|(backlog, _)| *backlog >= 0.0)?;
    let text = files.read("proc/sys/net/core/somaxconn").ok()?;
    let most: f64 = text.trim().parse().ok()?;
    Some(
        Advice::new(
            format!(
                "{setting} of {} against net.core.somaxconn ({})",
                kind.name(),
                component.at
            ),
            format!("{backlog:.0}{}", written(file)),
            format!("at most {most:.0}, or a higher net.core.somaxconn"),
            backlog <= most,
        )
        .binds_at(whole(backlog.min(most)))
        .because(format!(
            "the kernel caps the accept queue of each socket at {most:.0} connections, whatever backlog a program \
            requests, and reports no error"
        )),
    )
}

#[cfg(test)]
mod tests {
    use plimsoll_model::metric::series;

    use super::*;

    fn readings(values: &[(String, f64)]) -> Readings {
        Readings {
            values: values.iter().cloned().collect(),
            ..Readings::default()
        }
    }

    fn setting(at: &str, name: &str, of: &str, value: f64) -> (String, f64) {
        let labels = [("at", at), ("setting", name), ("of", of)];
        let labels = &labels[..if of.is_empty() { 2 } else { 3 }];
        (series(metric::SETTING, labels), value)
    }

    fn at(metric: &str, at: &str) -> String {
        series(metric, &[("at", at)])
    }

    #[test]
    fn workers_that_want_more_sessions_than_there_are() {
        let mut values = vec![
            (at(metric::POSTGRES_REFUSED, "pg"), 0.0),
            setting("pg", "max_connections", "", 100.0),
            (at(metric::PUMA_BACKLOG, "puma"), 0.0),
            setting("puma", "threads", "", 60.0),
            (at(metric::GUNICORN_PLACES, "gunicorn"), 40.0),
        ];
        let advice = sessions(&readings(&values)).unwrap();
        assert!(!advice.ok && advice.current == "100 of 97", "{advice:?}");
        assert!(
            advice
                .why
                .contains("60 of Puma's threads, 40 of gunicorn's workers"),
            "{advice:?}"
        );
        // A connection pooler is between them.
        let pool = [("at", "bouncer"), ("pool", "shop/app"), ("state", "active")];
        values.push((series(metric::PGBOUNCER_CLIENTS, &pool), 3.0));
        values.push(setting("bouncer", "pool_size", "shop", 20.0));
        let advice = sessions(&readings(&values)).unwrap();
        assert!(advice.ok && advice.current == "20 of 97", "{advice:?}");
        // Without one the workers count.
        let bare = [
            (at(metric::POSTGRES_REFUSED, "pg"), 0.0),
            setting("pg", "max_connections", "", 100.0),
            (at(metric::UWSGI_PLACES, "uwsgi"), 128.0),
        ];
        let advice = sessions(&readings(&bare)).unwrap();
        assert!(!advice.ok && advice.current == "128 of 97", "{advice:?}");
        // With two databases it is unknown which one is used.
        values.push((at(metric::MYSQL_COLLECTOR_REFUSED, "my"), 0.0));
        assert_eq!(sessions(&readings(&values)), None);
    }

    /// The pools of a pgbouncer before a PostgreSQL of 100 connections.
    fn pooled(values: &[(String, f64)]) -> Advice {
        let own = [
            (at(metric::POSTGRES_REFUSED, "pg"), 0.0),
            setting("pg", "max_connections", "", 100.0),
            (at(metric::PUMA_BACKLOG, "puma"), 0.0),
            setting("puma", "threads", "", 500.0),
        ];
        sessions(&readings(&[&own[..], values].concat())).unwrap()
    }

    #[test]
    fn pools_of_pgbouncer_against_the_sessions_that_are_not_reserved() {
        let kind = |name: &str, of: &str, value: f64| {
            let all = [
                ("at", "b"),
                ("kind", "pgbouncer"),
                ("setting", name),
                ("of", of),
            ];
            let len = if of.is_empty() { 3 } else { 4 };
            (series(metric::SETTING, &all[..len]), value)
        };
        let bare = [kind("default_pool_size", "", 20.0)];
        let advice = pooled(&bare);
        assert_eq!((advice.ok, advice.current.as_str()), (true, "20 of 97"));
        // As its configuration has it: three databases, one with a pool and a reserve of its own.
        let written = [
            kind("default_pool_size", "", 20.0),
            kind("reserve_pool_size", "", 5.0),
            kind("pool_size", "shop", 60.0),
            kind("reserve_pool_size", "shop", 10.0),
            kind("pool_size", "stock", 20.0),
            kind("pool_size", "*", 20.0),
        ];
        let advice = pooled(&written);
        assert_eq!((advice.ok, advice.current.as_str()), (true, "95 of 97"));
        assert!(
            advice
                .why
                .starts_with("95 in pgbouncer's pools (shop 70, stock 25)"),
            "{advice:?}"
        );
        let reserved = setting("pg", "reserved_connections", "", 5.0);
        let fewer = pooled(&[&written[..], &[reserved]].concat());
        assert_eq!((fewer.ok, fewer.current.as_str()), (false, "95 of 92"));
        assert!(fewer.why.contains("100, 8 of them reserved"), "{fewer:?}");
        assert!(fewer.why.contains("lower `default_pool_size`"), "{fewer:?}");
        // A cap of all, and one of a database.
        let capped = [
            kind("max_db_connections", "", 30.0),
            kind("max_db_connections", "shop", 40.0),
        ];
        let advice = pooled(&[&written[..], &capped].concat());
        assert_eq!(advice.current, "65 of 97");
        // Observed: each role has a pool.
        let client = |pool, state| {
            let labels = [("at", "b"), ("pool", pool), ("state", state)];
            (series(metric::PGBOUNCER_CLIENTS, &labels), 1.0)
        };
        let observed = [
            client("shop/app", "active"),
            client("shop/app", "waiting"),
            client("shop/jobs", "active"),
        ];
        let advice = pooled(&[&written[..], &observed].concat());
        assert_eq!((advice.ok, advice.current.as_str()), (false, "140 of 97"));
    }

    #[test]
    fn pools_of_java_against_the_sessions_of_a_database() {
        let pool = |at: &str, size: f64| {
            let name = "spring.datasource.hikari.maximum-pool-size";
            let labels = [
                ("at", at),
                ("kind", "jvm"),
                ("setting", name),
                ("file", "application.yml:9"),
            ];
            (series(metric::SETTING, &labels), size)
        };
        let values = [
            (at(metric::POSTGRES_REFUSED, "pg"), 0.0),
            setting("pg", "max_connections", "", 100.0),
            pool("one", 60.0),
            pool("two", 40.0),
        ];
        let advice = sessions(&readings(&values)).unwrap();
        assert_eq!((advice.ok, advice.current.as_str()), (false, "100 of 97"));
        let who = "60 of HikariCP's pool (application.yml:9), 40 of HikariCP's pool";
        assert!(advice.why.starts_with(who), "{advice:?}");
    }

    #[test]
    fn workers_before_a_pooler() {
        let pool = [("at", "bouncer"), ("pool", "shop/app"), ("state", "active")];
        let values = |limit| {
            readings(&[
                (series(metric::PGBOUNCER_CLIENTS, &pool), 3.0),
                setting("bouncer", "max_client_conn", "", limit),
                (at(metric::PUMA_BACKLOG, "puma"), 0.0),
                setting("puma", "threads", "", 120.0),
            ])
        };
        let few = pgbouncer::workers(&values(100.0)).unwrap();
        assert!(!few.ok && few.current == "120 of 100", "{few:?}");
        assert!(pgbouncer::workers(&values(120.0)).unwrap().ok);
    }

    #[test]
    fn a_door_that_is_narrower_than_the_next() {
        let front = [("at", "h"), ("proxy", "web"), ("server", "FRONTEND")];
        let values = [
            (at(metric::HAPROXY_CONNECTIONS_LIMIT, "h"), 100.0),
            (series(metric::HAPROXY_SESSIONS_LIMIT, &front), 2000.0),
        ];
        let readings = readings(&values);
        let component = ComponentReadings {
            at: "h",
            readings: &readings,
        };
        let advice = haproxy::global_maxconn(&component).unwrap();
        assert_eq!(
            (advice.ok, advice.binds_at),
            (false, Some(100)),
            "{advice:?}"
        );
    }
}
