//! The page that the benchmark writes: what was asked, what was measured, on which machine, and what failed.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use jiff::Zoned;

use super::Ground;
use super::lateness::Lateness;
use super::scenario::{Outcome, Scenario, Turn};
use super::stall::Stalled;
use super::tool::{Load, Tool};
use crate::clock::pause;

/// A share of busy cores above which the machine is not ours.
pub(crate) const BUSY_MAX: f64 = 0.1;

/// The page under way.
pub(super) struct Paper {
    text: String,
    /// Rows of the table of what is asked of us.
    asked: Vec<String>,
    commands: Vec<String>,
    failures: Vec<String>,
}

/// Median, smallest and largest of some values.
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Paper {
    pub(super) fn new(ground: &Ground) -> Result<Self> {
        let mut text = String::from("# The load engine beside its peers\n\n");
        let machine = machine()?;
        writeln!(
            text,
            "Written by `cargo xtask bench load` on {}, {} rounds of {} s. {machine}. Client pinned to core {}, server \
             to core {}, over loopback; rounds alternate between the clients. CPU per request is user and system time \
             of the client's process tree over the requests it counted, whole run, start and end of the program \
             included. Medians, with the smallest and largest in brackets. Runs spread by 10-30 %: a smaller gap is \
             no gap, and only ratios carry over to other machines.\n",
            Zoned::now().date(),
            ground.rounds,
            ground.seconds,
            ground.client_core,
            ground.server_core,
        )?;
        let busy = busy_share()?;
        writeln!(
            text,
            "Cores busy before the first run: {:.0} %.",
            busy * 100.0
        )?;
        if busy > BUSY_MAX {
            ensure!(
                ground.anyway,
                "the cores are {:.0} % busy, at most {:.0} % is valid: wait until nothing else runs, or add --anyway, \
                 which marks the page",
                busy * 100.0,
                BUSY_MAX * 100.0
            );
            writeln!(
                text,
                "**Other work shared the machine: lateness and requests/s on this page are not valid, and ratios only \
                 roughly.**"
            )?;
        }
        writeln!(
            text,
            "\nVersions: {}.\n",
            ground.peers.versions().join(" · ")
        )?;
        Ok(Self {
            text,
            asked: Vec::new(),
            commands: Vec::new(),
            failures: Vec::new(),
        })
    }

    /// A table of clients under one load; server: nginx, one process, 1 kB from memory.
    pub(super) fn scenario(&mut self, scenario: &Scenario, outcomes: &[Outcome]) {
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
                .turns
                .iter()
                .filter(|turn| turn.told.is_void)
                .count();
            self.note_void(outcome.tool, scenario.title, void_count);
            let (Some(cost), Some(rate), Some(rss)) = (
                spread(outcome, |turn| turn.cpu_us_per_request),
                spread(outcome, |turn| turn.requests_per_second),
                spread(outcome, |turn| turn.rss as f64 / 1_048_576.0),
            ) else {
                continue;
            };
            let ratio = yardstick.and_then(|yardstick| ratio(outcome, yardstick));
            let failed: u64 = outcome.turns.iter().map(|turn| turn.told.failed).sum();
            self.ask(scenario.load, outcome, ratio.as_ref(), &rss);
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
        self.text.push_str(&table);
        self.text.push('\n');
    }

    /// Holds our own result against what is asked of it.
    fn ask(&mut self, load: Load, outcome: &Outcome, ratio: Option<&Spread>, rss: &Spread) {
        let limit = match (outcome.tool, load) {
            (Tool::Plimsoll, Load::Closed { connections: 1_000 }) => 0.95,
            (Tool::Plimsoll, Load::Closed { connections: 64 } | Load::Rate { .. }) => 1.0,
            (Tool::Plimsoll, Load::Closed { .. }) => {
                let what = "10,000 open connections: RSS below 50 MiB".to_owned();
                return self.row(&what, &format!("{:.1} MiB", rss.max), Some(rss.max < 50.0));
            }
            (Tool::PlimsollTick, Load::Rate { .. }) => 0.65,
            _ => return,
        };
        if let (Tool::Plimsoll, Load::Rate { per_second }) = (outcome.tool, load)
            && let Some(lag) = spread(outcome, |turn| {
                turn.told.lag_ms_p99.unwrap_or(f64::INFINITY) * 1e3
            })
        {
            let what =
                format!("{per_second}/s: 99 % of the sends within 200 µs of due, by its own clock");
            self.row(
                &what,
                &format!("{} µs", lag.show(0)),
                Some(lag.median <= 200.0),
            );
        }
        let what = match load {
            Load::Closed { connections } => {
                format!("{connections} connections, closed loop: CPU at most {limit}x wrk's")
            }
            Load::Rate { per_second } => {
                format!(
                    "{per_second}/s, {}: CPU at most {limit}x oha's",
                    outcome.tool.name()
                )
            }
        };
        match ratio {
            Some(ratio) => self.row(
                &what,
                &format!("{}x", ratio.show(2)),
                Some(ratio.median <= limit),
            ),
            None => self.row(&what, "not measured", None),
        }
    }

    /// One thing asked, and whether it is met; `None` if it could not be measured.
    fn row(&mut self, what: &str, measured: &str, is_met: Option<bool>) {
        let verdict = match is_met {
            Some(true) => "met",
            Some(false) => "**missed**",
            None => "**open**",
        };
        self.asked
            .push(format!("| {what} | {measured} | {verdict} |"));
    }

    fn note(&mut self, tool: Tool, command: &str, failure: Option<&String>) {
        if !command.is_empty() && !self.commands.iter().any(|known| known == command) {
            self.commands.push(command.to_owned());
        }
        if let Some(failure) = failure {
            self.failures.push(format!(
                "- {}: {}",
                tool.name(),
                failure.lines().next().unwrap_or_default()
            ));
        }
    }

    fn note_void(&mut self, tool: Tool, what: &str, count: usize) {
        if count > 0 {
            self.failures.push(format!(
                "- {}: {what}: {count} run(s) void by its own word",
                tool.name()
            ));
        }
    }

    /// How late requests leave at 2,000 a second, by the server's clock.
    pub(super) fn lateness(&mut self, all: &[(Tool, Result<Lateness>)]) {
        self.text.push_str(
            "## Lateness at 2,000 requests a second, even spacing\n\nSeen by the known-law origin (service time 0): \
             distance of each arrival from an even grid that the earliest touches, loopback and the server's own \
             wake-up included; every round.\n\n| client | p50 µs | p99 µs | max µs | p99 by its own clock, µs |\n|---|---|---|---|---|\n",
        );
        let (mut own, mut seen) = (Vec::new(), Vec::new());
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
                self.text,
                "| {} | {:.0} | {:.0} | {:.0} | {} |",
                tool.name(),
                lateness.p50_us,
                lateness.p99_us,
                lateness.max_us,
                own_p99_us.map_or("–".to_owned(), |own| format!("{own:.0}")),
            );
            if *tool == Tool::Plimsoll {
                own.extend(own_p99_us);
                seen.push(lateness.p99_us);
            }
        }
        self.text.push('\n');
        for (clock, values) in [("by its own clock", own), ("by the server's", seen)] {
            let what = format!("2000/s: 99 % of the sends within 200 µs of due, {clock}");
            match Spread::of(values) {
                Some(spread) => self.row(
                    &what,
                    &format!("{} µs", spread.show(0)),
                    Some(spread.median <= 200.0),
                ),
                None => self.row(&what, "not measured", None),
            }
        }
    }

    /// What each client says about a server that stood still for a second.
    pub(super) fn stall(&mut self, all: &[(Tool, Result<Stalled>)]) {
        self.text.push_str(
            "## Server frozen for 1 s during 10 s at 1,000 requests a second\n\nTruth: p95 about 500 ms, p99 about \
             900 ms.\n\n| client | p95 ms | p99 ms | answered | failed |\n|---|---|---|---|---|\n",
        );
        for (tool, outcome) in all {
            let Stalled { command, told } = match outcome {
                Ok(stalled) => stalled,
                Err(error) => {
                    self.note(*tool, "", Some(&format!("{error:#}")));
                    continue;
                }
            };
            self.note(*tool, command, None);
            self.note_void(*tool, "stall", usize::from(told.is_void));
            let show =
                |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
            let _ = writeln!(
                self.text,
                "| {} | {} | {} | {} | {} |",
                tool.name(),
                show(told.p95_ms),
                show(told.p99_ms),
                told.requests,
                told.failed
            );
            if *tool == Tool::Plimsoll {
                let (p95, p99) = (told.p95_ms.unwrap_or(0.0), told.p99_ms.unwrap_or(0.0));
                self.row(
                    "stall: p95 within 10 % of 500 ms, p99 within 10 % of 900 ms",
                    &format!("{p95:.0} / {p99:.0} ms"),
                    Some((450.0..=550.0).contains(&p95) && (810.0..=990.0).contains(&p99)),
                );
            }
        }
        self.text.push('\n');
    }

    pub(super) fn finish(self) -> String {
        let asked = format!(
            "## What is asked of it\n\n| asked | measured | |\n|---|---|---|\n{}\n\n",
            self.asked.join("\n")
        );
        let failures = if self.failures.is_empty() {
            "No client failed.".to_owned()
        } else {
            self.failures.join("\n")
        };
        let commands: Vec<_> = self
            .commands
            .iter()
            .map(|command| format!("    {command}"))
            .collect();
        let (head, tables) = self.text.split_once("\n## ").unwrap_or((&self.text, ""));
        format!(
            "{head}\n{asked}## {tables}## Failures\n\n{failures}\n\n## Commands\n\n{}\n",
            commands.join("\n")
        )
    }
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let (min, max) = (*values.first()?, *values.last()?);
        let median = f64::midpoint(values[(count - 1) / 2], values[count / 2]);
        Some(Self { median, min, max })
    }

    fn show(&self, digits: usize) -> String {
        format!(
            "{:.digits$} ({:.digits$}-{:.digits$})",
            self.median, self.min, self.max
        )
    }
}

