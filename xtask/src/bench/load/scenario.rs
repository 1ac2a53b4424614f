//! The loads that are run side by side, in alternating rounds.

use anyhow::Result;

use super::tool::{Load, Peers, Told, Tool};
use crate::bench::Ground;
use crate::bench::page::shown;
use crate::bench::server::{Server, kilobyte};
use crate::child::{POLL, Weighed, pinned, weigh};

/// One load, put on nginx by several clients in turn.
pub(super) struct Scenario {
    pub(super) title: &'static str,
    pub(super) load: Load,
    pub(super) tools: &'static [Tool],
    /// The client whose cost per request is 1.00 in the table.
    pub(super) yardstick: Tool,
}

/// One run of one client.
pub(super) struct Turn {
    pub(super) cpu_us_per_request: f64,
    pub(super) requests_per_second: f64,
    pub(super) rss: u64,
    pub(super) told: Told,
}

/// All turns of one client, or why there are none.
pub(super) struct Outcome {
    pub(super) tool: Tool,
    pub(super) command: String,
    pub(super) turns: Vec<Turn>,
    pub(super) failure: Option<String>,
}

pub(super) fn all() -> [Scenario; 4] {
    [
        Scenario {
            title: "Closed loop, 64 connections",
            load: Load::Closed { connections: 64 },
            tools: &[Tool::Plimsoll, Tool::Wrk, Tool::Oha, Tool::Hey, Tool::Ab],
            yardstick: Tool::Wrk,
        },
        Scenario {
            title: "Closed loop, 1,000 connections",
            load: Load::Closed { connections: 1_000 },
            tools: &[Tool::Plimsoll, Tool::Wrk, Tool::Oha, Tool::Hey, Tool::Ab],
            yardstick: Tool::Wrk,
        },
        Scenario {
            title: "5,000 requests a second",
            load: Load::Rate { per_second: 5_000 },
            tools: &[Tool::Plimsoll, Tool::PlimsollTick, Tool::Oha, Tool::Hey],
            yardstick: Tool::Oha,
        },
        Scenario {
            title: "10,000 open connections",
            load: Load::Closed {
                connections: 10_000,
            },
            tools: &[Tool::Plimsoll, Tool::Wrk, Tool::Oha],
            yardstick: Tool::Wrk,
        },
    ]
}

/// Runs the clients in turn, round after round, each against an nginx of its own age.
pub(super) fn run(ground: &Ground, peers: &Peers, scenario: &Scenario) -> Result<Vec<Outcome>> {
    let nginx = Server::nginx(ground.server_core, &kilobyte())?;
    let mut outcomes: Vec<Outcome> = scenario
        .tools
        .iter()
        .map(|tool| Outcome {
            tool: *tool,
            command: String::new(),
            turns: Vec::new(),
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
            if let Err(error) = turn(ground, peers, scenario.load, &nginx.url(), outcome) {
                println!("  failed: {error:#}");
                outcome.failure = Some(format!("{error:#}"));
            }
        }
    }
    Ok(outcomes)
}

fn turn(
    ground: &Ground,
    peers: &Peers,
    load: Load,
    url: &str,
    outcome: &mut Outcome,
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
    let told = outcome.tool.told(&stdout)?;
    anyhow::ensure!(told.requests > 0, "no request succeeded");
    let turn = Turn {
        cpu_us_per_request: cpu.as_secs_f64() * 1e6 / (told.requests + told.failed) as f64,
        // By the wall clock, start and end of the program included: the same for all.
        requests_per_second: told.requests as f64 / wall.as_secs_f64(),
        rss,
        told,
    };
    println!(
        "  {:.1} µs of CPU per request, {:.0} requests/s, {} MiB",
        turn.cpu_us_per_request,
        turn.requests_per_second,
        turn.rss >> 20
    );
    outcome.turns.push(turn);
    Ok(())
}

pub(super) fn words(
    peers: &Peers,
    tool: Tool,
    load: Load,
    seconds: u32,
    url: &str,
) -> Result<Vec<String>> {
    let words = peers.words(tool, load, seconds, url);
    words.ok_or_else(|| anyhow::anyhow!("is not installed, or cannot be asked for {load:?}"))
}
