//! Limits of databases behind Puma.

use super::{Planted, PlantedService};
use crate::program::databases::{Mariadb, Postgres};
use crate::program::runtimes::Puma;

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "PostgreSQL: a missing index",
        rules: &["P7"],
        start: postgres_index,
    },
    Planted {
        name: "PostgreSQL: all update one row",
        rules: &["P3"],
        start: postgres_row,
    },
    Planted {
        name: "PostgreSQL: max_connections 10",
        rules: &["P1"],
        start: postgres_sessions,
    },
    Planted {
        name: "PostgreSQL: a forgotten transaction holds a row",
        rules: &["P8"],
        start: postgres_idle,
    },
    Planted {
        name: "PostgreSQL: sorts with work_mem 64 kB",
        rules: &["P9", "P2"],
        start: postgres_sorts,
    },
    Planted {
        name: "PostgreSQL: transactions lock two rows in two orders",
        rules: &["P12", "P3"],
        start: postgres_deadlocks,
    },
    Planted {
        name: "MariaDB: a missing index",
        rules: &["Q3"],
        start: mariadb_index,
    },
    Planted {
        name: "MariaDB: all update one row",
        rules: &["Q6"],
        start: mariadb_row,
    },
    Planted {
        name: "MariaDB: max_connections 8",
        rules: &["Q1"],
        start: mariadb_sessions,
    },
    Planted {
        name: "MariaDB: innodb_buffer_pool_size 6 MB",
        rules: &["Q7"],
        start: mariadb_pool,
    },
    Planted {
        name: "healthy: Puma, PostgreSQL",
        rules: &[],
        start: healthy,
    },
];

const ORDERS: &str = "CREATE TABLE orders (id int PRIMARY KEY, customer int, note text)";
const STOCK: &str =
    "CREATE TABLE stock (id int PRIMARY KEY, n int); INSERT INTO stock VALUES (1, 1), (2, 2)";
const OF_CUSTOMER: &str = "SELECT count(*) FROM orders WHERE customer = RANDOM";

pub(super) fn postgres(lines: &str, statements: &str) -> Postgres {
    let database = Postgres::start(lines);
    database.execute(statements);
    database
}

pub(super) fn before_postgres(
    database: Postgres,
    statement: &str,
    loads: [&'static str; 2],
) -> PlantedService {
    let puma = Puma::before_postgres(&database, 12, statement);
    let watch = format!("postgres: {}\n", database.url());
    PlantedService::new(puma.url(), watch, loads)
        .holding(puma)
        .holding(database)
}

fn filled(rows: u32) -> String {
    format!(
        "{ORDERS}; INSERT INTO orders SELECT i, i, repeat('x', 40) FROM generate_series(1, {rows}) i; ANALYZE orders"
    )
}

fn postgres_index() -> PlantedService {
    let database = postgres("max_parallel_workers_per_gather = 0", &filled(300_000));
    before_postgres(database, OF_CUSTOMER, ["2/s:4s", "400/s:8s"])
}

fn postgres_row() -> PlantedService {
    let statement = "BEGIN; UPDATE stock SET n = n - 1 WHERE id = 1; SELECT pg_sleep(0.05); COMMIT";
    before_postgres(postgres("", STOCK), statement, ["3/s:4s", "60/s:8s"])
}

fn postgres_sessions() -> PlantedService {
    let database = postgres("max_connections = 10", "CREATE ROLE shop LOGIN");
    let puma = Puma::before_postgres_as(&database, "shop", 16, "SELECT pg_sleep(0.1)");
    let watch = format!("postgres: {}\n", database.url());
    PlantedService::new(puma.url(), watch, ["1/s:4s", "150/s:8s"])
        .holding(puma)
        .holding(database)
}

fn postgres_idle() -> PlantedService {
    let database = postgres("", STOCK);
    let forgotten = database.hold("BEGIN; UPDATE stock SET n = 0 WHERE id = 1;\n");
    before_postgres(
        database,
        "UPDATE stock SET n = n - 1 WHERE id = 1",
        ["5/s:6s", "50/s:8s"],
    )
    .holding(forgotten)
}

fn postgres_sorts() -> PlantedService {
    let database = postgres(
        "work_mem = 64kB\nmax_parallel_workers_per_gather = 0",
        &filled(60_000),
    );
    before_postgres(
        database,
        "SELECT note FROM orders ORDER BY customer % 977, note OFFSET 59000",
        ["1/s:4s", "300/s:8s"],
    )
}

fn postgres_deadlocks() -> PlantedService {
    let statement = "DO $$ DECLARE a int := 1 + (random() < 0.5)::int; BEGIN UPDATE stock SET n = 1 WHERE id = a; \
        PERFORM pg_sleep(0.02); UPDATE stock SET n = 2 WHERE id = 3 - a; END $$";
    before_postgres(
        postgres("deadlock_timeout = 100ms", STOCK),
        statement,
        ["2/s:4s", "60/s:8s"],
    )
}

pub(super) fn mariadb(lines: &str, statements: &str) -> Mariadb {
    let database = Mariadb::start(lines);
    database.execute(&format!(
        "CREATE DATABASE test_shop; USE test_shop; {statements}"
    ));
    database
}

pub(super) fn before_mariadb(
    database: Mariadb,
    statement: &str,
    loads: [&'static str; 2],
) -> PlantedService {
    let puma = Puma::before_mariadb(&database, 12, statement);
    let watch = format!(
        "mariadb: {{ at: 'unix:{}', user: root }}\n",
        database.socket.display()
    );
    PlantedService::new(puma.url(), watch, loads)
        .holding(puma)
        .holding(database)
}

fn mariadb_index() -> PlantedService {
    let fill =
        format!("{ORDERS}; INSERT INTO orders SELECT seq, seq, 'a note' FROM seq_1_to_300000");
    before_mariadb(mariadb("", &fill), OF_CUSTOMER, ["2/s:4s", "400/s:8s"])
}

fn mariadb_row() -> PlantedService {
    let statement = "BEGIN; UPDATE stock SET n = n - 1 WHERE id = 1; SELECT SLEEP(0.05); COMMIT";
    before_mariadb(mariadb("", STOCK), statement, ["3/s:4s", "60/s:8s"])
}

fn mariadb_sessions() -> PlantedService {
    before_mariadb(
        mariadb("max_connections = 10", STOCK),
        "SELECT SLEEP(0.1)",
        ["1/s:4s", "150/s:8s"],
    )
}

fn mariadb_pool() -> PlantedService {
    let fill = format!(
        "{ORDERS}; INSERT INTO orders SELECT seq, seq, REPEAT('x', 400) FROM seq_1_to_150000"
    );
    let statement = "SELECT count(note) FROM orders WHERE id IN (RANDOM % 150000, RANDOM % 150000, RANDOM % 150000, RANDOM % 150000)";
    before_mariadb(
        mariadb("innodb_buffer_pool_size = 6M", &fill),
        statement,
        ["20/s:4s", "6000/s:8s"],
    )
}

fn healthy() -> PlantedService {
    let database = postgres(
        "",
        &format!(
            "{}; CREATE INDEX ON orders (customer); ANALYZE orders",
            filled(100_000)
        ),
    );
    before_postgres(database, OF_CUSTOMER, ["5/s:4s", "40/s:8s"])
}
