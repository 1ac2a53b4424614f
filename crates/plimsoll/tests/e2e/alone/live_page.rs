//! The live page of four hours with twenty steps, fed in this process: who comes late, and what a second costs a browser.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plimsoll_lab::controls::RunControls;
use plimsoll_lab::run_log::EventFollower;
use plimsoll_live::{LiveAddress, LivePage};
use plimsoll_model::event::{Event, FORMAT_MAJOR, FORMAT_MINOR, WatchHeader};
use plimsoll_model::journey::StepInfo;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::Facts;
use plimsoll_model::window::{StepWindow, Window};
use plimsoll_testkit::not_tried;
use plimsoll_testkit::turns::alone;

use crate::live::look;

const STEPS: u32 = 20;
/// Seconds of the run when somebody comes late.
const SECONDS: u32 = 4 * 3_600;
/// Seconds that are handed to the page at once: its queue holds a thousand updates.
const BATCH: u32 = 400;
/// How long a browser may take for all of a long run, and for a second of it, ms.
const READY_MS_MAX: u64 = 1_000;
const TICK_MS_MAX: u64 = 16;

/// Documents of a page as they come, unparsed: they have millions of numbers.
struct Documents(BufReader<TcpStream>);

impl Documents {
    fn open(url: &str) -> Self {
        let rest = url.strip_prefix("http://").unwrap();
        let (address, path) = rest.split_once('/').unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("GET /{path}events HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Self(BufReader::with_capacity(1 << 20, stream))
    }

    /// Reads until a document has this many rows; that document.
    fn wait_for_rows(&mut self, rows: u32) -> String {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the page ended");
            let found = line
                .strip_prefix("data: ")
                .and_then(|json| json.split_once("\"rows\":"))
                .and_then(|(_, rest)| rest.split(',').next()?.parse::<u32>().ok());
            if found >= Some(rows) {
                return line;
            }
        }
    }
}

/// A page, and what feeds it.
struct LongRun {
    follower: Box<dyn EventFollower>,
    watching: Documents,
    window: Window,
}

impl LongRun {
    fn begin(page: &LivePage) -> Self {
        let mut follower = page.follower();
        let header = WatchHeader {
            format_major: FORMAT_MAJOR,
            format_minor: FORMAT_MINOR,
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            target: None,
            host: Facts::new(),
            versions: Facts::new(),
        };
        follower.event_logged(&Event::WatchStarted(Box::new(header)), &Arc::from(""));
        Self {
            follower,
            watching: Documents::open(page.url()),
            window: window(),
        }
    }

    fn log(&mut self, second: u32) {
        let mut window = self.window.clone();
        window.second = second;
        if second > 0 {
            window.steps_named = BTreeMap::new();
        }
        // No line is the straight one of the second before.
        window.offered += u64::from(second % 7);
        let event = Event::WindowClosed(Box::new(window));
        self.follower.event_logged(&event, &Arc::from(""));
    }
}

/// Ends the seconds when the browser has looked, or a test of what it found fails.
struct EndOfSeconds<'a>(&'a AtomicBool);

impl Drop for EndOfSeconds<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A second of twenty steps.
fn window() -> Window {
    let mut window = Window::new(0);
    window.offered = 2_000;
    window.outcomes.add_many(Outcome::Ok, 1_960);
    window.outcomes.add_many(Outcome::Timeout, 40);
    for step in 0..STEPS {
        let mut results = StepWindow::default();
        results.outcomes.add_many(Outcome::Ok, 98);
        results.outcomes.add_many(Outcome::Timeout, 2);
        results.response.record(u64::from(step) * 1_000 + 500, 98);
        window.response.merge(&results.response);
        window.steps.insert(step, results);
        let info = StepInfo {
            label: format!("step {step}"),
            journey: 0,
            groups: Vec::new(),
            once: false,
        };
        window.steps_named.insert(step, info);
    }
    window.service = window.response.clone();
    window
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "who comes late waits in real time"
)]
fn who_comes_late_to_four_hours_waits_a_second_and_a_second_costs_little() {
    let _alone = alone();
    let page = LivePage::start(LiveAddress::default(), RunControls::default()).unwrap();
    let url = page.url().to_owned();
    let mut run = LongRun::begin(&page);
    for from in (0..SECONDS).step_by(BATCH as usize) {
        for second in from..from + BATCH {
            run.log(second);
        }
        run.watching.wait_for_rows(from + BATCH);
    }
    let began = Instant::now();
    let all = Documents::open(&url).wait_for_rows(SECONDS);
    let waited = began.elapsed();
    assert!(all.contains("\"full\":true"));
    assert!(waited < Duration::from_secs(1), "{waited:?}");
    drop(all);

    // Seconds go on while the browser looks: a few in each real one, as fast as they are received.
    let is_over = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            for second in SECONDS.. {
                run.log(second);
                run.watching.wait_for_rows(second + 1);
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let _end = EndOfSeconds(&is_over);
        look(&url, SECONDS, &["--ticks", "20"])
    });
    let ready_ms = ready_ms(&found);
    let ticks = found["ticks"].as_array().unwrap();
    let mut ticks: Vec<u64> = ticks.iter().filter_map(serde_json::Value::as_u64).collect();
    ticks.sort_unstable();
    let tick_ms = ticks[ticks.len() / 2];
    page.finish("");
    let is_in_time = ready_ms <= READY_MS_MAX && tick_ms <= TICK_MS_MAX;
    if !is_in_time && is_slow_for_a_short_run() {
        return;
    }
    assert!(is_in_time, "{found:#}");
}

/// The shortest time until the page was ready, ms.
fn ready_ms(found: &serde_json::Value) -> u64 {
    let pages = found["pages"].as_array().unwrap().iter();
    pages
        .filter_map(|page| page["readyMs"].as_u64())
        .min()
        .unwrap()
}

/// Whether a page with next to nothing on it takes half of the time here that the long one may: then others have the CPUs,
/// which is said loudly.
fn is_slow_for_a_short_run() -> bool {
    let page = LivePage::start(LiveAddress::default(), RunControls::default()).unwrap();
    let mut run = LongRun::begin(&page);
    for second in 0..BATCH {
        run.log(second);
    }
    run.watching.wait_for_rows(BATCH);
    let ready_ms = ready_ms(&look(page.url(), BATCH, &[]));
    page.finish("");
    let is_slow = 2 * ready_ms > READY_MS_MAX;
    if is_slow {
        not_tried::disturbed(format_args!("a page of a short run took {ready_ms} ms"));
    }
    is_slow
}
