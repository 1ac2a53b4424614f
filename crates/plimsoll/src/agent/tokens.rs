//! Which agents a command reads, and with which tokens.

use std::path::Path;

use plimsoll_agent::AgentSpec;
use plimsoll_config::plan::WatchedAgent;
use plimsoll_peer::Token;

use crate::arguments::WatchedAgentsArguments;
use crate::explain::CliError;
use crate::plan_file;

/// Longest file with tokens, bytes.
const FILE_MAX: u64 = 1 << 20;

/// Tokens at most, over all files: each may be tried with each agent.
const TOKENS_MAX: usize = 64;

/// The variable with tokens where no file is named.
const VARIABLE: &str = "PLIMSOLL_AGENT_TOKEN";

/// Agents of the flags and of the plan, each with the tokens that may be its own.
pub(crate) fn specs(
    arguments: &WatchedAgentsArguments,
    of_plan: &[WatchedAgent],
) -> Result<Vec<AgentSpec>, CliError> {
    if arguments.agent.is_empty() && of_plan.is_empty() {
        return Ok(Vec::new());
    }
    let common = common(arguments)?;
    let mut specs: Vec<AgentSpec> = Vec::new();
    for address in &arguments.agent {
        specs.push(AgentSpec::new(address.clone(), common.clone()));
    }
    for agent in of_plan {
        let tokens = match &agent.tokens {
            Some(text) => of_text(text, &format!("the `token_file` of {}", agent.at))?,
            None => common.clone(),
        };
        specs.push(AgentSpec::new(agent.at.clone(), tokens));
    }
    Ok(specs)
}

/// Tokens that may be any agent's.
fn common(arguments: &WatchedAgentsArguments) -> Result<Vec<Token>, CliError> {
    let mut tokens = Vec::new();
    for file in &arguments.agent_token_file {
        tokens.append(&mut of_file(file)?);
    }
    if arguments.agent_token_file.is_empty()
        && let Some(text) = variable()
    {
        tokens = of_text(&text, VARIABLE)?;
    }
    if tokens.len() > TOKENS_MAX {
        let message = format!("{} tokens of agents", tokens.len());
        return Err(CliError::usage(message).remedy("valid: at most 64 over all files"));
    }
    Ok(tokens)
}

#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment"
)]
fn variable() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|text| !text.is_empty())
}

/// The tokens of a file.
pub(super) fn of_file(path: &Path) -> Result<Vec<Token>, CliError> {
    let shown = path.display().to_string();
    let bytes = plan_file::bounded(path, FILE_MAX).map_err(|error| {
        CliError::usage(format!("cannot read {shown} ({error})"))
            .remedy("valid: a file with the line that `plimsoll agent --invite` printed")
    })?;
    of_text(&String::from_utf8_lossy(&bytes), &shown)
}

/// Tokens separated by space; `place` names where they are. No error quotes them.
fn of_text(text: &str, place: &str) -> Result<Vec<Token>, CliError> {
    let tokens = text
        .split_whitespace()
        .take(TOKENS_MAX + 1)
        .map(Token::parse);
    let tokens: Vec<Token> = tokens
        .collect::<Result<_, _>>()
        .map_err(|error| CliError::usage(format!("cannot use {place} ({error})")))?;
    if tokens.is_empty() {
        return Err(CliError::usage(format!("{place} has no token")).remedy(
            "put the line there that `plimsoll agent --invite` prints on the other machine",
        ));
    }
    Ok(tokens)
}
