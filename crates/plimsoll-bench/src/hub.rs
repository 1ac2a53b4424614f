//! `cargo xtask bench hub`: the edge's hub beside Bun, nchan and ws, and with slow clients, reloads and a killed edge.

mod accepts;
mod fan;
pub(crate) mod hubs;
mod kill;
mod million;
pub(crate) mod order;
mod reload;
mod report;
mod slow;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use plimsoll_harness::release::build;
use plimsoll_harness::workspace::Workspace;
use rustix::thread::{CpuSet, sched_setaffinity};

use self::fan::Fan;
use self::hubs::{HubKind, HubPrograms};
use self::report::HubReport;
use self::slow::SlowPolicy;
use crate::context::{BenchContext, deliver_page};

/// The committed page.
const PAGE: &str = "docs/benchmarks/hub.md";
/// Publications a second with conflation and without.
const OFTEN: u32 = 20;

#[derive(Args)]
pub(crate) struct HubArguments {
    /// Alternating rounds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Seconds of publishing in each run
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,
    /// Use the existing release binaries
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Measure only this; repeatable. The page is then written to --out only
    #[arg(long, value_enum)]
    only: Vec<HubChapter>,
    /// Path of the page [default, if complete: docs/benchmarks/hub.md]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Chapters that can be measured separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HubChapter {
    /// A message per second to 10,000 subscribers
    Fan,
    /// The same to 19,500
    FanFull,
    /// Accepts, and memory of clients
    Doors,
    /// Twenty messages a second, with conflation and without
    Conflation,
    /// A tenth of the readers stop reading
    Slow,
    /// Reloads under 10,000 clients
    Reload,
    /// One of two edges that share a Redis is killed
    Kill,
    /// 10,000 clients with 100 channels each
    Million,
}

/// All turns of one hub, or why there are none.
struct HubOutcome<T> {
    hub: HubKind,
    runs: Vec<T>,
    failure: Option<String>,
}

pub(crate) fn run(arguments: &HubArguments) -> Result<()> {
    let workspace = Workspace::find()?;
    if !arguments.no_build {
        build(&workspace)?;
    }
    let programs = HubPrograms::find(&workspace)?;
    let ground = BenchContext::new(arguments.rounds, arguments.seconds, arguments.anyway)?;
    let mut paper = HubReport::new(&ground, &programs)?;
    stay_on(ground.client_core)?;
    let is_wanted = |chapter| arguments.only.is_empty() || arguments.only.contains(&chapter);
    for (chapter, subscribers, p99_ms_max) in [
        (HubChapter::Fan, 10_000, 90.0),
        (HubChapter::FanFull, 19_500, 170.0),
    ] {
        if is_wanted(chapter) {
            let fan = Fan {
                subscribers,
                per_second: 1,
                rest: Duration::ZERO,
            };
            let measure = |hub| fan::measure(&ground, &programs, hub, fan);
            paper.fan(&fan, p99_ms_max, &alternate(&ground, "fan-out", measure));
        }
    }
    if is_wanted(HubChapter::Doors) {
        let measure = |hub| accepts::measure(&ground, &programs, hub);
        paper.accepts(&alternate(&ground, "accepts and memory", measure));
    }
    if is_wanted(HubChapter::Conflation) {
        conflation(&ground, &programs, &mut paper);
    }
    if is_wanted(HubChapter::Slow) {
        slow(&ground, &programs, &mut paper);
    }
    if is_wanted(HubChapter::Reload) {
        paper.reload(reload::run(&ground, &programs));
    }
    if is_wanted(HubChapter::Kill) {
        paper.kill(kill::run(&ground, &programs));
    }
    if is_wanted(HubChapter::Million) {
        paper.million(million::run(&ground, &programs));
    }
    let whole = arguments.only.is_empty().then_some(PAGE);
    deliver_page(&workspace, arguments.out.as_deref(), whole, &paper.finish())
}

/// Keeps this process, which publishes and opens clients, away from the server's core.
pub(crate) fn stay_on(core: usize) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).context("cannot stay on one core")
}

/// All hubs in turn, round after round. One that fails is left out from then on.
fn alternate<T: std::fmt::Debug>(
    ground: &BenchContext,
    what: &str,
    measure: impl Fn(HubKind) -> Result<T>,
) -> Vec<HubOutcome<T>> {
    let mut outcomes = HubKind::ALL.map(|hub| HubOutcome {
        hub,
        runs: Vec::new(),
        failure: None,
    });
    for round in 1..=ground.rounds {
        for outcome in outcomes
            .iter_mut()
            .filter(|outcome| outcome.failure.is_none())
        {
            println!("{what}, round {round}: {}", outcome.hub.name());
            match measure(outcome.hub) {
                Ok(run) => {
                    println!("  {run:?}");
                    outcome.runs.push(run);
                }
                Err(error) => {
                    println!("  failed: {error:#}");
                    outcome.failure = Some(format!("{what}: {error:#}"));
                }
            }
        }
    }
    outcomes.into()
}

/// Our hub with conflation and without, in turn.
fn conflation(ground: &BenchContext, programs: &HubPrograms, paper: &mut HubReport) {
    let fan = Fan {
        subscribers: 10_000,
        per_second: OFTEN,
        // More is published than a core hands out.
        rest: Duration::from_secs(ground.seconds.into()),
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 1..=ground.rounds {
        for interval in [None, Some(fan::INTERVAL_MS)] {
            println!("conflation, round {round}: {interval:?}");
            match fan::conflated(ground, programs, interval, fan) {
                Ok(run) => {
                    println!("  {run:?}");
                    if interval.is_some() {
                        with.push(run);
                    } else {
                        without.push(run);
                    }
                }
                Err(error) => return paper.failure(&format!("conflation: {error:#}")),
            }
        }
    }
    paper.conflation(OFTEN, &with, &without);
}

fn slow(ground: &BenchContext, programs: &HubPrograms, paper: &mut HubReport) {
    let mut runs_by_policy = SlowPolicy::ALL.map(|policy| (policy, Vec::new()));
    for round in 1..=ground.rounds {
        for (policy, runs) in &mut runs_by_policy {
            println!("slow readers, round {round}: {}", policy.title());
            match slow::measure(ground, programs, *policy) {
                Ok(run) => {
                    println!("  {run:?}");
                    runs.push(run);
                }
                Err(error) => return paper.failure(&format!("slow readers: {error:#}")),
            }
        }
    }
    paper.slow(&runs_by_policy);
}
