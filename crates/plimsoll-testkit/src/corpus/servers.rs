//! Limits of poolers and of application servers, and repeated statements.

use super::{Planted, PlantedService};
use crate::program::Memcached;
use crate::program::databases::{Mariadb, Postgres};
use crate::program::runtimes::Puma;
use crate::program::servers::{Apache, Gunicorn, Pgbouncer};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "pgbouncer: a pool of 2",
        rules: &["P11"],
        start: pool,
    },
    Planted {
        name: "Apache: MaxRequestWorkers 4 before a slow application",
        rules: &["A0"],
        start: apache,
    },
    Planted {
        name: "gunicorn: one worker",
        rules: &["R2"],
        start: gunicorn,
    },
    Planted {
        name: "PostgreSQL: one statement sixty times in each request",
        rules: &["N+1"],
        start: repeated,
    },
    Planted {
        name: "MariaDB: a filesort of 15,000 rows",
        rules: &["Q4"],
        start: filesort,
    },
    Planted {
        name: "memcached: 2 MiB",
        rules: &["K6"],
        start: memcached,
    },
    Planted {
        name: "healthy: Apache, gunicorn",
        rules: &[],
        start: healthy,
    },
];

fn pool() -> PlantedService {
    let database = Postgres::start("");
    let pooler = Pgbouncer::start(&database, 2);
    let puma = Puma::before(&pooler.url(), 16, "SELECT pg_sleep(0.1)");
    let watch = format!(
        "pgbouncer: {}\npostgres: {}\n",
        pooler.address,
        database.url()
    );
    PlantedService::new(puma.url(), watch, ["4/s:4s", "100/s:8s"])
        .holding(puma)
        .holding(pooler)
        .holding(database)
}

fn apache() -> PlantedService {
    let puma = Puma::sleeping(64, "0.1");
    let apache = Apache::start(4, puma.address);
    let watch = format!("apache: {}\n", apache.page());
    let url = format!("http://{}/", apache.address);
    PlantedService::new(url, watch, ["4/s:4s", "120/s:8s"])
        .holding(puma)
        .holding(apache)
}

fn gunicorn() -> PlantedService {
    let gunicorn = Gunicorn::start(1, "0.1");
    let watch = format!("gunicorn: {}\n", gunicorn.address);
    let url = format!("http://{}/", gunicorn.address);
    PlantedService::new(url, watch, ["3/s:4s", "60/s:8s"]).holding(gunicorn)
}

fn repeated() -> PlantedService {
    let database = Postgres::start("");
    database.execute(
        "CREATE TABLE items (id int PRIMARY KEY, n int); INSERT INTO items SELECT i, i FROM generate_series(0, 999) i; \
         ANALYZE items",
    );
    let puma = Puma::repeating(
        &database,
        12,
        "SELECT n FROM items WHERE id = RANDOM % 1000",
    );
    let watch = format!("postgres: {}\n", database.url());
    PlantedService::new(puma.url(), watch, ["3/s:4s", "600/s:8s"])
        .holding(puma)
        .holding(database)
}

fn filesort() -> PlantedService {
    let database = Mariadb::start("sort_buffer_size = 32K");
    database.execute(
        "CREATE DATABASE test_shop; USE test_shop; CREATE TABLE sales (id INT PRIMARY KEY, shop INT, placed INT, note CHAR(40), \
         KEY by_shop (shop)); INSERT INTO sales SELECT seq, seq % 5, seq * 7919 % 100003, 'a note' FROM seq_1_to_100000",
    );
    let statement = "SELECT note FROM sales FORCE INDEX (by_shop) WHERE shop = RANDOM % 5 ORDER BY placed LIMIT 10 OFFSET 15000";
    let puma = Puma::before_mariadb(&database, 12, statement);
    let watch = format!(
        "mariadb: {{ at: 'unix:{}', user: root }}\n",
        database.socket.display()
    );
    PlantedService::new(puma.url(), watch, ["1/s:4s", "400/s:8s"])
        .holding(puma)
        .holding(database)
}

fn memcached() -> PlantedService {
    let memcached = Memcached::start_with(64, 2);
    let puma = Puma::before_memcached(memcached.address, 12);
    let watch = format!("memcached: {}\n", memcached.address);
    PlantedService::new(puma.url(), watch, ["20/s:4s", "500/s:8s"])
        .holding(puma)
        .holding(memcached)
}

fn healthy() -> PlantedService {
    let gunicorn = Gunicorn::start(6, "0.01");
    let apache = Apache::start(32, gunicorn.address);
    let watch = format!(
        "apache: {}\ngunicorn: {}\n",
        apache.page(),
        gunicorn.address
    );
    let url = format!("http://{}/", apache.address);
    PlantedService::new(url, watch, ["5/s:4s", "30/s:8s"])
        .holding(gunicorn)
        .holding(apache)
}
