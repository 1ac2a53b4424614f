//! What components allow, from readings as collectors and configurations give them.

use super::*;

/// A setting as a configuration gives it.
fn set(kind: &str, name: &str, of: &str, value: f64) -> (String, f64) {
    let all = [
        ("at", "a"),
        ("kind", kind),
        ("setting", name),
        ("of", of),
        ("file", "/c:1"),
    ];
    let labels: Vec<(&str, &str)> = all
        .into_iter()
        .filter(|label| !label.1.is_empty())
        .collect();
    (metric::series(metric::SETTING, &labels), value)
}

/// Name, current value, users at which it binds, and whether it suffices for 3,000.
fn judged(values: &[(String, f64)]) -> Vec<(String, String, Option<u64>, bool)> {
    let readings = Readings {
        values: values.iter().cloned().collect(),
        ..Readings::default()
    };
    let all = advice(&readings, &Service::default(), &Demand::assumed(3000));
    let all = all.into_iter();
    all.map(|advice| (advice.name, advice.current, advice.binds_at, advice.ok))
        .collect()
}

/// The only advice.
#[track_caller]
fn single(values: &[(String, f64)], name: &str) -> (String, Option<u64>, bool) {
    let all = judged(values);
    let mut own = all.iter().filter(|advice| advice.0.starts_with(name));
    let (_, current, binds_at, ok) = own
        .next()
        .unwrap_or_else(|| panic!("{name} is not in {all:#?}"));
    (current.clone(), *binds_at, *ok)
}

#[test]
fn places_of_applications_are_counted_for_so_many_users() {
    let at = |metric: &str| metric::series(metric, &[("at", "a")]);
    let written = |name: &str, file: &str| {
        let labels = [("at", "a"), ("setting", name), ("file", file)];
        metric::series(metric::SETTING, &labels)
    };
    let all = judged(&[
        (at(metric::GUNICORN_PLACES), 8.0),
        (written("workers", "/g.py:2"), 4.0),
        (at(metric::UWSGI_PLACES), 160.0),
        (at(metric::APACHE_SILENT), 0.0),
        (written("MaxRequestWorkers", "/a.conf:4"), 100.0),
    ]);
    let all: Vec<_> = all
        .iter()
        .map(|advice| (advice.0.as_str(), advice.1.as_str(), advice.3))
        .collect();
    let right = [
        ("MaxRequestWorkers of Apache (a)", "100 (/a.conf:4)", false),
        (
            "workers times threads of gunicorn (a)",
            "8 (/g.py:2)",
            false,
        ),
        ("processes times threads of uWSGI (a)", "160", true),
    ];
    assert_eq!(all, right);
}

/// Settings, and the name, the current value, the users and the judgement of what they give.
type Judged<'a> = (Vec<(String, f64)>, &'a str, &'a str, u64, bool);

