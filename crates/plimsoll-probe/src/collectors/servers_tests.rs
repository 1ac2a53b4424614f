//! Collectors on real poolers, servers and metrics pages, and statement statistics of databases.

use std::net::TcpStream;

use plimsoll_model::component::{ComponentAddress, Login, Selector};
use plimsoll_model::metric::series;
use plimsoll_testkit::program::Haproxy;
use plimsoll_testkit::program::databases::{Mariadb, Postgres};
use plimsoll_testkit::program::runtimes::PhpFpm;
use plimsoll_testkit::program::servers::{Gunicorn, Pgbouncer};

use super::tests::{CollectorFixture, LONG};
use super::*;

fn over(
    kind: ComponentKind,
    place: ComponentAddress,
    user: &str,
    password: &str,
) -> CollectorFixture {
    let login = (!user.is_empty()).then(|| Login {
        user: user.to_owned(),
        password: password.to_owned(),
        database: String::new(),
    });
    CollectorFixture::over(vec![Component { kind, place, login }], LONG)
}

fn tcp(address: std::net::SocketAddr) -> ComponentAddress {
    ComponentAddress::Tcp {
        host: address.ip().to_string(),
        port: address.port(),
    }
}

#[test]
fn chosen_series_of_a_page_are_seen_and_missing_ones_are_told() {
    let web = "http-request use-service prometheus-exporter if { path /metrics }";
    let haproxy = Haproxy::start(web, "  server s1 127.0.0.1:1");
    let chosen = [
        "haproxy_process_nbthread",
        "haproxy_frontend_sess*{proxy=web}",
        "haproxy_dreams",
    ];
    let place = ComponentAddress::Figures {
        host: haproxy.address.ip().to_string(),
        port: haproxy.address.port(),
        path: "/metrics".to_owned(),
        series: chosen
            .iter()
            .filter_map(|text| Selector::parse(text))
            .collect(),
    };
    let at = place.to_string();
    let mut watched = over(ComponentKind::Prometheus, place, "", "");
    watched.scrape();
    let values = watched.scrape().values;
    let level = series(
        metric::FIGURES_LEVEL,
        &[("at", &at), ("name", "haproxy_process_nbthread")],
    );
    assert!(
        values.get(&level).is_some_and(|&threads| threads >= 1.0),
        "{values:#?}"
    );
    let labels = [
        ("at", at.as_str()),
        ("name", "haproxy_frontend_sessions_total"),
        ("of", "proxy:web"),
    ];
    // Each sample is a session.
    let increase = series(metric::FIGURES_INCREASE, &labels);
    assert!(
        values
            .get(&increase)
            .is_some_and(|&sessions| sessions > 0.0),
        "{values:#?}"
    );
    let notes = watched.notes();
    let expected = ["haproxy_dreams is not among the", "similar names: haproxy_"];
    assert!(expected.iter().all(|text| notes.contains(text)), "{notes}");
    assert_eq!(notes.lines().count(), 1, "{notes}");
}

#[test]
fn clients_that_wait_for_pgbouncer_are_seen() {
    let database = Postgres::start("");
    let pooler = Pgbouncer::start(&database, 2);
    let at = pooler.address.to_string();
    let mut watched = over(ComponentKind::Pgbouncer, tcp(pooler.address), "", "");
    let _held = ["BEGIN; SELECT 1;\n"; 2].map(|statements| pooler.hold(statements));
    let of = |metric: &str, state: &str| {
        let labels = [
            ("at", at.as_str()),
            ("pool", "postgres/postgres"),
            ("state", state),
        ];
        series(metric, &labels)
    };
    let used = of(metric::PGBOUNCER_SESSIONS, "active");
    while watched.scrape().values.get(&used) != Some(&2.0) {}
    let _waiting = pooler.hold("SELECT 1;\n");
    let waiting = of(metric::PGBOUNCER_CLIENTS, "waiting");
    let samples = std::iter::repeat_with(|| watched.scrape().values);
    let mut samples = samples.skip_while(|values| values.get(&waiting) != Some(&1.0));
    let values = samples.next().unwrap();
    let size = [
        ("at", at.as_str()),
        ("setting", "pool_size"),
        ("of", "postgres"),
    ];
    assert_eq!(
        values.get(&series(metric::SETTING, &size)),
        Some(&2.0),
        "{values:#?}"
    );
    assert_eq!(
        values.get(&of(metric::PGBOUNCER_SESSIONS, "idle")),
        Some(&0.0),
        "{values:#?}"
    );
    assert_eq!(watched.notes(), "");
}

