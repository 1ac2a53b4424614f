//! `kill -9` of searches for settings at random moments, over PostgreSQL, pgbouncer, HAProxy and Puma.

use std::time::Duration;

use anyhow::{Result, anyhow};
use plimsoll_harness::test_programs;
use plimsoll_harness::workspace::Workspace;
use plimsoll_testkit::kills::KillRig;
use serde_json::{Value, json};

/// Longest time between the start of a search and its kill: settings are applied in about half of it.
const WITHIN: Duration = Duration::from_secs(6);
/// The same for every so many kills: trials of other settings begin.
const LONG_WITHIN: Duration = Duration::from_secs(150);
const LONG_EVERY: u64 = 14;

/// Kills as many searches as are left of `kills`; `keep` receives each result.
pub(super) fn run(
    workspace: &Workspace,
    (kills, seed): (u64, u64),
    results: &mut Vec<Value>,
    keep: impl Fn(&Value) -> Result<()>,
) -> Result<()> {
    let done = of_kills(results).filter(|it| it["seed"] == seed).count() as u64;
    if done >= kills {
        return Ok(());
    }
    test_programs::install()?;
    println!("kills of searches for settings, seed {seed}:");
    let program = workspace.release("plimsoll");
    // A stack that goes on has other moments than one from the beginning.
    let mut rig = KillRig::start(&program, seed + done).map_err(|error| anyhow!(error))?;
    for number in done + 1..=kills {
        let within = if number % LONG_EVERY == 0 {
            LONG_WITHIN
        } else {
            WITHIN
        };
        let (what, difference) = match rig.kill(within) {
            Ok(what) => (what, None),
            Err(difference) => ("NOT as before".to_owned(), Some(difference)),
        };
        println!("  {what} {}", difference.as_deref().unwrap_or_default());
        let result = json!({ "kill": {
            "seed": seed, "number": number, "what": what, "difference": difference,
        } });
        keep(&result)?;
        results.push(result);
    }
    Ok(())
}

fn of_kills(results: &[Value]) -> impl Iterator<Item = &Value> {
    let kills = results.iter().map(|result| &result["kill"]);
    kills.filter(|kill| kill.is_object())
}

/// Prints how many kills left something changed; true if none did.
pub(super) fn summarise(results: &[Value]) -> bool {
    let kills = of_kills(results).count();
    let failed = of_kills(results).filter(|kill| !kill["difference"].is_null());
    let failed = failed.count();
    if kills > 0 {
        println!("kills: {kills}, after {failed} of them something was not as before");
    }
    failed == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_after_which_something_differs_fails_the_soak() {
        let kill = |difference: Option<&str>| json!({ "kill": { "seed": 1, "number": 1, "difference": difference } });
        let mut results = vec![json!({ "law": "x" }), kill(None)];
        assert!(summarise(&results));
        results.push(kill(Some("- a\n+ b")));
        assert!(!summarise(&results));
    }
}
