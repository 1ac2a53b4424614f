//! Metrics of real components, with and without load, and the findings when one of them is at its limit.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::process::Command;
use std::time::Duration;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::program::databases::{Mariadb, Postgres};
use plimsoll_testkit::program::engines::{Jvm, Uwsgi};
use plimsoll_testkit::program::runtimes::PhpFpm;
use plimsoll_testkit::program::servers::{Apache, Gunicorn, Pgbouncer};
use plimsoll_testkit::program::{Haproxy, Memcached, Nginx, Redis, Webdis};

use crate::found::{assert_field_contains, best, found};
use crate::kill::after;
use crate::support::{CommandOutput, Sandbox, is_late};
use crate::watch::so_far;
use plimsoll_testkit::turns::alone;

/// An origin that answers any number of requests at once, each after this time.
fn origin(service_ms: u64) -> (KnownLaw, SocketAddr) {
    let origin = KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(4096).unwrap(),
        service: Service::Deterministic(Duration::from_millis(service_ms)),
        ..KnownLawPlan::default()
    })
    .unwrap();
    let url = origin.url();
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let address = address.parse().unwrap();
    (origin, address)
}

#[test]
fn haproxy_lets_requests_wait_for_a_server_that_may_have_few() {
    let _alone = alone();
    let (_origin, address) = origin(100);
    let haproxy = Haproxy::start("", &format!("  server s1 {address} maxconn 20"));
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    let Some(found) = found(&Sandbox::new(), &url, &watch, ["60/s:3s", "320/s:6s"], &[]) else {
        return;
    };
    let best = best(&found, "H1");
    assert_field_contains(&best, "limit", &["maxconn of server s1 in HAProxy's app"]);
    assert_field_contains(&best, "tier", &["proxy"]);
    assert_field_contains(&best, "certainty", &["explicit"]);
    let file = format!("{}:13", haproxy.configuration.display());
    assert_field_contains(
        &best,
        "remedy",
        &["raise `maxconn` of server s1 in app (now 20)", &file],
    );
    assert_field_contains(&best, "sentence", &["had all its 20 sessions in use"]);
}

#[test]
fn haproxy_takes_no_more_clients() {
    let _alone = alone();
    let (_origin, address) = origin(200);
    let haproxy = Haproxy::start("maxconn 20", &format!("  server s1 {address}"));
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    let Some(found) = found(&Sandbox::new(), &url, &watch, ["30/s:3s", "300/s:6s"], &[]) else {
        return;
    };
    let best = best(&found, "H7");
    assert_field_contains(&best, "limit", &["maxconn of HAProxy's frontend web"]);
    let file = format!("{}:10", haproxy.configuration.display());
    assert_field_contains(&best, "remedy", &["(now 20)", &file]);
}

#[test]
fn redis_throws_away_what_is_asked_for() {
    let _alone = alone();
    let redis = Redis::start("maxmemory 3mb\nmaxmemory-policy allkeys-lru");
    let webdis = Webdis::start(redis.address);
    let place = Sandbox::new();
    let value = "v".repeat(2000);
    let keys = 1..=1500;
    let mut urls: Vec<String> = keys
        .clone()
        .map(|key| format!("/SET/k{key}/{value}"))
        .collect();
    urls.extend(keys.map(|key| format!("/GET/k{key}.txt")));
    std::fs::write(place.path().join("urls"), urls.join("\n")).unwrap();
    let watch = format!("redis: {}\n", redis.address);
    let url = format!("http://{}/", webdis.address);
    let load = ["50/s:3s", "500/s:6s"];
    let Some(found) = found(&place, &url, &watch, load, &["--urls", "urls"]) else {
        return;
    };
    let best = best(&found, "K2");
    assert_field_contains(&best, "limit", &["maxmemory of Redis"]);
    assert_field_contains(&best, "tier", &["store"]);
    let file = redis
        .program
        .path()
        .join("redis.conf")
        .display()
        .to_string();
    assert_field_contains(&best, "remedy", &["raise `maxmemory` (now 3.0 MiB)", &file]);
    assert_field_contains(&best, "sentence", &["evicted", "of the lookups were hits"]);
}

