//! The cost of a live page with ten viewers: at most 1 % of the CPU of the generator, and a lag that moves by no more than it
//! moves from run to run.
//!
//! Runs in pairs: one without a page, and one whose page ten connections read; every other pair begins with the page. The
//! page's CPU is that of its own threads, to the nanosecond: the difference of two runs would be lost in their spread. It is
//! shown beside it, since it has what the run itself does for the page, too: it reduces each second to a few numbers.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::pause;
use plimsoll_harness::origin::OriginProcess;
use plimsoll_harness::spread::Spread;
use plimsoll_harness::workspace::Workspace;
use serde_json::{Value, json};

/// Pairs of runs.
const PAIRS: u32 = 5;
/// Connections that read the page.
const VIEWERS: usize = 10;
/// Load of each run.
const RATE: &str = "2000/s";
/// Highest share of the generator's CPU that the page may use.
const SHARE_MAX: f64 = 0.01;
/// What the page's threads are called.
const THREAD: &str = "live-page";
/// Time between two readings of their CPU time.
const POLL: Duration = Duration::from_millis(200);

/// Measures unless there is a result already; `keep` receives it.
pub(super) fn run(
    workspace: &Workspace,
    seconds: u64,
    results: &mut Vec<Value>,
    keep: impl Fn(&Value) -> Result<()>,
) -> Result<()> {
    if seconds == 0 || results.iter().any(|it| it["viewers"].is_object()) {
        return Ok(());
    }
    println!(
        "viewers: {PAIRS} pairs of runs at {RATE} for {seconds} s, without a page and with {VIEWERS} viewers"
    );
    let result = measure(workspace, seconds)?;
    println!("  {}", text(&result["viewers"]));
    keep(&result)?;
    results.push(result);
    Ok(())
}

fn measure(workspace: &Workspace, seconds: u64) -> Result<Value> {
    let arguments = ["--law", "deterministic", "--mean-us", "0"];
    let origin = OriginProcess::start(&workspace.release("plimsoll-origin"), None, &arguments)?;
    let program = workspace.release("plimsoll");
    let cost = |viewers: usize| RunCost::of(&program, origin.url(), seconds, viewers);
    let mut pairs = Vec::new();
    for pair in 0..PAIRS {
        let (without, with) = if pair % 2 == 0 {
            let without = cost(0)?;
            (without, cost(VIEWERS)?)
        } else {
            let with = cost(VIEWERS)?;
            (cost(0)?, with)
        };
        println!(
            "  pair {}: {:.2} and {:.2} us of CPU a request, lag p99 {:.3} and {:.3} ms, the page {:.2} %",
            pair + 1,
            without.cpu_us,
            with.cpu_us,
            without.lag_ms,
            with.lag_ms,
            with.page_share * 100.0
        );
        pairs.push((without, with));
    }
    Ok(result_of(&pairs, seconds))
}

/// What one run cost.
#[derive(Clone, Copy, Debug, Default)]
struct RunCost {
    /// CPU time of the process for each request, µs.
    cpu_us: f64,
    /// 99th percentile of the generator's lag, ms.
    lag_ms: f64,
    /// Part of the process's CPU time that the page's threads used, 0 to 1.
    page_share: f64,
    /// Documents that the viewer with the fewest received.
    documents: usize,
}

impl RunCost {
    fn of(program: &Path, url: &str, seconds: u64, viewers: usize) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut run = WatchedRun::start(program, url, seconds, viewers, folder.path())?;
        let mut page = PageTime::default();
        while run.child.try_wait()?.is_none() {
            page.read(run.child.id());
            pause(POLL);
        }
        let documents = run.viewers.drain(..).map(|viewer| {
            let documents = viewer.join().expect("a viewer does not panic");
            documents.context("a viewer")
        });
        let documents = documents.collect::<Result<Vec<usize>>>()?;
        let report = std::fs::read_to_string(folder.path().join(REPORT))?;
        let report: Value = serde_json::from_str(&report)
            .with_context(|| format!("no report: {}", run.messages()))?;
        let number = |value: &Value| value.as_f64().context("the report lacks a number");
        let cpu_us = number(&report["generator"]["cpu_us_per_request"])?;
        let all_us = cpu_us * number(&report["requests"])?;
        Ok(Self {
            cpu_us,
            lag_ms: number(&report["generator"]["lag_ms_p99"])?,
            page_share: page.total().as_secs_f64() * 1e6 / all_us,
            documents: documents.into_iter().min().unwrap_or_default(),
        })
    }
}

