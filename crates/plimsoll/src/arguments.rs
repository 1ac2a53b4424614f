//! The command line as types. Nothing is resolved here; the commands do that.

mod agent;
mod compare;
mod cycles;
mod edge;
pub(crate) mod examples;
mod history;
mod import;
mod kubernetes;
mod link;
mod log;
mod matrix;
mod metrics_export;
mod parse;
mod scale;
mod simulate;
mod transport;
mod tune;
mod ui;
mod watch;
mod websocket;
mod workers;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use plimsoll_config::load::RateRange;
use plimsoll_live::LiveAddress;
use plimsoll_model::objective::Objective;
use plimsoll_model::schedule::LoadPhase;

pub(crate) use agent::*;
pub(crate) use compare::*;
pub(crate) use cycles::*;
pub(crate) use edge::*;
pub(crate) use history::*;
pub(crate) use import::*;
pub(crate) use kubernetes::*;
pub(crate) use link::*;
pub(crate) use log::*;
pub(crate) use matrix::*;
pub(crate) use metrics_export::*;
pub(crate) use parse::*;
pub(crate) use scale::*;
pub(crate) use simulate::*;
pub(crate) use transport::*;
pub(crate) use tune::*;
pub(crate) use ui::*;
pub(crate) use watch::*;
pub(crate) use websocket::*;
pub(crate) use workers::*;

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
    4 undecided, 5 target unreachable, 6 measurement void, 130 interrupted (results so far are kept)."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to colour the output; NO_COLOR is honoured
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
    /// Send load to a URL, or run a plan file, and measure the responses
    Run(Box<RunArguments>),
    /// Find the load line: the highest rate that meets the objective
    Limit(Box<LimitArguments>),
    /// Sample a service and its machine without load, and print the metrics
    Watch(WatchArguments),
    /// Let others read this machine while they send load to its service: by invitation, and without changing anything
    Agent(AgentArguments),
    /// Carry a part of a load that `plimsoll run --on` or `limit --on` on another machine plans and merges
    Worker(WorkerArguments),
    /// Check a plan file; or list, without load, which limits of this host will bind first
    Check(CheckArguments),
    /// Tell what this host lacks to measure well, with the commands that mend it; nothing is changed
    Doctor(DoctorArguments),
    /// Compare runs: what got better or worse, with intervals
    Compare(Box<CompareArguments>),
    /// Measure every cell of a matrix of settings, in blocks and in random order, and tell what each setting does
    Matrix(MatrixArguments),
    /// Find the settings with which a service carries the most, confirm them, and put everything back
    Tune(TuneArguments),
    /// Render the report of a recorded run again
    Report(ReportArguments),
    /// Show the runs of a folder in a browser: list, search, compare; start new ones where that is allowed
    Ui(UiArguments),
    /// Find where the metrics of repeated runs changed, and gate a build on the newest
    History(HistoryArguments),
    /// Print a record of cycles: limit, change, load line before and after, next limit
    #[command(name = "ledger")]
    Cycles(CyclesArguments),
    /// Export a run as tables for notebooks, databases and spreadsheets
    Export(ExportArguments),
    /// Make a plan from a browser's recording or a server's logs
    Import(ImportArguments),
    /// Read a server's logs for their own sake: demand, popularity, visits, caches
    Log(Box<DayArguments>),
    /// Record a visit in a browser as a journey of a plan
    Record(RecordArguments),
    /// Run a reverse proxy in front of a service: balance, queue, cache, and degrade before refusing
    Edge(Box<EdgeArguments>),
    /// Carry connections to a service as from far away: with a delay, a bandwidth and stalls, until Ctrl-C
    Link(LinkArguments),
    /// Simulate a service, its users and their distances in virtual time, find its load line, and try changes of it
    Simulate(SimulateArguments),
    /// Try a scaling policy on a recorded load, beside HPA, KPA and others: bad answers, replica-hours, time to capacity
    Scale(ScaleArguments),
    /// Find and raise the load line of a built-in sample site
    Demo(DemoArguments),
    /// Print shell completions, the man page or JSON schemas
    #[command(hide = true)]
    Generate(GenerateArguments),
    /// Run the share of a load that standard input describes
    #[command(hide = true, name = crate::load_worker::NAME)]
    LoadWorker,
    /// Become the service of an experiment that standard input describes
    #[command(hide = true, name = crate::launch_service::NAME)]
    LaunchService,
    /// Run a browser until standard input ends, and remove its profile
    #[command(hide = true, name = crate::browser_guard::NAME)]
    BrowserGuard(BrowserGuardArguments),
    /// Put back what a search of settings left applied, when the program on standard input is gone
    #[command(hide = true, name = DEAD_MAN)]
    DeadMan(DeadManArguments),
}

