//! The case studies on real software, started, measured with each fault, and stopped: `cargo xtask case NAME`.

#![expect(
    clippy::print_stdout,
    reason = "a task talks to the person who started it"
)]

mod articles;
mod case;
mod consult;
mod database;
mod market;
mod matrix;
mod newspaper;
mod no_gain;
mod plimsoll_run;
mod tune;
mod tune_definition;
mod tutor;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use plimsoll_harness::exit;

/// Case studies on real software
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct CaseArguments {
    #[command(subcommand)]
    task: CaseTask,
}

#[derive(Subcommand)]
enum CaseTask {
    /// Run the case studies on real software, with and without each fault
    #[command(subcommand)]
    Case(CaseStudy),
    /// Install what the cases of `cargo xtask test` need
    #[command(hide = true)]
    Prepare,
    /// Start a case, use each component once, and stop it, for `cargo xtask test`
    #[command(hide = true)]
    Smoke {
        /// The case
        #[arg(value_enum)]
        case: SmokeCase,
    },
}

#[derive(Subcommand)]
enum CaseStudy {
    /// Articles: a magazine served from a database, alone, behind the edge, and cached there, over swept rates
    Articles(articles::ArticlesArguments),
    /// Consultation: a platform on Rails, alone, behind a page cache, and behind one with fragments
    Consult(consult::ConsultArguments),
    /// Market: predictions over WebSockets from eight regions, in three topologies, with and without the hub
    Market(market::MarketArguments),
    /// Newspaper: a news site rendered by React behind the edge, at up to twelve times its load line
    Newspaper(newspaper::NewspaperArguments),
    /// No gain: a server whose settings are right already, which `plimsoll tune` must leave alone
    NoGain(no_gain::NoGainArguments),
    /// Programming tutor: its capacity in users with and without each fault of the study
    Tutor(tutor::TutorArguments),
}

/// Cases that `cargo xtask test` starts.
#[derive(Clone, Copy, ValueEnum)]
enum SmokeCase {
    Tutor,
    Market,
}

fn main() -> ExitCode {
    let outcome = match CaseArguments::parse().task {
        CaseTask::Case(case) => study(&case),
        CaseTask::Prepare => prepare(),
        CaseTask::Smoke { case } => smoke(case),
    };
    exit::code(outcome.map(|()| ExitCode::SUCCESS))
}

fn study(case: &CaseStudy) -> Result<()> {
    match case {
        CaseStudy::Articles(arguments) => articles::run(arguments),
        CaseStudy::Consult(arguments) => consult::run(arguments),
        CaseStudy::Market(arguments) => market::run(arguments),
        CaseStudy::Newspaper(arguments) => newspaper::run(arguments),
        CaseStudy::NoGain(arguments) => no_gain::run(arguments),
        CaseStudy::Tutor(arguments) => tutor::run(arguments),
    }
}

fn prepare() -> Result<()> {
    tutor::prepare()?;
    market::prepare()
}

fn smoke(case: SmokeCase) -> Result<()> {
    match case {
        SmokeCase::Tutor => tutor::smoke(),
        SmokeCase::Market => market::smoke(),
    }
}
