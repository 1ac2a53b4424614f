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
    /// Articles: a magazine served from a database, alone, behind the edge, and cached there, over swept rates
    Articles(articles::ArticlesArguments),
    /// Consultation: a platform on Rails, alone, behind a page cache, and behind one with fragments
    Consult(consult::ConsultArguments),
    /// Market: predictions over WebSockets from eight regions, in three topologies, with and without the hub
    Market(market::MarketArguments),
    /// Newspaper: a news site rendered by React behind the edge, at up to twelve times its load line
    Newspaper(newspaper::NewspaperArguments),
    /// Programming tutor: its capacity in users with and without each fault of the study
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

/// Installs a site's packages from its lock file, once.
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
