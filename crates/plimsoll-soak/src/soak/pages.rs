//! The commands of the documentation, none shortened and every search to its end.

use std::process::Stdio;

use anyhow::{Context as _, Result};
use plimsoll_harness::workspace::{Workspace, cargo};
use serde_json::{Value, json};

/// Makes the tests of the pages shorten nothing.
const WHOLE: &str = "PLIMSOLL_DOCS_WHOLE";

/// Runs all pages one after another, unless `results` have them; `keep` receives the result.
pub(super) fn run(
    workspace: &Workspace,
    results: &mut Vec<Value>,
    keep: impl Fn(&Value) -> Result<()>,
) -> Result<()> {
    if results.iter().any(|result| result["pages"].is_boolean()) {
        return Ok(());
    }
    println!("commands of the documentation:");
    let status = cargo()
        .args(["test", "--locked", "--package", "plimsoll", "--test", "e2e"])
        .args(["docs::", "--", "--test-threads", "1"])
        .current_dir(workspace.root())
        .env(WHOLE, "1")
        .stdin(Stdio::null())
        .status()
        .context("cannot run cargo")?;
    let result = json!({ "pages": status.success() });
    keep(&result)?;
    results.push(result);
    Ok(())
}

/// Prints whether all commands gave an answer; true if they did, or were not run.
pub(super) fn summarise(results: &[Value]) -> bool {
    let mut pages = results
        .iter()
        .filter_map(|result| result["pages"].as_bool());
    let is_good = pages.next();
    match is_good {
        Some(true) => println!("documentation: every command ran as printed"),
        Some(false) => println!("documentation: a command did NOT run as printed"),
        None => {}
    }
    is_good.unwrap_or(true)
}
