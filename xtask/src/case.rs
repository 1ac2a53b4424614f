//! `cargo xtask case NAME`: the case studies on real software, started, measured with each fault, and stopped.

mod articles;
mod consult;
mod edge;
mod exchange;
mod ground;
pub(crate) mod market;
mod newspaper;
mod plimsoll_run;
mod postgres;
pub(crate) mod server;
pub(crate) mod tutor;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;
use clap::Subcommand;

use crate::step::execute;

#[derive(Subcommand)]
pub(crate) enum CaseStudy {
    /// The articles: a magazine out of a database, alone, behind the edge, and cached there, over swept rates
    Articles(articles::ArticlesArguments),
    /// The consultation: a platform on Rails, alone, behind a page cache, and behind one with fragments
    Consult(consult::ConsultArguments),
    /// The market: predictions over WebSockets from eight regions, in three topologies, with the hub and without
    Market(market::MarketArguments),
    /// The newspaper: a news site rendered by React behind the edge, at up to twelve times its load line
    Newspaper(newspaper::NewspaperArguments),
    /// The programming tutor: how many users it carries with each fault of the study, and without
    Tutor(tutor::TutorArguments),
}

pub(crate) fn run(case: &CaseStudy) -> Result<()> {
    match case {
        CaseStudy::Articles(arguments) => articles::run(arguments),
        CaseStudy::Consult(arguments) => consult::run(arguments),
        CaseStudy::Market(arguments) => market::run(arguments),
        CaseStudy::Newspaper(arguments) => newspaper::run(arguments),
        CaseStudy::Tutor(arguments) => tutor::run(arguments),
    }
}

/// Installs a site's packages as its lock file has them, unless that has been done.
pub(crate) fn install(site: &Path) -> Result<()> {
    let modified = |path: &str| std::fs::metadata(site.join(path)).and_then(|it| it.modified());
    // npm writes this file last.
    let installed = modified("node_modules/.package-lock.json");
    if installed
        .is_ok_and(|installed| modified("package-lock.json").is_ok_and(|lock| lock <= installed))
    {
        return Ok(());
    }
    execute(
        Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(site)
            .stdin(Stdio::null()),
    )
}
