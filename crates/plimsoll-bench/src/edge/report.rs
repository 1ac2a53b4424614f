//! The tables of the edge's page.

use std::fmt::Write as _;

use anyhow::Result;

use super::cost::{EdgeCostOutcome, EdgeCostRun, EdgeCostScenario, Yardstick};
use super::edges::{EdgeKind, EdgePrograms};
use super::idle::{CLIENTS, IdleMemory};
use super::latency::PathLatency;
use super::overload::{CAPACITY, OverloadCase};
use super::reload::{PER_SECOND, RELOADS, Reloaded, SOCKETS};
use crate::context::BenchContext;
use crate::page::{BenchmarkPage, Head};
use crate::spread::Spread;

/// The page under way.
pub(super) struct EdgeReport {
    page: BenchmarkPage,
}

impl EdgeReport {
    pub(super) fn new(ground: &BenchContext, programs: &EdgePrograms) -> Result<Self> {
        let page = BenchmarkPage::new(
            ground,
            &Head {
                title: "The edge beside its peers",
                task: "edge",
                terms: "CPU per request is user and system time of the edge's process while a client loads it, over \
                        the client's count of good answers, none of which may fail. Client and origin (nginx, a file) \
                        share a core, the edge has the other. All edges tell the server who the client is \
                        (X-Forwarded-For and -Proto) and keep connections to it.",
                versions: &programs.versions(),
            },
        )?;
        Ok(Self { page })
    }

    pub(super) fn cost(&mut self, scenario: &EdgeCostScenario, outcomes: &[EdgeCostOutcome]) {
        let mut table = format!(
            "## {}\n\n| edge | CPU µs per request | ratio to nginx | requests/s | busy | RSS MiB |\n|---|---|---|---|---|---|\n",
            scenario.title
        );
        let nginx = outcomes
            .iter()
            .find(|outcome| outcome.edge == EdgeKind::Nginx);
        for outcome in outcomes {
            self.page.command(&outcome.command);
            if let Some(failure) = &outcome.failure {
                self.page.failure(
                    outcome.edge.name(),
                    &format!("{}: {failure}", scenario.title),
                );
            }
            let (Some(cost), Some(rate), Some(busy), Some(rss)) = (
                Spread::over(&outcome.runs, cpu_us),
                Spread::over(&outcome.runs, |run| run.requests_per_second),
                Spread::over(&outcome.runs, |run| run.busy * 100.0),
                Spread::over(&outcome.runs, |run| run.resident as f64 / 1_048_576.0),
            ) else {
                continue;
            };
            let ratio = nginx.and_then(|nginx| Spread::ratio(&outcome.runs, &nginx.runs, cpu_us));
            let _ = writeln!(
                table,
                "| {} | {} | {} | {:.0} | {:.0} % | {:.1} |",
                outcome.edge.name(),
                cost.show(1),
                ratio.map_or("–".to_owned(), |ratio| ratio.show(2)),
                rate.median,
                busy.median,
                rss.max,
            );
        }
        table.push('\n');
        self.page.chapter(&table);
        self.require_cost(scenario, outcomes);
    }

    /// Holds our cost against the peer that is the yardstick.
    fn require_cost(&mut self, scenario: &EdgeCostScenario, outcomes: &[EdgeCostOutcome]) {
        let (limit, yardstick) = scenario.limit;
        let ours = outcomes
            .iter()
            .find(|outcome| outcome.edge == EdgeKind::Plimsoll);
        let peers = outcomes.iter().filter(|outcome| {
            outcome.edge != EdgeKind::Plimsoll
                && (yardstick == Yardstick::Best || outcome.edge == EdgeKind::Nginx)
        });
        // The best peer is the one beside which we look worst.
        let worst = peers
            .filter_map(|peer| Some((Spread::ratio(&ours?.runs, &peer.runs, cpu_us)?, peer.edge)))
            .max_by(|candidate, other| candidate.0.median.total_cmp(&other.0.median));
        let what = format!("{}: CPU at most {limit}x the peer's", scenario.title);
        match worst {
            Some((ratio, peer)) => self.page.requirement(
                &what,
                &format!("{}x {}", ratio.show(2), peer.name()),
                Some(ratio.median <= limit),
            ),
            None => self.page.requirement(&what, "not measured", None),
        }
    }

    pub(super) fn idle(&mut self, all: &[IdleMemory]) {
        let mut table = format!(
            "## {CLIENTS} idle clients\n\nEach has been served once and stays connected.\n\n| edge | memory per client, \
             KiB |\n|---|---|\n"
        );
        for idle in all {
            let kib = match &idle.bytes_per_client {
                Ok(bytes) => bytes / 1_024.0,
                Err(error) => {
                    self.page
                        .failure(idle.edge.name(), &format!("idle clients: {error:#}"));
                    continue;
                }
            };
            let _ = writeln!(table, "| {} | {kib:.2} |", idle.edge.name());
            if idle.edge == EdgeKind::Plimsoll {
                let what = format!("{CLIENTS} idle clients: at most 2 KiB each");
                self.page
                    .requirement(&what, &format!("{kib:.2} KiB"), Some(kib <= 2.0));
            }
        }
        table.push('\n');
        self.page.chapter(&table);
    }