/// A browser and its arguments.
#[derive(Debug, Args)]
pub(crate) struct BrowserGuardArguments {
    /// Program of the browser
    pub(crate) program: PathBuf,
    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// Most repetitions of a run.
const REPEAT_MAX: u32 = 100;

/// How much load, for how long.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("load").args(["rate", "users", "connections", "phase"]))]
#[command(group = ArgGroup::new("repeated").args(["step", "send"]))]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) transport: TransportArguments,
    /// Open load in arrivals per second: 1000/s, or a ramp: 50/s..1500/s
    #[arg(long, value_name = "RATE", value_parser = rate_range, help_heading = "Load")]
    pub(crate) rate: Option<RateRange>,
    /// Concurrent users of a plan's journeys
    #[arg(long, value_name = "N", value_parser = within(1..=10_000_000), help_heading = "Load")]
    pub(crate) users: Option<u32>,
    /// Closed load: users that each wait for the response before the next request [default: 64, when no rate is given];
    /// with --ws, WebSockets
    #[arg(long, short = 'c', value_name = "N", value_parser = within(1..=1_000_000), help_heading = "Load")]
    pub(crate) connections: Option<u32>,
    /// A phase of the load, such as 0/s..300/s:30s; repeatable
    #[arg(long, value_name = "RATE:TIME", value_parser = phase, help_heading = "Load")]
    pub(crate) phase: Vec<LoadPhase>,
    /// Change the rate in steps of this size instead of a ramp
    #[arg(long, value_name = "RATE", value_parser = rate_above_zero, requires = "rate", requires = "every", help_heading = "Load")]
    pub(crate) step: Option<f64>,
    /// Length of each step; with --send, interval between messages
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, requires = "repeated", conflicts_with = "lasting", help_heading = "Load")]
    pub(crate) every: Option<Duration>,
    /// Duration [default: 10s]; cuts a plan's load short
    #[arg(long = "for", short = 't', value_name = "TIME", value_parser = duration_above_zero, conflicts_with = "phase", help_heading = "Load")]
    pub(crate) lasting: Option<Duration>,
    /// Think time of each user between a response and the next request
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0", conflicts_with_all = ["rate", "users", "phase"], help_heading = "Load")]
    pub(crate) think: Duration,
    #[command(flatten)]
    pub(crate) websocket: WebSocketArguments,
    /// Distribution of arrivals [default: poisson]
    #[arg(long, value_enum, help_heading = "Load")]
    pub(crate) spacing: Option<SpacingArgument>,
    /// Warm-up at the start that is recorded but not judged [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Load")]
    pub(crate) warmup: Option<Duration>,
    /// Objective, such as 'p95 < 500ms, errors < 1%'; without one nothing is judged
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective, help_heading = "Judgement")]
    pub(crate) objective: Option<Objective>,
    /// Run the same load this often, one run after another: reports what grows from run to run, such as memory (exit 3)
    #[arg(long, value_name = "N", value_parser = within(3..=REPEAT_MAX), conflicts_with_all = ["junit", "on"], help_heading = "Judgement")]
    pub(crate) repeat: Option<u32>,
    #[command(flatten)]
    pub(crate) carried_by: CarriedByArguments,
    /// Also write the HTML report
    #[arg(long, help_heading = "Output")]
    pub(crate) report: bool,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpacingArgument {
    /// Independent arrivals, as from many people
    Poisson,
    /// Equal gaps
    Even,
}

