//! A server frozen for one second of ten at 1,000 requests per second: which client reports it?
//!
//! A tenth of the requests fall due while it stands still, and wait on average half a second: p95 of the response
//! time is about 500 ms and p99 about 900 ms for a client that measures from the moment a request was due.

use std::time::Duration;

use anyhow::Result;
use plimsoll_harness::child::{pinned, weigh};

use super::scenario::words;
use super::tool::{OfferedLoad, Peers, Tool, ToolSummary};
use crate::context::BenchContext;
use crate::page::shown;
use crate::server::{BenchServer, kilobyte};

const PER_SECOND: u32 = 1_000;
const SECONDS: u32 = 10;
const FREEZE_AT: Duration = Duration::from_secs(5);
const FREEZE_FOR: Duration = Duration::from_secs(1);

pub(super) struct Stalled {
    pub(super) command: String,
    pub(super) summary: ToolSummary,
}

/// Results of every client, or why it has none.
pub(super) fn run(ground: &BenchContext, peers: &Peers) -> Vec<(Tool, Result<Stalled>)> {
    let tools = [Tool::Plimsoll, Tool::Oha, Tool::OhaUncorrected, Tool::Hey];
    tools
        .into_iter()
        .map(|tool| {
            println!("stall: {}", tool.name());
            let stalled = measure(ground, peers, tool);
            match &stalled {
                Ok(stalled) => println!(
                    "  p95 {:?} ms, p99 {:?} ms",
                    stalled.summary.p95_ms, stalled.summary.p99_ms
                ),
                Err(error) => println!("  failed: {error:#}"),
            }
            (tool, stalled)
        })
        .collect()
}

fn measure(ground: &BenchContext, peers: &Peers, tool: Tool) -> Result<Stalled> {
    let nginx = BenchServer::nginx(ground.server_core, &kilobyte())?;
    let url = nginx.url();
    let load = OfferedLoad::Rate {
        per_second: PER_SECOND,
    };
    let words = words(peers, tool, load, SECONDS, &url)?;
    let mut command = pinned(ground.client_core, &words);
    command.current_dir(ground.folder.path());
    let mut frozen = false;
    let mut outcome = Ok(());
    let weighed = weigh(
        command,
        tool.accepted(),
        Duration::from_millis(5),
        |_, elapsed| {
            let wanted = (FREEZE_AT..FREEZE_AT + FREEZE_FOR).contains(&elapsed);
            if wanted != frozen && outcome.is_ok() {
                frozen = wanted;
                outcome = nginx.freeze(wanted);
            }
        },
    )?;
    outcome?;
    Ok(Stalled {
        command: shown(&words, &[(&url, "URL")]),
        summary: tool.parse_output(&weighed.stdout)?,
    })
}