    pub(super) fn latency(&mut self, ways: &[PathLatency]) {
        let mut table = String::from(
            "## Latency at half load\n\nOrigin: one request after the other, 1 ms each; 500 requests a second at random \
             moments, the same for all ways.\n\n| way | p50 ms | p99 ms | p99 over direct, ms |\n|---|---|---|---|\n",
        );
        let direct = ways.iter().find(|way| way.edge.is_none());
        for way in ways {
            self.page.command(&way.command);
            let name = way.edge.map_or("direct", EdgeKind::name);
            if way.void_count > 0 {
                let why = format!(
                    "latency: {} run(s) void by the generator's own word",
                    way.void_count
                );
                self.page.failure(name, &why);
            }
            let pairs = way
                .times_ms
                .iter()
                .zip(direct.map_or(&way.times_ms, |way| &way.times_ms));
            let added = Spread::of(pairs.map(|(by, direct)| by.1 - direct.1));
            let (Some(p50), Some(p99), Some(added)) = (
                Spread::of(way.times_ms.iter().map(|times| times.0)),
                Spread::of(way.times_ms.iter().map(|times| times.1)),
                added,
            ) else {
                continue;
            };
            let _ = writeln!(
                table,
                "| {name} | {} | {} | {} |",
                p50.show(2),
                p99.show(2),
                added.show(2)
            );
            if way.edge == Some(EdgeKind::Plimsoll) {
                self.page.requirement(
                    "half load: p99 at most 0.3 ms over direct",
                    &format!("{} ms", added.show(2)),
                    Some(added.median <= 0.3),
                );
            }
        }
        table.push('\n');
        self.page.chapter(&table);
    }

    pub(super) fn overload(&mut self, cases: &[OverloadCase]) {
        let mut table = format!(
            "## Overload\n\nOrigin: one request after the other, 10 ms each, so {CAPACITY} pages a second at most. All \
             settings of the edge are its defaults.\n\n| offered | pages/s | p99 of pages, ms | p99 of other answers, ms | \
             neither page nor other | pages 10 s after the load returned |\n|---|---|---|---|---|---|\n"
        );
        for case in cases {
            let result = match &case.result {
                Ok(result) => result,
                Err(error) => {
                    self.page.failure(
                        "plimsoll edge",
                        &format!("overload, {}: {error:#}", case.title),
                    );
                    continue;
                }
            };
            self.page.command(&result.command);
            if let Some(void) = &result.void {
                self.page.failure(
                    "plimsoll run",
                    &format!("overload, {}: void: {void}", case.title),
                );
            }
            let _ = writeln!(
                table,
                "| {} | {:.1} | {:.0} | {:.2} | {:.2} % | {:.1} % |",
                case.title,
                result.pages_per_second,
                result.page_p99_ms,
                result.other_p99_ms,
                result.other_bad_share * 100.0,
                result.recovered_share * 100.0,
            );
            let other_max = case.other_max_ms;
            self.page.requirement(
                &format!(
                    "overload, {}: at least 97 pages/s, p99 at most 500 ms, others under {other_max} ms, all well \
                     after 10 s",
                    case.title
                ),
                &format!(
                    "{:.1}/s, {:.0} ms, {:.2} ms, {:.1} %",
                    result.pages_per_second,
                    result.page_p99_ms,
                    result.other_p99_ms,
                    result.recovered_share * 100.0
                ),
                Some(
                    result.pages_per_second >= 97.0
                        && result.page_p99_ms <= 500.0
                        && result.other_p99_ms < other_max
                        && result.recovered_share > 0.999,
                ),
            );
        }
        table.push('\n');
        self.page.chapter(&table);
    }

    pub(super) fn reload(&mut self, result: Result<Reloaded>) {
        let what = format!(
            "{RELOADS} reloads at {PER_SECOND} requests/s with {SOCKETS} WebSockets: no request lost, no WebSocket cut"
        );
        let reloaded = match result {
            Ok(reloaded) => reloaded,
            Err(error) => {
                self.page
                    .failure("plimsoll edge", &format!("reload: {error:#}"));
                return self.page.requirement(&what, "not measured", None);
            }
        };
        if let Some(void) = &reloaded.void {
            self.page
                .failure("plimsoll run", &format!("reload: void: {void}"));
        }
        let measured = format!(
            "{} reloads: {} of {} requests lost, {} cut",
            reloaded.reloads, reloaded.lost, reloaded.requests, reloaded.cut
        );
        let is_met = reloaded.reloads == RELOADS && reloaded.lost == 0 && reloaded.cut == 0;
        self.page.requirement(&what, &measured, Some(is_met));
    }

    pub(super) fn finish(self) -> String {
        self.page.finish()
    }
}

/// CPU of a request, microseconds.
fn cpu_us(run: &EdgeCostRun) -> f64 {
    run.cpu_us_per_request
}
