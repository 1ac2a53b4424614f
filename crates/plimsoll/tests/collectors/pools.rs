//! Findings about connection pools of real programs, slow scripts and slow servers.

use std::path::PathBuf;

use plimsoll_testkit::program::databases::Postgres;
use plimsoll_testkit::program::pool::Hikari;
use plimsoll_testkit::program::runtimes::{AGENT, PASSWORDS, PhpFpm, Puma, Script};
use plimsoll_testkit::program::{Nginx, Redis, Webdis};

use crate::found::{assert_field_contains, best, found, found_computing, node, of};
use crate::support::Sandbox;
use plimsoll_testkit::turns::alone;

#[test]
fn libuvs_pool_has_one_thread() {
    let _alone = alone();
    let place = Sandbox::new();
    let (node, watch) = node(&place, "UV_THREADPOOL_SIZE=1", PASSWORDS);
    let url = format!("http://{}/", node.address);
    let Some(found) = found_computing(&place, &url, &watch, ["5/s:3s", "400/s:6s"]) else {
        return;
    };
    let best = best(&found, "J2");
    assert_field_contains(&best, "limit", &["libuv's pool of threads in Node"]);
    assert_field_contains(
        &best,
        "sentence",
        &[
            "the only thread of libuv's pool in Node was busy",
            "ms for one",
        ],
    );
    assert_field_contains(&best, "remedy", &["UV_THREADPOOL_SIZE=16", "(now 1)"]);
}

#[test]
fn an_http_agent_has_two_sockets() {
    let _alone = alone();
    let place = Sandbox::new();
    let (node, watch) = node(&place, "", AGENT);
    let url = format!("http://{}/", node.address);
    let Some(found) = found(&place, &url, &watch, ["5/s:3s", "120/s:6s"], &[]) else {
        return;
    };
    let best = best(&found, "J8");
    assert_field_contains(
        &best,
        "sentence",
        &[
            "all 2 connections of the HTTP client's pool of connections http.Agent",
            "requests waited for one",
        ],
    );
    assert_field_contains(&best, "remedy", &["raise its size (now 2)", "`maxSockets`"]);
}

#[test]
fn hikari_has_two_connections() {
    let _alone = alone();
    let database = Postgres::start("");
    let shop = Hikari::start(&database, 2, "SELECT pg_sleep(0.05)");
    let url = format!("http://{}/", shop.address);
    for watch in [
        format!("jvm: {}\n", shop.jolokia()),
        format!("prometheus: {{ url: '{}' }}\n", shop.page()),
    ] {
        let load = ["4/s:3s", "120/s:5s"];
        let Some(found) = found(&Sandbox::new(), &url, &watch, load, &[]) else {
            return;
        };
        let best = best(&found, "J6");
        assert_field_contains(
            &best,
            "sentence",
            &[
                "all 2 connections of the pool of connections to the database shop were busy",
                "requests waited for one",
            ],
        );
        assert_field_contains(&best, "remedy", &["(now 2)", "maximumPoolSize"]);
    }
}

#[test]
fn php_tells_where_slow_requests_are() {
    let _alone = alone();
    let fpm = PhpFpm::start_logging(12, "if (rand(0, 2) == 0) sleep(2); echo 'done';");
    let nginx = Nginx::start(1024, false, &fpm.location());
    let watch = format!(
        "php-fpm: {}/status\nphp-fpm-slowlog: {}\n",
        fpm.status,
        fpm.slow_log().display()
    );
    let url = format!("http://{}/", nginx.address);
    let Some(found) = found(&Sandbox::new(), &url, &watch, ["1/s:2s", "8/s:9s"], &[]) else {
        return;
    };
    let slow = of(&found, "R4");
    assert_field_contains(
        slow,
        "sentence",
        &["took longer than the `request_slowlog_timeout` of PHP-FPM"],
    );
    assert_field_contains(slow, "limit", &["a slow call, sleep() ", "index.php:1"]);
}