/// Name of the file with what a run prints.
const REPORT: &str = "report.json";

/// A run, with those who look at it.
struct WatchedRun {
    child: Child,
    viewers: Vec<JoinHandle<Result<usize>>>,
    /// Reads its messages.
    stderr: Option<JoinHandle<String>>,
}

impl WatchedRun {
    fn start(
        program: &Path,
        url: &str,
        seconds: u64,
        viewers: usize,
        folder: &Path,
    ) -> Result<Self> {
        let lasting = format!("{seconds}s");
        let mut command = Command::new(program);
        command.args([
            "run", url, "--rate", RATE, "--for", &lasting, "--json", "-q",
        ]);
        command.args((viewers > 0).then_some("--live"));
        let mut child = command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(File::create(folder.join(REPORT))?)
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run plimsoll")?;
        let stderr = child.stderr.take().context("stderr is piped")?;
        let mut run = Self {
            child,
            viewers: Vec::new(),
            stderr: None,
        };
        let mut stderr = BufReader::new(stderr);
        if viewers > 0 {
            let page = read_address(&mut stderr)?;
            let viewers = (0..viewers).map(|_| {
                let page = page.clone();
                thread::spawn(move || view(&page))
            });
            run.viewers = viewers.collect();
        }
        run.stderr = Some(thread::spawn(move || {
            let mut text = String::new();
            // What cannot be read is missing in a message.
            let _ = stderr.read_to_string(&mut text);
            text
        }));
        Ok(run)
    }

