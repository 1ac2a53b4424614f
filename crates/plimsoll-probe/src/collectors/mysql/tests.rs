//! The collector of `MariaDB` and `MySQL` on a real one.

use plimsoll_model::component::{ComponentAddress, ComponentKind};
use plimsoll_model::metric::{self, series};
use plimsoll_model::reading::label;
use plimsoll_sql::clauses::Select;
use plimsoll_sql::summary_table::{Dialect, by_triggers, refreshed};
use plimsoll_testkit::program::databases::Mariadb;

use crate::collectors::fixture::{CollectorFixture, SCRAPES_MAX, setting, tcp, wait_for_statement};
use crate::collectors::statements::shapes::shape;

#[test]
fn mariadb_is_seen_by_who_may() {
    let server = Mariadb::start("max_connections = 17");
    server.execute(
        "CREATE DATABASE shop; CREATE TABLE shop.stock (id INT PRIMARY KEY, n INT) ENGINE=InnoDB; \
         INSERT INTO shop.stock VALUES (1, 1); \
         CREATE USER plimsoll@localhost IDENTIFIED BY 'seen'; GRANT PROCESS ON *.* TO plimsoll@localhost; \
         GRANT SELECT ON performance_schema.* TO plimsoll@localhost",
    );
    let place = tcp(server.address);
    let at = place.to_string();
    let mut watched = CollectorFixture::of(ComponentKind::Mysql, place.clone(), "plimsoll", "seen");
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
    let values = CollectorFixture::of(ComponentKind::Mysql, root, "root", "")
        .scrape()
        .values;
    let written = setting(&socket, "max_connections", &file);
    assert_eq!(values.get(&written), Some(&17.0), "{values:#?}");
}

#[test]
fn mariadb_turns_away_who_may_not_ask() {
    let server = Mariadb::start("");
    server.execute(
        "CREATE USER plimsoll@localhost IDENTIFIED BY 'seen'; GRANT PROCESS ON *.* TO plimsoll@localhost; \
         CREATE USER unprivileged@localhost IDENTIFIED BY 'seen'; GRANT SELECT ON performance_schema.* TO unprivileged@localhost",
    );
    let place = tcp(server.address);
    for (user, password, expected) in [
        (
            "plimsoll",
            "wrong",
            [
                "cannot be watched: it denies access (Access denied",
                "GRANT PROCESS ON *.* TO",
            ],
        ),
        (
            "unprivileged",
            "seen",
            [
                "shows this account only its own sessions",
                "GRANT PROCESS ON *.* TO",
            ],
        ),
    ] {
        let mut watched = CollectorFixture::of(ComponentKind::Mysql, place.clone(), user, password);
        watched.scrape();
        watched.scrape();
        let notes = watched.notes();
        assert!(expected.iter().all(|text| notes.contains(text)), "{notes}");
        assert_eq!(notes.lines().count(), 1, "{notes}");
    }
}

#[test]
fn mariadb_tells_what_statements_cost() {
    let server = Mariadb::start("");
    server.execute(
        "CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY, customer INT); \
         INSERT INTO orders SELECT seq, seq FROM seq_1_to_2000; \
         CREATE USER plimsoll@localhost IDENTIFIED BY 'seen'; GRANT PROCESS ON *.* TO plimsoll@localhost",
    );
    let at = server.socket.display().to_string();
    let socket = || ComponentAddress::Socket(server.socket.clone());
    let mut watched = CollectorFixture::of(ComponentKind::Mysql, socket(), "root", "");
    watched.scrape();
    server.execute("SELECT COUNT(*) FROM shop.orders WHERE customer = 5");
    let labels = [
        ("at", at.as_str()),
        (
            "statement",
            "SELECT COUNT (*) FROM shop.orders WHERE customer = ?",
        ),
    ];
    // The server counts a statement after it has sent the result.
    let calls = series(metric::STATEMENT_CALLS, &labels);
    let values = (0..SCRAPES_MAX)
        .map(|_| watched.scrape().values)
        .find(|values| values.contains_key(&calls));
    let values = values.unwrap_or_default();
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
    let mut watched = CollectorFixture::of(ComponentKind::Mysql, socket(), "plimsoll", "seen");
    watched.scrape();
    assert!(
        watched
            .notes()
            .contains("`GRANT SELECT ON performance_schema.* TO …`"),
        "{}",
        watched.notes()
    );
}

/// A shop with a table of orders, and an account that may see statements but not the table.
const SHOP: &str = "CREATE DATABASE shop; USE shop; \
    CREATE TABLE orders (id INT PRIMARY KEY, customer INT, placed INT, note CHAR(200)) ENGINE=InnoDB; \
    INSERT INTO orders SELECT seq, seq, seq, REPEAT('x', 200) FROM seq_1_to_20000; ANALYZE TABLE orders; \
    CREATE USER plimsoll@'127.0.0.1'; GRANT PROCESS ON *.* TO plimsoll@'127.0.0.1'; \
    GRANT SELECT ON performance_schema.* TO plimsoll@'127.0.0.1'";

