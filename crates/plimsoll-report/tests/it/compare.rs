//! Comparisons as object, text and page.

use plimsoll_analysis::experiment::comparison::{RunsCriteria, compare_runs};
use plimsoll_model::price::Price;
use plimsoll_model::run::Run;
use plimsoll_model::seed::Seed;
use plimsoll_report::Report;
use plimsoll_report::compare::{
    CompareObject, ComparedRuns, ComparedSide, render, schema, summary,
};
use serde_json::Value;

use crate::runs;

fn side<'r>(name: &str, run: &'r Run) -> ComparedSide<'r> {
    ComparedSide {
        name: name.to_owned(),
        run_file: Some(format!("{name}.run").into()),
        report: Some(Report::of(run)),
    }
}

fn criteria() -> RunsCriteria {
    RunsCriteria {
        replicates: 200,
        ..RunsCriteria::standard(Seed(1))
    }
}

/// The first run against each of the others, named by letters.
fn compared(runs: &[Run]) -> ComparedRuns<'_> {
    let comparison = |index: usize| compare_runs(&runs[0], &runs[index], criteria());
    let names = ["a", "b", "c", "d"];
    let mut compared = ComparedRuns::new(
        side(names[0], &runs[0]),
        side(names[1], &runs[1]),
        comparison(1),
    );
    for index in 2..runs.len() {
        compared = compared.with_candidate(side(names[index], &runs[index]), comparison(index));
    }
    compared
}

fn object(runs: &ComparedRuns<'_>) -> Value {
    let object = serde_json::to_value(CompareObject::of(runs, None)).unwrap();
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&object)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{object:#}");
    object
}

/// A search whose line is `factor` times as high.
fn search(factor: f64) -> Run {
    let mut run = runs::search();
    let line = run.search.as_mut().unwrap().line.as_mut().unwrap();
    for load in [&mut line.low, &mut line.median, &mut line.high] {
        *load *= factor;
    }
    run
}

#[test]
fn a_lower_line_is_worse() {
    let runs = [search(1.0), search(0.5)];
    let compared = compared(&runs);
    let json = object(&compared);
    assert_eq!(json["verdict"], "worse");
    let ratio = json["metrics"]["load_line"]["ratio"].as_f64().unwrap();
    assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
    assert_eq!(json["metrics"]["load_line"]["interval_of"], "lines");
    assert_eq!(json["metrics"]["load_line"]["unit"], "req/s");
    assert!(!json["findings_before"].as_array().unwrap().is_empty());
    assert_eq!(json["findings_before"], json["findings_after"]);
    assert!(json["blocks"].is_null() && json["void"].is_null());
    let text = summary(&compared, false);
    assert!(
        text.starts_with("b is worse than a: load line −50 %"),
        "{text}"
    );
    assert!(text.contains("limit      the same: "), "{text}");
    assert!(text.contains("those at each search's own line"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    let page = render(&compared);
    assert!(page.contains("b is worse than a") && page.contains("side-band side-1"));
}

#[test]
fn what_capacity_costs_has_the_interval_of_the_line() {
    let mut runs = [search(1.0), search(2.0)];
    for run in &mut runs {
        run.header.plan.price = Some(Price {
            currency: "EUR".to_owned(),
            machine_hour: 3.6,
            ..Price::default()
        });
    }
    let json = object(&compared(&runs));
    assert_eq!(json["verdict"], "better");
    let cost = |side: &Value| side["cost_per_million"]["value"].as_f64().unwrap();
    let (before, after) = (cost(&json["baseline"]), cost(&json["candidate"]));
    assert!((before / after - 2.0).abs() < 1e-9, "{before}, {after}");
    let cost = &json["baseline"]["cost_per_million"];
    assert!(cost["low"].as_f64().unwrap() < cost["high"].as_f64().unwrap());
    assert!(json["baseline"]["line_per_core"].as_f64().unwrap() > 0.0);
}

#[test]
fn several_runs_are_ranked_and_drawn() {
    let runs = [search(1.0), search(1.5), search(0.5)];
    let compared = compared(&runs);
    let json = object(&compared);
    // The worst decides.
    assert_eq!(json["verdict"], "worse");
    assert_eq!(json["candidate"]["name"], "c");
    let names: Vec<&str> = json["ranking"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rank| rank["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["b", "a", "c"]);
    let page = render(&compared);
    for name in ["Throughput", "Response time", "In order", "side-2"] {
        assert!(page.contains(name), "{name}");
    }
    assert!(!page.contains("<script"));
}

#[test]
fn incomparable_and_void_are_named_first() {
    let runs = [runs::plain(400.0, 30), runs::plain(500.0, 30)];
    let compared = compared(&runs);
    let json = object(&compared);
    assert_eq!(json["verdict"], "incomparable");
    assert_eq!(json["differences"][0]["what"], "load");
    let text = summary(&compared, false);
    assert!(
        text.starts_with("b cannot be compared with a: load is 500/s"),
        "{text}"
    );
    assert!(render(&compared).contains("What differs"));
    let mut void = runs::plain_void();
    void.header.plan = runs::plain(400.0, 30).header.plan;
    let runs = [runs::plain(400.0, 30), void];
    let compared = self::compared(&runs);
    let json = object(&compared);
    assert_eq!(json["verdict"], "undecided");
    assert_eq!(json["void"].as_array().unwrap().len(), 2);
    assert!(summary(&compared, false).contains("is void: candidate: the generator was late"));
}

#[test]
fn between_machines_nothing_is_a_regression() {
    let mut runs = [search(1.0), search(0.5)];
    runs[1]
        .header
        .host
        .insert("cores".to_owned(), "2".to_owned());
    let criteria = RunsCriteria {
        is_across_machines: true,
        ..criteria()
    };
    let comparison = compare_runs(&runs[0], &runs[1], criteria);
    let compared =
        ComparedRuns::new(side("a", &runs[0]), side("b", &runs[1]), comparison).across_machines();
    let json = object(&compared);
    assert_eq!(json["across"], "machines");
    let text = summary(&compared, false);
    assert!(
        text.starts_with("On the other machine b differs from a"),
        "{text}"
    );
    assert!(!text.contains("worse") && !render(&compared).contains("worse"));
}

#[test]
fn steps_have_their_own_rows() {
    let runs = [runs::users(), runs::users()];
    let compared = compared(&runs);
    let json = object(&compared);
    assert!(!json["steps"].as_array().unwrap().is_empty(), "{json:#}");
    assert_ne!(json["verdict"], "worse");
    assert!(render(&compared).contains("By step"));
}
