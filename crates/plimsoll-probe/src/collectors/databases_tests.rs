//! Collectors on real databases.

use plimsoll_model::component::{ComponentAddress, Login};
use plimsoll_model::metric::series;
use plimsoll_testkit::program::databases::{Mariadb, Postgres};

use super::tests::{CollectorFixture, LONG};
use super::*;

fn component(
    kind: ComponentKind,
    place: ComponentAddress,
    login: Option<(&str, &str)>,
) -> Component {
    let login = login.map(|(user, password)| Login {
        user: user.to_owned(),
        password: password.to_owned(),
        database: String::new(),
    });
    Component { kind, place, login }
}

fn tcp(address: std::net::SocketAddr) -> ComponentAddress {
    ComponentAddress::Tcp {
        host: address.ip().to_string(),
        port: address.port(),
    }
}

/// A label's value as series have it.
fn setting(at: &str, name: &str, file: &str) -> String {
    let labels = [("at", at), ("setting", name), ("file", file)];
    series(metric::SETTING, &labels)
}

#[test]
fn postgres_is_seen_by_who_may() {
    let server = Postgres::start("max_connections = 17\nwork_mem = 2MB");
    server.execute(
        "CREATE ROLE eye LOGIN PASSWORD 'see n' IN ROLE pg_monitor; CREATE TABLE stock (id int, n int); \
         INSERT INTO stock VALUES (1, 1)",
    );
    let place = tcp(server.address);
    let at = place.to_string();
    let mut watched = CollectorFixture::over(
        vec![component(
            ComponentKind::Postgres,
            place,
            Some(("eye", "see n")),
        )],
        LONG,
    );
    let _holder = server.hold("BEGIN; UPDATE stock SET n = 5 WHERE id = 1;\n");
    let blocking = series(
        metric::POSTGRES_BLOCKING,
        &[
            ("at", &at),
            ("state", "idle in transaction"),
            ("statement", "UPDATE stock SET n = ? WHERE id = ?"),
        ],
    );
    let of = |metric: &str, label: (&str, &str)| series(metric, &[("at", &at), label]);
    let idle = of(metric::POSTGRES_SESSIONS, ("state", "idle in transaction"));
    // The session holds the row once the server has confirmed it.
    while watched.scrape().values.get(&idle) != Some(&1.0) {}
    let _waiter = server.hold("UPDATE stock SET n = 7 WHERE id = 1;\n");
    let waiting = of(metric::POSTGRES_ACTIVE, ("wait", "lock"));
    let samples = std::iter::repeat_with(|| watched.scrape().values);
    let mut samples = samples.skip_while(|values| values.get(&waiting) != Some(&1.0));
    let values = samples.next().unwrap();
    let file = server.configuration().display().to_string();
    for (series, right) in [
        (of(metric::POSTGRES_SESSIONS, ("state", "all")), 3.0),
        (
            of(
                metric::POSTGRES_WAITING,
                ("statement", "UPDATE stock SET n = ? WHERE id = ?"),
            ),
            1.0,
        ),
        (blocking, 1.0),
        (series(metric::POSTGRES_LOCKS_WAITED, &[("at", &at)]), 1.0),
        (series(metric::POSTGRES_REFUSED, &[("at", &at)]), 0.0),
        (series(metric::POSTGRES_DEADLOCKS, &[("at", &at)]), 0.0),
        (setting(&at, "max_connections", &format!("{file}:5")), 17.0),
        (
            setting(&at, "work_mem", &format!("{file}:6")),
            2.0 * 1_048_576.0,
        ),
    ] {
        assert_eq!(values.get(&series), Some(&right), "{series} in {values:#?}");
    }
    assert!(
        values.contains_key(&series(metric::POSTGRES_COMMITS, &[("at", &at)])),
        "{values:#?}"
    );
    // The limit of other sessions, not the one that the collector set for its own.
    let limit = [("at", at.as_str()), ("setting", "statement_timeout")];
    assert_eq!(values.get(&series(metric::SETTING, &limit)), Some(&0.0));
    let size = values.get(&series(metric::DATABASE_SIZE, &[("at", &at)]));
    assert!(size.is_some_and(|&size| size > 1e6), "{size:?}");
    assert_eq!(watched.notes(), "");
}

