//! CSV, Parquet and `JUnit`, read back by independent readers.

use std::io::Write as _;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Row;
use plimsoll_model::objective::{LatencyBound, Objective};
use plimsoll_report::export_table::RunTable;
use plimsoll_report::{Report, csv, junit, parquet as tables};
use quick_xml::events::Event;

use crate::runs;

/// Rows of a CSV text, as RFC 4180 reads them.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => cell.push(letters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted && letters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    rows
}

fn cell<'a>(rows: &'a [Vec<String>], row: usize, name: &str) -> &'a str {
    let column = rows[0].iter().position(|column| column == name).unwrap();
    &rows[row + 1][column]
}

#[test]
fn csv_tells_the_same_as_the_run() {
    let run = runs::search();
    let windows = rows(&csv::render(&run, RunTable::Windows));
    assert_eq!(windows.len(), run.windows.len() + 1);
    let window = &run.windows[40];
    assert_eq!(cell(&windows, 40, "second"), window.second.to_string());
    assert_eq!(cell(&windows, 40, "offered"), window.offered.to_string());
    let p95 = window.response.quantile(0.95).unwrap();
    assert_eq!(cell(&windows, 40, "response_us_p95"), p95.to_string());
    let histogram = cell(&windows, 40, "response_histogram_v2");
    let histogram = plimsoll_model::histogram::Histogram::from_v2_base64(histogram).unwrap();
    assert_eq!(histogram, window.response);

    let trials = rows(&csv::render(&run, RunTable::Trials));
    assert_eq!(trials.len(), 27);
    assert_eq!(cell(&trials, 25, "kind"), "confirm");
    assert_eq!(cell(&trials, 17, "verdict"), "void");
    assert!(cell(&trials, 17, "why").contains("hypervisor"));

    let readings = rows(&csv::render(&run, RunTable::Readings));
    assert_eq!(readings.len(), 1 + 10 * run.readings.seconds().len());
    let findings = rows(&csv::render(&run, RunTable::Findings));
    assert_eq!(
        (
            findings.len(),
            cell(&findings, 0, "rule"),
            cell(&findings, 3, "rank")
        ),
        (5, "C2", "2")
    );
}

#[test]
fn csv_keeps_hostile_cells_in_their_place() {
    let run = runs::hostile();
    let findings = rows(&csv::render(&run, RunTable::Findings));
    assert!(findings.iter().all(|row| row.len() == findings[0].len()));
    assert_eq!(cell(&findings, 0, "limit"), run.findings[0].limit);
}

fn parquet_rows(bytes: &[u8]) -> Vec<Row> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

