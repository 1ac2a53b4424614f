//! The tables of the page about WebSockets.

use std::fmt::Write as _;

use anyhow::Result;

use super::WebSocketOutcome;
use super::client::{COMMON, WebSocketClient, Work};
use super::forty::{self, EACH};
use super::install::Installed;
use super::measurement::WebSocketRun;
use crate::context::BenchContext;
use crate::page::{BenchmarkPage, Head};
use crate::spread::Spread;

/// Memory of a WebSocket that waits at most, bytes.
const IDLE_MAX: f64 = 512.0;
const RECEIVED_US_MAX: f64 = 4.0;
const ANSWERED_US_MAX: f64 = 16.0;
const HANDSHAKES_MIN: f64 = 9_500.0;

/// The page under way.
pub(super) struct WebSocketReport {
    page: BenchmarkPage,
}

impl WebSocketReport {
    pub(super) fn new(ground: &BenchContext, installed: &Installed) -> Result<Self> {
        let page = BenchmarkPage::new(
            ground,
            &Head {
                title: "WebSockets beside other load generators",
                task: "websocket",
                terms: "Each run starts its client and its server anew; the server (Bun: bench/hub/bun.js) counts what was \
                        opened and heard. CPU is the time that all threads of the client's processes ran, to the nanosecond, \
                        while its WebSockets are open; starting up is not in it. Memory is what no file backs.",
                versions: &installed.versions(),
            },
        )?;
        Ok(Self { page })
    }

    pub(super) fn work(&mut self, work: Work, outcomes: &[WebSocketOutcome]) {
        let head = match work {
            Work::Open => {
                "10,000 WebSockets, all asked for within a second. Memory is what they take beyond those of a run with \
                 100.\n\n| client | handshakes/s | CPU µs per handshake | memory per WebSocket, KiB | CPU while they wait |\n\
                 |---|---|---|---|---|\n"
                    .to_owned()
            }
            Work::Receive(each) => format!(
                "1,000 WebSockets; the server sends 200 bytes to all {each} times a second.\n\n| client | CPU µs per \
                 message | ratio to plimsoll | busy |\n|---|---|---|---|\n"
            ),
            Work::Answer(each) => format!(
                "1,000 WebSockets, on each of which {each} messages a second are sent and echoed.\n\n| client | CPU µs \
                 per exchange | ratio to plimsoll | busy |\n|---|---|---|---|\n"
            ),
        };
        let mut table = format!("## {}\n\n{head}", work.title());
        let ours = runs_of(outcomes, WebSocketClient::Plimsoll);
        for outcome in outcomes {
            if let Some(failure) = &outcome.failure {
                self.page.failure(outcome.client.name(), failure);
            }
            if let Some(run) = outcome.runs.last() {
                self.page.command(&run.command);
                table += &row(work, outcome, ours);
            }
        }
        table.push('\n');
        self.page.chapter(&table);
        self.require(work, ours);
    }

    fn require(&mut self, work: Work, ours: &[WebSocketRun]) {
        let of = |value: fn(&WebSocketRun) -> f64| Spread::over(ours, value);
        let mut require =
            |what: &str, spread: Option<Spread>, digits: usize, is_met: fn(f64) -> bool| {
                let measured =
                    spread.map_or("not measured".to_owned(), |spread| spread.show(digits));
                self.page
                    .requirement(what, &measured, spread.map(|spread| is_met(spread.median)));
            };
        match work {
            Work::Open => {
                require(
                    "a WebSocket that waits: at most 512 bytes of process memory",
                    of(|run| run.bytes_per_connection),
                    0,
                    |bytes| bytes <= IDLE_MAX,
                );
                require(
                    "handshakes at 10,000/s",
                    of(|run| run.handshakes_per_second),
                    0,
                    |rate| rate >= HANDSHAKES_MIN,
                );
            }
            // What each keeps up with is compared; the price is told of a core that has work.
            Work::Receive(COMMON) | Work::Answer(COMMON) => {}
            Work::Receive(_) => require(
                "at most 4 µs of CPU per received message",
                of(|run| run.cpu_us_per_message),
                2,
                |cost| cost <= RECEIVED_US_MAX,
            ),
            Work::Answer(_) => require(
                "at most 16 µs of CPU per message sent and answered",
                of(|run| run.cpu_us_per_message),
                1,
                |cost| cost <= ANSWERED_US_MAX,
            ),
        }
    }

    pub(super) fn forty(&mut self, result: Result<forty::FortyResult>) {
        let what = format!(
            "40,000 WebSockets over two processes (here {}: a process of this machine has 20,000 descriptors)",
            2 * EACH
        );
        match result {
            Ok(result) => {
                let measured = format!(
                    "{} connected, {} failed, {} closed, {:.0} bytes each",
                    result.connected, result.failed, result.closed, result.bytes_per_connection
                );
                println!("  {measured}");
                let is_met = result.connected == u64::from(2 * EACH)
                    && result.failed == 0
                    && result.closed == 0;
                self.page.requirement(&what, &measured, Some(is_met));
            }
            Err(error) => {
                println!("  failed: {error:#}");
                self.page
                    .failure("plimsoll", &format!("two processes: {error:#}"));
                self.page.requirement(&what, "not measured", None);
            }
        }
    }

    pub(super) fn finish(self) -> String {
        self.page.finish()
    }
}

fn row(work: Work, outcome: &WebSocketOutcome, ours: &[WebSocketRun]) -> String {
    let of = |value: fn(&WebSocketRun) -> f64, digits| {
        Spread::over(&outcome.runs, value).map_or("–".to_owned(), |spread| spread.show(digits))
    };
    let mut line = String::new();
    let name = outcome.client.name();
    let busy = of(|run| run.busy * 100.0, 1);
    let _ = match work {
        Work::Open => writeln!(
            line,
            "| {name} | {} | {} | {} | {busy} % |",
            of(|run| run.handshakes_per_second, 0),
            of(|run| run.cpu_us_per_handshake, 1),
            of(|run| run.bytes_per_connection / 1_024.0, 2)
        ),
        Work::Receive(_) | Work::Answer(_) => {
            let ratio = Spread::ratio(&outcome.runs, ours, |run| run.cpu_us_per_message);
            writeln!(
                line,
                "| {name} | {} | {} | {busy} % |",
                of(|run| run.cpu_us_per_message, 2),
                ratio.map_or("–".to_owned(), |ratio| ratio.show(1))
            )
        }
    };
    line
}

fn runs_of(outcomes: &[WebSocketOutcome], client: WebSocketClient) -> &[WebSocketRun] {
    let outcome = outcomes.iter().find(|outcome| outcome.client == client);
    outcome.map_or(&[], |outcome| &outcome.runs)
}
