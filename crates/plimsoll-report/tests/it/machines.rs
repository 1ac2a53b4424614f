//! Machines that agents watch, in every format.

use std::collections::BTreeMap;

use plimsoll_model::machine::on_machine;
use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, SeriesTable};
use plimsoll_model::run::Run;
use plimsoll_report::json::Files;
use plimsoll_report::{Report, html, text};
use serde_json::{Value, json};

use crate::json::{assert_valid, limit_json};
use crate::runs;

/// A search whose target runs on another machine, before a database on a third.
fn watched() -> Run {
    let mut run = runs::search();
    let mut table = SeriesTable::default();
    for (row, &second) in run.readings.seconds().iter().enumerate() {
        let own = run.readings.names();
        let own =
            own.filter_map(|name| Some((name.to_owned(), *run.readings.values(name)?.get(row)?)));
        let mut values: BTreeMap<String, f64> = own.filter(|(_, value)| !value.is_nan()).collect();
        values.insert(metric::TARGET_IS_LOCAL.to_owned(), 0.0);
        for (machine, is_of_target, cpus, busy) in
            [("web1", 1.0, 2.0, 0.9), ("db1", 0.0, 6.0, 0.25)]
        {
            for (metric, value) in [
                (metric::TARGET_IS_LOCAL, is_of_target),
                (metric::CPU_COUNT, cpus),
                (metric::CPU_BUSY, busy),
                (metric::MEMORY_LIMIT, 8e9),
                (metric::MEMORY_AVAILABLE, 6e9),
                (metric::CLOCK_OFFSET, 0.003),
            ] {
                values.insert(on_machine(metric, machine), value);
            }
            let at = [("at", "10.0.0.5:5432")];
            let postgres = metric::series(metric::POSTGRES_RUNNING, &at);
            values.insert(on_machine(&postgres, "db1"), 1.0);
        }
        table.push(&Readings {
            second,
            values,
            new_series: BTreeMap::new(),
        });
    }
    run.readings = table;
    run.findings[0].machine = Some("web1".to_owned());
    run.findings[1].consequence_of_machine = Some("web1".to_owned());
    run
}

fn terminal(run: &Run) -> String {
    text::summary(&Report::of(run), &Files::default(), false)
}

#[test]
fn objects_have_the_promised_names() {
    let object = limit_json(&watched());
    assert_valid("limit.schema.json", &object);
    let machines = object["machines"].as_array().unwrap();
    let names: Vec<&Value> = machines.iter().map(|machine| &machine["name"]).collect();
    assert_eq!(names, [&Value::Null, &json!("db1"), &json!("web1")]);
    assert_eq!(machines[0]["tier"], json!("generator"));
    assert_eq!(machines[1]["tier"], json!("store"));
    assert_eq!(machines[1]["components"], json!(["PostgreSQL"]));
    let web = &machines[2];
    assert_eq!(
        (&web["tier"], &web["cpus"]),
        (&json!("target"), &json!(2.0))
    );
    for (name, right) in [
        ("cpu_share", 0.9),
        ("memory_share", 0.25),
        ("offset_ms", 3.0),
    ] {
        let value = web[name].as_f64().unwrap();
        assert!((value - right).abs() < 1e-9, "{name}: {value}");
    }
    let findings = &object["findings"];
    assert_eq!(findings[0]["machine"], json!("web1"));
    assert_eq!(findings[1]["consequence_of_machine"], json!("web1"));
    assert_eq!(findings[0]["consequences"], json!([findings[1]["limit"]]));
}

#[test]
fn pages_show_machines_under_the_response_time() {
    let page = html::render(&Report::of(&watched()));
    let place = |text: &str| page.find(text).expect(text);
    assert!(place("machines-heading") > place("findings-heading"));
    let panels = [
        "Response time",
        "CPU by machine",
        "Memory by machine",
        "Throughput",
    ];
    let places = panels.map(|title| place(&format!("<h3>{title}</h3>")));
    assert!(places.is_sorted(), "{places:?}");
    for expected in [
        "90 % of 2",
        "25 % of 7.45 GiB",
        "+3.0 ms",
        "<td>PostgreSQL</td>",
        "C2 on web1: fix that first",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
}

#[test]
fn a_terminal_shows_one_line_for_each() {
    let text = terminal(&watched());
    for (machine, cpu) in [("web1", "90 % of 2"), ("db1", "25 % of 6")] {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with(machine)).expect(machine);
        assert!(line.contains(cpu), "{line}");
    }
    assert!(text.contains("db1 runs PostgreSQL\n"), "{text}");
}

#[test]
fn without_agents_reports_are_as_ever() {
    let run = runs::search();
    let object = limit_json(&run);
    assert_eq!(object["machines"], json!([]));
    assert_eq!(object["findings"][0]["machine"], Value::Null);
    let page = html::render(&Report::of(&run));
    assert!(!page.contains("machines-heading") && !page.contains("by machine"));
    assert!(!terminal(&run).contains("generator's machine"));
}
