use plimsoll_model::history::HISTORY_FORMAT;
use plimsoll_model::seed::Seed;
use plimsoll_model::verdict::Verdict;
use rand::RngExt as _;

use super::*;
use crate::stats::divisive::tests::TIGERBEETLE;

/// A run of `name` whose only metric has this value; the machine is the class of the machine.
pub(in super::super) fn entry(name: &str, machine: &str, metric: &str, value: f64) -> HistoryEntry {
    HistoryEntry {
        format: HISTORY_FORMAT,
        at: "2026-11-26T10:00:00Z".to_owned(),
        command: "run".to_owned(),
        name: name.to_owned(),
        commit: None,
        plan: "p".to_owned(),
        machine: machine.to_owned(),
        verdict: Some(Verdict::Met),
        metrics: BTreeMap::from([(metric.to_owned(), value)]),
        plimsoll: String::new(),
    }
}

/// Runs with noise of 1 % around these levels.
pub(in super::super) fn noisy(metric: &str, levels: &[f64], seed: u64) -> Vec<HistoryEntry> {
    let mut random = Seed(seed).generator();
    let values = levels
        .iter()
        .map(|level| level * (1.0 + random.random_range(-0.01_f64..0.01)));
    values
        .map(|value| entry("shop", "m", metric, value))
        .collect()
}

fn steps(series: &MetricSeries) -> Vec<usize> {
    let steps = series.changes().iter();
    steps
        .filter(|change| change.kind == ChangeKind::Step)
        .map(|change| change.index)
        .collect()
}

#[test]
fn tigerbeetle_changes_where_otava_says() {
    let entries: Vec<HistoryEntry> = TIGERBEETLE
        .iter()
        .map(|value| entry("tigerbeetle", "m", metrics::THROUGHPUT, *value))
        .collect();
    for (p_max, expected, spikes) in [(0.01, &[15, 71][..], 0), (0.1, &[15, 71, 363], 1)] {
        let options = HistoryOptions {
            parameters: Parameters {
                window_len: 30,
                p_max,
                magnitude_min: 0.05,
            },
            ..HistoryOptions::default()
        };
        let series = series(&entries, options);
        assert_eq!(series.len(), 1);
        let metric = &series[0].metrics()[0];
        assert_eq!(steps(metric), expected, "p {p_max}");
        // Otava's points 10 and 11 are a single run.
        let found = metric.changes().iter();
        let found = found.filter(|change| change.kind == ChangeKind::Spike);
        assert_eq!(found.count(), spikes, "p {p_max}");
        assert_eq!(metric.direction(), Some(Direction::HigherIsBetter));
        assert!(metric.is_worse(&metric.changes()[0]), "26,700 to 23,700");
    }
}

#[test]
fn runs_of_other_machines_and_plans_are_not_compared() {
    let mut entries = noisy(metrics::P95, &[100.0; 30], 1);
    for (index, entry) in entries.iter_mut().enumerate() {
        if index % 2 == 1 {
            "big".clone_into(&mut entry.machine);
            entry.metrics.insert(metrics::P95.to_owned(), 50.0);
        }
    }
    let series = series(&entries, HistoryOptions::default());
    assert_eq!(series.len(), 2);
    assert_eq!(series[0].key().machine, "m");
    for series in &series {
        assert_eq!(series.runs().len(), 15);
        assert!(series.metrics()[0].changes().is_empty());
    }
}

#[test]
fn void_runs_and_counts_have_no_place_among_the_values() {
    let mut entries = noisy(metrics::P95, &[100.0; 30], 2);
    entries[7].verdict = Some(Verdict::Void);
    entries[9].metrics.clear();
    entries[11]
        .metrics
        .insert(metrics::REQUESTS.to_owned(), 1.0);
    entries[11].metrics.insert(metrics::SD.to_owned(), 1.0);
    let series = series(&entries, HistoryOptions::default());
    let names: Vec<&str> = series[0].metrics().iter().map(MetricSeries::name).collect();
    assert_eq!(names, [metrics::P95]);
    let points = series[0].metrics()[0].points();
    assert_eq!((series[0].runs().len(), points.len()), (30, 28));
    assert_eq!(points[7].0, 8, "points name their run");
}

#[test]
fn the_chart_answers_before_change_points_can() {
    let level = |runs: &[f64]| {
        let entries = noisy(metrics::P95, runs, 3);
        let series = series(&entries, HistoryOptions::default());
        series[0].metrics()[0].chart()
    };
    let mut runs = vec![100.0; 12];
    assert_eq!(level(&runs).unwrap().worse_in_a_row, 0);
    assert_eq!(level(&runs[..5]), None, "too few");
    runs.push(130.0);
    assert_eq!(level(&runs).unwrap().worse_in_a_row, 1);
    runs.push(130.0);
    assert_eq!(level(&runs).unwrap().worse_in_a_row, 2);
    runs.push(100.0);
    assert_eq!(level(&runs).unwrap().worse_in_a_row, 0);
    runs.push(70.0);
    let faster = level(&runs).unwrap();
    assert!(faster.signal.is_some() && faster.worse_in_a_row == 0);
}
