//! Plans of statements that real databases execute, and missing indexes.

use plimsoll_model::component::{ComponentAddress, Login};
use plimsoll_model::reading::label;
use plimsoll_testkit::program::databases::{Mariadb, Postgres};

use super::tests::{CollectorFixture, LONG};
use super::*;

fn watched(kind: ComponentKind, address: std::net::SocketAddr, user: &str) -> CollectorFixture {
    let component = Component {
        kind,
        place: ComponentAddress::Tcp {
            host: address.ip().to_string(),
            port: address.port(),
        },
        login: Some(Login {
            user: user.to_owned(),
            ..Login::default()
        }),
    };
    CollectorFixture::over(vec![component], LONG)
}

/// Samples within which the server must report its statements.
const SCRAPES_MAX: u32 = 300;

/// The value of the first series of a metric for a statement, and its labels, when there is one.
fn wait_for_series(
    watched: &mut CollectorFixture,
    work: impl Fn(),
    metric: &str,
    statement: &str,
) -> (String, f64) {
    for _ in 0..SCRAPES_MAX {
        let values = watched.scrape().values;
        let mut found = values.into_iter().filter(|(series, _)| {
            series.starts_with(metric)
                && label(series, "statement")
                    .is_some_and(|form| form.eq_ignore_ascii_case(statement))
        });
        if let Some(found) = found.next() {
            return found;
        }
        work();
    }
    panic!(
        "{metric} of `{statement}` was not recorded; {}",
        watched.notes()
    );
}

#[test]
fn postgres_pretends_that_an_index_is_there() {
    let server = Postgres::start("max_parallel_workers_per_gather = 0");
    let known =
        server.execute("SELECT count(*) FROM pg_available_extensions WHERE name = 'hypopg'");
    assert_eq!(
        known.trim(),
        "1",
        "HypoPG is missing: apt-get install postgresql-NN-hypopg"
    );
    server.execute(
        "CREATE EXTENSION hypopg; CREATE TABLE orders (id int PRIMARY KEY, customer int, note text); \
         INSERT INTO orders SELECT i, i, 'a note of an order' FROM generate_series(1, 50000) i; ANALYZE orders",
    );
    let mut watched = watched(ComponentKind::Postgres, server.address, "postgres");
    let work = || drop(server.execute("SELECT count(*) FROM orders WHERE customer = 7"));
    let statement = "SELECT count(*) FROM orders WHERE customer = ?";
    let (series, with) =
        wait_for_series(&mut watched, work, metric::STATEMENT_WITH_INDEX, statement);
    assert_eq!(label(&series, "index"), Some("orders (customer)"));
    let (series, without) = wait_for_series(&mut watched, work, metric::STATEMENT_PLAN, statement);
    let plan = label(&series, "plan").unwrap();
    assert!(plan.contains("Seq Scan on orders"), "{plan}");
    assert!(with < without / 10.0, "{with} {without}");
    // It was not created.
    let indexes = server.execute("SELECT count(*) FROM pg_indexes WHERE tablename = 'orders'");
    assert_eq!(indexes.trim(), "1");
}

#[test]
fn mariadb_plans_what_was_carried_out() {
    let server = Mariadb::start("");
    server.execute(
        "CREATE DATABASE shop; USE shop; CREATE TABLE orders (id INT PRIMARY KEY, customer INT, placed INT) ENGINE=InnoDB; \
         INSERT INTO orders SELECT seq, seq, seq FROM seq_1_to_20000; ANALYZE TABLE orders; \
         CREATE USER eye@'127.0.0.1'; GRANT PROCESS ON *.* TO eye@'127.0.0.1'; \
         GRANT SELECT ON performance_schema.* TO eye@'127.0.0.1'",
    );
    let statement = "SELECT `id` FROM `orders` WHERE `customer` > ? ORDER BY `placed`";
    let statement = crate::collectors::statements::shapes::shape(statement);
    let question = "SELECT id FROM orders WHERE customer > 10 ORDER BY placed;\n";
    // A statement is known by the session that carried it out last, while that is there.
    let sessions = std::cell::RefCell::new(Vec::new());
    let work = || {
        let mut sessions = sessions.borrow_mut();
        if sessions.len() < 20 {
            sessions.push(server.hold(&format!("USE shop;\n{question}")));
        }
    };
    let mut watched = watched(ComponentKind::Mysql, server.address, "eye");
    let mut is_reported = || {
        watched.scrape();
        work();
        watched.notes().contains("no query plans")
    };
    assert!(
        (0..SCRAPES_MAX).any(|_| is_reported()),
        "the missing privilege is not reported"
    );
    server.execute("GRANT SELECT ON shop.* TO eye@'127.0.0.1'");
    let (series, rows) = wait_for_series(&mut watched, work, metric::STATEMENT_PLAN, &statement);
    let plan = label(&series, "plan").unwrap();
    assert!(plan.starts_with("whole table orders: "), "{plan}");
    assert!(plan.ends_with("rows + sorted (filesort)"), "{plan}");
    assert!((10_000.0..40_000.0).contains(&rows), "{rows}");
}