fn spread(outcome: &Outcome, value: impl Fn(&Turn) -> f64) -> Option<Spread> {
    Spread::of(outcome.turns.iter().map(value).collect())
}

/// Of the costs in the same round: rounds differ more than clients do.
fn ratio(outcome: &Outcome, yardstick: &Outcome) -> Option<Spread> {
    let pairs = outcome.turns.iter().zip(&yardstick.turns);
    Spread::of(
        pairs
            .map(|(ours, theirs)| ours.cpu_us_per_request / theirs.cpu_us_per_request)
            .collect(),
    )
}

/// The share of all cores that is busy before we begin, over two seconds.
pub(crate) fn busy_share() -> Result<f64> {
    let (busy, all) = cpu_ticks()?;
    pause(Duration::from_secs(2));
    let (busy_later, all_later) = cpu_ticks()?;
    Ok((busy_later - busy) / (all_later - all).max(1.0))
}

/// Busy ticks and all ticks since the machine started: the first line of /proc/stat (proc(5)).
fn cpu_ticks() -> Result<(f64, f64)> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|tick| tick.parse().ok())
        .collect();
    let idle = ticks
        .get(3)
        .context("/proc/stat does not begin with the ticks of all cores")?;
    // Guests are counted in user time already.
    let all: f64 = ticks.iter().take(8).sum();
    Ok((all - idle - ticks.get(4).copied().unwrap_or(0.0), all))
}

