//! `--live`: viewers change the load of a `run` while it goes on: its rate, its users, and how many users arrive.

use std::fs;

use plimsoll_lab::run_log;
use plimsoll_model::plan::Load;
use plimsoll_model::run::Run;
use plimsoll_model::schedule::LoadPhase;
use plimsoll_testkit::not_tried;
use plimsoll_testkit::origin::known_law::KnownLaw;
use serde_json::Value;

use crate::live::{Shown, origin, url};
use crate::support::Sandbox;

const SECOND_US: u64 = 1_000_000;

/// A run of a plan with these steps and this load, with its page.
fn start(place: &Sandbox, origin: &KnownLaw, steps: &str, load: &str) -> Shown {
    let plan = format!("target: {}\nsteps: {steps}\nload: {load}\n", url(origin));
    fs::write(place.path().join("plan.yaml"), plan).unwrap();
    Shown::start(place, &["run", "plan.yaml", "--live", "--json", "-q"])
}

/// Stops it from its page; the run as it was recorded.
fn stop(place: &Sandbox, shown: Shown) -> Run {
    assert_eq!(shown.act("stop", "").0, 200);
    let (code, _, stderr) = shown.end();
    assert_eq!(code, 130, "{stderr}");
    run_log::read(&place.run_files()[0]).unwrap().run
}

/// Whether a second of the run offered so much.
fn has_offered(document: &Value, wanted: u64) -> bool {
    let offered = document["columns"]["offered"].as_array();
    offered.is_some_and(|offered| offered.iter().any(|count| count.as_u64() == Some(wanted)))
}

/// Users at the end of the latest second of a document.
fn users(document: &Value) -> Option<u64> {
    let users = document["columns"]["users"].as_array()?;
    users.iter().rev().find_map(Value::as_u64)
}

/// Whether an arrival was handled so late that it may be counted in a later second than that in which it was due; reported.
fn is_late(run: &Run) -> bool {
    let lags = run.windows.iter();
    let lag_us = lags.filter_map(|window| window.lag.quantile(1.0)).max();
    let is_late = lag_us >= Some(SECOND_US);
    if is_late {
        not_tried::disturbed(format_args!("an arrival was {lag_us:?} us late"));
    }
    is_late
}

/// Asserts that each level was offered in its seconds and no other. Behind the last change the run was stopped, in the middle
/// of a second.
fn assert_offered(run: &Run, phases: &[LoadPhase], levels: [u64; 3]) {
    let windows = run.windows.iter();
    let offered: Vec<u64> = windows.map(|window| window.offered).collect();
    let [first, second, last] = levels;
    let mut changing = offered.iter().take_while(|count| **count != last);
    assert!(
        changing.all(|count| [first, second].contains(count)),
        "{offered:?}"
    );
    let seconds = |level: u64| offered.iter().filter(|count| **count == level).count() as u64;
    for (phase, level) in phases.iter().zip([first, second]) {
        assert_eq!(seconds(level) * 1_000_000_000, phase.lasting_ns);
    }
}

#[test]
fn a_load_follows_the_rate_that_a_viewer_sets_and_the_report_has_both() {
    let (place, origin) = (Sandbox::new(), origin());
    let target = url(&origin);
    let load = ["--rate", "20/s", "--spacing", "even", "--for", "10m"];
    let shown = Shown::start(
        &place,
        &[&["run", &target, "--live", "--json", "-q"], &load[..]].concat(),
    );
    shown.wait_for(|document| has_offered(document, 20));
    let document = shown.wait_for(|document| document["full"] == true);
    assert_eq!(document["head"]["changes"], "req/s", "{document:#}");
    for (body, status, part) in [
        ("0", 409, "0 req/s is out of range: above 0"),
        ("NaN", 409, "out of range"),
        ("12 horses", 400, "is not a number"),
    ] {
        let (found, text) = shown.act("load", body);
        assert!(found == status && text.contains(part), "{found} {text}");
    }
    assert_eq!(shown.act("load", "60").0, 200);
    shown.wait_for(|document| has_offered(document, 60));
    assert_eq!(shown.act("load", "7").0, 200);
    shown.wait_for(|document| has_offered(document, 7));
    let run = stop(&place, shown);
    let Load::Open { phases, .. } = &run.header.plan.load else {
        panic!("{:?}", run.header.plan.load)
    };
    let rates: Vec<f64> = phases.iter().map(|phase| phase.to).collect();
    assert_eq!(rates, [20.0, 60.0, 7.0]);
    // Each level is a step of its own, as in a load that was planned so.
    let steps = run.trials.iter().map(|trial| trial.spec.rate);
    let steps: Vec<f64> = steps.collect();
    assert!(steps.starts_with(&[20.0, 60.0]), "{steps:?}");
    if !is_late(&run) {
        assert_offered(&run, phases, [20, 60, 7]);
    }
}

