//! `plimsoll compare` on run files. Trials in turn are measured alone.

use std::num::NonZeroU32;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use plimsoll_lab::run_log::{Followers, RunLog};
use plimsoll_model::event::{Event, FORMAT_MAJOR, FORMAT_MINOR, Header};
use plimsoll_model::plan::{Facts, Load, LoadUnit, Plan};
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::seed::Seed;
use plimsoll_model::trial::{TrialKind, TrialSpec};
use plimsoll_model::verdict::Verdict;
use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan, Service};
use plimsoll_testkit::plan::get_root;
use plimsoll_testkit::queue::{Distribution, SimulatedLaw, SimulatedQueue};
use serde_json::Value;

use crate::support::{CommandOutput, Sandbox, number};

pub(crate) fn origin(service_ms: u64) -> KnownLaw {
    KnownLaw::start(KnownLawPlan {
        servers: NonZeroU32::new(100).unwrap(),
        service: Service::Deterministic(Duration::from_millis(service_ms)),
        ..KnownLawPlan::default()
    })
    .unwrap()
}

/// Starts a run of 50/s whose file is `NAME.run`, in a folder of its own.
fn start(place: &Sandbox, url: &str, name: &str, extra: &[&str]) -> Child {
    let mut arguments = vec!["run", url, "--rate", "50/s", "--quiet", "--out", name];
    arguments.extend_from_slice(extra);
    place.start(&arguments)
}

/// The run file of a finished run, as `NAME.run`.
fn run_file(place: &Sandbox, name: &str) -> String {
    let folder = place.path().join(name);
    let mut files = std::fs::read_dir(&folder).unwrap();
    let file = files.next().unwrap().unwrap().path();
    let short = format!("{name}.run");
    std::fs::rename(file, place.path().join(&short)).unwrap();
    short
}

fn runs(place: &Sandbox, runs: &[(&str, &str, &[&str])]) {
    let children: Vec<Child> = runs
        .iter()
        .map(|(name, url, extra)| start(place, url, name, extra))
        .collect();
    for mut child in children {
        child.wait().unwrap();
    }
    for (name, ..) in runs {
        run_file(place, name);
    }
}

/// The result; `None` if this machine was too busy, and it was reported.
pub(crate) fn compared(output: &CommandOutput) -> Option<Value> {
    let json = output.json();
    if json["void"].is_null() {
        return Some(json);
    }
    assert_eq!(output.code, 6, "{output:?}");
    plimsoll_testkit::not_tried::disturbed(json["void"].to_string());
    None
}

/// Writes the file of a run against a law, in virtual time: 400/s for 26 s.
fn write_run_of_law(place: &Sandbox, name: &str, mean_ms: f64, seed: u64) {
    let (rate, seconds) = (400.0, 26);
    let law = SimulatedLaw {
        servers: 100,
        service: Distribution::Exponential,
        mean_s: mean_ms / 1000.0,
    };
    let spec = TrialSpec {
        kind: TrialKind::Noise,
        rate,
        unit: LoadUnit::RequestsPerSecond,
        per_unit: 1.0,
        ramp_s: 0,
        warmup_s: 0,
        measure_s: seconds,
        stop_early: false,
        in_flight_cap: u64::MAX,
    };
    let windows = SimulatedQueue::new(law, Spacing::Poisson, Seed(seed)).run(&spec, |_| false);
    let lasting = Duration::from_secs(seconds.into());
    let header = Header {
        format_major: FORMAT_MAJOR,
        format_minor: FORMAT_MINOR,
        command: "run".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        plan: Plan {
            load: Load::Open {
                phases: vec![LoadPhase::constant(rate, lasting)],
                spacing: Spacing::Poisson,
            },
            ..get_root(([127, 0, 0, 1], 80).into())
        },
        host: Facts::new(),
        versions: Facts::new(),
    };
    let path = place.path().join(format!("{name}.run"));
    let mut log = RunLog::create(&path, header, Followers::default()).unwrap();
    for window in windows {
        log.append(Event::WindowClosed(Box::new(window)));
    }
    log.append(Event::RunEnded {
        verdict: Verdict::Met,
        void: Vec::new(),
        process_cpu_us: 1,
        rss_bytes_max: 1 << 20,
    });
    let (_, refused) = log.close();
    assert!(refused.is_empty());
}

