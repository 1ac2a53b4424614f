//! The articles: a magazine out of a database, alone, behind the edge, and behind its cache, as its study of 2003 swept
//! it.

mod chart;
mod measure;
mod report;
mod smoke;
mod stack;
mod study;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use jiff::Zoned;
use plimsoll_harness::machine::{facts, two_cores};
use plimsoll_harness::packages::{self, Tool};
use plimsoll_harness::release::build;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;

use self::measure::{ArticlesMeter, RateSample};
use self::report::Sweep;
use self::stack::ArticlesStack;
use self::study::{ArticleBody, ArticlesSetup};
use crate::edge::CaseEdge;
use crate::ground::{CaseContext, busy_remark, stop_flag};
use crate::postgres;

#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(crate) struct ArticlesArguments {
    /// Few rates, each for a few seconds: at most six minutes
    #[arg(long)]
    quick: bool,
    /// Only start the magazine and the edge in front of it, print their addresses, and stop them on Ctrl-C
    #[arg(long, conflicts_with_all = ["quick", "smoke"])]
    serve: bool,
    /// Only start everything, ask for pages alone and behind the edge, and stop
    #[arg(long, conflicts_with = "quick")]
    smoke: bool,
    /// Database connections of the magazine
    #[arg(long, default_value_t = 75, value_parser = clap::value_parser!(u8).range(1..=90))]
    pool: u8,
    /// Use the existing release binary
    #[arg(long)]
    no_build: bool,
    /// Measure on a busy machine too; the page notes it
    #[arg(long)]
    anyway: bool,
    /// Path of the tables; the charts are written beside them
    #[arg(
        long,
        value_name = "FILE",
        default_value = "docs/benchmarks/articles.md"
    )]
    out: PathBuf,
}

const TOOLS: [Tool; 7] = [
    Tool::new("java", "default-jdk-headless"),
    Tool::new("javac", "default-jdk-headless"),
    Tool::new("/usr/share/java/HikariCP.jar", "libhikaricp-java"),
    Tool::new("/usr/share/java/postgresql.jar", "libpostgresql-jdbc-java"),
    Tool::new("/usr/share/java/slf4j-nop.jar", "libslf4j-java"),
    Tool::new("taskset", "util-linux"),
    Tool::new("setpriv", "util-linux"),
];

/// One core for the load, the other for all servers.
#[derive(Clone, Copy)]
struct Cores {
    load: usize,
    servers: usize,
}

pub(crate) fn run(arguments: &ArticlesArguments) -> Result<()> {
    packages::see_to(&TOOLS)?;
    postgres::see_to()?;
    let ground = CaseContext::new("articles")?;
    let (load, servers) = two_cores()?;
    let cores = Cores { load, servers };
    if !arguments.no_build {
        build(&ground.workspace)?;
    }
    if arguments.serve {
        return serve(arguments, &ground, cores);
    }
    let is_stopped = stop_flag()?;
    let meter = ArticlesMeter {
        plimsoll: ground.plimsoll(),
        core: cores.load,
        out: ground.store.join("runs"),
        is_quick: arguments.quick || arguments.smoke,
        is_stopped: &is_stopped,
    };
    let mut stack = ArticlesStack::start(&ground, cores.servers, arguments.pool)?;
    if arguments.smoke {
        smoke::check(&mut stack, &meter)?;
        println!("the magazine works, alone, behind the edge, and behind its cache");
        return Ok(());
    }
    measure(arguments, &ground, &meter, &mut stack)
}

/// Runs until a signal requests the end.
fn serve(arguments: &ArticlesArguments, ground: &CaseContext, cores: Cores) -> Result<()> {
    let mut signals = Signals::new(TERM_SIGNALS)?;
    let mut stack = ArticlesStack::start(ground, cores.servers, arguments.pool)?;
    stack.renew()?;
    let edge = stack.edge(ArticlesSetup::Cached)?;
    println!("the magazine itself: {}/articles/1", stack.url()?);
    println!("behind the cache: {}/articles/1", edge.url());
    println!("the edge's page: {}", edge.admin_url());
    println!(
        "feed for --urls: {}",
        stack.feed(ArticleBody::Page).display()
    );
    println!("logs: {}; end it with Ctrl-C", stack.folder().display());
    signals.forever().next();
    Ok(())
}

/// All sweeps; the tables go to the terminal and the page, the drawings beside the page.
fn measure(
    arguments: &ArticlesArguments,
    ground: &CaseContext,
    meter: &ArticlesMeter<'_>,
    stack: &mut ArticlesStack,
) -> Result<()> {
    let mut remarks: Vec<String> = busy_remark(arguments.anyway)?.into_iter().collect();
    if arguments.quick {
        remarks.push(
            "Few rates, each judged for some seconds: without `--quick` the steps are 50 req/s."
                .to_owned(),
        );
    }
    let mut sweeps = Vec::new();
    for body in ArticleBody::ALL {
        for way in ArticlesSetup::ALL {
            // The study had no edge without a cache; one body shows what it does.
            if arguments.quick && way == ArticlesSetup::Edge && body == ArticleBody::Short {
                continue;
            }
            println!("== {}, {}", body.name(), way.title());
            sweeps.push(Sweep {
                body,
                way,
                samples: sweep(stack, meter, body, way)?,
            });
        }
    }
    println!("\n{}", report::summary(&sweeps));
    for body in ArticleBody::ALL {
        let name = drawing(&arguments.out, body);
        ground.write(&name, &chart::draw(body, &sweeps))?;
    }
    let page = report::ArticlesPage {
        sweeps: &sweeps,
        date: &Zoned::now().date().to_string(),
        machine: &facts()?,
        remarks: &remarks,
        drawings: ArticleBody::ALL.map(|body| drawing(&arguments.out, body)),
    };
    ground.write(&arguments.out, &page.text())
}

/// Where the drawing of a body goes: beside the page.
fn drawing(page: &Path, body: ArticleBody) -> PathBuf {
    let stem = page.file_stem().unwrap_or_default().to_string_lossy();
    page.with_file_name(format!("{stem}-{}.svg", body.name()))
}

fn sweep(
    stack: &mut ArticlesStack,
    meter: &ArticlesMeter<'_>,
    body: ArticleBody,
    way: ArticlesSetup,
) -> Result<Vec<RateSample>> {
    let mut edge = renewed(stack, meter, body, way)?;
    let mut samples: Vec<RateSample> = Vec::new();
    for rate in meter.rates(body) {
        // Whoever gave up is still in line; the next rate must not wait behind them. A cache keeps what it has.
        let is_behind = samples.last().is_some_and(|last| last.failed > 0.0);
        if way != ArticlesSetup::Cached && is_behind {
            edge = renewed(stack, meter, body, way)?;
        }
        let url = edge
            .as_ref()
            .map_or_else(|| stack.url(), |edge| Ok(edge.url()))?;
        let sample = meter.sample(&url, stack.feed(body), rate, way)?;
        println!("{sample:?}");
        samples.push(sample);
    }
    Ok(samples)
}

/// A new, warm application without a backlog, and the edge in front of it, if any.
fn renewed(
    stack: &mut ArticlesStack,
    meter: &ArticlesMeter<'_>,
    body: ArticleBody,
    way: ArticlesSetup,
) -> Result<Option<CaseEdge>> {
    stack.renew()?;
    if way == ArticlesSetup::Alone {
        meter.warm(&stack.url()?, stack.feed(body))?;
        return Ok(None);
    }
    let edge = stack.edge(way)?;
    meter.warm(&edge.url(), stack.feed(body))?;
    Ok(Some(edge))
}
