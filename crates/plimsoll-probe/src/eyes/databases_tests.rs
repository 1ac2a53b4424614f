//! Eyes on real databases.

use plimsoll_model::metric::series;
use plimsoll_model::part::{Login, PartPlace};
use plimsoll_testkit::program::databases::{Mariadb, Postgres};

use super::tests::{LONG, Watched};
use super::*;

fn part(kind: PartKind, place: PartPlace, login: Option<(&str, &str)>) -> Part {
    let login = login.map(|(user, password)| Login {
        user: user.to_owned(),
        password: password.to_owned(),
        database: String::new(),
    });
    Part { kind, place, login }
}

fn tcp(address: std::net::SocketAddr) -> PartPlace {
    PartPlace::Tcp {
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
    server.say(
        "CREATE ROLE eye LOGIN PASSWORD 'see n' IN ROLE pg_monitor; CREATE TABLE stock (id int, n int); \
         INSERT INTO stock VALUES (1, 1)",
    );
    let place = tcp(server.address);
    let at = place.to_string();
    let mut watched = Watched::over(
        vec![part(PartKind::Postgres, place, Some(("eye", "see n")))],
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
    // The session that holds the row has it when the server says so.
    while watched.look().values.get(&idle) != Some(&1.0) {}
    let _waiter = server.hold("UPDATE stock SET n = 7 WHERE id = 1;\n");
    let waiting = of(metric::POSTGRES_ACTIVE, ("wait", "lock"));
    let seen = std::iter::repeat_with(|| watched.look().values);
    let mut seen = seen.skip_while(|seen| seen.get(&waiting) != Some(&1.0));
    let seen = seen.next().unwrap();
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
        assert_eq!(seen.get(&series), Some(&right), "{series} in {seen:#?}");
    }
    assert!(
        seen.contains_key(&series(metric::POSTGRES_COMMITS, &[("at", &at)])),
        "{seen:#?}"
    );
    // The limit of other sessions, not the one that the eye gave its own.
    let limit = [("at", at.as_str()), ("setting", "statement_timeout")];
    assert_eq!(seen.get(&series(metric::SETTING, &limit)), Some(&0.0));
    let size = seen.get(&series(metric::DATABASE_SIZE, &[("at", &at)]));
    assert!(size.is_some_and(|&size| size > 1e6), "{size:?}");
    assert_eq!(watched.notes(), "");
}

#[test]
fn postgres_turns_away_who_may_not_ask() {
    let server = Postgres::start("");
    server.say("CREATE ROLE eye LOGIN PASSWORD 'seen'");
    let place = tcp(server.address);
    for (password, says) in [
        (
            "wrong",
            [
                "is not seen: it refuses to tell (password authentication failed",
                "IN ROLE pg_monitor",
            ],
        ),
        (
            "",
            [
                "is not seen: it refuses to tell (it wants a password",
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
        let part = part(PartKind::Postgres, place.clone(), Some(("eye", password)));
        let mut watched = Watched::over(vec![part], LONG);
        watched.look();
        watched.look();
        let notes = watched.notes();
        assert!(says.iter().all(|says| notes.contains(says)), "{notes}");
        assert_eq!(notes.lines().count(), 1, "{notes}");
    }
}

#[test]
fn postgres_that_has_no_session_left_says_so_and_is_seen_again() {
    let server = Postgres::start("max_connections = 5\nsuperuser_reserved_connections = 1");
    server.say("CREATE ROLE eye LOGIN PASSWORD 'seen' IN ROLE pg_monitor; CREATE ROLE shop LOGIN");
    let place = tcp(server.address);
    let at = place.to_string();
    let full = || {
        let own = server
            .say("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'");
        own.trim() == "5"
    };
    let held: Vec<_> = (0..4).map(|_| server.hold("SELECT 1;\n")).collect();
    while !full() {}
    let mut watched = Watched::over(
        vec![part(PartKind::Postgres, place, Some(("eye", "seen")))],
        LONG,
    );
    let refused = series(metric::POSTGRES_REFUSED, &[("at", &at)]);
    // Administrators have a place left, and others have none.
    assert_eq!(watched.look().values.get(&refused), Some(&1.0));
    drop(held);
    while watched.look().values.get(&refused) != Some(&0.0) {}
    assert_eq!(watched.notes(), "");
}

#[test]
fn mariadb_is_seen_by_who_may() {
    let server = Mariadb::start("max_connections = 17");
    server.say(
        "CREATE DATABASE shop; CREATE TABLE shop.stock (id INT PRIMARY KEY, n INT) ENGINE=InnoDB; \
         INSERT INTO shop.stock VALUES (1, 1); \
         CREATE USER eye@localhost IDENTIFIED BY 'seen'; GRANT PROCESS ON *.* TO eye@localhost; \
         GRANT SELECT ON performance_schema.* TO eye@localhost",
    );
    let place = tcp(server.address);
    let at = place.to_string();
    let mut watched = Watched::over(
        vec![part(PartKind::Mysql, place.clone(), Some(("eye", "seen")))],
        LONG,
    );
    let of = |metric: &str| series(metric, &[("at", &at)]);
    let _holder =
        server.hold("BEGIN; UPDATE shop.stock SET n = 5 WHERE id = 1; SELECT SLEEP(1000);\n");
    let holding = series(
        metric::MYSQL_RUNNING,
        &[("at", &at), ("statement", "SELECT SLEEP(?)")],
    );
    while watched.look().values.get(&holding) != Some(&1.0) {}
    let _waiter = server.hold("UPDATE shop.stock SET n = 7 WHERE id = 1;\n");
    let waited = of(metric::MYSQL_ROW_LOCKS_WAITED);
    let seen = std::iter::repeat_with(|| watched.look().values);
    let mut seen = seen.skip_while(|seen| seen.get(&waited) != Some(&1.0));
    let seen = seen.next().unwrap();
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
        assert_eq!(seen.get(&series), Some(&right), "{series} in {seen:#?}");
    }
    let size = seen.get(&of(metric::DATABASE_SIZE));
    assert!(size.is_some_and(|&size| size > 1e5), "{size:?}");
    assert_eq!(watched.notes(), "");
    // Files are shown to those who may read them.
    let socket = server.socket.display().to_string();
    let root = PartPlace::Socket(server.socket.clone());
    let root = part(PartKind::Mysql, root, Some(("root", "")));
    let seen = Watched::over(vec![root], LONG).look().values;
    let written = setting(&socket, "max_connections", &file);
    assert_eq!(seen.get(&written), Some(&17.0), "{seen:#?}");
}

#[test]
fn mariadb_turns_away_who_may_not_ask() {
    let server = Mariadb::start("");
    server.say(
        "CREATE USER eye@localhost IDENTIFIED BY 'seen'; GRANT PROCESS ON *.* TO eye@localhost; \
         CREATE USER blinking@localhost IDENTIFIED BY 'seen'; GRANT SELECT ON performance_schema.* TO blinking@localhost",
    );
    let place = tcp(server.address);
    for (user, password, says) in [
        (
            "eye",
            "wrong",
            [
                "is not seen: it refuses to tell (Access denied",
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
        let part = part(PartKind::Mysql, place.clone(), Some((user, password)));
        let mut watched = Watched::over(vec![part], LONG);
        watched.look();
        watched.look();
        let notes = watched.notes();
        assert!(says.iter().all(|says| notes.contains(says)), "{notes}");
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
    let log = part(PartKind::NginxLog, PartPlace::File(path.clone()), None);
    let at = path.display().to_string();
    let mut watched = Watched::over(vec![log], LONG);
    let failures = series(
        metric::LOG_FAILURES,
        &[("at", &at), ("class", "no upstream")],
    );
    watched.look();
    assert_eq!(watched.look().values.get(&failures), Some(&0.0));
    let two = line("app").repeat(2);
    // Of a line that is not whole yet nothing is known.
    add(&two[..two.len() - 9]);
    assert!(watched.look().values[&failures] > 0.0);
    add(&two[two.len() - 9..]);
    assert!(watched.look().values[&failures] > 0.0);
    std::fs::rename(&path, folder.path().join("error.log.1")).unwrap();
    add(&line("app"));
    assert!(watched.look().values[&failures] > 0.0);
    assert_eq!(watched.look().values.get(&failures), Some(&0.0));
    let notes = watched.notes();
    assert!(
        notes.contains("a log was rotated") && notes.lines().count() == 1,
        "{notes}"
    );
}
