//! `plimsoll-bottlenecks`: plants limits in real programs, runs Plimsoll against them, and checks its diagnosis.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use clap::Parser;
use flate2::read::MultiGzDecoder;
use plimsoll_testkit::corpus::{Planted, PlantedService, all};
use plimsoll_testkit::machine::namespace_pair::NamespacePair;
use plimsoll_testkit::not_tried::not_tried;
use plimsoll_testkit::program::agents::Agent;
use serde_json::{Value, json};

/// Plants limits in real programs and checks whether Plimsoll names them
#[derive(Parser)]
#[command(name = "plimsoll-bottlenecks")]
struct Arguments {
    /// The plimsoll executable
    #[arg(long, value_name = "FILE")]
    plimsoll: PathBuf,
    /// Only cases whose name contains one of these
    only: Vec<String>,
    /// Write the results to this file, as JSON for `cargo xtask bottlenecks`
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Start each service in a network namespace with an agent beside it, and load and watch it from another one
    #[arg(long)]
    through_agent: bool,
    /// Keep the run file of each case in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// The name of the machine of an agent.
const MACHINE: &str = "service";

/// As many planted limits must be named first through agents, where all are tried.
const THROUGH_AGENTS_MIN: usize = 15;

/// The result of a planted limit.
struct PlantedOutcome {
    planted: &'static Planted,
    /// Rank of the right finding, from 1; 0 where it is missing. In healthy cases 1 means no finding.
    place: usize,
    /// The first finding.
    named: String,
    /// The run is inconclusive: this machine was too busy.
    disturbed: bool,
    took_s: f64,
}

fn main() -> ExitCode {
    let mut arguments = Arguments::parse();
    // It is started in other folders.
    if let Ok(whole) = arguments.plimsoll.canonicalize() {
        arguments.plimsoll = whole;
    }
    // One line where it is not possible, not one for each limit.
    if arguments.through_agent && NamespacePair::enter().is_none() {
        return ExitCode::SUCCESS;
    }
    let is_wanted = |planted: &&Planted| {
        arguments.only.is_empty()
            || arguments
                .only
                .iter()
                .any(|word| planted.name.contains(word.as_str()))
    };
    let mut outcomes = Vec::new();
    for planted in all().into_iter().filter(is_wanted) {
        let Some(outcome) = try_planted(planted, &arguments) else {
            continue;
        };
        print(&format!("{}\n", line(&outcome)));
        outcomes.push(outcome);
    }
    let summary = summary(&outcomes);
    print(&format!("{summary}\n"));
    if let Some(path) = &arguments.results
        && let Err(error) = std::fs::write(path, results(&outcomes, &summary).to_string())
    {
        print(&format!("cannot write {}: {error}\n", path.display()));
        return ExitCode::FAILURE;
    }
    let disturbed = outcomes.iter().filter(|outcome| outcome.disturbed).count();
    if disturbed * 10 > outcomes.len() {
        print(&format!(
            "this machine was disturbed in {disturbed} of {} runs, more than a tenth: run them again on a quiet machine\n",
            outcomes.len()
        ));
        return ExitCode::FAILURE;
    }
    if arguments.through_agent && arguments.only.is_empty() && !outcomes.is_empty() {
        return of_agents(&outcomes);
    }
    ExitCode::SUCCESS
}

/// Whether enough was found through agents.
fn of_agents(outcomes: &[PlantedOutcome]) -> ExitCode {
    let found = outcomes
        .iter()
        .filter(|outcome| !outcome.planted.rules.is_empty() && outcome.place == 1);
    let found = found.count();
    if found >= THROUGH_AGENTS_MIN {
        return ExitCode::SUCCESS;
    }
    print(&format!(
        "agents found {found} planted limits; required: at least {THROUGH_AGENTS_MIN}\n"
    ));
    ExitCode::FAILURE
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long each took is told, and nothing is decided by it"
)]
fn now() -> Instant {
    Instant::now()
}

fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Starts the service of a planted limit, and an agent beside it where one is wanted, and evaluates a run. `None` where that is
/// not possible here.
fn try_planted(planted: &'static Planted, arguments: &Arguments) -> Option<PlantedOutcome> {
    let begin = now();
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (findings, disturbed) = if arguments.through_agent {
        through_agent(planted, &arguments.plimsoll, folder.path())?
    } else {
        let service = (planted.start)();
        let watch = folder.path().join("watch.yaml");
        std::fs::write(watch, &service.watch).expect("there is room for a file");
        let mut command = command(&service, &arguments.plimsoll, folder.path());
        findings(command.args(["--watch", "watch.yaml"]), folder.path())
    };
    if let Some(keep) = &arguments.keep {
        let kept = keep.join(format!("{}.run", planted.name.replace('/', "-")));
        std::fs::copy(run_file(folder.path()), kept).expect("there is room for a run file");
    }
    let is_right = |finding: &Value| {
        let rule = finding["rule"].as_str().unwrap_or_default();
        planted.rules.contains(&rule) && (!arguments.through_agent || is_there(finding))
    };
    // Limits of the generator are true, but not what was planted.
    let findings: Vec<&Value> = findings
        .iter()
        .filter(|finding| finding["rule"] != "G1")
        .collect();
    let place = if planted.rules.is_empty() {
        usize::from(findings.is_empty())
    } else {
        findings
            .iter()
            .position(|finding| is_right(finding))
            .map_or(0, |at| at + 1)
    };
    let named = findings.first().map_or_else(String::new, |finding| {
        let text = |field: &str| finding[field].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", text("rule"), text("sentence"))
    });
    Some(PlantedOutcome {
        planted,
        place,
        named,
        disturbed,
        took_s: begin.elapsed().as_secs_f64(),
    })
}

/// The same as on two machines: all that is known of the service's is what its agent sends.
fn through_agent(planted: &Planted, plimsoll: &Path, folder: &Path) -> Option<(Vec<Value>, bool)> {
    if let Some(why) = planted.found_here_only() {
        not_tried(format_args!("{}, through an agent: {why}", planted.name));
        return None;
    }
    let machines = NamespacePair::enter()?;
    let service = (planted.start)();
    let agent = Agent::start(plimsoll, MACHINE);
    let mut command = command(&service, plimsoll, folder);
    command.args(["--watch", "none"]).args(agent.flags());
    Some(machines.as_client(|| findings(&mut command, folder)))
}

/// Whether a finding is on the machine of the agent, or about responses, which are of no machine.
fn is_there(finding: &Value) -> bool {
    let is_of_service = finding["rule"]
        .as_str()
        .is_some_and(|rule| rule.starts_with('S'));
    finding["machine"] == MACHINE || is_of_service && finding["machine"].is_null()
}

/// A run of the loads of a service, without what it watches.
fn command(service: &PlantedService, plimsoll: &Path, folder: &Path) -> Command {
    let two_loads = ["--phase", service.loads[0], "--phase", service.loads[1]].map(str::to_owned);
    let load = if service.users.is_empty() {
        &two_loads[..]
    } else {
        &service.users
    };
    let mut command = Command::new(plimsoll);
    command
        .args(["run", &service.url])
        .args(load)
        .args(["--timeout", "2s", "--json"])
        .args(["--objective", "p95 < 500ms, errors < 1%"])
        .args(&service.more)
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

/// The findings of a run, and whether this machine was too busy for a conclusion.
fn findings(command: &mut Command, folder: &Path) -> (Vec<Value>, bool) {
    let done = command.output().expect("plimsoll starts");
    let json: Value = serde_json::from_slice(&done.stdout).unwrap_or_else(|error| {
        panic!(
            "no JSON ({error}): {}",
            String::from_utf8_lossy(&done.stderr)
        )
    });
    let disturbed = !json["void"].is_null();
    let mut text = String::new();
    let file = std::fs::File::open(run_file(folder)).expect("the run's log may be read");
    let read = MultiGzDecoder::new(file).read_to_string(&mut text);
    assert!(read.is_ok(), "the run left a log");
    let events = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut made = events.filter(|event| event["event"] == "findings_made");
    let findings = made
        .next()
        .and_then(|event| event["data"].as_array().cloned());
    (findings.unwrap_or_default(), disturbed)
}

/// The log of the run in a folder.
fn run_file(folder: &Path) -> PathBuf {
    let files = std::fs::read_dir(folder.join("plimsoll")).into_iter();
    let mut files = files.flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let log = files.find(|path| path.extension().is_some_and(|ending| ending == "run"));
    log.expect("the run left a log")
}

fn verdict(outcome: &PlantedOutcome) -> &'static str {
    match (outcome.place, outcome.planted.rules.is_empty()) {
        (1, true) => "silent, right",
        (_, true) => "WRONG: not silent",
        (1, false) => "right",
        (2, false) => "second",
        _ => "WRONG",
    }
}

