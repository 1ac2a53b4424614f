//! `plimsoll demo`: the main job on the built-in sample site.
//!
//! The site runs as a separate process. Its load line is found, one setting of the site is changed (fewer nodes
//! rendered on the server), and the line is found again.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::Parser as _;
use plimsoll_lab::active_run::Finished;
use plimsoll_lab::limit::{Ambition, LimitOrder};
use plimsoll_lab::progress::StopFlag;
use plimsoll_model::run::Run;
use plimsoll_model::verdict::Verdict;
use plimsoll_report::Report;
use plimsoll_report::{answer, text};
use plimsoll_sample::SitePlan;

use crate::arguments::{Cli, Command as CliCommand, DemoArguments, LimitArguments};
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::live_line::LiveLine;
use crate::planning;
use crate::screen::{eprint, print};
use crate::signals;

/// Nodes rendered before and after the change, as in the newspaper's fourth cycle.
const NODES: [u32; 2] = [670, 362];
/// Time for each of the two searches; together with start and report the demo stays under six minutes.
const BUDGET: Duration = Duration::from_secs(168);
/// Objective of both searches.
const OBJECTIVE: &str = "p95 < 100ms, errors < 1%";

/// Serves the sample site, or measures it.
pub(crate) fn demo(arguments: &DemoArguments) -> Result<Exit, CliError> {
    match arguments.serve {
        Some(listen) => serve(arguments, listen),
        None => measure(arguments),
    }
}

fn serve(arguments: &DemoArguments, listen: SocketAddr) -> Result<Exit, CliError> {
    if arguments.end_with_parent {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
            .map_err(std::io::Error::from)?;
    }
    let plan = SitePlan {
        listen,
        nodes: arguments.nodes,
        workers: arguments.workers,
        folder: arguments.out.clone(),
    };
    let site = plimsoll_sample::serve(plan).map_err(|error| CliError::usage(chain(&error)))?;
    print(&format!("{}\n", site.address()));
    site.wait();
    Ok(Exit::Met)
}

fn measure(arguments: &DemoArguments) -> Result<Exit, CliError> {
    let stop = StopFlag::default();
    signals::raise_on_interrupt(&stop)?;
    eprint(&format!(
        "The sample site is a small newspaper: articles in SQLite, pages rendered on the server by one process.\n\
         Its load line is found twice, with {} and with {} nodes rendered per page. This takes about five minutes.",
        NODES[0], NODES[1]
    ));
    let mut finished: Vec<(String, Finished)> = Vec::new();
    for nodes in NODES {
        let label = format!("{nodes} nodes");
        eprint(&format!("\n{label}: searching"));
        let result = search(arguments, nodes, &stop)?;
        let report = Report::of(&result.run);
        print(&format!("{label}: {}\n", answer::sentence(&report)));
        let interrupted = stop.is_raised();
        finished.push((label, result));
        if interrupted {
            break;
        }
    }
    conclude(&finished, arguments)
}

/// Starts the site with `nodes` nodes per page, finds its load line, and stops it.
fn search(arguments: &DemoArguments, nodes: u32, stop: &StopFlag) -> Result<Finished, CliError> {
    let site = DemoSite::start(&arguments.out, nodes)?;
    let url = format!("http://{}/", site.address);
    let pid = site.process.id().to_string();
    let out = arguments.out.to_string_lossy().into_owned();
    let name = format!("demo-{nodes}-nodes");
    let limit = limit_arguments(&[
        "plimsoll",
        "limit",
        &url,
        "--quick",
        "--objective",
        OBJECTIVE,
        "--pid",
        &pid,
        "--out",
        &out,
        "--name",
        &name,
    ])?;
    let planned = planning::limit_plan(&limit)?;
    let assignment = planning::assignment(planned, "limit", &limit.transport, &limit.output);
    let order = LimitOrder {
        ambition: Ambition::Within(BUDGET),
        ..LimitOrder::default()
    };
    let mut live = LiveLine::new(false);
    let finished = plimsoll_lab::limit::limit(assignment, &order, stop.clone(), &mut live);
    live.clear();
    Ok(finished?)
}