/// Watches this machine until these series were read and this was said. A part that gets no CPU for a second is read in a later
/// one, and seconds are left out where Plimsoll gets none.
fn watched_until(place: &Sandbox, series: &[String], note: &str) -> CommandOutput {
    let rendered = place.path().join("rendered");
    let words = ["watch", "--for", "10m", "--watch", "auto"];
    let child = place
        .command(&[&words[..], &["--out", "w.run", "--json"]].concat())
        .stderr(std::fs::File::create(&rendered).unwrap())
        .spawn()
        .unwrap();
    let text = || std::fs::read_to_string(&rendered).unwrap();
    let is_complete = || {
        let readings = so_far(place).map(|loaded| loaded.readings);
        let is_read = |name: &String| {
            let values = readings.as_ref().and_then(|table| table.values(name));
            values.is_some()
        };
        series.iter().all(is_read) && text().contains(note)
    };
    let mut polls = 0;
    while !is_complete() {
        after(Duration::from_millis(20));
        polls += 1;
        assert!(polls < 3000, "not all of it is read: {}", text());
    }
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    CommandOutput {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: text(),
    }
}

#[test]
fn parts_are_watched_without_load() {
    let _alone = alone();
    let nginx = Nginx::start(64, true, "location / { return 204; }");
    let silent = Nginx::start(64, false, "location / { return 204; }");
    let haproxy = Haproxy::start("", "  server s1 127.0.0.1:1 maxconn 20");
    let redis = Redis::start("");
    let locked = Redis::start("requirepass hidden");
    let memcached = Memcached::start(64);
    let postgres = Postgres::start("");
    let mariadb = Mariadb::start("");
    let pgbouncer = Pgbouncer::start(&postgres, 2);
    let gunicorn = Gunicorn::start(1, "0.1");
    let apache = Apache::start(4, gunicorn.address);
    let (jvm, uwsgi) = (
        Jvm::start(&["-Xmx64m"], 2, "sleep 1"),
        Uwsgi::start(1, "0.1"),
    );
    let places = [
        nginx.page(),
        haproxy.socket.display().to_string(),
        redis.address.to_string(),
        memcached.address.to_string(),
        postgres.socket().display().to_string(),
        mariadb.socket.display().to_string(),
        pgbouncer.address.to_string(),
        gunicorn.address.to_string(),
        apache.page(),
        jvm.counters().display().to_string(),
        uwsgi.stats.to_string(),
    ];
    let setting = format!(
        "plimsoll.part.setting{{at={},setting=maxconn,of=app/s1,file={}:13}}",
        haproxy.socket.display(),
        haproxy.configuration.display()
    );
    let denied = format!(
        "Redis at {} cannot be watched: it denies access (NOAUTH",
        locked.address
    );
    let mut expected: Vec<String> = places
        .iter()
        .map(|place| format!("plimsoll.probe.answer_time{{at={place}}}"))
        .collect();
    expected.push(setting);
    let output = watched_until(&Sandbox::new(), &expected, &denied);
    assert_eq!(output.code, 130, "{output:?}");
    let json = output.json();
    assert!(!json["readings"].as_array().unwrap().is_empty());
    let series = json["series"].as_object().unwrap();
    for name in &expected {
        assert!(series.contains_key(name), "{name} is not in {json:#}");
    }
    let notes = json["notes"].to_string();
    for expected in [
        format!(
            "add to `http {{ … }}` in {}",
            silent.configuration.display()
        ),
        format!("found and watched: Redis at {}", redis.address),
        denied,
    ] {
        assert!(notes.contains(&expected), "`{expected}` is not in {notes}");
        assert!(
            output.stderr.contains(&expected),
            "`{expected}` is not in {}",
            output.stderr
        );
    }
}

#[test]
fn what_is_watched_is_checked_before_anything_starts() {
    let _alone = alone();
    let place = Sandbox::new();
    std::fs::write(place.path().join("watch.yaml"), "hapoxy: x\nnginx: y\n").unwrap();
    let load = ["run", "http://127.0.0.1:1/", "--rate", "1/s", "--watch"];
    for (file, expected) in [
        ("watch.yaml", "watch.yaml:1:1: "),
        ("missing.yaml", "--watch auto, --watch none"),
    ] {
        let output = place.run(&[&load[..], &[file]].concat());
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.contains(expected), "{output:?}");
    }
    assert!(place.run_files().is_empty());
}