#[test]
fn connections_that_wait_for_gunicorn_are_seen() {
    let gunicorn = Gunicorn::start(1, "0.1");
    let at = gunicorn.address.to_string();
    let mut watched = over(ComponentKind::Gunicorn, tcp(gunicorn.address), "", "");
    let of = |metric: &str| series(metric, &[("at", &at)]);
    let (taken, waiting) = (of(metric::GUNICORN_TAKEN), of(metric::GUNICORN_WAITING));
    // A worker waits for the request of the connection that it has accepted.
    let _first = TcpStream::connect(gunicorn.address).unwrap();
    while watched.scrape().values.get(&taken) != Some(&1.0) {}
    let _other = TcpStream::connect(gunicorn.address).unwrap();
    let values = watched.scrape().values;
    assert_eq!(
        (values.get(&taken), values.get(&waiting)),
        (Some(&1.0), Some(&1.0)),
        "{values:#?}"
    );
    assert_eq!(watched.notes(), "");
    drop(gunicorn);
    watched.scrape();
    assert!(
        watched
            .notes()
            .contains("nothing listens there on this machine"),
        "{}",
        watched.notes()
    );
}

/// No status page: one process of two handles a request, then both do while a third waits.
#[test]
fn processes_of_php_fpm_are_seen_where_it_has_no_page() {
    let fpm = PhpFpm::without_page(2, "fgets(fopen('php://input', 'r'));");
    let known = ComponentMetadata {
        pid: Some(fpm.program.pid()),
        pool: Some("www".to_owned()),
        ..ComponentMetadata::default()
    };
    let at = fpm.address.to_string();
    let component = Component {
        kind: ComponentKind::PhpFpm,
        place: tcp(fpm.address),
        login: None,
    };
    let mut watched = CollectorFixture::knowing(vec![(component, known)], LONG);
    let counts = |watched: &mut CollectorFixture| {
        let values = watched.scrape().values;
        let count = |state| {
            let labels = [("at", at.as_str()), ("state", state)];
            values
                .get(&series(metric::PHP_FPM_PROCESSES, &labels))
                .copied()
        };
        let waiting = values
            .get(&series(metric::PHP_FPM_QUEUE, &[("at", &at)]))
            .copied();
        (count("idle"), count("active"), count("all"), waiting)
    };
    // A process accepts a connection and waits for the request.
    let mut held = Vec::new();
    for expected in [
        (Some(2.0), Some(0.0), Some(2.0), Some(0.0)),
        (Some(1.0), Some(1.0), Some(2.0), Some(0.0)),
        (Some(0.0), Some(2.0), Some(2.0), Some(0.0)),
        (Some(0.0), Some(2.0), Some(2.0), Some(1.0)),
    ] {
        while counts(&mut watched) != expected {}
        held.push(TcpStream::connect(fpm.address).unwrap());
    }
    assert_eq!(watched.notes(), "");
}

