//! What a person types, as types. Nothing is resolved here; the commands do that.

mod edge;
mod import;
mod parse;
mod transport;
mod watch;
mod websocket;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use plimsoll_config::load::RateRange;
use plimsoll_model::objective::Objective;
use plimsoll_model::schedule::LoadPhase;

pub(crate) use edge::*;
pub(crate) use import::*;
pub(crate) use parse::*;
pub(crate) use transport::*;
pub(crate) use watch::*;
pub(crate) use websocket::*;

/// Finds how much load a web service carries, names what limits it, and keeps it afloat beyond it.
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(
    after_help = "Exit codes: 0 objective met, 1 internal error, 2 usage or file, 3 objective missed, \
    4 undecided, 5 target unreachable, 6 measurement void, 130 interrupted (what was measured is kept)."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to colour what is printed; NO_COLOR is honoured
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send a load to a URL, or carry out a plan file, and measure the answers
    Run(Box<RunArguments>),
    /// Find the load line: the highest rate that meets the objective
    Limit(Box<LimitArguments>),
    /// Look at a service and its machine without any load, and print what was read
    Watch(WatchArguments),
    /// Check a plan file; or list, without load, what on this host will bind first
    Check(CheckArguments),
    /// Make the report of a run again
    Report(ReportArguments),
    /// Write the tables of a run for notebooks, databases and spreadsheets
    Export(ExportArguments),
    /// Make a plan of a browser's recording or of a server's logs
    Import(ImportArguments),
    /// Make a plan of a visit: a browser whose requests become a journey
    Record(RecordArguments),
    /// Stand in front of a service: balance, queue, and degrade before refusing
    Edge(Box<EdgeArguments>),
    /// Find and raise the load line of a built-in sample site
    Demo(DemoArguments),
    /// Print shell completions, the man page or JSON schemas
    #[command(hide = true)]
    Generate(GenerateArguments),
    /// Carry out a part of a load that standard input says
    #[command(hide = true, name = crate::load_worker::NAME)]
    LoadWorker,
}

/// How much load, for how long.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("load").args(["rate", "users", "connections", "phase"]))]
#[command(group = ArgGroup::new("repeated").args(["step", "send"]))]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) transport: TransportArguments,
    /// Arrivals per second that do not wait for answers: 1000/s, or a way from one rate to another: 50/s..1500/s
    #[arg(long, value_name = "RATE", value_parser = rate_range, help_heading = "Load")]
    pub(crate) rate: Option<RateRange>,
    /// Users of a plan's journeys that are there at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000), help_heading = "Load")]
    pub(crate) users: Option<u32>,
    /// Users that each wait for their answer before they ask again [default: 64, when no rate is given]; with --ws,
    /// WebSockets
    #[arg(long, short = 'c', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Load")]
    pub(crate) connections: Option<u32>,
    /// A part of the load, such as 0/s..300/s:30s; may be given several times
    #[arg(long, value_name = "RATE:TIME", value_parser = phase, help_heading = "Load")]
    pub(crate) phase: Vec<LoadPhase>,
    /// Go from one rate to another in steps of this size instead of a ramp
    #[arg(long, value_name = "RATE", value_parser = rate_above_zero, requires = "rate", requires = "every", help_heading = "Load")]
    pub(crate) step: Option<f64>,
    /// How long each step lasts; with --send, how often the text is sent
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, requires = "repeated", conflicts_with = "lasting", help_heading = "Load")]
    pub(crate) every: Option<Duration>,
    /// How long [default: 10s]; a plan's load is cut short by it
    #[arg(long = "for", short = 't', value_name = "TIME", value_parser = duration_above_zero, conflicts_with = "phase", help_heading = "Load")]
    pub(crate) lasting: Option<Duration>,
    /// Pause of each user between an answer and the next request
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0", conflicts_with_all = ["rate", "users", "phase"], help_heading = "Load")]
    pub(crate) think: Duration,
    #[command(flatten)]
    pub(crate) websocket: WebSocketArguments,
    /// How arrivals are spread [default: poisson]
    #[arg(long, value_enum, help_heading = "Load")]
    pub(crate) spacing: Option<SpacingArgument>,
    /// Leading time that is recorded and not judged [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Load")]
    pub(crate) warmup: Option<Duration>,
    /// What counts as good, such as 'p95 < 500ms, errors < 1%'; without it nothing is judged
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective, help_heading = "Judgement")]
    pub(crate) objective: Option<Objective>,
    /// Write the HTML report too
    #[arg(long, help_heading = "Output")]
    pub(crate) report: bool,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpacingArgument {
    /// Independent arrivals, as of many people
    Poisson,
    /// Equal gaps
    Even,
}