#[test]
fn mariadb_plans_what_was_carried_out() {
    // Then a session is known by the statement that it carried out last, which MariaDB does not record by itself.
    let server = Mariadb::start("performance_schema_consumer_events_statements_current = ON");
    server.execute(SHOP);
    let statement = "SELECT `id` FROM `orders` WHERE `customer` > ? ORDER BY `placed`";
    let statement = shape(statement);
    let mut watched =
        CollectorFixture::of(ComponentKind::Mysql, tcp(server.address), "plimsoll", "");
    // What was counted before does not count.
    watched.scrape();
    let question = "SELECT id FROM orders WHERE customer > 10 ORDER BY placed;\n";
    let _session = server.hold(&format!("USE shop;\n{question}"));
    let mut is_reported = || {
        watched.scrape();
        watched.notes().contains("no query plans")
    };
    assert!(
        (0..SCRAPES_MAX).any(|_| is_reported()),
        "the missing privilege is not reported"
    );
    server.execute("GRANT SELECT ON shop.* TO plimsoll@'127.0.0.1'");
    let (series, rows) =
        wait_for_statement(&mut watched, || (), metric::STATEMENT_PLAN, &statement);
    let plan = label(&series, "plan").unwrap();
    assert!(plan.starts_with("whole table orders: "), "{plan}");
    assert!(plan.ends_with("rows + sorted (filesort)"), "{plan}");
    assert!((10_000.0..40_000.0).contains(&rows), "{rows}");
}

/// MariaDB as it is installed keeps no texts of statements: they are known while they are carried out.
#[test]
fn mariadb_plans_what_is_carried_out() {
    let server = Mariadb::start("net_write_timeout = 1000000");
    server.execute(SHOP);
    server.execute("GRANT SELECT ON shop.* TO plimsoll@'127.0.0.1'");
    let question = "SELECT id, note FROM shop.orders WHERE customer > 10";
    let statement = shape(question);
    let address = tcp(server.address);
    let running = series(
        metric::MYSQL_RUNNING,
        &[("at", &address.to_string()), ("statement", &statement)],
    );
    let mut watched = CollectorFixture::of(ComponentKind::Mysql, address, "plimsoll", "");
    let _running = server.hold_unread(&format!("{question};\n"));
    watched.scrape_until(|readings| readings.values.contains_key(&running));
    // It is counted when it ends, here in another session.
    server.execute(question);
    let (series, rows) =
        wait_for_statement(&mut watched, || (), metric::STATEMENT_PLAN, &statement);
    let plan = label(&series, "plan").unwrap();
    assert!(plan.starts_with("whole table orders: "), "{plan}");
    assert!((10_000.0..40_000.0).contains(&rows), "{rows}");
}

#[test]
fn a_summary_kept_by_triggers_is_what_mariadb_would_compute() {
    let server = Mariadb::start("");
    server.execute(
        "CREATE DATABASE test_shop; USE test_shop; CREATE TABLE articles (id int PRIMARY KEY, site int NOT NULL, \
         topic varchar(9) NOT NULL, size int NOT NULL); \
         INSERT INTO articles SELECT seq, 1 + seq % 2, char(97 + seq % 3), seq % 11 FROM seq_1_to_300",
    );
    let execute = |text: &str| server.execute(&format!("USE test_shop; {text}"));
    let statements = [
        "SELECT topic, COUNT(*) AS n, SUM(size) FROM articles WHERE site = ? GROUP BY topic ORDER BY SUM(size) DESC, topic",
        "SELECT COUNT(*) FROM articles WHERE topic = ?",
        "SELECT COUNT(*), SUM(size) FROM articles",
    ];
    let kept = statements.map(|statement| {
        let table = by_triggers(&Select::of(statement).unwrap(), Dialect::Mariadb).unwrap();
        execute(&table.create);
        table.read
    });
    execute(
        "UPDATE articles SET topic = 'c' WHERE id % 5 = 0; UPDATE articles SET size = size + 3 WHERE id % 4 = 0; \
         DELETE FROM articles WHERE id % 7 = 0; INSERT INTO articles VALUES (9001, 2, 'd', 4), (9002, 1, 'd', 5); \
         UPDATE articles SET site = 3 - site WHERE id % 9 = 0; DELETE FROM articles WHERE topic = 'b' AND site = 1",
    );
    for (statement, read) in statements.iter().zip(&kept) {
        for value in ["1", "2", "'a'", "'b'", "'x'"] {
            let is_site = value.starts_with(|first: char| first.is_ascii_digit());
            if statement.contains('?') && statement.contains("site = ?") != is_site {
                continue;
            }
            let [right, found] =
                [*statement, read.as_str()].map(|text| execute(&text.replace('?', value)));
            assert_eq!(found, right, "{read} for {value}");
        }
    }
    // A result that is computed as a whole.
    let statement = "SELECT topic, avg(size), max(id) FROM articles GROUP BY topic ORDER BY topic";
    let table = refreshed(&Select::of(statement).unwrap(), Dialect::Mariadb, 10).unwrap();
    execute(&format!("SELECT 1;\n{}", table.create));
    assert_eq!(execute(&table.read), execute(statement));
}
