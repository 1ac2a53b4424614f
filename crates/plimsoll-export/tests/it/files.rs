//! Files, read back by those whose formats they are.

use std::fs;
use std::process::Command;
use std::time::Duration;

use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use plimsoll_export::Exporter;
use plimsoll_model::browser::{BrowserPlan, PageTimes, PageVisit, VisitFailure};
use plimsoll_model::event::Event;
use serde_json::Value;

use crate::run::{FAILED, GOOD, SECONDS, SLOW_US, export, exporter, start, window};

#[test]
fn a_histogram_log_is_read_back_by_hdrhistograms_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.hlog");
    assert_eq!(export(&[&format!("hlog={}", path.display())], &[]), [""; 0]);
    let text = fs::read(&path).unwrap();
    let (mut response, mut tagged) = (0, 0);
    for entry in IntervalLogIterator::new(&text) {
        let LogEntry::Interval(interval) = entry.unwrap() else {
            continue;
        };
        let bytes = base64_of(interval.encoded_histogram());
        let histogram: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .unwrap();
        match interval.tag() {
            None => {
                assert_eq!(histogram.len(), GOOD);
                response += histogram.len();
            }
            Some(tag) => {
                if tag.as_str() == "service" {
                    tagged += histogram.len();
                } else {
                    assert_eq!(tag.as_str(), "generator_lag");
                }
            }
        }
    }
    let total = GOOD * u64::from(SECONDS);
    assert_eq!((response, tagged), (total, total));
    let program = Command::new("java")
        .args(["-cp", "/usr/share/java/hdrhistogram.jar"])
        .args([
            "org.HdrHistogram.HistogramLogProcessor",
            "-outputValueUnitRatio",
            "1000",
            "-i",
        ])
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&program.stdout);
    assert!(program.status.success(), "{program:?}");
    let numbers: String = text.chars().filter(|c| *c != ' ').collect();
    assert!(numbers.contains(&format!("Totalcount={total}")), "{text}");
    assert!(
        numbers.contains(&format!("Max={}.", SLOW_US / 1_000)),
        "{text}"
    );
}

fn base64_of(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap()
}

#[test]
fn each_json_line_matches_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    assert_eq!(
        export(&[&format!("jsonl={}", path.display())], &[]),
        [""; 0]
    );
    let schema = include_str!("../../../../docs/reference/export-line.schema.json");
    let schema = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for line in &lines {
        let errors: Vec<String> = validator
            .iter_errors(line)
            .map(|it| it.to_string())
            .collect();
        assert_eq!(errors, [""; 0], "{line}");
    }
    let kinds: Vec<&str> = lines
        .iter()
        .map(|line| line["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        (kinds[0], kinds[1], kinds[kinds.len() - 1]),
        ("start", "second", "end")
    );
    let metrics = lines
        .iter()
        .flat_map(|line| line["metrics"].as_array().into_iter().flatten());
    let totals: Vec<f64> = metrics
        .filter(|it| {
            it["name"] == "plimsoll_requests_total" && it["labels"]["outcome"] == "timeout"
        })
        .map(|it| it["total"].as_f64().unwrap())
        .collect();
    let expected: Vec<f64> = (1..=u64::from(SECONDS))
        .map(|n| (n * FAILED) as f64)
        .collect();
    assert_eq!(totals, expected);
}

#[test]
fn influx_lines_have_times_in_nanoseconds_and_escape_what_they_must() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.lp");
    assert_eq!(
        export(&[&format!("influx={}", path.display())], &[]),
        [""; 0]
    );
    let text = fs::read_to_string(&path).unwrap();
    let last = text
        .lines()
        .rfind(|line| line.starts_with("plimsoll_requests_total,run=the-run,outcome=ok "))
        .unwrap();
    let total = GOOD * u64::from(SECONDS);
    assert!(
        last.contains(&format!(" total={total},increase={GOOD} ")),
        "{last}"
    );
    assert_eq!(last.rsplit(' ').next().unwrap().len(), 19, "{last}");
    let note = text
        .lines()
        .find(|line| line.starts_with("plimsoll_event,run=the-run,kind=note "))
        .unwrap();
    assert!(
        note.contains(r#"text="a \"note\", with separators""#),
        "{note}"
    );
}

