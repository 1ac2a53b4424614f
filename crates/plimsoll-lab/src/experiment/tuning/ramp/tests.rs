mod queue;

use std::collections::BTreeMap;

use plimsoll_model::seed::Seed;

use super::super::lines::LOAD_LINE_MAX;
use super::*;
use crate::experiment::trial::TrialTraffic;

const DEFAULT: usize = 3;

fn objective(text: &str) -> Objective {
    plimsoll_config::objective::objective(text).unwrap()
}

fn trial(index: u32, cell: usize, role: TrialRole) -> PlannedTrial {
    PlannedTrial {
        index,
        block: index,
        position: 0,
        cell,
        role,
        seed: Seed(1),
    }
}

fn record(index: u32, cell: usize, role: TrialRole, metrics: &[(&str, f64)]) -> TrialRecord {
    let metrics = metrics
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value));
    TrialRecord {
        trial: trial(index, cell, role),
        began_ms: 0,
        ended_ms: 1,
        outcome: RecordedOutcome::Measured(metrics.collect::<BTreeMap<_, _>>()),
        traffic: TrialTraffic::default(),
        runs: Vec::new(),
        notes: Vec::new(),
    }
}

fn ramps() -> TrialRamps {
    TrialRamps::new(
        DEFAULT,
        objective("p95 < 500ms"),
        LoadUnit::RequestsPerSecond,
    )
}

fn first(ramps: &mut TrialRamps, cell: usize, records: &[TrialRecord]) -> (f64, f64) {
    let shape = ramps
        .first(&trial(9, cell, TrialRole::Cell), records)
        .unwrap();
    (shape.from, shape.to)
}

#[track_caller]
fn is_near((from, to): (f64, f64), expected: (f64, f64)) {
    assert!(
        (from - expected.0).abs() < 1e-9 && (to - expected.1).abs() < 1e-9,
        "{from} to {to}"
    );
}

#[test]
fn a_load_is_sized_by_what_is_known() {
    let mut ramps = ramps();
    let unknown = ramps.first(&trial(0, DEFAULT, TrialRole::Reference), &[]);
    assert!(unknown.unwrap_err().contains("load line"));
    let mut records = vec![record(0, DEFAULT, TrialRole::Limit, &[(LOAD_LINE, 100.0)])];
    is_near(first(&mut ramps, DEFAULT, &records), (70.0, 150.0));
    is_near(first(&mut ramps, 7, &records), (70.0, 150.0));
    // The default's own rising load counts from then on; one that only bounds the line does not.
    records.push(record(
        1,
        DEFAULT,
        TrialRole::Reference,
        &[(LOAD_LINE, 120.0)],
    ));
    records.push(record(
        2,
        DEFAULT,
        TrialRole::Reference,
        &[(LOAD_LINE_MIN, 500.0)],
    ));
    is_near(first(&mut ramps, DEFAULT, &records), (84.0, 180.0));
    // A single trial that was off does not size those after it.
    let mut off = records.clone();
    for (index, line) in [(3, 90.0), (4, 170.0)] {
        off.push(record(
            index,
            DEFAULT,
            TrialRole::Confirm,
            &[(LOAD_LINE, line)],
        ));
    }
    is_near(first(&mut ramps, DEFAULT, &off), (84.0, 180.0));
    // Others begin at the default's and go beyond the best.
    records.push(record(3, 5, TrialRole::Cell, &[(LOAD_LINE, 200.0)]));
    is_near(first(&mut ramps, 7, &records), (84.0, 300.0));
    is_near(first(&mut ramps, 5, &records), (140.0, 300.0));
    // Where the best is far above, they climb to half of it: by a factor of 3.57 in 1.84 times four seconds.
    let between = [(LOAD_LINE_MIN, 500.0), (LOAD_LINE_MAX, 720.0)];
    records.push(record(4, 6, TrialRole::Cell, &between));
    let shape = ramps
        .first(&trial(9, 7, TrialRole::Cell), &records)
        .unwrap();
    is_near((shape.from, shape.to), (300.0, 900.0));
    assert!((shape.begin - 84.0).abs() < 1e-9, "{}", shape.begin);
    assert_eq!(shape.climbing.as_millis(), 7346);
    // A setting whose line is known does not.
    is_near(first(&mut ramps, 6, &records), (420.0, 900.0));
    assert_eq!(ramps.current.unwrap().climbing, Duration::ZERO);
}

