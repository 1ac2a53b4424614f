//! Whole runs that watch components, and their findings: for the tests here and those of `cargo xtask
//! bottlenecks`.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use plimsoll_testkit::program::runtimes::Script;
use plimsoll_testkit::turns::{alone_for, quietly};
use serde_json::Value;

use crate::support::{CommandOutput, Sandbox};

/// The findings of a run of two loads on a service that takes little CPU: one that is carried, one that is not. `None`,
/// said loudly, when this machine had no time for it.
pub(crate) fn found(
    place: &Sandbox,
    url: &str,
    watch: &str,
    load: [&str; 2],
    more: &[&str],
) -> Option<Vec<Value>> {
    found_of(Cpu::Little, place, url, watch, load, more)
}

/// The same of a service that computes.
pub(crate) fn found_computing(
    place: &Sandbox,
    url: &str,
    watch: &str,
    load: [&str; 2],
) -> Option<Vec<Value>> {
    found_of(Cpu::Much, place, url, watch, load, &[])
}

fn found_of(
    cpu: Cpu,
    place: &Sandbox,
    url: &str,
    watch: &str,
    load: [&str; 2],
    more: &[&str],
) -> Option<Vec<Value>> {
    std::fs::write(place.path().join("watch.yaml"), watch).unwrap();
    let words = words_of(url, load, &[&["--watch", "watch.yaml"][..], more].concat());
    let output = match cpu {
        Cpu::Little => quietly(|| place.run(&words)),
        Cpu::Much => alone_for(|| place.run(&words)),
    };
    findings_of(place, &output, load, cpu)
}

/// A run of two loads.
pub(crate) fn words_of<'a>(url: &'a str, load: [&'a str; 2], more: &[&'a str]) -> Vec<&'a str> {
    let words = [
        "run",
        url,
        "--phase",
        load[0],
        "--phase",
        load[1],
        "--objective",
        "p95 < 500ms, errors < 1%",
        "--timeout",
        "2s",
        "--json",
    ];
    [&words[..], more].concat()
}

/// The findings of such a run, by its log; `None`, said loudly, where others had the CPUs.
pub(crate) fn findings_of(
    place: &Sandbox,
    output: &CommandOutput,
    load: [&str; 2],
    cpu: Cpu,
) -> Option<Vec<Value>> {
    output.measured()?;
    assert_eq!(output.code, 3, "{output:?}");
    let log = place.run_files().pop().unwrap();
    let mut text = String::new();
    let file = std::fs::File::open(log).unwrap();
    MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    if others_take_cpu(&events, load[0], cpu) {
        return None;
    }
    let findings = events
        .iter()
        .find(|event| event["event"] == "findings_made");
    let findings = findings.expect("the log holds findings");
    // A generator that other work on this machine made late is a true finding, and not what is asked here.
    let findings = findings["data"].as_array().unwrap().iter();
    Some(
        findings
            .filter(|finding| finding["rule"] != "G1")
            .cloned()
            .collect(),
    )
}

/// Share of the CPUs that is busy where a service takes next to none, if others have no work here.
const CALM_MAX: f64 = 0.4;

/// Mean share of the CPUs that was busy in some seconds.
fn mean_busy(readings: &[&Value]) -> f64 {
    let busy = readings
        .iter()
        .filter_map(|event| event["data"]["values"]["plimsoll.cpu.busy"].as_f64());
    let busy: Vec<f64> = busy.collect();
    busy.iter().sum::<f64>() / busy.len().max(1) as f64
}

/// Whether other work had the CPUs during the first load, or, where the service takes next to none at any load, during
/// either: what is then named is named truly, and not what is asked here.
fn others_take_cpu(events: &[Value], load: &str, service: Cpu) -> bool {
    let seconds = load.rsplit(':').next().unwrap().trim_end_matches('s');
    let readings: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "readings_taken")
        .collect();
    let low = readings.len().min(seconds.parse().unwrap());
    let (low, high) = readings.split_at(low);
    let (low, high) = (mean_busy(low), mean_busy(high));
    let is_disturbed = low > CALM_MAX || service == Cpu::Little && high > CALM_MAX;
    if is_disturbed {
        plimsoll_testkit::not_tried::disturbed(format_args!(
            "{low:.2} of its CPUs were busy at the low load, {high:.2} at the high"
        ));
    }
    is_disturbed
}

/// How much CPU a service takes at the load that it does not carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cpu {
    /// It waits; were the CPUs busy, others would be what makes them so.
    Little,
    Much,
}

/// Asserts that the best finding is of this rule; returns its sentence.
#[track_caller]
pub(crate) fn best(findings: &[Value], rule: &str) -> Value {
    let best = findings
        .first()
        .unwrap_or_else(|| panic!("nothing was found; {rule} was to be"));
    assert_eq!(best["rule"], rule, "{findings:#?}");
    best.clone()
}

#[track_caller]
pub(crate) fn assert_field_contains(finding: &Value, field: &str, words: &[&str]) {
    let text = finding[field].as_str().unwrap_or_default();
    for word in words {
        assert!(
            text.contains(word),
            "`{word}` is not in {field}: {finding:#}"
        );
    }
}

#[track_caller]
pub(crate) fn of<'a>(found: &'a [Value], rule: &str) -> &'a Value {
    let own = found.iter().find(|finding| finding["rule"] == rule);
    own.unwrap_or_else(|| panic!("{rule} is not in {found:#?}"))
}

/// Node with the metrics module loaded before the application, and its `watch:` entry.
pub(crate) fn node(place: &Sandbox, variables: &str, application: &str) -> (Script, String) {
    let module = place.run(&["watch", "--node-module"]);
    assert_eq!(module.code, 0, "{module:?}");
    let path = place.path().join("plimsoll-node.cjs");
    std::fs::write(&path, module.stdout).unwrap();
    let socket = place.path().join("node.sock").display().to_string();
    let words = format!(
        "env PLIMSOLL_NODE_SOCKET={socket} {variables} node --require {}",
        path.display()
    );
    let node = Script::start(&words, application);
    (node, format!("node: unix:{socket}\n"))
}
