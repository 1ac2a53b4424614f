//! `plimsoll limit --on listen:PORT` with `plimsoll worker`: what becomes of a search whose workers, or whose coordinator, go away.

use std::process::Child;

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan};
use serde_json::Value;

use crate::limit::valid_result;
use crate::support::{Sandbox, count, interrupt};
use crate::workers::{CoordinatedRun, end, wait_for_seconds};

/// A search that goes on, with its two workers.
fn going_on(place: &Sandbox, url: &str, arguments: &[&str]) -> (CoordinatedRun, [Child; 2]) {
    let search = CoordinatedRun::of(place, &["limit", url, "--quick", "--json"], arguments);
    let workers = ["a", "b"].map(|name| search.worker(place, name));
    (search, workers)
}

fn origin() -> KnownLaw {
    KnownLaw::start(KnownLawPlan::default()).unwrap()
}

fn worker<'a>(json: &'a Value, name: &str) -> &'a Value {
    let mut workers = json["workers"].as_array().unwrap().iter();
    let worker = workers.find(|worker| worker["name"] == name);
    worker.unwrap_or_else(|| panic!("no worker {name}: {json:#}"))
}

#[test]
fn a_worker_that_is_killed_in_a_trial_voids_it_and_ends_the_search() {
    let origin = origin();
    let place = Sandbox::new();
    let (search, [first, mut second]) = going_on(&place, &origin.url(), &[]);
    wait_for_seconds(&place, 7);
    second.kill().unwrap();
    let output = search.end();
    second.wait().unwrap();
    assert_eq!(output.code, 6, "{output:?}");
    let json = output.json();
    place.assert_follows_schema("limit", &json);
    let void = json["void"].to_string();
    assert!(void.contains("worker b was lost"), "{json:#}");
    let last = json["trials"].as_array().unwrap().last().unwrap();
    assert_eq!(last["verdict"], "void", "{last:#}");
    assert!(worker(&json, "b")["lost_at"].is_u64(), "{json:#}");
    assert_eq!(worker(&json, "a")["lost_at"], Value::Null);
    let output = end(first);
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn those_that_are_left_carry_the_whole_rate_where_they_may() {
    let origin = origin();
    let place = Sandbox::new();
    let gate = ["--at-least", "60/s", "--if-lost", "continue"];
    let (mut search, [first, mut second]) = going_on(&place, &origin.url(), &gate);
    // The self-test before it, or the first trial itself.
    wait_for_seconds(&place, 6);
    second.kill().unwrap();
    search.read_to("workers that are left: 1 of 2");
    second.wait().unwrap();
    let output = search.end();
    let end_of_first = end(first);
    assert_eq!(end_of_first.code, 0, "{end_of_first:?}");
    let Some(json) = valid_result(&output) else {
        return;
    };
    assert_eq!(json["gate"]["accepted"], true, "{json:#}");
    let trials = json["trials"].as_array().unwrap();
    let is_of_loss = |trial: &&Value| {
        let why = trial["why"].as_str();
        why.is_some_and(|why| why.contains("worker b was lost"))
    };
    let lost = trials.iter().position(|trial| is_of_loss(&trial)).unwrap();
    assert!(worker(&json, "b")["lost_at"].is_u64(), "{json:#}");
    // Nothing of the rate was lost with the worker: 60 a second in 8 judged seconds, by chance.
    let gates = trials[lost + 1..].iter();
    let passed: Vec<&Value> = gates.filter(|trial| trial["verdict"] == "pass").collect();
    assert!(!passed.is_empty(), "{json:#}");
    for trial in passed {
        let each = count(trial, "requests") as f64 / 8.0;
        assert!((40.0..80.0).contains(&each), "{trial:#}");
    }
}

#[test]
fn an_interrupted_search_keeps_its_trials_and_ends_its_workers() {
    let origin = origin();
    let place = Sandbox::new();
    let (search, workers) = going_on(&place, &origin.url(), &[]);
    wait_for_seconds(&place, 11);
    interrupt(&search.child);
    let output = search.end();
    assert_eq!(output.code, 130, "{output:?}");
    let json = output.json();
    assert!(!json["trials"].as_array().unwrap().is_empty(), "{json:#}");
    for name in ["a", "b"] {
        assert_eq!(worker(&json, name)["lost_at"], Value::Null, "{json:#}");
    }
    for worker in workers {
        let output = end(worker);
        assert_eq!(output.code, 0, "{output:?}");
    }
}

#[test]
fn workers_of_a_killed_search_stop() {
    let origin = origin();
    let place = Sandbox::new();
    let (mut search, workers) = going_on(&place, &origin.url(), &[]);
    wait_for_seconds(&place, 4);
    search.child.kill().unwrap();
    search.child.wait().unwrap();
    for worker in workers {
        let output = end(worker);
        assert_eq!(output.code, 5, "{output:?}");
        assert!(
            output.stderr.contains("the coordinator was silent for"),
            "{output:?}"
        );
    }
}

#[test]
fn a_search_by_workers_is_refused_what_they_cannot_do() {
    let place = Sandbox::new();
    let url = "http://127.0.0.1:1/";
    let on = ["--on", "listen:127.0.0.1:0", "--workers", "2"];
    for (arguments, expected) in [
        (&["--through", "edge.yaml"][..], "--through"),
        (&["--source", "127.0.0.1"], "--source"),
        (&["--cores", "1000"], "--cores"),
    ] {
        let output = place.run(&[&["limit", url], &on[..], arguments].concat());
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        assert!(
            output.stderr.contains(expected),
            "{arguments:?}: {output:?}"
        );
    }
}