#[test]
fn postgres_turns_away_who_may_not_ask() {
    let server = Postgres::start("");
    server.execute("CREATE ROLE eye LOGIN PASSWORD 'seen'");
    let place = tcp(server.address);
    for (password, expected) in [
        (
            "wrong",
            [
                "cannot be watched: it denies access (password authentication failed",
                "IN ROLE pg_monitor",
            ],
        ),
        (
            "",
            [
                "cannot be watched: it denies access (a password is required",
                "IN ROLE pg_monitor",
            ],
        ),
        (
            "seen",
            [
                "shows this role only its own sessions",
                "GRANT pg_monitor TO",
            ],
        ),
    ] {
        let component = component(
            ComponentKind::Postgres,
            place.clone(),
            Some(("eye", password)),
        );
        let mut watched = CollectorFixture::over(vec![component], LONG);
        watched.scrape();
        watched.scrape();
        let notes = watched.notes();
        assert!(expected.iter().all(|text| notes.contains(text)), "{notes}");
        assert_eq!(notes.lines().count(), 1, "{notes}");
    }
}

#[test]
fn postgres_that_has_no_session_left_says_so_and_is_seen_again() {
    let server = Postgres::start("max_connections = 5\nsuperuser_reserved_connections = 1");
    server.execute(
        "CREATE ROLE eye LOGIN PASSWORD 'seen' IN ROLE pg_monitor; CREATE ROLE shop LOGIN",
    );
    let place = tcp(server.address);
    let at = place.to_string();
    let full = || {
        let own = server
            .execute("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'");
        own.trim() == "5"
    };
    let held: Vec<_> = (0..4).map(|_| server.hold("SELECT 1;\n")).collect();
    while !full() {}
    let mut watched = CollectorFixture::over(
        vec![component(
            ComponentKind::Postgres,
            place,
            Some(("eye", "seen")),
        )],
        LONG,
    );
    let refused = series(metric::POSTGRES_REFUSED, &[("at", &at)]);
    // A session is left for administrators, and none for others.
    assert_eq!(watched.scrape().values.get(&refused), Some(&1.0));
    drop(held);
    while watched.scrape().values.get(&refused) != Some(&0.0) {}
    assert_eq!(watched.notes(), "");
}

#[test]
fn mariadb_is_seen_by_who_may() {
    let server = Mariadb::start("max_connections = 17");
    server.execute(
        "CREATE DATABASE shop; CREATE TABLE shop.stock (id INT PRIMARY KEY, n INT) ENGINE=InnoDB; \
         INSERT INTO shop.stock VALUES (1, 1); \
         CREATE USER eye@localhost IDENTIFIED BY 'seen'; GRANT PROCESS ON *.* TO eye@localhost; \
         GRANT SELECT ON performance_schema.* TO eye@localhost",
    );
    let place = tcp(server.address);
    let at = place.to_string();
    let mut watched = CollectorFixture::over(
        vec![component(
            ComponentKind::Mysql,
            place.clone(),
            Some(("eye", "seen")),
        )],
        LONG,
    );
    let of = |metric: &str| series(metric, &[("at", &at)]);
    let _holder =
        server.hold("BEGIN; UPDATE shop.stock SET n = 5 WHERE id = 1; SELECT SLEEP(1000);\n");
    let holding = series(
        metric::MYSQL_RUNNING,
        &[("at", &at), ("statement", "SELECT SLEEP(?)")],
    );
    while watched.scrape().values.get(&holding) != Some(&1.0) {}
    let _waiter = server.hold("UPDATE shop.stock SET n = 7 WHERE id = 1;\n");
    let waited = of(metric::MYSQL_ROW_LOCKS_WAITED);
    let samples = std::iter::repeat_with(|| watched.scrape().values);
    let mut samples = samples.skip_while(|values| values.get(&waited) != Some(&1.0));
    let values = samples.next().unwrap();
    let file = server.configuration.display().to_string();
    let blocking = [("at", at.as_str()), ("statement", "SELECT SLEEP(?)")];
    for (series, right) in [
        (of(metric::MYSQL_SESSIONS), 3.0),
        (of(metric::MYSQL_REFUSED), 0.0),
        (series(metric::MYSQL_BLOCKING, &blocking), 1.0),
        (
            series(
                metric::SETTING,
                &[("at", &at), ("setting", "max_connections")],
            ),
            17.0,
        ),
    ] {
        assert_eq!(values.get(&series), Some(&right), "{series} in {values:#?}");
    }
    let size = values.get(&of(metric::DATABASE_SIZE));
    assert!(size.is_some_and(|&size| size > 1e5), "{size:?}");
    assert_eq!(watched.notes(), "");
    // File names are shown to roles with the privilege.
    let socket = server.socket.display().to_string();
    let root = ComponentAddress::Socket(server.socket.clone());
    let root = component(ComponentKind::Mysql, root, Some(("root", "")));
    let values = CollectorFixture::over(vec![root], LONG).scrape().values;
    let written = setting(&socket, "max_connections", &file);
    assert_eq!(values.get(&written), Some(&17.0), "{values:#?}");
}

