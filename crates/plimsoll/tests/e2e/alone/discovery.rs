//! Components that are found on this machine and held against a demand. Programs of other tests would be found too.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll_testkit::machine::namespace::Namespace;
use plimsoll_testkit::port;
use plimsoll_testkit::program::runtimes::{PASSWORDS, PhpFpm};
use plimsoll_testkit::program::{Haproxy, Nginx};
use plimsoll_testkit::turns::alone;
use rustix::process::Signal;
use serde_json::Value;

use super::origin;
use crate::support::{self, Sandbox, is_late};
use crate::tune_faults::Running;

/// The settings that `tune --discover URL --advice` lists, within a minute and without a file.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a test that measures")]
fn advised(place: &Sandbox, url: &str) -> Value {
    let began = Instant::now();
    let output = place.run(&["tune", "--discover", url, "--advice", "--json"]);
    let took = began.elapsed();
    assert_eq!(output.code, 0, "{output:?}");
    assert!(took < Duration::from_mins(1), "{took:?}");
    let json = output.json();
    place.assert_follows_schema("tune-advice", &json);
    assert!(!place.path().join("tune.yaml").exists(), "{json:#}");
    json["settings"].clone()
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
    let settings = advised(&place, &url);
    for (knob, now) in [
        ("php_pm_max_children", "1"),
        ("nginx_worker_connections", "1024"),
    ] {
        assert_eq!(settings[knob]["from"], now, "{settings:#}");
    }
}

/// The demand is that of a plan, or of a run of it.
#[test]
fn the_demand_of_a_plan_and_of_a_run() {
    let _alone = alone();
    let (origin, address) = origin(200);
    let haproxy = Haproxy::start("", &format!("  server s1 {address} maxconn 20"));
    let place = Sandbox::new();
    let plan = format!(
        "target: http://{}/\nload: {{ users: 40, for: 5s }}\nsteps:\n  - get: /\n  - think: 800ms\n",
        haproxy.address
    );
    std::fs::write(place.path().join("exam.yaml"), plan).unwrap();
    let server = |json: &Value| {
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

/// In a network of its own, in front of a program that has no known settings.
#[test]
fn a_draft_has_settings_of_the_kernel_where_they_are_wanted() {
    let _alone = alone();
    let Some(_network) = Namespace::enter(32_768, 60_999) else {
        return;
    };
    let (_origin, address) = origin(1);
    let url = format!("http://{address}/");
    let place = Sandbox::new();
    let is_of_kernel = |settings: &Value| {
        let mut names = settings.as_object().unwrap().keys();
        names.any(|name| name.starts_with("kernel_"))
    };
    let settings = advised(&place, &url);
    assert!(!is_of_kernel(&settings), "{settings:#}");
    let output = place.run(&["tune", "--discover", &url, "--kernel"]);
    assert_eq!(output.code, 0, "{output:?}");
    // The draft is an experiment, and its file is one that the kernel reads.
    let advice = place.run(&["tune", "tune.yaml", "--advice", "--json"]);
    assert_eq!(advice.code, 0, "{advice:?}");
    assert!(is_of_kernel(&advice.json()["settings"]), "{advice:?}");
    let status = Command::new("sysctl")
        .args(["-q", "-p", "tune-kernel.conf"])
        .current_dir(place.path())
        .status()
        .unwrap();
    assert!(status.success());
}

/// Node as somebody started it: nothing changes it while it runs, so the draft starts it, and a search of the draft does.
#[test]
fn a_program_that_only_a_start_changes_is_started_by_its_draft() {
    let _alone = alone();
    let place = Sandbox::new();
    fs::write(place.path().join("server.js"), PASSWORDS).unwrap();
    let address = port::unused();
    let start = Command::new("node")
        .args(["server.js", &address.port().to_string(), "127.0.0.1"])
        .env("UV_THREADPOOL_SIZE", "2")
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .spawn();
    let mut node = Running(start.unwrap());
    let mut lines = BufReader::new(node.0.stdout.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap().contains("ready")),
        "it serves"
    );
    let url = format!("http://{address}/");
    let output = place.run(&["tune", "--discover", &url]);
    assert_eq!(output.code, 0, "{output:?}");
    let text = fs::read_to_string(place.path().join("tune.yaml")).unwrap();
    for part in [
        "\n  node_UV_THREADPOOL_SIZE: { values: [",
        "\n  - command: [",
        "\n      \"UV_THREADPOOL_SIZE\": \"{{ node_UV_THREADPOOL_SIZE }}\"\n",
        "stop it before, with `kill",
    ] {
        let text = text.replace("\n# ", " ");
        assert!(text.contains(part), "{part}: {text}");
    }
    drop(node);
    let mut search = place.start(&["tune", "tune.yaml"]);
    let mut lines = BufReader::new(search.stderr.take().unwrap()).lines();
    let is_loaded = lines.any(|line| line.unwrap().contains("in flight"));
    assert!(is_loaded, "it ended before");
    support::signal(&search, Signal::TERM);
    lines.for_each(drop);
    assert_eq!(search.wait().unwrap().code(), Some(130));
}
