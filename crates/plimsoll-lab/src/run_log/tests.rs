//! The log with damaged files: truncated, foreign, newer, refused by the disk.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_model::event::{Event, FORMAT_MAJOR, FORMAT_MINOR, Header};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Facts, Load, Plan, RequestPlan};
use plimsoll_model::reading::Readings;
use plimsoll_model::seed::Seed;
use plimsoll_model::verdict::Verdict;
use plimsoll_model::window::Window;
use plimsoll_testkit::plan::get_root;
use rustix::time::{ClockId, clock_gettime};

use super::*;

fn plan() -> Plan {
    let base = get_root(([127, 0, 0, 1], 80).into());
    Plan {
        request: RequestPlan {
            headers: vec![("Authorization".to_owned(), "Basic c2VjcmV0".to_owned())],
            ..base.request
        },
        load: Load::Closed {
            connections: 1,
            think: Duration::ZERO,
            lasting: Duration::from_secs(3),
        },
        seed: Seed(7),
        ..base
    }
}

fn header() -> Header {
    Header {
        format_major: FORMAT_MAJOR,
        format_minor: FORMAT_MINOR,
        command: "run".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        plan: plan().redacted(),
        host: Facts::new(),
        versions: Facts::new(),
    }
}

fn window(second: u32) -> Window {
    let mut window = Window::new(second);
    window.offered = 100;
    window.outcomes.add_many(Outcome::Ok, 100);
    for value in 1..100_u64 {
        window
            .response
            .record(value * value * 7 + u64::from(second), 1);
    }
    window
}

fn events(count: u32) -> Vec<Event> {
    let mut events: Vec<Event> = (0..count)
        .map(|second| Event::WindowClosed(Box::new(window(second))))
        .collect();
    events.push(Event::RunEnded {
        verdict: Verdict::Met,
        void: Vec::new(),
        process_cpu_us: 1,
        rss_bytes_max: 2,
    });
    events
}

fn written(folder: &tempfile::TempDir, events: Vec<Event>) -> PathBuf {
    let path = folder.path().join("a/b/test.run");
    let mut log = RunLog::create(&path, header(), Followers::default()).unwrap();
    for event in events {
        log.append(event);
    }
    let (path, refused) = log.close();
    assert!(refused.is_empty());
    path
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let reading = read(&written(&folder, events(3))).unwrap();
    assert_eq!(reading.cut, None);
    assert_eq!(reading.run.windows, [window(0), window(1), window(2)]);
    assert_eq!(reading.run.header, header());
    assert_eq!(reading.run.ending.unwrap().verdict, Verdict::Met);
}

/// Keeps the lines it sees.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl EventFollower for Recorder {
    fn event_logged(&mut self, event: &Event, line: &Arc<str>) {
        assert_eq!(&serde_json::from_str::<Event>(line).unwrap(), event);
        self.0.lock().unwrap().push(line.to_string());
    }
}

#[test]
fn followers_see_each_event_once_in_the_order_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.run");
    let (followers, recorder) = (Followers::default(), Recorder::default());
    followers.add(Box::new(recorder.clone()));
    let mut log = RunLog::create(&path, header(), followers).unwrap();
    for event in events(3) {
        log.append(event);
    }
    log.close();
    let file = std::fs::File::open(&path).unwrap();
    let mut text = String::new();
    let mut lines = flate2::read::MultiGzDecoder::new(file);
    std::io::Read::read_to_string(&mut lines, &mut text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(*recorder.0.lock().unwrap(), lines);
    assert_eq!(lines.len(), 5);
}

#[test]
fn readings_of_a_run_are_read_without_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let mut mixed = events(2);
    mixed.push(Event::ReadingsTaken(Readings {
        second: 1,
        values: BTreeMap::from([("busy".to_owned(), 0.5)]),
        new_series: BTreeMap::new(),
    }));
    let path = written(&folder, mixed);
    let loaded = read_readings(&path).unwrap();
    assert_eq!(loaded.started_at, header().started_at);
    assert_eq!(loaded.readings, read(&path).unwrap().run.readings);
    assert_eq!(loaded.readings.values("busy"), Some(&[0.5][..]));
}

