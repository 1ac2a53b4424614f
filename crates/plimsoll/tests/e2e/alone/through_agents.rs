//! Limits of a service on another machine: found through the agent beside it as they are found here. All of the corpus are
//! tried by `cargo xtask bottlenecks --through-agent`; these two take no CPU.

use std::path::Path;

use plimsoll_testkit::corpus::of_name;
use plimsoll_testkit::machine::namespace_pair::NamespacePair;
use plimsoll_testkit::program::agents::Agent;
use plimsoll_testkit::turns::{alone, quietly};
use serde_json::Value;

use crate::found::{Cpu, best, findings_of, words_of};
use crate::support::Sandbox;

/// The findings of a run from another network namespace, with all that is known of the service from the agent beside it. The
/// service takes little CPU.
fn found_through(
    agent: &Agent,
    machines: &NamespacePair,
    url: &str,
    load: [&str; 2],
) -> Option<Vec<Value>> {
    let place = Sandbox::new();
    let flags = agent.flags();
    let flags = flags.iter().map(String::as_str);
    let more: Vec<&str> = ["--watch", "none"].into_iter().chain(flags).collect();
    let words = words_of(url, load, &more);
    let output = quietly(|| machines.as_client(|| place.run(&words)));
    findings_of(&place, &output, load, Cpu::Little)
}

/// The finding that a planted limit is named by, with the service and an agent in one network namespace, and the load in
/// another. `None`, with a message, where that cannot be tried.
fn through_agent(name: &str, rule: &str) -> Option<Value> {
    let planted = of_name(name);
    assert_eq!(planted.rules, [rule]);
    let machines = NamespacePair::enter()?;
    let service = (planted.start)();
    let agent = Agent::start(Path::new(env!("CARGO_BIN_EXE_plimsoll")), "web1");
    let found = found_through(&agent, &machines, &service.url, service.loads)?;
    let best = best(&found, rule);
    assert_eq!(best["machine"], "web1", "{found:#?}");
    Some(best)
}

#[test]
fn a_short_backlog_is_found_on_its_machine() {
    let _alone = alone();
    let name = "a backlog of 8 before an application that sleeps";
    if let Some(best) = through_agent(name, "N1") {
        let limit = best["limit"].as_str().unwrap();
        assert!(limit.ends_with(" on web1"), "{best:#}");
    }
}

#[test]
fn a_process_without_descriptors_is_found_on_its_machine() {
    let _alone = alone();
    if let Some(best) = through_agent("Python: 40 file descriptors", "F1") {
        let sentence = best["sentence"].as_str().unwrap();
        let begin = "on web1, process python3 (";
        assert!(sentence.starts_with(begin), "{best:#}");
    }
}
