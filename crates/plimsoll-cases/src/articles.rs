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
use plimsoll_harness::arguments::{CaseArguments, MeasurementArguments};
use plimsoll_harness::machine::two_cores;
use plimsoll_harness::page::write;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::template::Values;

use self::measure::{ArticlesMeter, RateSample};
use self::report::Sweep;
use self::stack::ArticlesStack;
use self::study::{ArticleBody, ArticlesSetup};
use crate::case::{Case, Served};
use crate::database;

#[derive(Args)]
pub(crate) struct ArticlesArguments {
    #[command(flatten)]
    case: CaseArguments,
    /// Database connections of the magazine
    #[arg(long, default_value_t = 75, value_parser = clap::value_parser!(u8).range(1..=90))]
    pool: u8,
    #[command(flatten)]
    measurement: MeasurementArguments,
}

pub(crate) fn run(arguments: &ArticlesArguments) -> Result<()> {
    let case = Case::new("articles")?;
    database::see_to_postgres()?;
    let (load, servers) = two_cores()?;
    case.build(&arguments.measurement)?;
    if arguments.case.serve {
        return Case::serve(|| serve(arguments, &case, servers));
    }
    case.note_signals()?;
    let meter = ArticlesMeter {
        case: &case,
        core: load,
        is_quick: arguments.case.quick || arguments.case.smoke,
    };
    let mut stack = ArticlesStack::start(&case, servers, arguments.pool)?;
    if arguments.case.smoke {
        smoke::check(&mut stack, &meter)?;
        println!("the magazine works, alone, behind the edge, and behind its cache");
        return Ok(());
    }
    measure(arguments, &case, &meter, &mut stack)
}

fn serve<'a>(
    arguments: &ArticlesArguments,
    case: &'a Case,
    core: usize,
) -> Result<Served<(RunningServer, ArticlesStack<'a>)>> {
    let mut stack = ArticlesStack::start(case, core, arguments.pool)?;
    stack.renew()?;
    let edge = stack.edge(ArticlesSetup::Cached)?;
    let feed = stack.feed(ArticleBody::Page);
    let lines = vec![
        format!(
            "the magazine itself: {}/articles/1",
            stack.application()?.url()
        ),
        format!("behind the cache: {}/articles/1", edge.url()),
        format!("the edge's page: {}", edge.admin_url()),
        format!("feed for --urls: {}", feed.display()),
        format!("logs: {}", stack.folder().display()),
    ];
    Ok(((edge, stack), lines))
}

/// All sweeps; the tables go to the terminal and the page, the drawings beside the page.
fn measure(
    arguments: &ArticlesArguments,
    case: &Case,
    meter: &ArticlesMeter<'_>,
    stack: &mut ArticlesStack<'_>,
) -> Result<()> {
    let flags = (&arguments.measurement, &arguments.case);
    let mut page = case.page("articles", flags, &Values::default())?;
    let mut sweeps = Vec::new();
    for body in ArticleBody::ALL {
        for way in ArticlesSetup::ALL {
            // The study had no edge without a cache; one body shows what it does.
            if meter.is_quick && way == ArticlesSetup::Edge && body == ArticleBody::Short {
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
    let summary = report::summary(&sweeps);
    println!("\n{summary}");
    page.table(&summary);
    for body in ArticleBody::ALL {
        let drawing = drawing(&case.out(&arguments.measurement), body);
        write(&case.workspace, &drawing, &chart::draw(body, &sweeps))?;
        let name = drawing.file_name().unwrap_or_default().to_string_lossy();
        let title = body.title();
        page.chapter(&format!("{}{}", title[..1].to_uppercase(), &title[1..]));
        page.paragraph(&format!(
            "![{title}: good answers and response time against the offered rate]({name})"
        ));
        page.table(&report::table(body, &sweeps));
    }
    case.write(&arguments.measurement, page)
}

/// Where the drawing of a body goes: beside the page.
fn drawing(page: &Path, body: ArticleBody) -> PathBuf {
    let stem = page.file_stem().unwrap_or_default().to_string_lossy();
    page.with_file_name(format!("{stem}-{}.svg", body.name()))
}

fn sweep(
    stack: &mut ArticlesStack<'_>,
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
        let url = match &edge {
            Some(edge) => edge.url(),
            None => stack.application()?.url(),
        };
        let sample = meter.sample(&url, &stack.feed(body), rate, way)?;
        println!("{sample:?}");
        samples.push(sample);
    }
    Ok(samples)
}

/// A new, warm application without a backlog, and the edge in front of it, if any.
fn renewed(
    stack: &mut ArticlesStack<'_>,
    meter: &ArticlesMeter<'_>,
    body: ArticleBody,
    way: ArticlesSetup,
) -> Result<Option<RunningServer>> {
    stack.renew()?;
    if way == ArticlesSetup::Alone {
        meter.warm(&stack.application()?.url(), &stack.feed(body))?;
        return Ok(None);
    }
    let edge = stack.edge(way)?;
    meter.warm(&edge.url(), &stack.feed(body))?;
    Ok(Some(edge))
}