#[test]
fn parquet_tells_the_same_as_csv() {
    let (run, users) = (runs::search(), runs::users());
    for table in RunTable::ALL {
        let run = if table == RunTable::Steps {
            &users
        } else {
            &run
        };
        let (text, table) = (csv::render(run, table), tables::render(run, table));
        let (text, table) = (rows(&text), parquet_rows(&table.unwrap()));
        assert_eq!(table.len() + 1, text.len());
        for (index, row) in table.iter().enumerate() {
            for (column, (name, field)) in row.get_column_iter().enumerate() {
                assert_eq!(name, &text[0][column]);
                let expected = &text[index + 1][column];
                match field {
                    parquet::record::Field::Null => assert_eq!(expected, ""),
                    parquet::record::Field::Long(value) => assert_eq!(expected, &value.to_string()),
                    parquet::record::Field::Double(value) => {
                        assert_eq!(expected, &value.to_string());
                    }
                    parquet::record::Field::Str(value) => assert_eq!(expected, value),
                    other => panic!("{name}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn every_journey_step_and_group_has_a_row() {
    let run = runs::users();
    let steps = rows(&csv::render(&run, RunTable::Steps));
    assert_eq!(steps.len(), 1 + 2 + 8 + 1);
    let kinds: Vec<&str> = (0..11).map(|row| cell(&steps, row, "kind")).collect();
    assert_eq!(kinds[..4], ["journey", "journey", "once", "step"]);
    assert_eq!(kinds[10], "group");
    assert_eq!(cell(&steps, 2, "label"), "POST /accounts/login");
    assert_eq!(
        cell(&steps, 3, "response_us_p75").parse::<u64>().unwrap(),
        Report::of(&run).summary.breakdown.unwrap().steps[1]
            .metrics
            .response_us
            .unwrap()
            .p75
    );
    assert_eq!(
        rows(&csv::render(&runs::plain(400.0, 2), RunTable::Steps)).len(),
        1
    );
}

#[test]
fn an_empty_run_has_tables_without_rows() {
    let run = runs::header_only("run");
    assert_eq!(rows(&csv::render(&run, RunTable::Windows)).len(), 1);
    assert!(parquet_rows(&tables::render(&run, RunTable::Trials).unwrap()).is_empty());
}

/// (name, attributes) of every element, in order; the reader refuses invalid XML.
fn elements(xml: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut elements = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) | Event::Empty(tag) => {
                let attributes = tag.attributes().map(|attribute| {
                    let attribute = attribute.unwrap();
                    let value =
                        String::from_utf8_lossy(attribute.value.as_ref().as_ref()).into_owned();
                    (
                        String::from_utf8_lossy(attribute.key.as_ref().as_ref()).into_owned(),
                        value,
                    )
                });
                let attributes = attributes.collect();
                elements.push((
                    String::from_utf8_lossy(tag.name().as_ref().as_ref()).into_owned(),
                    attributes,
                ));
            }
            Event::Eof => return elements,
            _ => {}
        }
    }
}

fn counts(run: &plimsoll_model::run::Run) -> (usize, usize, usize) {
    let xml = junit::render(&Report::of(run));
    let elements = elements(&xml);
    let count = |name: &str| elements.iter().filter(|element| element.0 == name).count();
    let found = (count("testcase"), count("failure"), count("error"));
    let suite = &elements
        .iter()
        .find(|element| element.0 == "testsuite")
        .unwrap()
        .1;
    let attribute = |name: &str| {
        suite
            .iter()
            .find(|pair| pair.0 == name)
            .unwrap()
            .1
            .parse()
            .unwrap()
    };
    assert_eq!(
        found,
        (
            attribute("tests"),
            attribute("failures"),
            attribute("errors")
        ),
        "{xml}"
    );
    found
}

#[test]
fn junit_has_a_case_for_every_bound() {
    assert_eq!(counts(&runs::plain(400.0, 10)), (3, 0, 0));
    assert_eq!(counts(&runs::plain_failing()), (3, 1, 0));
    assert_eq!(counts(&runs::plain_void()), (1, 0, 1));
    assert_eq!(counts(&runs::header_only("run")), (1, 0, 1));
    assert_eq!(counts(&runs::gate()), (1, 0, 0));
    assert_eq!(counts(&runs::search()), (1, 0, 0));
    assert_eq!(counts(&runs::search_without_line()), (1, 0, 1));
    assert_eq!(counts(&runs::hostile()), (1, 0, 0));
    // Valid, not ended early, five bounds, and two steps that expect a redirect.
    assert_eq!(counts(&runs::users()), (9, 0, 0));
    assert_eq!(counts(&runs::users_missed()), (9, 3, 0));
    // Broadcasts were measured; a bound without a request is an error.
    let mut objective = Objective {
        reach_min: Some(0.99),
        ..Objective::default()
    };
    let run = runs::websockets_behind_their_warmup(objective.clone());
    assert_eq!(counts(&run), (2, 0, 0));
    objective.latency.push(LatencyBound {
        quantile: 0.95,
        within_us: 500_000,
    });
    let run = runs::websockets_behind_their_warmup(objective);
    assert_eq!(counts(&run), (3, 0, 1));
}

#[test]
fn seconds_of_websockets_have_their_columns() {
    let windows = rows(&csv::render(&runs::websockets(), RunTable::Windows));
    assert_eq!(cell(&windows, 0, "websockets_connected"), "1000");
    assert_eq!(cell(&windows, 0, "websockets_failed"), "10");
    assert_eq!(cell(&windows, 0, "broadcast_us_p50"), "");
    assert_eq!(cell(&windows, 5, "messages_in"), "1098");
    assert_eq!(cell(&windows, 5, "messages_unanswered"), "2");
    let p50: f64 = cell(&windows, 5, "broadcast_us_p50").parse().unwrap();
    assert!((p50 - 12_000.0).abs() < 120.0, "{p50}");
    let plain = rows(&csv::render(&runs::plain(400.0, 5), RunTable::Windows));
    assert!(
        !plain[0]
            .iter()
            .any(|column| column.starts_with("websockets"))
    );
}