#[test]
fn a_load_that_misses_the_line_is_followed_by_another() {
    let records = [
        record(0, DEFAULT, TrialRole::Limit, &[(LOAD_LINE, 100.0)]),
        record(1, 5, TrialRole::Cell, &[(LOAD_LINE, 800.0)]),
    ];
    let mut ramps = ramps();
    is_near(first(&mut ramps, DEFAULT, &records), (70.0, 150.0));
    for (number, expected) in [
        (0, (150.0, 300.0)),
        (1, (300.0, 600.0)),
        (2, (600.0, 1200.0)),
    ] {
        let shape = ramps.after(Crossing::Above(0.0), number).unwrap();
        is_near((shape.from, shape.to), expected);
    }
    assert_eq!(ramps.after(Crossing::Above(1200.0), 3), None);
    // Beyond the line there is nothing to find.
    is_near(first(&mut ramps, 7, &records), (400.0, 1200.0));
    assert_eq!(ramps.after(Crossing::At(500.0), 0), None);
    is_near(first(&mut ramps, DEFAULT, &records), (70.0, 150.0));
    assert_eq!(ramps.after(Crossing::Below(70.0), 0), None);
}

#[test]
fn a_whole_search_begins_where_loads_have_risen() {
    let mut records = vec![record(0, DEFAULT, TrialRole::Limit, &[(LOAD_LINE, 100.0)])];
    let from = |cell: usize, records: &[TrialRecord]| ramps().search_from(cell, records);
    assert_eq!(from(DEFAULT, &records), None);
    for (index, role, line) in [
        (1, TrialRole::Cell, (LOAD_LINE_MIN, 500.0)),
        (2, TrialRole::Confirm, (LOAD_LINE_MIN, 400.0)),
    ] {
        records.push(record(index, 5, role, &[line]));
    }
    assert_eq!(from(5, &records), Some(375.0));
    for (index, line) in [(3, 700.0), (4, 900.0), (5, 800.0)] {
        records.push(record(index, 5, TrialRole::Confirm, &[(LOAD_LINE, line)]));
    }
    assert_eq!(from(5, &records), Some(600.0));
}

#[test]
fn a_load_lasts_as_long_as_its_line_needs() {
    let unit = LoadUnit::RequestsPerSecond;
    let lasting = |line: f64, text: &str| {
        RampShape::for_line(line, &objective(text), unit)
            .lasting
            .as_secs()
    };
    assert_eq!(lasting(1000.0, "p95 < 500ms"), 20);
    // Beyond the line a queue first grows to the bound.
    assert_eq!(lasting(1000.0, "p95 < 2s"), 33);
    assert_eq!(lasting(1000.0, "p95 < 60s"), 180);
    // 3.5 requests in a second need twice the time.
    assert_eq!(lasting(5.0, "p95 < 500ms"), 38);
    assert_eq!(lasting(0.1, "p95 < 500ms"), 180);
}

#[test]
fn loads_are_in_the_unit_of_the_search() {
    let objective = objective("p95 < 500ms");
    let own = Load::Open {
        phases: Vec::new(),
        spacing: Spacing::Even,
    };
    let rate = RampShape::for_line(100.0, &objective, LoadUnit::RequestsPerSecond);
    let Load::Open { phases, spacing } = rate.load(&own) else {
        panic!("requests arrive");
    };
    assert_eq!(spacing, Spacing::Even);
    assert_eq!(phases.len(), 2);
    assert_eq!(rate.whole(), Duration::from_secs(25));
    let users = RampShape::for_line(1.0, &objective, LoadUnit::Users);
    assert_eq!((users.from, users.to), (1.0, 3.0));
    let users = RampShape::for_line(1000.0, &objective, LoadUnit::Users);
    let load = users.load(&own);
    assert_eq!(load.lasting(), users.whole());
    let Load::Users { phases, .. } = load else {
        panic!("users stay");
    };
    let climbing = users.climbing_from(90.0);
    assert_eq!(climbing.load(&own).lasting(), climbing.whole());
    assert!(
        (44..45).contains(&climbing.climbing.as_secs()),
        "{climbing:?}"
    );
    let steady = climbing.steady(Duration::from_secs(9));
    assert_eq!(steady.whole(), Duration::from_secs(20));
    // 700 users arrive at 15 in a second, and 2100 in a minute.
    assert_eq!(phases[0].lasting.as_secs(), 46);
    let more = RampShape::for_line(3000.0, &objective, LoadUnit::Users);
    assert_eq!(more.lead, Duration::from_secs(65));
    assert!((phases[1].from - 700.0).abs() < 1e-9);
    let sessions = RampShape::for_line(5.0, &objective, LoadUnit::SessionsPerSecond);
    assert!(matches!(sessions.load(&own), Load::Sessions { .. }));
}
