//! Limits of connection pools, and of the components behind them.

use super::{Planted, PlantedService};
use crate::program::Nginx;
use crate::program::databases::Postgres;
use crate::program::pool::Hikari;
use crate::program::runtimes::{AGENT, PASSWORDS, PhpFpm, Puma, Script, TOKEN};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "Node: UV_THREADPOOL_SIZE 1 for passwords",
        rules: &["J2"],
        start: libuv,
    },
    Planted {
        name: "Node: an http.Agent with maxSockets 2",
        rules: &["J8"],
        start: agent,
    },
    Planted {
        name: "HikariCP: maximumPoolSize 2",
        rules: &["J6"],
        start: hikari,
    },
    Planted {
        name: "Puma: threads that wait on idle keep-alive connections",
        rules: &["R7"],
        start: idle_connections,
    },
    Planted {
        name: "Puma: a session of PostgreSQL begun in each request",
        rules: &["J11"],
        start: begun,
    },
    Planted {
        name: "HikariCP: a pool of 8 before rows that all update",
        rules: &["P3"],
        start: hikari_lock,
    },
    Planted {
        name: "nginx: times of a server with 4 threads",
        rules: &["R1", "X7"],
        start: times,
    },
    Planted {
        name: "healthy: HikariCP, PostgreSQL",
        rules: &[],
        start: healthy_hikari,
    },
    Planted {
        name: "healthy: nginx with times, PHP-FPM with a slow log",
        rules: &[],
        start: healthy_logs,
    },
];

/// The module that `plimsoll watch --node-module` prints: the test kit depends on nothing that it tests.
const MODULE: &str = include_str!("../../../plimsoll-probe/src/collectors/node/node.cjs");

fn begun() -> PlantedService {
    let database = Postgres::start("");
    let puma = Puma::beginning_sessions(&database, 8, "SELECT 1");
    let watch = format!("postgres: {}\n", database.url());
    PlantedService::new(puma.url(), watch, ["5/s:4s", "600/s:8s"])
        .holding(puma)
        .holding(database)
}

/// Node with the module that exposes its metrics.
fn node(variables: &str, application: &str, loads: [&'static str; 2]) -> PlantedService {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let [module, socket] = ["metrics.cjs", "metrics.sock"].map(|name| folder.path().join(name));
    crate::program::write(&module, MODULE);
    let words = format!(
        "env PLIMSOLL_NODE_SOCKET={} {variables} node --require {}",
        socket.display(),
        module.display()
    );
    let script = Script::start(&words, application);
    let watch = format!("node: unix:{}\n", socket.display());
    let url = format!("http://{}/", script.address);
    PlantedService::new(url, watch, loads)
        .holding(script)
        .holding(folder)
}

fn libuv() -> PlantedService {
    node("UV_THREADPOOL_SIZE=1", PASSWORDS, ["5/s:4s", "400/s:8s"])
}

fn agent() -> PlantedService {
    node("", AGENT, ["5/s:4s", "120/s:8s"])
}

fn pool(connections: u32, statement: &str, loads: [&'static str; 2]) -> PlantedService {
    let database = Postgres::start("");
    database.execute(
        "CREATE TABLE counters (id int PRIMARY KEY, n int); INSERT INTO counters VALUES (1, 0)",
    );
    let shop = Hikari::start(&database, connections, statement);
    let watch = format!("jvm: {}\npostgres: {}\n", shop.jolokia(), database.url());
    let url = format!("http://{}/", shop.address);
    PlantedService::new(url, watch, loads)
        .holding(shop)
        .holding(database)
}

fn hikari() -> PlantedService {
    pool(2, "SELECT pg_sleep(0.05)", ["4/s:4s", "120/s:8s"])
}

fn hikari_lock() -> PlantedService {
    let update = "UPDATE counters SET n = n + 1 WHERE id = 1; SELECT pg_sleep(0.05)";
    pool(8, update, ["4/s:4s", "120/s:8s"])
}

/// Sixty users whose requests take 2 ms, each with a connection on which it is silent for a second: each request keeps one
/// of four threads waiting on its connection.
fn idle_connections() -> PlantedService {
    let puma = Puma::sleeping(4, "0.002");
    let watch = format!("puma: {{ at: '{}', password: {TOKEN} }}\n", puma.control);
    let mut service = PlantedService::new(puma.url(), watch, ["", ""]).holding(puma);
    service.users = ["-c", "60", "--think", "1s", "--for", "12s"]
        .map(str::to_owned)
        .to_vec();
    service
}

fn healthy_hikari() -> PlantedService {
    pool(10, "SELECT 1", ["5/s:4s", "60/s:8s"])
}

fn times() -> PlantedService {
    let puma = Puma::sleeping(4, "0.1");
    let locations = format!("location / {{ proxy_pass http://{}; }}", puma.address);
    let nginx = Nginx::start_logging_times(&locations);
    let watch = format!("nginx-access-log: {}\n", nginx.access_log().display());
    let url = format!("http://{}/", nginx.address);
    PlantedService::new(url, watch, ["8/s:4s", "120/s:8s"])
        .holding(puma)
        .holding(nginx)
}

fn healthy_logs() -> PlantedService {
    let fpm = PhpFpm::start_logging(8, "usleep(20000); echo 'done';");
    let nginx = Nginx::start_logging_times(&fpm.location());
    let watch = format!(
        "php-fpm: {}/status\nphp-fpm-slowlog: {}\nnginx-access-log: {}\n",
        fpm.status,
        fpm.slow_log().display(),
        nginx.access_log().display()
    );
    let url = format!("http://{}/", nginx.address);
    PlantedService::new(url, watch, ["5/s:4s", "40/s:8s"])
        .holding(fpm)
        .holding(nginx)
}
