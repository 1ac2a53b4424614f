//! The tables of the load engine's page.

use std::fmt::Write as _;

use anyhow::Result;

use super::lateness::Lateness;
use super::scenario::{LoadOutcome, LoadRun, LoadScenario};
use super::stall::Stalled;
use super::tool::{OfferedLoad, Peers, Tool};
use crate::context::BenchContext;
use crate::page::{BenchmarkPage, Head};
use crate::spread::Spread;

/// The page under way.
pub(super) struct LoadReport {
    page: BenchmarkPage,
}

impl LoadReport {
    pub(super) fn new(ground: &BenchContext, peers: &Peers) -> Result<Self> {
        let page = BenchmarkPage::new(
            ground,
            &Head {
                title: "The load engine beside its peers",
                task: "load",
                terms: "CPU per request is user and system time of the client's process tree over the requests it \
                        counted, whole run, start and end of the program included.",
                versions: &peers.versions(),
            },
        )?;
        Ok(Self { page })
    }

    /// A table of clients under one load; server: nginx, one process, 1 kB from memory.
    pub(super) fn scenario(&mut self, scenario: &LoadScenario, outcomes: &[LoadOutcome]) {
        let yardstick = outcomes
            .iter()
            .find(|outcome| outcome.tool == scenario.yardstick);
        let mut table = format!(
            "## {}\n\n| client | CPU µs per request | ratio to {} | requests/s | RSS MiB | failed requests |\n|---|---|---|---|---|---|\n",
            scenario.title,
            scenario.yardstick.name()
        );
        for outcome in outcomes {
            self.note(outcome.tool, &outcome.command, outcome.failure.as_ref());
            let void_count = outcome
                .runs
                .iter()
                .filter(|run| run.summary.is_void)
                .count();
            self.note_void(outcome.tool, scenario.title, void_count);
            let (Some(cost), Some(rate), Some(rss)) = (
                Spread::over(&outcome.runs, cpu_us),
                Spread::over(&outcome.runs, |run| run.requests_per_second),
                Spread::over(&outcome.runs, |run| run.rss as f64 / 1_048_576.0),
            ) else {
                continue;
            };
            let ratio = yardstick
                .and_then(|yardstick| Spread::ratio(&outcome.runs, &yardstick.runs, cpu_us));
            let failed: u64 = outcome.runs.iter().map(|run| run.summary.failed).sum();
            self.require(scenario.load, outcome, ratio.as_ref(), &rss);
            let ratio = ratio.map_or("–".to_owned(), |ratio| ratio.show(2));
            let _ = writeln!(
                table,
                "| {} | {} | {ratio} | {:.0} | {:.1} | {failed} |",
                outcome.tool.name(),
                cost.show(1),
                rate.median,
                rss.max,
            );
        }
        table.push('\n');
        self.page.chapter(&table);
    }

    /// Compares our result with its requirement.
    fn require(
        &mut self,
        load: OfferedLoad,
        outcome: &LoadOutcome,
        ratio: Option<&Spread>,
        rss: &Spread,
    ) {
        let limit = match (outcome.tool, load) {
            (Tool::Plimsoll, OfferedLoad::Closed { connections: 1_000 }) => 0.95,
            (
                Tool::Plimsoll,
                OfferedLoad::Closed { connections: 64 } | OfferedLoad::Rate { .. },
            ) => 1.0,
            (Tool::Plimsoll, OfferedLoad::Closed { .. }) => {
                let what = "10,000 open connections: RSS below 50 MiB".to_owned();
                return self.page.requirement(
                    &what,
                    &format!("{:.1} MiB", rss.max),
                    Some(rss.max < 50.0),
                );
            }
            (Tool::PlimsollTick, OfferedLoad::Rate { .. }) => 0.65,
            _ => return,
        };
        if let (Tool::Plimsoll, OfferedLoad::Rate { per_second }) = (outcome.tool, load)
            && let Some(lag) = Spread::over(&outcome.runs, |run| {
                run.summary.lag_ms_p99.unwrap_or(f64::INFINITY) * 1e3
            })
        {
            let what =
                format!("{per_second}/s: 99 % of the sends within 200 µs of due, by its own clock");
            self.page.requirement(
                &what,
                &format!("{} µs", lag.show(0)),
                Some(lag.median <= 200.0),
            );
        }
        let what = match load {
            OfferedLoad::Closed { connections } => {
                format!("{connections} connections, closed loop: CPU at most {limit}x wrk's")
            }
            OfferedLoad::Rate { per_second } => {
                format!(
                    "{per_second}/s, {}: CPU at most {limit}x oha's",
                    outcome.tool.name()
                )
            }
        };
        match ratio {
            Some(ratio) => self.page.requirement(
                &what,
                &format!("{}x", ratio.show(2)),
                Some(ratio.median <= limit),
            ),
            None => self.page.requirement(&what, "not measured", None),
        }
    }

    fn note(&mut self, tool: Tool, command: &str, failure: Option<&String>) {
        self.page.command(command);
        if let Some(failure) = failure {
            self.page.failure(tool.name(), failure);
        }
    }

    fn note_void(&mut self, tool: Tool, what: &str, count: usize) {
        if count > 0 {
            let why = format!("{what}: {count} run(s) void by its own word");
            self.page.failure(tool.name(), &why);
        }
    }

