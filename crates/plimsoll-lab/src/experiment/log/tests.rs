use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use plimsoll_model::event::Event;
use plimsoll_model::seed::Seed;
use serde_json::json;

use super::super::trial::{RecordedOutcome, TrialRole, TrialTraffic};
use super::*;
use crate::run_log::EventFollower;

fn header(trials: u32) -> ExperimentHeader {
    ExperimentHeader {
        format: FORMAT,
        command: "matrix".to_owned(),
        source: "a.yaml".to_owned(),
        started_at: "2026-11-26T10:00:00Z".to_owned(),
        started_unix_ms: 1,
        seed: 7,
        definition: json!({ "trials": trials }),
    }
}

fn record(index: u32) -> TrialRecord {
    let values = [
        ("p95".to_owned(), 0.1 + f64::from(index) / 3.0),
        ("p99".to_owned(), f64::NAN),
    ];
    TrialRecord {
        trial: PlannedTrial {
            index,
            block: 0,
            position: index,
            cell: 0,
            role: TrialRole::Cell,
            seed: Seed(index.into()),
        },
        began_ms: 10,
        ended_ms: 20,
        outcome: RecordedOutcome::Measured(BTreeMap::from(values)),
        traffic: TrialTraffic {
            requests: 3,
            bytes_out: 4,
        },
        runs: vec!["runs/0.run".to_owned()],
        notes: Vec::new(),
    }
}

#[test]
fn records_are_read_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = ExperimentLog::open(folder.path(), header(3)).unwrap();
    for index in 0..3 {
        log.start(record(index).trial).unwrap();
        log.append(record(index)).unwrap();
    }
    let records = log.records().to_vec();
    assert_eq!(records.len(), 3);
    drop(log);
    let other_begin = ExperimentHeader {
        started_unix_ms: 9,
        seed: 8,
        ..header(3)
    };
    let log = ExperimentLog::open(folder.path(), other_begin).unwrap();
    assert_eq!(log.header(), &header(3), "the log's own header counts");
    assert_eq!(log.records(), records);
}

/// Keeps the lines it sees.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl EventFollower for Recorder {
    fn event_logged(&mut self, _: &Event, _: &Arc<str>) {}

    fn experiment_logged(&mut self, line: &Arc<str>) {
        self.0.lock().unwrap().push(line.to_string());
    }
}

#[test]
fn who_follows_sees_the_records_so_far_and_each_line_that_comes() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = ExperimentLog::open(folder.path(), header(3)).unwrap();
    log.append(record(0)).unwrap();
    let (followers, recorder) = (Followers::default(), Recorder::default());
    followers.add(Box::new(recorder.clone()));
    log.follow(followers);
    log.start(record(1).trial).unwrap();
    log.append(record(1)).unwrap();
    let text = std::fs::read_to_string(log.path()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(*recorder.0.lock().unwrap(), lines);
    assert_eq!(lines.len(), 4);
}

#[test]
fn a_torn_last_line_is_cut_wherever_it_was_torn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    let mut log = ExperimentLog::open(folder.path(), header(3)).unwrap();
    log.append(record(0)).unwrap();
    drop(log);
    let whole = fs::read(&path).unwrap();
    for len in 0..=whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        let log = ExperimentLog::open(folder.path(), header(3)).unwrap();
        assert_eq!(log.records().len(), usize::from(len == whole.len()));
        drop(log);
        let content = fs::read(&path).unwrap();
        assert_eq!(content.last(), Some(&b'\n'), "torn at {len}");
    }
}

#[test]
fn a_damaged_line_is_named_and_nothing_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    drop(ExperimentLog::open(folder.path(), header(3)).unwrap());
    let mut content = fs::read_to_string(&path).unwrap();
    content.push_str("{\"trial_ended\": 5}\n");
    fs::write(&path, &content).unwrap();
    let error = ExperimentLog::open(folder.path(), header(3)).unwrap_err();
    assert!(
        error.to_string().contains("experiment.log:2: damaged"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), content);
}

#[test]
fn two_experiments_in_a_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let log = ExperimentLog::open(folder.path(), header(3)).unwrap();
    let error = ExperimentLog::open(folder.path(), header(3)).unwrap_err();
    assert!(
        error.to_string().contains("another plimsoll runs"),
        "{error}"
    );
    drop(log);
    drop(ExperimentLog::open(folder.path(), header(3)).unwrap());
}

#[test]
fn another_experiment_is_refused_with_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    drop(ExperimentLog::open(folder.path(), header(3)).unwrap());
    let error = ExperimentLog::open(folder.path(), header(5)).unwrap_err();
    let text = error.to_string();
    for part in ["a.yaml", "`trials` is 3 in the log, and 5 now", "--out DIR"] {
        assert!(text.contains(part), "{text}");
    }
    let compare = ExperimentHeader {
        command: "compare".to_owned(),
        ..header(3)
    };
    let error = ExperimentLog::open(folder.path(), compare).unwrap_err();
    assert!(error.to_string().contains("plimsoll matrix"), "{error}");
}

#[test]
fn a_newer_format_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let newer = ExperimentHeader {
        format: FORMAT + 1,
        ..header(3)
    };
    drop(ExperimentLog::open(folder.path(), newer).unwrap());
    let error = ExperimentLog::open(folder.path(), header(3)).unwrap_err();
    assert!(
        error.to_string().contains("use a newer plimsoll"),
        "{error}"
    );
}
