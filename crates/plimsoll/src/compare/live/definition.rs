//! What a comparison is, for its log: a comparison that goes on must agree with it. No command and no secret is in it.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use plimsoll_config::plan::PLAN_LEN_MAX;
use plimsoll_lab::clock;
use plimsoll_lab::experiment::comparison_blocks::{BASELINE_CELL, CANDIDATE_CELL};
use plimsoll_lab::experiment::log::{ExperimentHeader, FORMAT};
use plimsoll_lab::service::ExperimentServices;
use plimsoll_model::redact;
use serde_json::{Value, json};

use super::super::sides::Sides;
use crate::arguments::{CommandWords, CompareArguments};
use crate::exit::Exit;
use crate::experiment::definition::digest;
use crate::explain::CliError;
use crate::plan_file;

/// The header of the log.
pub(super) fn header(
    arguments: &CompareArguments,
    sides: &Sides,
    services: &mut ExperimentServices,
) -> Result<ExperimentHeader, CliError> {
    let live = &arguments.live;
    let seed = match live.seed {
        Some(seed) => seed,
        None => {
            getrandom::u64().map_err(|error| CliError::new(Exit::Internal, error.to_string()))?
        }
    };
    let target = |cell: usize| {
        let (what, target) = sides.target(cell);
        redact::text(target.unwrap_or(what)).into_owned()
    };
    let targets = [target(BASELINE_CELL), target(CANDIDATE_CELL)];
    let mut commits = Vec::new();
    for cell in [BASELINE_CELL, CANDIDATE_CELL] {
        commits.extend(services.commits(cell)?);
    }
    let commands = [&live.base, &live.head, &live.build, &live.start];
    Ok(ExperimentHeader {
        format: FORMAT,
        command: "compare".to_owned(),
        source: targets[0].clone(),
        started_at: jiff::Timestamp::now().to_string(),
        started_unix_ms: clock::unix_ms(),
        seed,
        definition: json!({
            "sides": sides.names(),
            "targets": targets,
            "commits": commits,
            "commands": commands.map(|words| words.as_ref().map(command)),
            "plan": plan(sides)?,
            "rate": live.rate,
            "for_s": live.lasting.map(|lasting| lasting.as_secs_f64()),
            "objective": live.objective.as_ref().map(ToString::to_string),
            "margin": arguments.margin,
            "seed": live.seed,
        }),
    })
}

/// The digest of the plan file.
fn plan(sides: &Sides) -> Result<Value, CliError> {
    let (what, target) = sides.target(BASELINE_CELL);
    if target.is_none() {
        return Ok(Value::Null);
    }
    let content = plan_file::bounded(Path::new(what), PLAN_LEN_MAX).map_err(|error| {
        CliError::usage(format!("cannot read the plan {what}: {error}"))
            .remedy("name a plan file that can be read")
    })?;
    Ok(json!(digest(&content)))
}

/// The digest of a command, and of the length and time of each file that it names: a program that was built anew is another
/// one.
fn command(words: &CommandWords) -> String {
    let mut text = String::new();
    for word in &words.0 {
        let state = std::fs::metadata(word)
            .ok()
            .filter(std::fs::Metadata::is_file);
        let state = state.map(|it| (it.len(), it.mtime(), it.mtime_nsec()));
        let _ = writeln!(text, "{word:?} {state:?}");
    }
    digest(text.as_bytes())
}