/// The demo goes through the command line, as a user would.
fn limit_arguments(words: &[&str]) -> Result<Box<LimitArguments>, CliError> {
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(CliCommand::Limit(arguments)) => Ok(arguments),
        Ok(_) => Err(CliError::new(
            Exit::Internal,
            "the demo's own command is not `limit`",
        )),
        Err(error) => Err(CliError::new(Exit::Internal, error.to_string())),
    }
}

fn conclude(finished: &[(String, Finished)], arguments: &DemoArguments) -> Result<Exit, CliError> {
    let pairs: Vec<(&str, &Run)> = finished
        .iter()
        .map(|(label, result)| (label.as_str(), &result.run))
        .collect();
    print(&format!("\n{}\n", text::comparison(&pairs)));
    for (label, result) in finished {
        print(&format!(
            "{}
",
            what_set_it(label, &result.run)
        ));
    }
    let Some((_, last)) = finished.last() else {
        return Err(CliError::new(Exit::Internal, "nothing was measured"));
    };
    let path = arguments.out.join("demo.html");
    let html = plimsoll_report::html::render_comparison(&pairs);
    plimsoll_lab::output::write(&path, html.as_bytes())
        .map_err(|error| CliError::usage(format!("cannot write {}: {error}", path.display())))?;
    let shown = std::path::absolute(&path).unwrap_or(path);
    print(&format!("\nThe report:\n{}\n", shown.display()));
    let verdicts = finished
        .iter()
        .map(|(_, result)| result.run.ending.as_ref().map(|ending| ending.verdict));
    let worst = verdicts.flatten().find(|&verdict| verdict != Verdict::Met);
    let last_verdict = last.run.ending.as_ref().map(|ending| ending.verdict);
    Ok(worst.or(last_verdict).map_or(Exit::Internal, Exit::from))
}

/// The best finding in a sentence.
fn what_set_it(label: &str, run: &Run) -> String {
    match run.findings.first() {
        Some(finding) => format!("What set the line with {label}: {}", finding.sentence),
        None => format!("What set the line with {label} is unknown: no rule found evidence."),
    }
}

/// The sample site as a separate process, stopped on drop.
#[derive(Debug)]
struct DemoSite {
    process: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl DemoSite {
    fn start(out: &Path, nodes: u32) -> Result<Self, CliError> {
        let folder = out.join(format!("demo-site-{}", std::process::id()));
        let site_error =
            |what: &str| CliError::new(Exit::Internal, format!("the sample site {what}"));
        std::fs::create_dir_all(&folder).map_err(|error| {
            CliError::usage(format!("cannot create {}: {error}", folder.display()))
                .remedy("choose another folder with --out DIR")
        })?;
        let program = std::env::current_exe()
            .map_err(|error| site_error(&format!("cannot be found: {error}")))?;
        let mut process = Command::new(program)
            .args(["demo", "--serve", "127.0.0.1:0", "--end-with-parent"])
            .args(["--nodes", &nodes.to_string(), "--out"])
            .arg(&folder)
            .stdin(Stdio::null())
            // Ctrl-C must reach the measurement only; the site runs until it is over.
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| site_error(&format!("cannot start: {error}")))?;
        let mut line = String::new();
        let read = process
            .stdout
            .take()
            .map(|stdout| BufReader::new(stdout).read_line(&mut line));
        let address = line.trim().parse();
        if let (Some(Ok(_)), Ok(address)) = (read, address) {
            return Ok(Self {
                process,
                address,
                folder,
            });
        }
        let _ = process.kill();
        let _ = process.wait();
        Err(site_error("did not print its address"))
    }
}

impl Drop for DemoSite {
    fn drop(&mut self) {
        // No graceful stop: the site's articles are generated again at each start.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