#[test]
fn run_files_have_a_verdict() {
    let place = Sandbox::new();
    for (name, mean_ms, seed) in [("a", 20.0, 1), ("again", 20.0, 2), ("b", 30.0, 3)] {
        write_run_of_law(&place, name, mean_ms, seed);
    }
    let compare = |files: &[&str]| {
        let mut arguments = vec!["compare"];
        arguments.extend_from_slice(files);
        arguments.push("--json");
        place.run(&arguments)
    };
    let output = compare(&["a.run", "b.run"]);
    let json = output.json();
    place.assert_follows_schema("compare", &json);
    assert_eq!(
        (output.code, &json["verdict"]),
        (3, &Value::from("worse")),
        "{json:#}"
    );
    for name in ["p50", "p95"] {
        let [ratio, low, high] =
            ["ratio", "low", "high"].map(|key| number(&json, &format!("metrics.{name}.{key}")));
        assert!((ratio - 1.5).abs() < 0.1, "{ratio}");
        assert!(low <= ratio && ratio <= high, "{json:#}");
        assert!(low > 1.3 && high < 1.7, "{json:#}");
    }
    assert_eq!(json["metrics"]["p50"]["interval_of"], "batches");
    assert!(json["blocks"].is_null() && json["differences"] == Value::from(Vec::<Value>::new()));
    // The law is the same: no alarm, whatever else may be concluded.
    let equal = compare(&["a.run", "again.run"]);
    assert!([0, 4].contains(&equal.code), "{equal:?}");
    let better = compare(&["b.run", "a.run"]);
    assert_eq!(better.code, 0, "{better:?}");
    assert_eq!(better.json()["verdict"], "better");
    several_are_judged_by_the_worst(&place, &compare(&["a.run", "again.run", "b.run"]));
    let text = place.run(&["compare", "a.run", "b.run", "--html", "page.html"]);
    assert!(text.stdout.starts_with("b is worse than a: "), "{text:?}");
    assert!(text.stdout.contains("one run on each side"), "{text:?}");
    let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
    assert!(page.contains("b is worse than a") && page.contains("</html>"));
}

fn several_are_judged_by_the_worst(place: &Sandbox, several: &CommandOutput) {
    let json = several.json();
    place.assert_follows_schema("compare", &json);
    assert_eq!(several.code, 3, "{json:#}");
    assert_eq!(json["candidate"]["name"], "b");
    assert_eq!(json["comparisons"].as_array().unwrap().len(), 2);
    let ranking = json["ranking"].as_array().unwrap();
    assert_eq!(ranking[2]["name"], "b", "{json:#}");
}

#[test]
fn what_cannot_be_compared_is_named() {
    let place = Sandbox::new();
    let origin = origin(1);
    let url = origin.url();
    let other_path = format!("{url}other");
    runs(
        &place,
        &[
            ("a", &url, &["--for", "500ms"]),
            ("longer", &url, &["--for", "1s"]),
            ("path", &other_path, &["--for", "500ms"]),
            (
                "judged",
                &url,
                &["--for", "500ms", "--objective", "p95 < 1s"],
            ),
        ],
    );
    for (candidate, what) in [
        ("longer.run", "load"),
        ("path.run", "path"),
        ("judged.run", "objective"),
    ] {
        for across in [&[][..], &["--across", "machines"]] {
            let mut arguments = vec!["compare", "a.run", candidate, "--json"];
            arguments.extend_from_slice(across);
            let output = place.run(&arguments);
            let json = output.json();
            place.assert_follows_schema("compare", &json);
            assert_eq!(output.code, 2, "{json:#}");
            assert_eq!(json["verdict"], "incomparable");
            assert_eq!(json["differences"][0]["what"], what, "{json:#}");
            assert!(json["answer"].as_str().unwrap().contains(what), "{json:#}");
        }
    }
    // Too short for an interval: said, not guessed.
    let short = place.run(&["compare", "a.run", "a.run", "--json"]);
    if let Some(json) = compared(&short) {
        assert_eq!(short.code, 4, "{json:#}");
        assert!(json["metrics"]["p50"]["low"].is_null(), "{json:#}");
    }
}

fn cut(place: &Sandbox, from: &str, to: &str) {
    let bytes = std::fs::read(place.path().join(from)).unwrap();
    let path: &Path = &place.path().join(to);
    std::fs::write(path, &bytes[..bytes.len() - 40]).unwrap();
}

#[test]
fn bad_input_is_refused_with_place_and_remedy() {
    let place = Sandbox::new();
    write_run_of_law(&place, "a", 20.0, 1);
    cut(&place, "a.run", "cut.run");
    let output = place.run(&["compare", "a.run", "cut.run", "--json"]);
    let json = output.json();
    place.assert_follows_schema("compare", &json);
    assert_eq!(
        (output.code, &json["verdict"]),
        (6, &Value::from("undecided"))
    );
    assert!(
        json["void"][0].as_str().unwrap().contains("candidate"),
        "{json:#}"
    );
    std::fs::write(place.path().join("text.run"), "no run").unwrap();
    for (arguments, part) in [
        (&["compare", "a.run"][..], "2 to 32 run files"),
        (
            &["compare", "a.run", "text.run"],
            "text.run is not a run log",
        ),
        (&["compare", "a.run", "none.run"], "none.run"),
        (
            &["compare", "a.run", "a.run", "--margin", "80%"],
            "at most 50%",
        ),
        (&["compare", "a.run", "--base", "x"], "--head"),
        (&["compare", "a.run", "--rate", "5/s"], "--base"),
        (
            &[
                "compare",
                "--git",
                "main",
                "--start",
                "x",
                "http://127.0.0.1:1/",
            ],
            "A..B",
        ),
    ] {
        let output = place.run(arguments);
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        assert!(output.stderr.contains(part), "{arguments:?}: {output:?}");
    }
}