#[test]
fn there_are_as_many_users_as_a_viewer_wants() {
    let (place, origin) = (Sandbox::new(), origin());
    let steps = "[{ get: / }, { think: 100ms }]";
    let shown = start(&place, &origin, steps, "{ users: 3, for: 10m }");
    shown.wait_for(|document| users(document) == Some(3));
    let document = shown.wait_for(|document| document["full"] == true);
    assert_eq!(document["head"]["changes"], "users", "{document:#}");
    for (body, part) in [
        ("2.5", "2.5 users is out of range"),
        ("2.5", "a whole number"),
        ("0", "0 users is out of range: above 0"),
    ] {
        let (status, text) = shown.act("load", body);
        assert!(status == 409 && text.contains(part), "{status} {text}");
    }
    assert_eq!(shown.act("load", "5").0, 200);
    shown.wait_for(|document| users(document) == Some(5));
    // The others leave when their iteration ends.
    assert_eq!(shown.act("load", "1").0, 200);
    shown.wait_for(|document| users(document) == Some(1));
    let run = stop(&place, shown);
    let Load::Users { phases, .. } = &run.header.plan.load else {
        panic!("{:?}", run.header.plan.load)
    };
    let levels: Vec<f64> = phases.iter().map(|phase| phase.to).collect();
    assert_eq!(levels, [3.0, 5.0, 1.0]);
    let notes: Vec<&str> = run.notes.iter().map(|(_, text)| text.as_str()).collect();
    for changed in ["load changed to 5 users", "load changed to 1 users"] {
        let changed = format!("{changed} from the live page");
        assert!(notes.contains(&changed.as_str()), "{notes:?}");
    }
    if is_late(&run) {
        return;
    }
    let at_ends: Vec<u64> = run.windows.iter().map(|window| window.users).collect();
    let mut from = 0;
    for (phase, wanted) in phases.iter().zip([3, 5]) {
        let until = from + usize::try_from(phase.lasting.as_secs()).unwrap();
        // All seconds but the last: who comes or leaves at its end may be counted in it already.
        let whole = &at_ends[from..until - 1];
        assert!(whole.iter().all(|users| *users == wanted), "{at_ends:?}");
        from = until;
    }
}

#[test]
fn users_arrive_at_the_rate_that_a_viewer_sets() {
    let (place, origin) = (Sandbox::new(), origin());
    let load = "{ sessions: 20/s, spacing: even, for: 10m }";
    // Each of them sends one request, as soon as it arrives.
    let shown = start(&place, &origin, "[{ get: / }]", load);
    shown.wait_for(|document| has_offered(document, 20));
    let document = shown.wait_for(|document| document["full"] == true);
    assert_eq!(document["head"]["changes"], "sessions/s", "{document:#}");
    let (status, text) = shown.act("load", "0");
    let part = "0 sessions/s is out of range: above 0";
    assert!(status == 409 && text.contains(part), "{status} {text}");
    assert_eq!(shown.act("load", "50").0, 200);
    shown.wait_for(|document| has_offered(document, 50));
    assert_eq!(shown.act("load", "8").0, 200);
    shown.wait_for(|document| has_offered(document, 8));
    let run = stop(&place, shown);
    let Load::Sessions { phases, .. } = &run.header.plan.load else {
        panic!("{:?}", run.header.plan.load)
    };
    let rates: Vec<f64> = phases.iter().map(|phase| phase.to).collect();
    assert_eq!(rates, [20.0, 50.0, 8.0]);
    if !is_late(&run) {
        assert_offered(&run, phases, [20, 50, 8]);
    }
}