#[test]
fn nginx_waits_for_a_slow_server() {
    let _alone = alone();
    let puma = Puma::sleeping(8, "0.1");
    let locations = format!("location / {{ proxy_pass http://{}; }}", puma.address);
    let nginx = Nginx::start_logging_times(&locations);
    let watch = format!("nginx-access-log: {}\n", nginx.access_log().display());
    let url = format!("http://{}/", nginx.address);
    let Some(found) = found(&Sandbox::new(), &url, &watch, ["8/s:4s", "140/s:6s"], &[]) else {
        return;
    };
    let slow = of(&found, "X7");
    assert_field_contains(slow, "limit", &["servers behind nginx are slow"]);
    assert_field_contains(
        slow,
        "sentence",
        &["to the first byte (95th percentile)", "at low load"],
    );
}

/// Behind dozens of such commands Redis does not respond for a while, not even to its collector.
#[test]
fn keys_hold_redis_one_thread() {
    let _alone = alone();
    let redis = Redis::start("enable-debug-command yes");
    let webdis = Webdis::start(redis.address);
    redis.execute("DEBUG POPULATE 400000");
    let watch = format!("redis: {}\n", redis.address);
    let url = format!("http://{}/KEYS/nothing*", webdis.address);
    let load = ["4/s:4s", "60/s:8s"];
    let Some(found) = found_computing(&Sandbox::new(), &url, &watch, load) else {
        return;
    };
    let best = best(&found, "K3");
    assert_field_contains(&best, "limit", &["the command KEYS of Redis"]);
    assert_field_contains(&best, "remedy", &["use SCAN instead"]);
}

/// Each request computes in one function, on the only serving thread. Arrivals never exceed its queue.
#[test]
fn python_is_in_one_call() {
    let _alone = alone();
    let application = "
import sys, http.server
def rank():
    return sum(i * i for i in range(300000))
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.0'
    def do_GET(self):
        rank()
        self.send_response(200); self.send_header('content-length', '4'); self.end_headers(); self.wfile.write(b'done')
    def log_message(self, *a): pass
class Server(http.server.HTTPServer):
    request_queue_size = 511
server = Server(('127.0.0.1', int(sys.argv[1])), Handler)
print('ready', flush=True)
server.serve_forever()
";
    let python = Script::start("python3", application);
    let pid = python.program.pid();
    let spy = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools/python/bin/py-spy");
    let watch = format!(
        "pid: {pid}\npython: {} dump --json --pid {pid}\n",
        spy.display()
    );
    let url = format!("http://{}/", python.address);
    let Some(found) = found_computing(&Sandbox::new(), &url, &watch, ["5/s:4s", "250/s:6s"]) else {
        return;
    };
    let best = best(&found, "C3");
    assert_field_contains(&best, "sentence", &["Python was in rank", "(script:"]);
}

/// The connection pool has no metrics, and the component behind it is slow under load: a lock that all requests take.
#[test]
fn threads_wait_for_a_server_that_nobody_watches() {
    let _alone = alone();
    let database = Postgres::start("");
    database.execute(
        "CREATE TABLE counters (id int PRIMARY KEY, n int); INSERT INTO counters VALUES (1, 0)",
    );
    let update = "WITH done AS (UPDATE counters SET n = n + 1 WHERE id = 1 RETURNING n) SELECT pg_sleep(0.02), n FROM done";
    let puma = Puma::before(&database.url(), 24, update);
    let watch = format!("pid: {}\n", puma.program.pid());
    let Some(found) = found(
        &Sandbox::new(),
        &puma.url(),
        &watch,
        ["20/s:8s", "120/s:8s"],
        &[],
    ) else {
        return;
    };
    let best = best(&found, "J9");
    let server = database.address.to_string();
    assert_field_contains(&best, "limit", &[&server, "which the target waits for"]);
    assert_field_contains(
        &best,
        "sentence",
        &[
            "of the target's threads on average waited for",
            "it is not watched",
        ],
    );
}