#[test]
fn a_file_cut_off_anywhere_is_readable_up_to_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(&folder, events(3));
    let bytes = std::fs::read(&path).unwrap();
    let only_header = written_header_len();
    let mut complete = 0;
    for len in only_header..bytes.len() {
        let cut = folder.path().join("cut.run");
        std::fs::write(&cut, &bytes[..len]).unwrap();
        let run = read(&cut).unwrap().run;
        assert!(run.windows.len() >= complete, "a longer file holds no less");
        complete = run.windows.len();
        assert_eq!(run.windows, events_windows(complete));
    }
    assert_eq!(complete, 3);
}

fn events_windows(count: usize) -> Vec<Window> {
    (0..u32::try_from(count).unwrap()).map(window).collect()
}

fn written_header_len() -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = written(&folder, Vec::new());
    std::fs::read(path).unwrap().len()
}

#[test]
fn a_header_alone_is_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let reading = read(&written(&folder, Vec::new())).unwrap();
    assert!(reading.run.windows.is_empty() && reading.cut.is_none());
}

#[test]
fn a_log_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(&folder, events(1));
    let error = RunLog::create(&path, header(), Followers::default()).unwrap_err();
    assert!(matches!(error, RunLogError::Exists { .. }), "{error}");
    assert_eq!(read(&path).unwrap().run.windows.len(), 1);
}

fn file_of(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("foreign.run");
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    std::fs::write(&path, gz.finish().unwrap()).unwrap();
    path
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = "{\"event\":\"run_started\",\"data\":{\"format_major\":99,\"shape\":1,\"versions\":{\"plimsoll\":\"9.1.0\"}}}\n";
    let error = read(&file_of(&folder, text)).unwrap_err().to_string();
    assert!(
        error.contains("format 99") && error.contains("9.1.0"),
        "{error}"
    );
}

#[test]
fn a_newer_minor_version_may_bring_unknown_events() {
    let folder = tempfile::tempdir().unwrap();
    let mut newer = header();
    newer.format_minor = FORMAT_MINOR + 1;
    let lines = [
        serde_json::to_string(&Event::RunStarted(Box::new(newer))).unwrap(),
        "{\"event\":\"moon_rose\",\"data\":{}}".to_owned(),
        serde_json::to_string(&Event::WindowClosed(Box::new(window(0)))).unwrap(),
    ];
    let reading = read(&file_of(&folder, &(lines.join("\n") + "\n"))).unwrap();
    assert_eq!((reading.run.windows.len(), reading.cut), (1, None));
}

#[test]
fn what_is_not_a_log_is_named_so() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.run");
    std::fs::write(&empty, "").unwrap();
    let text = folder.path().join("text.run");
    std::fs::write(&text, "hello").unwrap();
    let other = file_of(&folder, "{\"event\":\"window_closed\"}\n");
    for path in [empty, text, other] {
        let error = read(&path).unwrap_err();
        assert!(matches!(error, RunLogError::NotARunLog { .. }), "{error}");
    }
    assert!(matches!(
        read(folder.path()).unwrap_err(),
        RunLogError::Read { .. }
    ));
}

#[test]
fn secrets_do_not_reach_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let reading = read(&written(&folder, Vec::new())).unwrap();
    assert_eq!(reading.run.header.plan.request.headers[0].1, "[redacted]");
}

/// CPU time of this thread: what runs beside the test does not count.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

/// Two hundred series and five hundred buckets a second, for an hour, as a long run has them.
#[test]
fn an_hour_is_read_in_a_moment() {
    let folder = tempfile::tempdir().unwrap();
    let mut histogram = Histogram::new();
    for value in 0..500_u64 {
        histogram.record(1000 + value * 37, value + 1);
    }
    let mut hour = Vec::new();
    for second in 0..3600 {
        let mut full = window(second);
        full.response = histogram.clone();
        full.service = histogram.clone();
        hour.push(Event::WindowClosed(Box::new(full)));
        let values: BTreeMap<String, f64> = (0..200)
            .map(|index| {
                (
                    format!("plimsoll.series{{label={index}}}"),
                    f64::from(second * index) / 7.0,
                )
            })
            .collect();
        hour.push(Event::ReadingsTaken(Readings {
            second,
            values,
            new_series: BTreeMap::new(),
        }));
    }
    let path = written(&folder, hour);
    let begun = thread_cpu();
    let reading = read(&path).unwrap();
    let took = thread_cpu().checked_sub(begun).unwrap();
    println!(
        "read {} bytes in {took:?}",
        std::fs::metadata(&path).unwrap().len()
    );
    assert_eq!(reading.run.windows.len(), 3600);
    // The release build needs a fraction of this.
    assert!(took < Duration::from_secs(5), "{took:?}");
}