#[track_caller]
fn assert_judged(all: &[Judged<'_>]) {
    for (values, name, current, binds_at, ok) in all {
        let right = ((*current).to_owned(), Some(*binds_at), *ok);
        assert_eq!(single(values, name), right, "{name}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a row for each setting")]
fn servers_are_judged_by_their_configuration_alone() {
    assert_judged(&[
        (
            vec![
                set("nginx", "worker_connections", "", 512.0),
                set("nginx", "worker_processes", "", 2.0),
            ],
            "worker_connections of nginx",
            "512 (/c:1)",
            512,
            false,
        ),
        (
            vec![set("haproxy", "maxconn", "app/s1", 5.0)],
            "maxconn of server s1 in HAProxy's app",
            "5 (/c:1)",
            100,
            false,
        ),
        (
            vec![set("haproxy", "maxconn", "web", 2000.0)],
            "maxconn of HAProxy's frontend web",
            "2000 (/c:1)",
            2000,
            false,
        ),
        (
            vec![set("php-fpm", "pm.max_children", "", 1.0)],
            "pm.max_children",
            "1 (/c:1)",
            20,
            false,
        ),
        (
            vec![set("puma", "threads", "", 200.0)],
            "threads of Puma",
            "200 (/c:1)",
            4000,
            true,
        ),
        (
            vec![
                set("gunicorn", "workers", "", 4.0),
                set("gunicorn", "threads", "", 2.0),
            ],
            "workers times threads of gunicorn",
            "8 (/c:1)",
            160,
            false,
        ),
        (
            vec![
                set("uwsgi", "processes", "", 4.0),
                set("uwsgi", "threads", "", 50.0),
            ],
            "processes times threads of uWSGI",
            "200 (/c:1)",
            4000,
            true,
        ),
        (
            vec![set("uwsgi", "listen", "", 100.0)],
            "listen of uWSGI",
            "100 (/c:1)",
            1000,
            false,
        ),
        (
            vec![set("php-fpm", "listen.backlog", "", 511.0)],
            "listen.backlog",
            "511 (/c:1)",
            5110,
            true,
        ),
        (
            vec![set("gunicorn", "backlog", "", 64.0)],
            "backlog of gunicorn",
            "64 (/c:1)",
            640,
            false,
        ),
        (
            vec![
                set("varnish", "thread_pools", "", 2.0),
                set("varnish", "thread_pool_max", "", 50.0),
            ],
            "thread_pools times thread_pool_max",
            "100 (/c:1)",
            2000,
            false,
        ),
    ]);
}

#[test]
fn stores_are_judged_by_their_configuration_alone() {
    assert_judged(&[
        (
            vec![set("pgbouncer", "max_client_conn", "", 100.0)],
            "max_client_conn",
            "100 (/c:1)",
            2000,
            false,
        ),
        (
            vec![set("redis", "maxclients", "", 10_000.0)],
            "maxclients of Redis",
            "10000 (/c:1)",
            200_000,
            true,
        ),
        (
            vec![set("postgres", "max_connections", "", 100.0)],
            "max_connections of PostgreSQL",
            "100 (/c:1)",
            2000,
            false,
        ),
        (
            vec![set("mongodb", "maxIncomingConnections", "", 100.0)],
            "maxIncomingConnections of MongoDB",
            "100 (/c:1)",
            2000,
            false,
        ),
    ]);
}

#[test]
fn in_session_mode_a_pool_holds_clients() {
    let values = |mode: &str| {
        vec![
            set("pgbouncer", "default_pool_size", "", 20.0),
            set("pgbouncer", "pool_mode", mode, 1.0),
        ]
    };
    let name = "default_pool_size of pgbouncer in session mode";
    let own = single(&values("session"), name);
    assert_eq!(own, ("20 (/c:1)".to_owned(), Some(400), false));
    assert!(judged(&values("transaction")).is_empty());
}

#[test]
fn behind_a_pooler_the_sessions_of_a_database_are_those_of_its_pools() {
    let all = judged(&[
        set("postgres", "max_connections", "", 100.0),
        (
            metric::series(
                metric::SETTING,
                &[
                    ("at", "b"),
                    ("kind", "pgbouncer"),
                    ("setting", "default_pool_size"),
                ],
            ),
            20.0,
        ),
    ]);
    assert!(all.is_empty(), "{all:#?}");
}

#[test]
fn an_idle_connection_holds_a_worker_of_some_modules() {
    let values = |module: &str| {
        vec![
            set("apache", "MaxRequestWorkers", "", 400.0),
            set("apache", "ServerLimit", "", 400.0),
            set("apache", "MPM", module, 1.0),
        ]
    };
    let name = "MaxRequestWorkers of Apache";
    assert_eq!(single(&values("prefork"), name).1, Some(400));
    assert_eq!(single(&values("worker"), name).1, Some(400));
    assert_eq!(single(&values("event"), name).1, Some(8000));
    let all = single(&values("event"), "connections of Apache");
    assert_eq!(all, ("1200".to_owned(), Some(1200), false));
    let off = [values("prefork"), vec![set("apache", "KeepAlive", "", 0.0)]].concat();
    assert_eq!(single(&off, name).1, Some(8000));
}

#[test]
fn pools_of_a_runtime() {
    let pool = [
        ("at", "a"),
        ("pool", "HikariPool-1"),
        ("to", metric::TO_DATABASE),
    ];
    let threads = [("at", "a"), ("pool", "http-nio-8080")];
    let values = [
        (metric::series(metric::POOL_LIMIT, &pool), 10.0),
        (metric::series(metric::JVM_POOL_LIMIT, &threads), 200.0),
    ];
    let own = single(&values, "connections of the pool HikariPool-1");
    assert_eq!(own, ("10".to_owned(), Some(200), false));
    let own = single(&values, "threads of the pool http-nio-8080");
    assert_eq!(own, ("200".to_owned(), Some(4000), true));
}