#[test]
fn mariadb_turns_away_who_may_not_ask() {
    let server = Mariadb::start("");
    server.execute(
        "CREATE USER eye@localhost IDENTIFIED BY 'seen'; GRANT PROCESS ON *.* TO eye@localhost; \
         CREATE USER blinking@localhost IDENTIFIED BY 'seen'; GRANT SELECT ON performance_schema.* TO blinking@localhost",
    );
    let place = tcp(server.address);
    for (user, password, expected) in [
        (
            "eye",
            "wrong",
            [
                "cannot be watched: it denies access (Access denied",
                "GRANT PROCESS ON *.* TO",
            ],
        ),
        (
            "blinking",
            "seen",
            [
                "shows this account only its own sessions",
                "GRANT PROCESS ON *.* TO",
            ],
        ),
    ] {
        let component = component(ComponentKind::Mysql, place.clone(), Some((user, password)));
        let mut watched = CollectorFixture::over(vec![component], LONG);
        watched.scrape();
        watched.scrape();
        let notes = watched.notes();
        assert!(expected.iter().all(|text| notes.contains(text)), "{notes}");
        assert_eq!(notes.lines().count(), 1, "{notes}");
    }
}

#[test]
fn a_log_is_followed_from_its_end_and_over_its_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("error.log");
    let line = |upstream: &str| {
        format!(
            "2026/11/22 [error] 7#7: *9 no live upstreams while connecting, upstream: \"http://{upstream}/\"\n"
        )
    };
    let add = |text: &str| {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path);
        std::io::Write::write_all(&mut file.unwrap(), text.as_bytes()).unwrap();
    };
    add(&line("old"));
    let log = component(
        ComponentKind::NginxLog,
        ComponentAddress::File(path.clone()),
        None,
    );
    let at = path.display().to_string();
    let mut watched = CollectorFixture::over(vec![log], LONG);
    let failures = series(
        metric::LOG_FAILURES,
        &[("at", &at), ("class", "no upstream")],
    );
    watched.scrape();
    assert_eq!(watched.scrape().values.get(&failures), Some(&0.0));
    let two = line("app").repeat(2);
    // An incomplete line is not counted yet.
    add(&two[..two.len() - 9]);
    assert!(watched.scrape().values[&failures] > 0.0);
    add(&two[two.len() - 9..]);
    assert!(watched.scrape().values[&failures] > 0.0);
    std::fs::rename(&path, folder.path().join("error.log.1")).unwrap();
    add(&line("app"));
    assert!(watched.scrape().values[&failures] > 0.0);
    assert_eq!(watched.scrape().values.get(&failures), Some(&0.0));
    let notes = watched.notes();
    assert!(
        notes.contains("a log was rotated") && notes.lines().count() == 1,
        "{notes}"
    );
}
