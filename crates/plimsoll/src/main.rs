//! The command line: arguments, messages, exit codes.
//!
//! Data goes to stdout, everything else to stderr. This crate measures nothing: the lab runs, and the report crate renders
//! its runs.

mod arguments;
mod availability;
mod check;
mod compare;
mod confirm_limit;
mod cycles;
mod demo;
mod edge;
mod exit;
mod experiment;
mod explain;
mod export;
mod generate;
mod history;
mod history_record;
mod import;
mod launch_service;
mod limit;
mod line_files;
mod live_line;
mod load_worker;
mod log;
mod matrix;
mod outcome;
mod plan_file;
mod planning;
mod record;
mod repeat;
mod report;
mod request;
mod run;
mod screen;
mod search;
mod services;
mod signals;
mod target;
mod through;
mod tune;
mod watch;

use std::process::ExitCode;

use clap::Parser as _;
use plimsoll_model::redact;

use arguments::{Cli, Command};
use screen::{Screen, eprint};

#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment"
)]
fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let no_color = std::env::var("NO_COLOR").is_ok_and(|value| !value.is_empty());
    let screen = Screen::new(cli.color, no_color);
    let ended = match cli.command {
        Command::Run(arguments) => run::run(&arguments, screen),
        Command::Limit(arguments) => limit::limit(&arguments, screen),
        Command::Watch(arguments) => watch::watch(&arguments),
        Command::Check(arguments) => check::check(&arguments, screen),
        Command::Compare(arguments) => compare::compare(&arguments, screen),
        Command::Matrix(arguments) => matrix::matrix(&arguments, screen),
        Command::Tune(arguments) => tune::tune(&arguments, screen),
        Command::Report(arguments) => report::report(&arguments, screen),
        Command::Cycles(arguments) => cycles::cycles(&arguments),
        Command::History(arguments) => history::history(&arguments, screen),
        Command::Export(arguments) => export::export(&arguments),
        Command::Import(arguments) => import::import(&arguments),
        Command::Log(arguments) => log::log(&arguments, screen),
        Command::Record(arguments) => record::record(&arguments),
        Command::Edge(arguments) => edge::edge(arguments),
        Command::Demo(arguments) => demo::demo(&arguments),
        Command::Generate(arguments) => generate::generate(&arguments),
        Command::LoadWorker => load_worker::run(),
        Command::LaunchService => launch_service::run(),
        Command::DeadMan(arguments) => tune::put_back_when_gone(&arguments),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprint(&error.to_string());
            error.exit().into()
        }
    }
}

/// Prints an error of the arguments, or the requested help.
fn refuse(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if error.use_stderr() && redact::text(&text) != text {
        // The message quotes an argument that contains a secret.
        eprint(text.trim_end());
    } else {
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).unwrap_or(u8::MAX).into()
}