fn line(outcome: &PlantedOutcome) -> String {
    let disturbed = if outcome.disturbed {
        " (this machine was disturbed)"
    } else {
        ""
    };
    format!(
        "{:<18} {:>4.0} s  {}{disturbed}\n{:26}{}",
        verdict(outcome),
        outcome.took_s,
        outcome.planted.name,
        "",
        if outcome.named.is_empty() {
            "nothing was named"
        } else {
            &outcome.named
        }
    )
}

fn summary(outcomes: &[PlantedOutcome]) -> String {
    let planted = outcomes
        .iter()
        .filter(|outcome| !outcome.planted.rules.is_empty());
    let (count, first) = (
        planted.clone().count(),
        planted.clone().filter(|outcome| outcome.place == 1).count(),
    );
    let exactly = planted
        .clone()
        .filter(|outcome| outcome.place == 1 && is_exact(outcome.planted.rules, &outcome.named))
        .count();
    let two = planted
        .filter(|outcome| (1..=2).contains(&outcome.place))
        .count();
    let healthy = outcomes
        .iter()
        .filter(|outcome| outcome.planted.rules.is_empty());
    let silent = healthy.clone().filter(|outcome| outcome.place == 1).count();
    format!(
        "{first} of {count} planted limits named first ({exactly} by the first rule of their row, {} by another rule \
         that the row accepts), {two} among the first two; silent on {silent} of {} healthy ones",
        first - exactly,
        healthy.count()
    )
}

/// Whether the first finding, `RULE: sentence`, has the first of the rules that a case accepts.
fn is_exact(rules: &[&str], named: &str) -> bool {
    let rule = named.split_once(':').map(|(rule, _)| rule);
    rule.is_some() && rule == rules.first().copied()
}

/// Rows of the table: planted, rule, verdict, named first, time.
fn results(outcomes: &[PlantedOutcome], summary: &str) -> Value {
    let rows = outcomes.iter().map(|outcome| {
        json!([
            outcome.planted.name,
            outcome.planted.rules.join(", "),
            verdict(outcome),
            if outcome.named.is_empty() {
                "nothing"
            } else {
                &outcome.named
            },
            format!("{:.0} s", outcome.took_s),
        ])
    });
    json!({ "summary": summary, "rows": rows.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_rule_of_a_row_is_exact() {
        assert!(is_exact(&["X1", "X2"], "X1: nginx had no place"));
        assert!(!is_exact(&["X1", "X2"], "X2: nginx had no place"));
        // A rule is a whole word: X1 is no prefix of X10.
        assert!(!is_exact(&["X1"], "X10: nginx had no place"));
        assert!(!is_exact(&["X1"], ""));
        assert!(!is_exact(&[], ""));
    }

    #[test]
    fn the_summary_tells_exact_names_from_accepted_ones() {
        static PLANTED: Planted = Planted {
            name: "planted",
            rules: &["P9", "P2"],
            start: || panic!("nothing is started"),
        };
        static HEALTHY: Planted = Planted {
            name: "healthy",
            rules: &[],
            start: || panic!("nothing is started"),
        };
        let outcome = |planted, place, named: &str| PlantedOutcome {
            planted,
            place,
            named: named.to_owned(),
            disturbed: false,
            took_s: 1.0,
        };
        let outcomes = [
            outcome(&PLANTED, 1, "P9: sorts"),
            outcome(&PLANTED, 1, "P2: statements"),
            outcome(&PLANTED, 2, "C1: the CPUs"),
            outcome(&HEALTHY, 1, ""),
        ];
        assert_eq!(
            summary(&outcomes),
            "2 of 3 planted limits named first (1 by the first rule of their row, 1 by another rule that the row \
             accepts), 3 among the first two; silent on 1 of 1 healthy ones"
        );
    }
}