/// What the load line is asked for.
#[derive(Debug, Args)]
pub(crate) struct LimitArguments {
    #[command(flatten)]
    pub(crate) transport: TransportArguments,
    /// What counts as good [default: p95 < 500ms, errors < 1%]
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective, help_heading = "Search")]
    pub(crate) objective: Option<Objective>,
    /// At most 4 minutes, with a wider interval
    #[arg(long, conflicts_with = "thorough", help_heading = "Search")]
    pub(crate) quick: bool,
    /// Trials of 60 s, a narrow interval, a soak; about half an hour and more
    #[arg(long, help_heading = "Search")]
    pub(crate) thorough: bool,
    /// Do not search: decide whether the line is at least this high (for CI; exit 3 when it is not)
    #[arg(long, value_name = "RATE", value_parser = rate_above_zero, conflicts_with = "thorough", help_heading = "Search")]
    pub(crate) at_least: Option<f64>,
    /// Users that the service must carry; judged against the line (needs --think)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000), requires = "think", help_heading = "Search")]
    pub(crate) users: Option<u32>,
    /// Pause of a user between an answer and the next request; shows the line in users too
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, help_heading = "Search")]
    pub(crate) think: Option<Duration>,
    /// Measure once more with an edge of this configuration in between, started for it, and tell both
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "at_least",
        help_heading = "Search"
    )]
    pub(crate) through: Option<PathBuf>,
    /// How arrivals are spread [default: poisson]
    #[arg(long, value_enum, help_heading = "Search")]
    pub(crate) spacing: Option<SpacingArgument>,
    /// Relax the limit that is named (a setting of a watched part, over its own interface), try again the load that failed,
    /// and put it back: the finding is confirmed or demoted
    #[arg(
        long,
        conflicts_with_all = ["at_least", "through"],
        help_heading = "Confirmation"
    )]
    pub(crate) confirm: bool,
    /// Relax the first limit by this command, a program with its arguments, without a shell
    #[arg(
        long,
        value_name = "COMMAND",
        value_parser = command_words,
        requires = "confirm",
        requires = "undo_with",
        help_heading = "Confirmation"
    )]
    pub(crate) confirm_with: Option<CommandWords>,
    /// Put it back by this command
    #[arg(
        long,
        value_name = "COMMAND",
        value_parser = command_words,
        help_heading = "Confirmation"
    )]
    pub(crate) undo_with: Option<CommandWords>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Where results go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArguments {
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for the run file and the report
    #[arg(long, value_name = "DIR", default_value = "./plimsoll")]
    pub(crate) out: PathBuf,
    /// Short name for the files [default: the plan's name, or the target's host]
    #[arg(long, value_name = "NAME", value_parser = short_name)]
    pub(crate) name: Option<String>,
    /// Write a JUnit file for CI
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Bounds of the answer classes in the report: fast below the first, slow above the second [default: 800ms,1200ms]
    #[arg(long, value_name = "TIME,TIME", value_parser = classes)]
    pub(crate) classes: Option<Classes>,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Which machine to look at.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The service; or a plan file (YAML), all problems of which are named: exit 0 or 2
    #[arg(value_name = "URL|PLAN", required_unless_present = "users")]
    pub(crate) url: Option<String>,
    /// Also what will bind for so many users in the parts of a service that are found on this machine: `3000-users`
    #[arg(long = "for", value_name = "USERS", value_parser = users)]
    pub(crate) users: Option<u64>,
    /// Where the plan's requests go, in place of its `target:`
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Its process, when it cannot be found by the port it listens on
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<u32>,
    /// Its process by name
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Vec<String>,
    /// Connect to this socket instead of an address
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run file
    pub(crate) file: PathBuf,
    /// Write the HTML here [default: beside the run file]
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write a JUnit file for CI
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("format").required(true).args(["csv", "parquet"]))]
pub(crate) struct ExportArguments {
    /// The run file
    pub(crate) file: PathBuf,
    /// CSV files
    #[arg(long)]
    pub(crate) csv: bool,
    /// Parquet files
    #[arg(long)]
    pub(crate) parquet: bool,
    /// Folder for the tables [default: a folder beside the run file, named after it]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Folder for run files and the report
    #[arg(long, value_name = "DIR", default_value = "./plimsoll")]
    pub(crate) out: PathBuf,
    /// Serve the sample site on this address instead of measuring it
    #[arg(long, value_name = "ADDRESS", hide = true)]
    pub(crate) serve: Option<std::net::SocketAddr>,
    /// Nodes rendered on the server per page
    #[arg(long, default_value_t = 670, requires = "serve", hide = true)]
    pub(crate) nodes: u32,
    /// End when the process that started this one ends
    #[arg(long, requires = "serve", hide = true)]
    pub(crate) end_with_parent: bool,
    /// Rendering threads
    #[arg(long, default_value_t = 1, requires = "serve", hide = true)]
    pub(crate) workers: usize,
}

#[derive(Debug, Args)]
pub(crate) struct GenerateArguments {
    /// What to generate
    #[arg(value_enum)]
    pub(crate) what: Generated,
    /// Folder to write into; with `schema` the name of a schema, which is printed
    #[arg(value_name = "FOLDER|NAME")]
    pub(crate) folder: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generated {
    /// Completions of bash, zsh, fish and others
    Completions,
    /// The man pages
    Man,
    /// The reference pages and JSON schemas of the documentation
    Reference,
    /// The JSON schema of plan, run or limit
    Schema,
}