/// The lines of an export to JSON lines.
fn json_lines(feed: impl FnOnce(&Exporter)) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let exporter = exporter(&[&format!("jsonl={}", path.display())], &[]);
    feed(&exporter);
    assert_eq!(exporter.finish(), [""; 0]);
    let text = fs::read_to_string(&path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Ends of the load line in a second, with their loads.
fn line_bounds(second: &Value) -> Vec<(&str, f64)> {
    let metrics = second["metrics"].as_array().unwrap().iter();
    let line = metrics.filter(|metric| metric["name"] == "plimsoll_load_line");
    line.map(|metric| {
        assert_eq!(metric["labels"]["unit"], "req/s");
        let bound = metric["labels"]["bound"].as_str().unwrap();
        (bound, metric["value"].as_f64().unwrap())
    })
    .collect()
}

#[test]
fn the_load_line_is_exported_as_it_narrows() {
    let estimated = |median: f64, high: f64| Event::LineEstimated {
        second: 1,
        low: 0.5 * median,
        median,
        high,
    };
    let lines = json_lines(|exporter| {
        for event in [
            start(),
            window(0),
            // Nothing bounds it from above.
            estimated(100.0, f64::MAX),
            window(1),
            estimated(120.0, 130.0),
            window(2),
        ] {
            exporter.observe(&event);
        }
    });
    let seconds = lines.iter().filter(|line| line["kind"] == "second");
    let bounds: Vec<_> = seconds.map(line_bounds).collect();
    assert_eq!(
        bounds,
        [
            vec![],
            vec![("low", 50.0), ("median", 100.0)],
            vec![("low", 60.0), ("median", 120.0), ("high", 130.0)],
        ]
    );
}

#[test]
fn trials_of_an_experiment_are_moments() {
    let lines = json_lines(|exporter| {
        for line in [
            r#"{"experiment_started":{"command":"matrix"}}"#,
            r#"{"trial_ended":{"trial":{"index":4,"block":1,"position":0,"cell":2,"role":"cell","seed":1},
                "began_ms":1000,"ended_ms":3500,"outcome":{"measured":{"p95":0.25,"rate":40}},"runs":[]}}"#,
            r#"{"trial_ended":{"trial":{"index":5,"block":1,"position":1,"cell":0,"role":"reference","seed":1},
                "began_ms":4000,"ended_ms":4500,"outcome":{"void":"no CPU"},"runs":[]}}"#,
            "no line of a log",
        ] {
            exporter.observe_experiment(line);
        }
    });
    let trials = lines.iter().map(|line| {
        assert_eq!(line["kind"], "trial");
        let lasted = line["to_ms"].as_u64().unwrap() - line["at_ms"].as_u64().unwrap();
        (line["text"].as_str().unwrap(), lasted)
    });
    let trials: Vec<(&str, u64)> = trials.collect();
    let expected = [
        (
            "Trial 5 of block 2, cell 2, cell: measured: p95 0.2500, rate 40.0000",
            2_500,
        ),
        ("Trial 6 of block 2, cell 0, reference: void: no CPU", 500),
    ];
    assert_eq!(trials, expected);
}

#[test]
fn visits_of_pages_are_exported_with_the_next_second() {
    let visited = |ready_us: Option<u64>| {
        Event::PageVisited(Box::new(PageVisit {
            times: PageTimes {
                ready_us,
                largest_contentful_paint_us: Some(150_000),
                layout_shift_ppm: Some(125_000),
                ..PageTimes::default()
            },
            failure: ready_us.is_none().then_some(VisitFailure::Timeout),
            ..PageVisit::default()
        }))
    };
    let lines = json_lines(|exporter| {
        let Event::RunStarted(mut header) = start() else {
            unreachable!("a run starts");
        };
        header.plan.browser = Some(Box::new(BrowserPlan {
            users: 1,
            pages: vec!["/news".to_owned()],
            think: Duration::ZERO,
            timeout: Duration::from_secs(1),
            hosts: Vec::new(),
            program: "/usr/bin/chromium".into(),
        }));
        for event in [
            Event::RunStarted(header),
            visited(Some(200_000)),
            visited(None),
            window(0),
            window(1),
        ] {
            exporter.observe(&event);
        }
    });
    let seconds: Vec<&Value> = lines
        .iter()
        .filter(|line| line["kind"] == "second")
        .collect();
    let pages = |second: &Value| -> Vec<Value> {
        let metrics = second["metrics"].as_array().unwrap().iter();
        let pages = metrics.filter(|metric| metric["labels"]["page"] == "/news");
        pages.cloned().collect()
    };
    let first = pages(seconds[0]);
    let of = |name: &str| {
        first
            .iter()
            .filter(|it| it["name"] == name)
            .collect::<Vec<_>>()
    };
    let outcomes: Vec<&Value> = of("plimsoll_page_visits_total")
        .into_iter()
        .map(|it| &it["labels"]["outcome"])
        .collect();
    assert_eq!(outcomes, ["ready", "failed"], "{first:#?}");
    let ready = of("plimsoll_page_ready_seconds");
    assert_eq!(ready.len(), 1, "{first:#?}");
    let p50 = ready[0]["p50"].as_f64().unwrap();
    assert!((p50 - 0.2).abs() < 0.01, "{ready:#?}");
    assert_eq!(
        of("plimsoll_page_lcp_seconds").len(),
        1,
        "of ready pages alone"
    );
    let shift = of("plimsoll_page_cls");
    assert_eq!(shift.len(), 1, "{first:#?}");
    let p95 = shift[0]["p95"].as_f64().unwrap();
    assert!((p95 - 0.125).abs() < 0.001, "{shift:#?}");
    assert_eq!(pages(seconds[1]), Vec::<Value>::new());
}