    fn messages(&mut self) -> String {
        let messages = self.stderr.take().map(JoinHandle::join);
        messages.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for WatchedRun {
    fn drop(&mut self) {
        // It has ended, unless something failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The URL of the page, from the messages of its run.
fn read_address(stderr: &mut impl BufRead) -> Result<String> {
    let mut text = String::new();
    loop {
        let before = text.len();
        ensure!(stderr.read_line(&mut text)? > 0, "there is no page: {text}");
        if let Some(url) = text[before..].strip_prefix("live page: ") {
            return Ok(url.trim().to_owned());
        }
    }
}

/// Reads a page to its end, as a browser does; how many documents it received.
fn view(url: &str) -> Result<usize> {
    let rest = url.strip_prefix("http://").context("no URL of a page")?;
    let (address, path) = rest.split_once('/').context("no path")?;
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET /{path}events HTTP/1.1\r\nHost: {address}\r\n\r\n"
    )?;
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    Ok(lines.filter(|line| line.starts_with("data: ")).count())
}

/// CPU time of the page's threads, by thread: those that look for findings come and go.
#[derive(Debug, Default)]
struct PageTime(HashMap<String, u64>);

impl PageTime {
    /// Takes the time of each of them so far. What has ended since it was listed keeps its last one.
    fn read(&mut self, pid: u32) {
        let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
            return;
        };
        for task in tasks.flatten() {
            let read = |name: &str| std::fs::read_to_string(task.path().join(name));
            let is_page = read("comm").is_ok_and(|name| name.trim() == THREAD);
            let schedstat = if is_page {
                read("schedstat").ok()
            } else {
                None
            };
            let used = schedstat.and_then(|text| text.split(' ').next()?.parse().ok());
            if let Some(used_ns) = used {
                let id = task.file_name().to_string_lossy().into_owned();
                self.0.insert(id, used_ns);
            }
        }
    }

    fn total(&self) -> Duration {
        Duration::from_nanos(self.0.values().sum())
    }
}

fn result_of(pairs: &[(RunCost, RunCost)], seconds: u64) -> Value {
    let column = |of: fn(&(RunCost, RunCost)) -> f64| pairs.iter().map(of).collect::<Vec<_>>();
    json!({ "viewers": {
        "viewers": VIEWERS, "seconds": seconds,
        "page_share": column(|pair| pair.1.page_share),
        "cpu_us": { "without": column(|pair| pair.0.cpu_us), "with": column(|pair| pair.1.cpu_us) },
        "lag_ms": { "without": column(|pair| pair.0.lag_ms), "with": column(|pair| pair.1.lag_ms) },
        "documents": pairs.iter().map(|pair| pair.1.documents).min(),
    } })
}

/// The spread of a list of numbers.
fn spread(list: &Value) -> Option<Spread> {
    Spread::of(list.as_array()?.iter().filter_map(Value::as_f64))
}

/// Whether the page used no more than it may, did not move the lag, and was read.
fn holds(result: &Value) -> bool {
    let lag = &result["lag_ms"];
    let all = [&result["page_share"], &lag["without"], &lag["with"]].map(spread);
    let [Some(share), Some(without), Some(with)] = all else {
        return false;
    };
    let moved_ms = with.median - without.median;
    // A document a second; the first and the last may be one.
    let wanted = result["seconds"].as_u64().unwrap_or(u64::MAX) / 2;
    share.median <= SHARE_MAX
        && moved_ms <= without.max - without.min
        && result["documents"].as_u64() >= Some(wanted)
}

fn text(result: &Value) -> String {
    let shown = |list: &Value, digits: usize, factor: f64| {
        let values = list.as_array().into_iter().flatten();
        let values = values.filter_map(Value::as_f64).map(|value| value * factor);
        Spread::of(values).map_or_else(String::new, |spread| spread.show(digits))
    };
    let (cpu, lag) = (&result["cpu_us"], &result["lag_ms"]);
    format!(
        "the page uses {} % of the generator's CPU; CPU a request {} us without and {} us with {} viewers, lag p99 {} and {} ms",
        shown(&result["page_share"], 2, 100.0),
        shown(&cpu["without"], 2, 1.0),
        shown(&cpu["with"], 2, 1.0),
        result["viewers"],
        shown(&lag["without"], 3, 1.0),
        shown(&lag["with"], 3, 1.0)
    )
}

/// Prints what the page costs; true if that is little enough, or was not measured.
pub(super) fn summarise(results: &[Value]) -> bool {
    let mut all_hold = true;
    for result in results.iter().map(|result| &result["viewers"]) {
        if result.is_object() {
            let is_held = holds(result);
            all_hold &= is_held;
            println!(
                "live page: {}{}",
                text(result),
                if is_held { "" } else { ": too much" }
            );
        }
    }
    all_hold
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(page_share: f64, lag_with_ms: f64, documents: usize) -> Value {
        let pairs = [0.1, 0.2, 0.15, 0.12, 0.18].map(|lag_ms| {
            let without = RunCost {
                cpu_us: 30.0,
                lag_ms,
                ..RunCost::default()
            };
            let with = RunCost {
                cpu_us: 31.0,
                lag_ms: lag_with_ms,
                page_share,
                documents,
            };
            (without, with)
        });
        result_of(&pairs, 60)
    }

    #[test]
    fn a_page_is_cheap_that_uses_little_moves_no_lag_and_was_read() {
        let cheap = pairs(0.004, 0.24, 60);
        assert!(holds(&cheap["viewers"]) && summarise(&[cheap]));
        for dear in [
            pairs(0.011, 0.15, 60),
            pairs(0.004, 0.26, 60),
            pairs(0.004, 0.15, 20),
        ] {
            assert!(!holds(&dear["viewers"]), "{dear}");
            assert!(!summarise(&[dear]));
        }
        assert!(!holds(&json!({})));
        assert!(summarise(&[json!({ "law": "x" })]), "nothing was measured");
    }

    #[test]
    fn the_page_is_found_among_the_messages() {
        let mut messages = "note: a\nlive page: http://127.0.0.1:1/ab/\n".as_bytes();
        assert_eq!(
            read_address(&mut messages).unwrap(),
            "http://127.0.0.1:1/ab/"
        );
        let error = read_address(&mut "error: no\n".as_bytes()).unwrap_err();
        assert!(error.to_string().contains("error: no"));
    }
}