/// Without a number of users, and without a status page of either program.
#[test]
fn a_pool_of_one_process_behind_the_url_binds_early() {
    let _alone = alone();
    let fpm = PhpFpm::without_page(1, "echo 1;");
    let nginx = Nginx::start(1024, false, &fpm.location());
    let place = Sandbox::new();
    let url = format!("http://{}/", nginx.address);
    let output = place.run(&["check", &url, "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let json = output.json();
    let limits = json["limits"].as_array().unwrap();
    let name = format!("pm.max_children of PHP-FPM ({})", fpm.address);
    let pool = limits.iter().find(|limit| limit["name"] == name.as_str());
    let pool = pool.unwrap_or_else(|| panic!("{name} is not in {json:#}"));
    assert_eq!(
        (&pool["binds_at"], &pool["ok"], &pool["hint"]),
        (&20.into(), &false.into(), &false.into())
    );
    assert_eq!(json["demand"]["users"], 500);
    assert!(json.get("users").is_none(), "{json:#}");
    let text = place.run(&["check", &url]);
    assert!(!text.stdout.contains("No limit"), "{text:?}");
    assert!(text.stdout.contains(&name), "{text:?}");
}

/// The demand is that of a plan, or of a run of it.
#[test]
fn the_demand_of_a_plan_and_of_a_run() {
    let _alone = alone();
    let (origin, address) = origin(200);
    let haproxy = Haproxy::start("", &format!("  server s1 {address} maxconn 20"));
    let place = Sandbox::new();
    let plan = format!(
        "target: http://{}/\nload: {{ users: 40, for: 6s }}\nsteps:\n  - get: /\n  - think: 800ms\n",
        haproxy.address
    );
    std::fs::write(place.path().join("exam.yaml"), plan).unwrap();
    let server = |json: &serde_json::Value| {
        let limits = json["limits"].as_array().unwrap();
        let name = format!(
            "maxconn of server s1 in HAProxy's app ({})",
            haproxy.socket.display()
        );
        let own = limits.iter().find(|limit| limit["name"] == name.as_str());
        own.unwrap_or_else(|| panic!("{name} is not in {json:#}"))
            .clone()
    };
    // 40 users, each 0.5 s of 1.3 s with a request.
    let json = place
        .run(&["check", "--plan", "exam.yaml", "--json"])
        .json();
    assert_eq!(json["users"], 40);
    assert_eq!(server(&json)["advised"], "16 or more", "{json:#}");
    let json = place
        .run(&["check", "--plan", "exam.yaml", "--for", "1000", "--json"])
        .json();
    assert_eq!(server(&json)["advised"], "385 or more", "{json:#}");
    let run = place.run(&["run", "exam.yaml", "--quiet", "--json"]);
    let is_calm = run.measured().is_some()
        && !is_late(origin.counts().late_mean(), Duration::from_millis(10));
    let log = place.run_files().pop().unwrap();
    let log = log.to_str().unwrap();
    let json = place
        .run(&["check", "--run", log, "--for", "1000", "--json"])
        .json();
    // Each 0.2 s of a second with a request: 200 of 1,000 users, by Little's law.
    let in_flight = json["demand"]["in_flight"].as_f64().unwrap();
    if is_calm {
        assert!((180.0..240.0).contains(&in_flight), "{json:#}");
    }
    assert_eq!(server(&json)["ok"], false);
    assert!(json["demand"]["cpus"].is_null() || json["demand"]["cpus"].as_f64().is_some());
    let output = place.run(&["check", "exam.yaml", "--for", "1000"]);
    assert_eq!(output.code, 2, "{output:?}");
    let both = ["check", "--plan", "exam.yaml", "--run", log];
    assert_eq!(place.run(&both).code, 2);
}

#[test]
fn settings_that_bind_for_so_many_users_are_told() {
    let _alone = alone();
    let haproxy = Haproxy::start("maxconn 30", "  server s1 127.0.0.1:1 maxconn 20");
    let place = Sandbox::new();
    let output = place.run(&["check", "--for", "3000-users", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let json = output.json();
    assert_eq!(json["users"], 3000);
    let limits = json["limits"].as_array().unwrap();
    let of = |name: &str| {
        let name = format!("{name} ({})", haproxy.socket.display());
        let own = limits.iter().find(|limit| limit["name"] == name.as_str());
        own.unwrap_or_else(|| panic!("{name} is not in {json:#}"))
            .clone()
    };
    let frontend = of("maxconn of HAProxy's frontend web");
    let current = format!("30 ({}:10)", haproxy.configuration.display());
    assert_eq!(frontend["current"], current.as_str());
    assert_eq!(
        (&frontend["binds_at"], &frontend["ok"]),
        (&30.into(), &false.into())
    );
    let server = of("maxconn of server s1 in HAProxy's app");
    assert_eq!(server["advised"], "150 or more");
    let output = place.run(&["check", "--for", "many"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("3000-users"), "{output:?}");
}