/// The search for the load line.
#[derive(Debug, Args)]
pub(crate) struct LimitArguments {
    #[command(flatten)]
    pub(crate) transport: TransportArguments,
    /// Objective [default: p95 < 500ms, errors < 1%]
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective, help_heading = "Search")]
    pub(crate) objective: Option<Objective>,
    /// At most 4 minutes, with a wider interval
    #[arg(long, conflicts_with = "thorough", help_heading = "Search")]
    pub(crate) quick: bool,
    /// Trials of 60 s, a narrow interval, a soak; about half an hour and more
    #[arg(long, help_heading = "Search")]
    pub(crate) thorough: bool,
    /// Do not search: decide whether the line is at least this high (for CI; exit 3 when it is not)
    #[arg(long, value_name = "RATE", value_parser = rate_above_zero, conflicts_with_all = ["thorough", "record"], help_heading = "Search")]
    pub(crate) at_least: Option<f64>,
    /// For whom, in a sentence: '12,000 people log in within 3 minutes', '3,000 users who pause ten seconds', '200 requests a
    /// second', 'ten times a usual Monday from access.log'. The answer then says whether the service carries it, and with
    /// which margin (exit 3 when it does not, 4 when that is undecided); docs/guides/sentences.md has all forms
    #[arg(long = "for", value_name = "SENTENCE", value_parser = sentence, conflicts_with_all = ["at_least", "users", "think"], help_heading = "Search")]
    pub(crate) sentence: Option<WrittenSentence>,
    /// Users that the service must carry; judged against the line (needs --think)
    #[arg(long, value_name = "N", value_parser = within(1..=10_000_000), requires = "think", help_heading = "Search")]
    pub(crate) users: Option<u32>,
    /// Think time of a user between a response and the next request; also reports the line in users
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, help_heading = "Search")]
    pub(crate) think: Option<Duration>,
    /// Measure again through an edge with this configuration, started for the purpose, and report both
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["at_least", "record", "on"],
        help_heading = "Search"
    )]
    pub(crate) through: Option<PathBuf>,
    /// Distribution of arrivals [default: poisson]
    #[arg(long, value_enum, help_heading = "Search")]
    pub(crate) spacing: Option<SpacingArgument>,
    /// Raise the limit that the finding names (a setting of a watched component, changed over its own interface), repeat the
    /// load that failed, and restore the setting: the finding is confirmed or demoted
    #[arg(
        long,
        conflicts_with_all = ["at_least", "through"],
        help_heading = "Confirmation"
    )]
    pub(crate) confirm: bool,
    /// Raise the first limit with this command: a program with its arguments, run without a shell
    #[arg(
        long,
        value_name = "COMMAND",
        value_parser = command_words,
        requires = "confirm",
        requires = "undo_with",
        help_heading = "Confirmation"
    )]
    pub(crate) confirm_with: Option<CommandWords>,
    /// Restore it with this command
    #[arg(
        long,
        value_name = "COMMAND",
        value_parser = command_words,
        help_heading = "Confirmation"
    )]
    pub(crate) undo_with: Option<CommandWords>,
    #[command(flatten)]
    pub(crate) carried_by: CarriedByArguments,
    #[command(flatten)]
    pub(crate) cycles: CycleTargetArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Output of results.
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
    /// Bounds of the response classes in the report: fast below the first, slow above the second [default: 800ms,1200ms]
    #[arg(long, value_name = "TIME,TIME", value_parser = classes)]
    pub(crate) classes: Option<Classes>,
    /// Bands of patience in the report, each with the longest response time that belongs to it: instant=100ms,fluent=1s
    /// [default: the plan's]
    #[arg(long, value_name = "NAME=TIME,…", value_parser = patience)]
    pub(crate) patience: Option<Patience>,
    #[command(flatten)]
    pub(crate) history: HistoryTargetArguments,
    #[command(flatten)]
    pub(crate) live_page: LivePageArguments,
    #[command(flatten)]
    pub(crate) export: MetricsExportArguments,
    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// The page that shows a command while it runs.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct LivePageArguments {
    /// Serve a page that shows the measurement while it runs, and print its URL [default address: 127.0.0.1 and a free port]
    #[arg(
        long = "live",
        id = "live_page_address",
        value_name = "ADDRESS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:0"
    )]
    pub(crate) address: Option<LiveAddress>,
}

/// The host and service to check.
#[derive(Clone, Debug, Args)]
pub(crate) struct CheckArguments {
    /// URL of the service; or a plan file (YAML) to validate, with exit code 0 or 2. Without it all components of this
    /// machine are checked
    #[arg(value_name = "URL|PLAN", required_unless_present_any = ["whom", "plan", "run"])]
    pub(crate) url: Option<String>,
    /// Check for so many users, `3000-users`, or for a sentence: '12,000 people log in within 3 minutes' [default: the users
    /// of --plan or --run, else 500]
    #[arg(long = "for", value_name = "USERS|SENTENCE", value_parser = for_whom)]
    pub(crate) whom: Option<ForWhom>,
    /// Plan whose journeys tell what a user requests; its `watch:` gives logins of components
    /// [default: a request every 10 s that takes 0.5 s]
    #[arg(long, value_name = "PLAN", conflicts_with = "run")]
    pub(crate) plan: Option<String>,
    /// Recorded run that tells what a user requests, how long responses take, and the CPU time of a request
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,
    /// Target of the plan's requests, overrides its `target:`
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// Process of the service, if it cannot be found by its listening port
    #[arg(long, value_name = "PID", value_parser = within(1..=i32::MAX.unsigned_abs()))]
    pub(crate) pid: Vec<u32>,
    /// Process of the service, by name
    #[arg(long, value_name = "NAME")]
    pub(crate) process: Vec<String>,
    /// Connect to this socket instead of an address
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The examination of this host.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run file; several, or access logs, or files of `plimsoll watch --out`, for the availability of the service over
    /// all of them
    #[arg(required = true, value_name = "RUN|LOG|WATCHFILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Objective that the availability is judged by [default: that of the run]
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective)]
    pub(crate) objective: Option<Objective>,
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
    /// Exit when the parent process exits
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
    /// The JSON schema of plan, experiment, hosts, world, run, limit, check, doctor, compare, matrix, matrix-dry-run, log, availability, history, ledger, repeat, edge-status, link, scale, scale-policy or simulate
    Schema,
}
