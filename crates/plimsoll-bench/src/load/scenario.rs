//! Loads that are compared, in alternating rounds.

use anyhow::Result;
use plimsoll_harness::child::{POLL, Weighed, pinned, weigh};

use super::tool::{OfferedLoad, Peers, Tool, ToolSummary};
use crate::context::BenchContext;
use crate::page::shown;
use crate::server::{BenchServer, kilobyte};

/// One load, put on nginx by several clients in turn.
pub(super) struct LoadScenario {
    pub(super) title: &'static str,
    pub(super) load: OfferedLoad,
    pub(super) tools: &'static [Tool],
    /// The client whose cost per request is 1.00 in the table.
    pub(super) yardstick: Tool,
}

/// One run of one client.
pub(super) struct LoadRun {
    pub(super) cpu_us_per_request: f64,
    pub(super) requests_per_second: f64,
    pub(super) rss: u64,
    pub(super) summary: ToolSummary,
}

/// All runs of one client, or why there are none.
pub(super) struct LoadOutcome {
    pub(super) tool: Tool,
    pub(super) command: String,
    pub(super) runs: Vec<LoadRun>,
    pub(super) failure: Option<String>,
}

pub(super) fn all() -> [LoadScenario; 4] {
    [
        LoadScenario {
            title: "Closed loop, 64 connections",
            load: OfferedLoad::Closed { connections: 64 },
            tools: &[Tool::Plimsoll, Tool::Wrk, Tool::Oha, Tool::Hey, Tool::Ab],
            yardstick: Tool::Wrk,
        },
        LoadScenario {
            title: "Closed loop, 1,000 connections",
            load: OfferedLoad::Closed { connections: 1_000 },
            tools: &[Tool::Plimsoll, Tool::Wrk, Tool::Oha, Tool::Hey, Tool::Ab],
            yardstick: Tool::Wrk,
        },
        LoadScenario {
            title: "5,000 requests a second",
            load: OfferedLoad::Rate { per_second: 5_000 },
            tools: &[Tool::Plimsoll, Tool::PlimsollTick, Tool::Oha, Tool::Hey],
            yardstick: Tool::Oha,
        },
        LoadScenario {
            title: "10,000 open connections",
            load: OfferedLoad::Closed {
                connections: 10_000,
            },
            tools: &[Tool::Plimsoll, Tool::Wrk, Tool::Oha],
            yardstick: Tool::Wrk,
        },
    ]
}

/// Runs the clients in turn, round after round, each against an nginx of its own age.
pub(super) fn run(
    ground: &BenchContext,
    peers: &Peers,
    scenario: &LoadScenario,
) -> Result<Vec<LoadOutcome>> {
    let nginx = BenchServer::nginx(ground.server_core, &kilobyte())?;
    let mut outcomes: Vec<LoadOutcome> = scenario
        .tools
        .iter()
        .map(|tool| LoadOutcome {
            tool: *tool,
            command: String::new(),
            runs: Vec::new(),
            failure: None,
        })
        .collect();
    for round in 1..=ground.rounds {
        for outcome in outcomes
            .iter_mut()
            .filter(|outcome| outcome.failure.is_none())
        {
            println!(
                "{}: round {round} of {}: {}",
                scenario.title,
                ground.rounds,
                outcome.tool.name()
            );
            if let Err(error) = measure(ground, peers, scenario.load, &nginx.url(), outcome) {
                println!("  failed: {error:#}");
                outcome.failure = Some(format!("{error:#}"));
            }
        }
    }
    Ok(outcomes)
}

fn measure(
    ground: &BenchContext,
    peers: &Peers,
    load: OfferedLoad,
    url: &str,
    outcome: &mut LoadOutcome,
) -> Result<()> {
    let words = words(peers, outcome.tool, load, ground.seconds, url)?;
    outcome.command = shown(&words, &[(url, "URL")]);
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let Weighed {
        stdout,
        cpu,
        rss,
        wall,
    } = weigh(command, outcome.tool.accepted(), POLL, |_, _| ())?;
    let summary = outcome.tool.parse_output(&stdout)?;
    anyhow::ensure!(summary.requests > 0, "no request succeeded");
    let run = LoadRun {
        cpu_us_per_request: cpu.as_secs_f64() * 1e6 / (summary.requests + summary.failed) as f64,
        // By the wall clock, start and end of the program included: the same for all.
        requests_per_second: summary.requests as f64 / wall.as_secs_f64(),
        rss,
        summary,
    };
    println!(
        "  {:.1} µs of CPU per request, {:.0} requests/s, {} MiB",
        run.cpu_us_per_request,
        run.requests_per_second,
        run.rss >> 20
    );
    outcome.runs.push(run);
    Ok(())
}

pub(super) fn words(
    peers: &Peers,
    tool: Tool,
    load: OfferedLoad,
    seconds: u32,
    url: &str,
) -> Result<Vec<String>> {
    let words = peers.words(tool, load, seconds, url);
    words.ok_or_else(|| anyhow::anyhow!("is not installed, or cannot be asked for {load:?}"))
}
