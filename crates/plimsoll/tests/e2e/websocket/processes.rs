//! Loads that need more descriptors than one process may have.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use serde_json::json;

use super::server::WebSocketServer;
use super::{MARKS, all_know};
use crate::support::{CommandOutput, Sandbox, count, number};

/// The binary with so many descriptors, not started yet.
fn limited(place: &Sandbox, descriptors: u32, arguments: &[&str]) -> Command {
    let mut command = Command::new("prlimit");
    command
        .arg(format!("--nofile={descriptors}:{descriptors}"))
        .arg(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .current_dir(place.path())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// 250 connections of which a process may have 100: three carry them, and what was planted is counted exactly over all.
#[test]
fn further_processes_carry_what_one_may_not() {
    let publish = json!({
        "when": all_know(250), "after_ms": 2500, "every_ms": 50, "count": 20,
        "lost": [[0, 5], [101, 6], [202, 7], [249, 8]],
        "doubled": [[1, 7], [2, 8]],
        "swapped": [[4, 10]],
    });
    let server = WebSocketServer::start(250, &json!({ "publish": publish }));
    let place = Sandbox::new();
    let url = server.url("/");
    let flags = ["run", &url, "--ws", "--json", "--connections", "250"];
    let times = ["--connect-rate", "500/s", "--hold", "13s"];
    let output = limited(&place, 356, &[&flags[..], &times, &MARKS].concat())
        .output()
        .expect("prlimit is installed: apt-get install util-linux");
    let result = CommandOutput::from(output);
    // A late generator voids latencies, not the received messages.
    assert!([0, 6].contains(&result.code), "{result:?}");
    for word in [
        "3 processes carry the load",
        "506 file descriptors",
        "the limit of one process is 356",
        "`ulimit -n 506`",
    ] {
        assert!(result.stderr.contains(word), "no `{word}` in {result:?}");
    }
    let json = result.json();
    let websocket = &json["websocket"];
    assert_eq!(count(websocket, "connected"), 250, "{websocket:#}");
    assert_eq!(
        count(websocket, "failed") + count(websocket, "closed"),
        0,
        "{websocket:#}"
    );
    assert_eq!(
        count(websocket, "messages_in"),
        count(&server.counts(), "sent")
    );
    assert_eq!(count(websocket, "broadcasts"), 20, "{websocket:#}");
    assert_eq!(count(websocket, "expected"), 250 * 20, "{websocket:#}");
    assert_eq!(count(websocket, "received"), 250 * 20 - 4, "{websocket:#}");
    assert!((number(websocket, "reach") - 4996.0 / 5000.0).abs() < 1e-12);
    let kinds = ["gaps", "duplicates", "reordered"].map(|kind| count(websocket, kind));
    assert_eq!(kinds, [4, 2, 1], "{websocket:#}");
    assert_eq!(place.run_files().len(), 1);
}

const CHANNELS_PLAN: &str = r#"
load: { users: 150, connect: 300/s, hold: 60s }
iterations: 1
data: { game: { rows: [game-1, game-2, game-3] } }
steps:
  - ws: /desk
  - subscribe:
      channel: "{{ game.value }}"
      seq: $.data.seq
      where: { json: { $.room: "{{ game.value }}" } }
      send: { json: { join: "{{ game.value }}" } }
      await: { json: { $.joined: "{{ game.value }}" } }
  - hold: 12s
  - close: normal
"#;

/// 150 users of whom a process may hold 100: two carry them with the plan's data, and a room that users of both are in is
/// one channel.
#[test]
fn users_of_a_plan_are_carried_by_further_processes() {
    let publish = json!({
        "when": all_know(2 * 150), "after_ms": 2000, "every_ms": 50, "count": 20,
        "lost": [[0, 5], [101, 6], [149, 7]],
    });
    let server = WebSocketServer::start(150, &json!({ "publish": publish }));
    let place = Sandbox::new();
    let target = server.url("").replace("ws://", "http://");
    let plan = format!("target: {target}\n{CHANNELS_PLAN}");
    std::fs::write(place.path().join("plan.yaml"), plan).unwrap();
    let output = limited(&place, 356, &["run", "plan.yaml", "--json"])
        .output()
        .expect("prlimit is installed: apt-get install util-linux");
    let result = CommandOutput::from(output);
    assert!([0, 6].contains(&result.code), "{result:?}");
    for word in ["2 processes carry the load", "`ulimit -n 406`"] {
        assert!(result.stderr.contains(word), "no `{word}` in {result:?}");
    }
    let json = result.json();
    let websocket = &json["websocket"];
    assert_eq!(count(websocket, "connected"), 150, "{websocket:#}");
    assert_eq!(count(websocket, "expected"), 150 * 20, "{websocket:#}");
    assert_eq!(count(websocket, "received"), 150 * 20 - 3, "{websocket:#}");
    assert_eq!(count(websocket, "gaps"), 3, "{websocket:#}");
    let channels = websocket["channels"].as_array().unwrap();
    let active = channels
        .iter()
        .filter(|channel| count(channel, "broadcasts") > 0);
    let mut active: Vec<(&str, u64)> = active
        .map(|channel| {
            (
                channel["channel"].as_str().unwrap(),
                count(channel, "expected"),
            )
        })
        .collect();
    active.sort_unstable();
    let each = 50 * 20;
    let right = ["game-1", "game-2", "game-3"].map(|name| (name, each));
    assert_eq!(active, right, "{websocket:#}");
}

/// A killed worker is reported in the run, and no process is left behind.
#[test]
fn a_process_that_is_killed_voids_the_run() {
    let server = WebSocketServer::start(250, &json!({}));
    let place = Sandbox::new();
    let url = server.url("/");
    let flags = [
        "run",
        &url,
        "--ws",
        "--json",
        "--connections",
        "250",
        "--hold",
        "10s",
    ];
    let mut load = limited(&place, 356, &flags)
        .spawn()
        .expect("prlimit is installed: apt-get install util-linux");
    let mut stderr = BufReader::new(load.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("processes carry the load") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it is never told");
    }
    let children = format!("/proc/{0}/task/{0}/children", load.id());
    let children = std::fs::read_to_string(children).unwrap();
    let children: Vec<&str> = children.split_whitespace().collect();
    assert_eq!(children.len(), 2, "{children:?}");
    let killed = Command::new("kill").args(["-KILL", children[0]]).status();
    assert!(killed.unwrap().success());
    let mut stdout = String::new();
    load.stdout
        .take()
        .unwrap()
        .read_to_string(&mut stdout)
        .unwrap();
    let status = load.wait().unwrap();
    assert_eq!(status.code(), Some(6), "{stdout}");
    let message = format!(
        "worker process {} did not finish its share of the load: it was ended by signal 9",
        children[0]
    );
    assert!(stdout.contains(&message), "{stdout}");
    for child in children {
        let gone = std::fs::metadata(format!("/proc/{child}"));
        assert!(gone.is_err(), "{child} is left behind");
    }
}

#[test]
fn too_few_descriptors_are_told_with_the_remedy_before_the_load() {
    let place = Sandbox::new();
    let output = Command::new("prlimit")
        .arg("--nofile=250:250")
        .arg(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["run", "ws://127.0.0.1:9/", "--ws", "--connections", "1000"])
        .current_dir(place.path())
        .output()
        .expect("prlimit is installed: apt-get install util-linux");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    for word in [
        "1256 file descriptors",
        "250",
        "ulimit -n 1256",
        "LimitNOFILE=1256",
    ] {
        assert!(stderr.contains(word), "no `{word}` in {stderr}");
    }
}
