//! Databases at their limit, behind an application without metrics: the first finding. More are in the corpus (`cargo xtask
//! bottlenecks`), which takes longer.

use plimsoll_testkit::program::databases::{Mariadb, Postgres};
use plimsoll_testkit::program::runtimes::Puma;
use plimsoll_testkit::turns::measuring;

use crate::found::{assert_field_contains, best, found, found_computing};
use crate::support::Sandbox;

/// A table of so many rows, each with a customer.
const ORDERS: &str = "CREATE TABLE orders (id int PRIMARY KEY, customer int, note text)";

/// Fills it in PostgreSQL.
fn orders(database: &Postgres, rows: u32) {
    database.execute(&format!(
        "{ORDERS}; INSERT INTO orders SELECT i, i, 'a note of an order' FROM generate_series(1, {rows}) i; ANALYZE orders"
    ));
}

#[test]
fn postgres_lacks_an_index() {
    let _turn = measuring();
    let database = Postgres::start("max_parallel_workers_per_gather = 0");
    orders(&database, 300_000);
    let statement = "SELECT count(*) FROM orders WHERE customer = RANDOM";
    let application = Puma::before_postgres(&database, 12, statement);
    let watch = format!(
        "postgres: postgres://postgres@{}/postgres\n",
        database.address
    );
    let load = ["2/s:3s", "400/s:6s"];
    let Some(found) = found_computing(&Sandbox::new(), &application.url(), &watch, load) else {
        return;
    };
    let best = best(&found, "P7");
    assert_field_contains(
        &best,
        "limit",
        &["a missing index on public.orders in PostgreSQL"],
    );
    assert_field_contains(
        &best,
        "sentence",
        &[
            "300000 per scan",
            "SELECT count(*) FROM orders WHERE customer = ?",
        ],
    );
    assert_field_contains(
        &best,
        "remedy",
        &["CREATE INDEX CONCURRENTLY ON public.orders (customer)"],
    );
}

#[test]
fn an_idle_transaction_holds_what_all_wait_for() {
    let _turn = measuring();
    let database = Postgres::start("");
    database
        .execute("CREATE TABLE stock (id int PRIMARY KEY, n int); INSERT INTO stock VALUES (1, 1)");
    let application =
        Puma::before_postgres(&database, 12, "UPDATE stock SET n = n - 1 WHERE id = 1");
    let _forgotten = database.hold("BEGIN; UPDATE stock SET n = 0 WHERE id = 1;\n");
    let watch = format!(
        "postgres: postgres://postgres@{}/postgres\n",
        database.address
    );
    let load = ["5/s:6s", "50/s:6s"];
    let Some(found) = found(&Sandbox::new(), &application.url(), &watch, load, &[]) else {
        return;
    };
    let best = best(&found, "P8");
    assert_field_contains(&best, "limit", &["an idle transaction in PostgreSQL"]);
    assert_field_contains(&best, "remedy", &["idle_in_transaction_session_timeout"]);
}

/// A shop in MariaDB.
fn shop(lines: &str, statements: &str) -> Mariadb {
    let database = Mariadb::start(lines);
    database.execute(&format!(
        "CREATE DATABASE test_shop; USE test_shop; {statements}"
    ));
    database
}

#[test]
fn mariadb_sessions_wait_for_a_row() {
    let _turn = measuring();
    let database = shop(
        "",
        "CREATE TABLE stock (id int PRIMARY KEY, n int); INSERT INTO stock VALUES (1, 1)",
    );
    let statement = "BEGIN; UPDATE stock SET n = n - 1 WHERE id = 1; SELECT SLEEP(0.05); COMMIT";
    let application = Puma::before_mariadb(&database, 12, statement);
    let watch = format!(
        "mariadb: {{ at: 'unix:{}', user: root }}\n",
        database.socket.display()
    );
    let load = ["3/s:3s", "60/s:6s"];
    let Some(found) = found(&Sandbox::new(), &application.url(), &watch, load, &[]) else {
        return;
    };
    let best = best(&found, "Q6");
    assert_field_contains(&best, "limit", &["row locks in MariaDB"]);
}