#[test]
fn postgres_tells_what_statements_cost_and_how_they_are_planned() {
    let server = Postgres::start("");
    server.execute(
        "CREATE ROLE eye LOGIN PASSWORD 'seen' IN ROLE pg_monitor, pg_read_all_data; \
         CREATE TABLE orders AS SELECT i AS id, i AS customer FROM generate_series(1, 2000) i; \
         CREATE INDEX one ON orders (id); CREATE INDEX other ON orders (id); ANALYZE orders",
    );
    let at = server.address.to_string();
    let mut watched = over(ComponentKind::Postgres, tcp(server.address), "eye", "seen");
    watched.scrape();
    for customer in 1..=3 {
        server.execute(&format!(
            "SELECT count(*) FROM orders WHERE customer = {customer}"
        ));
    }
    let values = watched.scrape().values;
    let labels = [
        ("at", at.as_str()),
        (
            "statement",
            "SELECT count(*) FROM orders WHERE customer = ?",
        ),
    ];
    for metric in [
        metric::STATEMENT_CALLS,
        metric::STATEMENT_TIME,
        metric::STATEMENT_ROWS,
        metric::STATEMENT_BLOCKS,
    ] {
        let value = values.get(&series(metric, &labels));
        assert!(
            value.is_some_and(|&value| value > 0.0),
            "{metric} in {values:#?}"
        );
    }
    let plans: Vec<&String> = values
        .keys()
        .filter(|name| name.starts_with(metric::STATEMENT_PLAN))
        .collect();
    let right = "Seq Scan on orders with filter (customer = ?)";
    assert!(plans.iter().any(|plan| plan.contains(right)), "{plans:#?}");
    // Earlier counts, and the collector's own queries, do not belong to the run.
    let others = values
        .keys()
        .filter(|name| name.starts_with(metric::STATEMENT_CALLS));
    assert_eq!(others.count(), 1, "{values:#?}");
    let notes = watched.notes();
    assert!(
        notes.contains("`DROP INDEX CONCURRENTLY other`") && notes.lines().count() == 1,
        "{notes}"
    );
}

#[test]
fn postgres_that_does_not_show_statements_is_told_what_would() {
    let server = Postgres::start("");
    server.execute("DROP EXTENSION pg_stat_statements; CREATE ROLE eye LOGIN PASSWORD 'seen' IN ROLE pg_monitor");
    let mut watched = over(ComponentKind::Postgres, tcp(server.address), "eye", "seen");
    watched.scrape();
    watched.scrape();
    let notes = watched.notes();
    let expected =
        "as an administrator, in database postgres `CREATE EXTENSION pg_stat_statements`";
    assert!(
        notes.contains(expected) && notes.lines().count() == 1,
        "{notes}"
    );
}

#[test]
fn mariadb_tells_what_statements_cost() {
    let server = Mariadb::start("");
    server.execute(
        "CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY, customer INT); \
         INSERT INTO orders SELECT seq, seq FROM seq_1_to_2000; \
         CREATE USER eye@localhost IDENTIFIED BY 'seen'; GRANT PROCESS ON *.* TO eye@localhost",
    );
    let at = server.socket.display().to_string();
    let socket = || ComponentAddress::Socket(server.socket.clone());
    let mut watched = over(ComponentKind::Mysql, socket(), "root", "");
    watched.scrape();
    server.execute("SELECT COUNT(*) FROM shop.orders WHERE customer = 5");
    let values = watched.scrape().values;
    let labels = [
        ("at", at.as_str()),
        (
            "statement",
            "SELECT COUNT (*) FROM shop.orders WHERE customer = ?",
        ),
    ];
    for metric in [
        metric::STATEMENT_CALLS,
        metric::STATEMENT_TIME,
        metric::STATEMENT_EXAMINED,
        metric::STATEMENT_SCANS,
    ] {
        let value = values.get(&series(metric, &labels));
        assert!(
            value.is_some_and(|&value| value > 0.0),
            "{metric} in {values:#?}"
        );
    }
    assert_eq!(watched.notes(), "");
    let mut watched = over(ComponentKind::Mysql, socket(), "eye", "seen");
    watched.scrape();
    assert!(
        watched
            .notes()
            .contains("`GRANT SELECT ON performance_schema.* TO …`"),
        "{}",
        watched.notes()
    );
}
