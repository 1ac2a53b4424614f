//! `cargo xtask bench websocket`: WebSockets that idle, receive and send, by our load generator and by others, against Bun.

mod client;
mod forty;
mod install;
mod measurement;
mod report;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use plimsoll_harness::release::build;
use plimsoll_harness::workspace::Workspace;

use self::client::{COMMON, MANY, WebSocketClient, Work};
use self::install::Installed;
use self::measurement::WebSocketRun;
use self::report::WebSocketReport;
use crate::context::{BenchContext, deliver_page};
use crate::hub::stay_on;

/// The committed page.
const PAGE: &str = "docs/benchmarks/websocket.md";

#[derive(Args)]
pub(crate) struct WebsocketArguments {
    /// Alternating rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Seconds of sampling per client
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,
    /// Use the existing release binaries
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Use the installed clients; the page lists the missing ones
    #[arg(long)]
    no_install: bool,
    /// Measure only this; repeatable. The page is then written to --out only
    #[arg(long, value_enum)]
    only: Vec<WebSocketChapter>,
    /// Path of the page [default, if complete: docs/benchmarks/websocket.md]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Chapters that can be measured separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WebSocketChapter {
    /// Handshakes, and memory of idle WebSockets
    Open,
    /// Received messages
    Receive,
    /// Messages with responses
    Answer,
    /// As many as two processes can hold
    Forty,
}

/// All runs of one client, or why there are none.
struct WebSocketOutcome {
    client: WebSocketClient,
    runs: Vec<WebSocketRun>,
    failure: Option<String>,
}

pub(crate) fn run(arguments: &WebsocketArguments) -> Result<()> {
    let workspace = Workspace::find()?;
    if !arguments.no_build {
        build(&workspace)?;
    }
    let installed = Installed::find(&workspace, !arguments.no_install)?;
    let ground = BenchContext::new(arguments.rounds, arguments.seconds, arguments.anyway)?;
    let mut paper = WebSocketReport::new(&ground, &installed)?;
    stay_on(ground.client_core)?;
    let is_wanted = |chapter| arguments.only.is_empty() || arguments.only.contains(&chapter);
    for (chapter, work) in [
        (WebSocketChapter::Open, Work::Open),
        (WebSocketChapter::Receive, Work::Receive(COMMON)),
        (WebSocketChapter::Receive, Work::Receive(MANY)),
        (WebSocketChapter::Answer, Work::Answer(COMMON)),
        (WebSocketChapter::Answer, Work::Answer(MANY)),
    ] {
        if is_wanted(chapter) {
            paper.work(work, &alternate(&ground, &installed, work));
        }
    }
    if is_wanted(WebSocketChapter::Forty) {
        paper.forty(forty::run(&ground, &installed));
    }
    let whole = arguments.only.is_empty().then_some(PAGE);
    deliver_page(&workspace, arguments.out.as_deref(), whole, &paper.finish())
}

/// All clients in turn, round after round. One that fails is left out from then on.
fn alternate(ground: &BenchContext, installed: &Installed, work: Work) -> Vec<WebSocketOutcome> {
    let mut outcomes: Vec<WebSocketOutcome> = work
        .clients()
        .iter()
        .map(|client| WebSocketOutcome {
            client: *client,
            runs: Vec::new(),
            failure: None,
        })
        .collect();
    for round in 1..=ground.rounds {
        for outcome in outcomes
            .iter_mut()
            .filter(|outcome| outcome.failure.is_none())
        {
            println!("{}, round {round}: {}", work.title(), outcome.client.name());
            match measurement::run(ground, installed, outcome.client, work) {
                Ok(run) => {
                    println!("  {run:?}");
                    outcome.runs.push(run);
                }
                Err(error) => {
                    println!("  failed: {error:#}");
                    outcome.failure = Some(format!("{}: {error:#}", work.title()));
                }
            }
        }
    }
    outcomes
}
