//! The command line: arguments, messages, exit codes.
//!
//! Data goes to stdout, everything else to stderr. This crate measures nothing: the lab runs, and the report crate renders
//! its runs.

mod agent;
mod arguments;
mod availability;
mod browser;
mod browser_guard;
mod check;
mod compare;
mod confirm_limit;
mod cycles;
mod demo;
mod doctor;
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
mod link;
mod live;
mod live_line;
mod load_worker;
mod log;
mod matrix;
mod metrics_export;
mod missing_url;
mod outcome;
mod overview;
mod plan_file;
mod planning;
mod record;
mod repeat;
mod report;
mod request;
mod run;
mod scale;
mod screen;
mod search;
mod sentence;
mod services;
mod signals;
mod simulate;
mod target;
mod through;
mod tune;
mod ui;
mod watch;
mod worker;
mod workers;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::FromArgMatches as _;
use plimsoll_model::redact;

use arguments::{Cli, Command, examples};
use exit::Exit;
use screen::{Screen, eprint, print};

#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment"
)]
fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if words.len() == 1 && io::stdout().is_terminal() {
        print(&overview::text());
        return Exit::Met.into();
    }
    let cli = match parse(&words) {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let no_color = std::env::var("NO_COLOR").is_ok_and(|value| !value.is_empty());
    let screen = Screen::new(cli.color, no_color);
    let ended = match cli.command {
        Command::Run(arguments) => run::run(&arguments, screen),
        Command::Limit(arguments) => limit::limit(&arguments, screen),
        Command::Watch(arguments) => watch::watch(&arguments),
        Command::Agent(arguments) => agent::agent(&arguments),
        Command::Worker(arguments) => worker::worker(&arguments),
        Command::Check(arguments) => check::check(&arguments, screen),
        Command::Doctor(arguments) => Ok(doctor::doctor(&arguments, screen)),
        Command::Compare(arguments) => compare::compare(&arguments, screen),
        Command::Matrix(arguments) => matrix::matrix(&arguments, screen),
        Command::Tune(arguments) => tune::tune(&arguments, screen),
        Command::Report(arguments) => report::report(&arguments, screen),
        Command::Cycles(arguments) => cycles::cycles(&arguments),
        Command::Ui(arguments) => ui::ui(&arguments),
        Command::History(arguments) => history::history(&arguments, screen),
        Command::Export(arguments) => export::export(&arguments),
        Command::Import(arguments) => import::import(&arguments),
        Command::Log(arguments) => log::log(&arguments, screen),
        Command::Record(arguments) => record::record(&arguments),
        Command::Edge(arguments) => edge::edge(arguments),
        Command::Link(arguments) => link::link(&arguments),
        Command::Scale(arguments) => scale::scale(&arguments, screen),
        Command::Simulate(arguments) => simulate::simulate(&arguments, screen),
        Command::Demo(arguments) => demo::demo(&arguments),
        Command::Generate(arguments) => generate::generate(&arguments),
        Command::LoadWorker => load_worker::run(),
        Command::LaunchService => launch_service::run(),
        Command::BrowserGuard(arguments) => {
            browser_guard::run(&arguments.program, &arguments.arguments)
        }
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

/// The arguments; without the URL of `limit`, the one that the user chooses.
fn parse(words: &[OsString]) -> Result<Cli, ExitCode> {
    let error = match cli(words) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    if !missing_url::is_missing(&error) {
        return Err(refuse(&error));
    }
    let words = missing_url::with_chosen(words).map_err(|error| {
        eprint(&error.to_string());
        ExitCode::from(error.exit())
    })?;
    cli(&words).map_err(|error| refuse(&error))
}

fn cli(words: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = examples::command().try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches)
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