    /// How late requests leave at 2,000 a second, by the server's clock.
    pub(super) fn lateness(&mut self, all: &[(Tool, Result<Lateness>)]) {
        let mut table = String::from(
            "## Lateness at 2,000 requests a second, even spacing\n\nSeen by the known-law origin (service time 0): \
             distance of each arrival from an even grid that the earliest touches, loopback and the server's own \
             wake-up included; every round.\n\n| client | p50 µs | p99 µs | max µs | p99 by its own clock, µs |\n|---|---|---|---|---|\n",
        );
        let (mut own, mut server_side) = (Vec::new(), Vec::new());
        for (tool, outcome) in all {
            let lateness = match outcome {
                Ok(lateness) => lateness,
                Err(error) => {
                    self.note(*tool, "", Some(&format!("{error:#}")));
                    continue;
                }
            };
            self.note(*tool, &lateness.command, None);
            self.note_void(*tool, "lateness", usize::from(lateness.is_void));
            let own_p99_us = lateness.lag_ms_p99.map(|lag| lag * 1e3);
            let _ = writeln!(
                table,
                "| {} | {:.0} | {:.0} | {:.0} | {} |",
                tool.name(),
                lateness.p50_us,
                lateness.p99_us,
                lateness.max_us,
                own_p99_us.map_or("–".to_owned(), |own| format!("{own:.0}")),
            );
            if *tool == Tool::Plimsoll {
                own.extend(own_p99_us);
                server_side.push(lateness.p99_us);
            }
        }
        table.push('\n');
        self.page.chapter(&table);
        for (clock, values) in [("by its own clock", own), ("by the server's", server_side)] {
            let what = format!("2000/s: 99 % of the sends within 200 µs of due, {clock}");
            match Spread::of(values) {
                Some(spread) => self.page.requirement(
                    &what,
                    &format!("{} µs", spread.show(0)),
                    Some(spread.median <= 200.0),
                ),
                None => self.page.requirement(&what, "not measured", None),
            }
        }
    }

    /// Results of each client for a server frozen for a second.
    pub(super) fn stall(&mut self, all: &[(Tool, Result<Stalled>)]) {
        let mut table = String::from(
            "## Server frozen for 1 s during 10 s at 1,000 requests a second\n\nTruth: p95 about 500 ms, p99 about \
             900 ms.\n\n| client | p95 ms | p99 ms | answered | failed |\n|---|---|---|---|---|\n",
        );
        for (tool, outcome) in all {
            let Stalled { command, summary } = match outcome {
                Ok(stalled) => stalled,
                Err(error) => {
                    self.note(*tool, "", Some(&format!("{error:#}")));
                    continue;
                }
            };
            self.note(*tool, command, None);
            self.note_void(*tool, "stall", usize::from(summary.is_void));
            let show =
                |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} | {} |",
                tool.name(),
                show(summary.p95_ms),
                show(summary.p99_ms),
                summary.requests,
                summary.failed
            );
            if *tool == Tool::Plimsoll {
                let (p95, p99) = (summary.p95_ms.unwrap_or(0.0), summary.p99_ms.unwrap_or(0.0));
                self.page.requirement(
                    "stall: p95 within 10 % of 500 ms, p99 within 10 % of 900 ms",
                    &format!("{p95:.0} / {p99:.0} ms"),
                    Some((450.0..=550.0).contains(&p95) && (810.0..=990.0).contains(&p99)),
                );
            }
        }
        table.push('\n');
        self.page.chapter(&table);
    }

    pub(super) fn finish(self) -> String {
        self.page.finish()
    }
}

/// CPU of a request, microseconds.
fn cpu_us(run: &LoadRun) -> f64 {
    run.cpu_us_per_request
}

#[cfg(test)]
mod tests {
    use super::super::tool::ToolSummary;
    use super::*;

    fn outcome(tool: Tool, costs: &[f64]) -> LoadOutcome {
        let run = |cost: &f64| LoadRun {
            cpu_us_per_request: *cost,
            requests_per_second: 1_000.0,
            rss: 5 << 20,
            summary: ToolSummary {
                requests: 10,
                lag_ms_p99: Some(0.05),
                ..ToolSummary::default()
            },
        };
        LoadOutcome {
            tool,
            command: format!("{} URL", tool.name()),
            runs: costs.iter().map(run).collect(),
            failure: None,
        }
    }

    fn paper() -> LoadReport {
        LoadReport {
            page: BenchmarkPage::blank(),
        }
    }

    #[test]
    fn a_miss_is_called_a_miss() {
        for (cost, verdict) in [(9.0, "| met |"), (11.0, "| **missed** |")] {
            let mut paper = paper();
            let scenario = &super::super::scenario::all()[0];
            paper.scenario(
                scenario,
                &[
                    outcome(Tool::Plimsoll, &[cost]),
                    outcome(Tool::Wrk, &[10.0]),
                ],
            );
            let text = paper.finish();
            assert!(text.contains(verdict), "{text}");
            assert!(text.contains("No client failed."), "{text}");
            assert!(
                text.find("## What is asked").unwrap() < text.find("## Closed loop").unwrap(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_client_without_a_turn_is_a_failure_in_the_paper() {
        let mut paper = paper();
        let mut failed = outcome(Tool::Oha, &[]);
        failed.failure = Some("it ended".to_owned());
        paper.scenario(
            &super::super::scenario::all()[0],
            &[outcome(Tool::Plimsoll, &[9.0]), failed],
        );
        let text = paper.finish();
        assert!(text.contains("- oha: it ended"), "{text}");
        assert!(text.contains("not measured | **open**"), "{text}");
    }
}