/// Cores, processor, memory, kernel; no host name.
pub(crate) fn machine() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo")?;
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| {
            rest.trim_start_matches([' ', '\t', ':'])
        });
    let meminfo = std::fs::read_to_string("/proc/meminfo")?;
    let kib: u64 = meminfo
        .split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse().ok())
        .unwrap_or_default();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!(
        "Machine: {cores} cores ({model}), {} GiB, Linux {}",
        kib >> 20,
        kernel.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tool::Told;
    use super::*;

    fn outcome(tool: Tool, costs: &[f64]) -> Outcome {
        let turn = |cost: &f64| Turn {
            cpu_us_per_request: *cost,
            requests_per_second: 1_000.0,
            rss: 5 << 20,
            told: Told {
                requests: 10,
                lag_ms_p99: Some(0.05),
                ..Told::default()
            },
        };
        Outcome {
            tool,
            command: format!("{} URL", tool.name()),
            turns: costs.iter().map(turn).collect(),
            failure: None,
        }
    }

    fn paper() -> Paper {
        Paper {
            text: "# Title\n\nText.\n\n".to_owned(),
            asked: Vec::new(),
            commands: Vec::new(),
            failures: Vec::new(),
        }
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let (ours, theirs) = (
            outcome(Tool::Plimsoll, &[5.0, 10.0, 6.0]),
            outcome(Tool::Wrk, &[10.0, 20.0, 6.0]),
        );
        let ratio = ratio(&ours, &theirs).unwrap();
        assert_eq!(ratio.show(2), "0.50 (0.50-1.00)");
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
