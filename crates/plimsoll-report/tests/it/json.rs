//! The objects of `--json` against their published schema and the stable field names.

use std::path::PathBuf;

use plimsoll_model::objective::{LatencyBound, Objective};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{LoadUnit, RequiredLoad};
use plimsoll_model::price::Price;
use plimsoll_model::run::Run;
use plimsoll_report::Report;
use plimsoll_report::json::{Files, limit_object, run_object, schemas};
use serde_json::{Value, json};

use crate::runs;

fn files() -> Files {
    Files {
        run: Some(PathBuf::from("plimsoll/20261121-180000-news.run")),
        report: None,
    }
}

fn run_json(run: &Run) -> Value {
    serde_json::to_value(run_object(&Report::of(run), &files())).unwrap()
}

pub(crate) fn limit_json(run: &Run) -> Value {
    serde_json::to_value(limit_object(&Report::of(run), &files())).unwrap()
}

pub(crate) fn assert_valid(file: &str, object: &Value) {
    let schema = schemas()
        .into_iter()
        .find(|schema| schema.0 == file)
        .unwrap()
        .1;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(object)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{file}: {errors:#?}\n{object:#}");
}

fn keys(object: &Value) -> Vec<&str> {
    object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn every_run_is_valid_against_the_schema() {
    for run in [
        runs::plain(400.0, 10),
        runs::detailed(),
        runs::plain_failing(),
        runs::plain_void(),
        runs::users(),
        runs::users_missed(),
        runs::users_impatient(),
        runs::websockets(),
        runs::header_only("run"),
    ] {
        assert_valid("run.schema.json", &run_json(&run));
    }
    for run in [
        runs::search(),
        runs::search_without_line(),
        runs::search_void(),
        runs::gate(),
        runs::hostile(),
        runs::header_only("limit"),
    ] {
        let object = limit_json(&run);
        assert_valid("limit.schema.json", &object);
        assert_valid("run.schema.json", &object);
    }
}

#[test]
fn the_schema_refuses_what_is_not_promised() {
    let schema = schemas().remove(0).1;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let mut object = run_json(&runs::plain(400.0, 2));
    object["outcomes"]
        .as_object_mut()
        .unwrap()
        .remove("body_cut");
    assert!(!jsonschema::is_valid(&schema, &object));
}

#[test]
fn run_has_the_promised_names() {
    let object = run_json(&runs::plain(400.0, 10));
    for name in [
        "offered",
        "completed",
        "requests",
        "outcomes",
        "status",
        "response_time_ms",
        "service_time_ms",
        "generator",
        "void",
        "run_file",
        "report_file",
    ] {
        assert!(object.get(name).is_some(), "{name}");
    }
    let outcomes = "ok wrong_status timeout connect_refused connect_timeout dns reset tls protocol head_too_long \
                    too_many_headers body_cut dropped expectation";
    let mut outcomes: Vec<&str> = outcomes.split(' ').collect();
    assert_eq!(outcomes, Outcome::ALL.map(Outcome::name));
    outcomes.sort_unstable();
    assert_eq!(keys(&object["outcomes"]), outcomes);
    let mut times = vec!["p50", "p90", "p95", "p99", "p999", "max", "mean"];
    times.sort_unstable();
    assert_eq!(keys(&object["response_time_ms"]), times);
    assert_eq!(keys(&object["service_time_ms"]), times);
    assert_eq!(
        keys(&object["generator"]),
        ["cpu_us_per_request", "lag_ms_p99", "rss_bytes"]
    );
    assert_eq!(object["void"], Value::Null);
    assert_eq!(object["report_file"], Value::Null);
    assert_eq!(
        object["run_file"],
        json!("plimsoll/20261121-180000-news.run")
    );
}

#[test]
fn users_who_gave_up_have_their_steps() {
    let users = &run_json(&runs::users())["users"];
    assert_eq!(
        (&users["gave_up"], &users["gave_up_at"]),
        (&json!(0), &json!([]))
    );
    let users = &run_json(&runs::users_impatient())["users"];
    assert_eq!((&users["lost"], &users["gave_up"]), (&json!(9), &json!(9)));
    let rows: Vec<(&Value, &Value, &Value)> = users["gave_up_at"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["label"], &row["once"], &row["users"]))
        .collect();
    assert_eq!(
        rows,
        [
            (&json!("GET /home"), &json!(false), &json!(7)),
            (&json!("POST /accounts/login"), &json!(true), &json!(2)),
        ]
    );
    let waited = users["gave_up_at"][0]["waited_ms"]["p50"].as_f64().unwrap();
    assert!((2_999.0..3_003.0).contains(&waited), "{waited}");
}

#[test]
fn users_have_the_promised_names() {
    let object = run_json(&runs::users());
    let step = &object["steps"][0];
    for name in
        "label journey once samples average p50 p75 p90 p95 p99 error_share throughput bytes"
            .split(' ')
    {
        assert!(step.get(name).is_some(), "{name}");
    }
    assert_eq!(
        (&step["label"], &step["once"]),
        (&json!("POST /accounts/login"), &json!(true))
    );
    assert_eq!(object["steps"].as_array().unwrap().len(), 8);
    assert_eq!(object["journeys"][1]["name"], json!("reader"));
    assert_eq!(object["groups"][0]["name"], json!("work"));
    let users = &object["users"];
    assert_eq!(
        (&users["max"], &users["mean"]),
        (&json!(500), &json!(500.0))
    );
    let little = |name: &str| users["little"][name].as_f64().unwrap();
    let cycle_s = (little("response_ms") + little("think_ms")) / 1e3;
    assert!((little("throughput") * cycle_s - little("users")).abs() < 1e-6);
    assert_eq!(object["thresholds"].as_array().unwrap().len(), 5);
    assert_eq!(object["thresholds"][0]["objective"], json!("p95 < 250ms"));
    let met = |object: &Value| {
        let thresholds = object["thresholds"].as_array().unwrap().iter();
        thresholds
            .filter(|threshold| threshold["met"] == json!(true))
            .count()
    };
    assert_eq!(met(&object), 5);
    assert!(met(&run_json(&runs::users_missed())) < 5);
    let plain = run_json(&runs::plain(400.0, 2));
    assert_eq!(
        (&plain["steps"], &plain["users"]),
        (&json!([]), &Value::Null)
    );
}

#[test]
fn the_numbers_are_those_of_the_law() {
    // M/M/1 at 400/s of 800/s: response times are exponential with mean 2.5 ms, and 0.3 ms of network.
    let object = run_json(&runs::plain(400.0, 60));
    let near = |value: &Value, expected: f64, within: f64| {
        let value = value.as_f64().unwrap();
        assert!(
            (value / expected - 1.0).abs() < within,
            "{value} instead of {expected}"
        );
    };
    near(&object["offered"], 400.0, 0.02);
    near(&object["completed"], 400.0, 0.02);
    near(&object["response_time_ms"]["mean"], 2.8, 0.03);
    near(
        &object["response_time_ms"]["p95"],
        0.3 + 2.5 * 20_f64.ln(),
        0.03,
    );
    near(&object["generator"]["cpu_us_per_request"], 14.0, 1e-9);
    let outcomes = object["outcomes"].as_object().unwrap();
    let sum: u64 = outcomes.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(object["requests"], json!(sum));
    assert_eq!(object["status"], json!({ "200": sum }));
}

#[test]
fn a_void_run_says_why() {
    let object = run_json(&runs::plain_void());
    assert_eq!(object["void"].as_array().unwrap().len(), 2);
    assert!(object["void"][1].as_str().unwrap().contains("97 %"));
    assert_eq!(object["verdict"], json!("void"));
}

#[test]
fn limit_has_the_promised_names() {
    let object = limit_json(&runs::search());
    let line = &object["load_line"];
    for name in [
        "median",
        "low",
        "high",
        "verified",
        "confirmed_trials",
        "confirmed_passes",
    ] {
        assert!(line[name].is_number(), "{name}");
    }
    assert_eq!(line["unit"], json!("req/s"));
    assert_eq!(object["reason"], Value::Null);
    assert_eq!(object["trials"].as_array().unwrap().len(), 26);
    for trial in object["trials"].as_array().unwrap() {
        assert!(trial["rate"].is_number() && trial["p95"].is_number());
        assert!(["pass", "fail", "void"].contains(&trial["verdict"].as_str().unwrap()));
    }
    for name in [
        "rule",
        "limit",
        "certainty",
        "sentence",
        "remedy",
        "evidence",
    ] {
        assert!(object["findings"][0].get(name).is_some(), "{name}");
    }
    assert_eq!(object["findings"][0]["rule"], json!("C2"), "best first");
    assert_eq!(object["not_known"], Value::Null);
}

#[test]
fn a_search_that_names_nothing_says_what_was_at_rest() {
    let mut run = runs::search();
    run.findings.clear();
    let object = limit_json(&run);
    assert_valid("limit.schema.json", &object);
    let text = object["not_known"].as_str().unwrap();
    assert!(text.starts_with("not known: "), "{text}");
}

/// Half of the line: carried, with a margin of two, in all formats.
#[test]
fn a_demand_is_answered_with_its_margin() {
    let mut run = runs::search();
    let median = run.search.as_ref().unwrap().line.as_ref().unwrap().median;
    let required = |load: f64| {
        Some(Box::new(RequiredLoad {
            sentence: "it".to_owned(),
            subject: "the sale".to_owned(),
            read_as: "a rate".to_owned(),
            load,
            unit: LoadUnit::RequestsPerSecond,
            pause: None,
        }))
    };
    run.header.plan.required = required(median / 2.0);
    let object = limit_json(&run);
    assert_valid("limit.schema.json", &object);
    assert_eq!(object["for"]["carried"], json!(true));
    assert_eq!(object["for"]["margin"]["median"], json!(2.0));
    let answer = object["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("Yes, it carries the sale, with a margin of 2 times (90 %"),
        "{answer}"
    );
    let report = Report::of(&run);
    let page = plimsoll_report::html::render(&report);
    assert!(page.contains("carries it") && page.contains("--for it"));
    let text = plimsoll_report::text::summary(&report, &files(), false);
    assert!(text.contains("for        a rate"), "{text}");
    run.header.plan.required = required(median * 4.0);
    let object = limit_json(&run);
    assert_eq!(object["for"]["carried"], json!(false));
    assert!(
        object["answer"]
            .as_str()
            .unwrap()
            .starts_with("No, it does not carry the sale: it carries 0.25")
    );
}

#[test]
fn a_search_in_users_says_so_everywhere() {
    let run = runs::search_users();
    let object = limit_json(&run);
    assert_valid("limit.schema.json", &object);
    assert_eq!(object["load_line"]["unit"], json!("users"));
    assert_eq!(object["trials"][5]["unit"], json!("users"));
    let answer = object["answer"].as_str().unwrap();
    assert!(answer.contains(" carries 705 users with "), "{answer}");
    for text in object["remarks"].as_array().unwrap() {
        let text = text.as_str().unwrap();
        assert!(!text.contains("overload of 800 req/s"), "{text}");
    }
    let page = plimsoll_report::html::render(&Report::of(&run));
    assert!(page.contains("offered load, users") && page.contains("users at once"));
    // One client alone has no place among users.
    assert_eq!(page.matches("<svg class=\"mark ").count(), 25);
}

#[test]
fn no_line_has_a_reason() {
    for run in [
        runs::search_without_line(),
        runs::search_void(),
        runs::gate(),
        runs::header_only("limit"),
    ] {
        let object = limit_json(&run);
        assert_eq!(object["load_line"], Value::Null);
        assert!(!object["reason"].as_str().unwrap().is_empty());
    }
    assert_eq!(limit_json(&runs::gate())["gate"]["accepted"], json!(true));
}

#[test]
fn nothing_measured_is_null_and_not_zero() {
    let object = run_json(&runs::header_only("run"));
    assert_eq!(object["response_time_ms"]["p95"], Value::Null);
    assert_eq!(object["generator"]["rss_bytes"], Value::Null);
    assert_eq!(object["requests"], json!(0));
}

/// Ten messages to a thousand subscribers, each missed by two of them; the first lies within a second of the beginning.
#[test]
fn websockets_have_the_names_that_were_promised() {
    let object = run_json(&runs::websockets());
    let websocket = &object["websocket"];
    for (name, value) in [
        ("connected", json!(1000)),
        ("failed", json!(10)),
        ("failures", json!({ "status 403": 10 })),
        ("closed", json!(3)),
        ("close_codes", json!({ "1006": 3 })),
        ("expected", json!(9000)),
        ("received", json!(8982)),
        ("broadcasts", json!(10)),
        ("gaps", json!(18)),
        ("messages_in", json!(10_980)),
        ("messages_out", json!(1000)),
        ("answered", json!(980)),
        ("unanswered", json!(20)),
    ] {
        assert_eq!(websocket[name], value, "{name} in {websocket:#}");
    }
    for (times, p50) in [
        ("handshake_ms", 0.9),
        ("request_ms", 4.0),
        ("broadcast_ms", 12.0),
    ] {
        let measured = websocket[times]["p50"].as_f64().unwrap();
        assert!((measured - p50).abs() < 0.01 * p50, "{times}: {measured}");
    }
    assert_eq!(websocket["channels"][0]["channel"], "/live");
    assert_eq!(object["requests"], 2010);
    assert!(run_json(&runs::plain(400.0, 5))["websocket"].is_null());
}

#[test]
fn websockets_whose_handshakes_were_in_the_warmup_are_measured() {
    let reach = |min: f64| Objective {
        reach_min: Some(min),
        ..Objective::default()
    };
    let both = Objective {
        latency: vec![LatencyBound {
            quantile: 0.95,
            within_us: 500_000,
        }],
        ..reach(0.99)
    };
    for (objective, met, begin) in [
        (reach(0.99), json!(true), "Met (reach > 99%): "),
        (reach(0.999), json!(false), "Missed (reach > 99.9%): "),
        (
            both,
            Value::Null,
            "Undecided (p95 < 500ms, reach > 99%: no request in the judged seconds): ",
        ),
    ] {
        let run = runs::websockets_behind_their_warmup(objective);
        let object = run_json(&run);
        assert_eq!(object["requests"], json!(0));
        assert_eq!(object["objective"]["met"], met, "{object:#}");
        let answer = object["answer"].as_str().unwrap();
        let rest = answer.strip_prefix(begin).expect(answer);
        let held = "opened 1,000 of 1,010 WebSockets, all in the warm-up, and closed 3 of them; broadcasts reached 99.8 %";
        assert!(rest.contains(held), "{answer}");
        assert_eq!(object["websocket"]["handshake_ms"]["p50"], Value::Null);
        assert_valid("run.schema.json", &object);
    }
}

#[test]
fn a_line_has_its_cost_with_the_interval_of_the_line() {
    let mut run = runs::search();
    assert!(limit_json(&run).get("cost").is_none(), "without a price");
    run.header.plan.price = Some(Price {
        currency: "EUR".to_owned(),
        machine_hour: 3.6,
        request: 1e-6,
        ..Price::default()
    });
    let object = limit_json(&run);
    assert_valid("limit.schema.json", &object);
    let number = |path: &str| object.pointer(path).unwrap().as_f64().unwrap();
    // 3.60 an hour are 1,000 per million requests at one request per second.
    for (cost, line) in [("value", "median"), ("low", "high"), ("high", "low")] {
        let at_line = 1_000.0 / number(&format!("/load_line/{line}")) + 1.0;
        let found = number(&format!("/cost/per_million_requests/{cost}"));
        assert!((found - at_line).abs() < 1e-9, "{cost}: {found}, {at_line}");
    }
    let text = plimsoll_report::text::summary(&Report::of(&run), &files(), false);
    assert!(text.contains("EUR"), "{text}");
    assert!(object.pointer("/cost/per_month").unwrap().is_null());
    // One machine carries a trickle all month; requests cost 1e-6 each.
    if let Some(price) = &mut run.header.plan.price {
        price.demand = vec![1e-3];
    }
    let object = limit_json(&run);
    assert_valid("limit.schema.json", &object);
    let month = object.pointer("/cost/per_month/value").unwrap();
    let expected = 730.5 * (3.6 + 3600.0 * 1e-3 * 1e-6);
    assert!((month.as_f64().unwrap() - expected).abs() < 1e-6, "{month}");
    let text = plimsoll_report::text::summary(&Report::of(&run), &files(), false);
    assert!(text.contains("per month at the demand"), "{text}");
}
