//! Arguments of `plimsoll agent`, and the flags that name agents.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use plimsoll_config::Problem;
use plimsoll_model::agent::{AgentAddress, is_machine_name};

use super::{duration_above_zero, socket_address};

/// An agent on a machine of the service.
#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// Where to listen for those who were invited
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = socket_address, default_value = "0.0.0.0:9192")]
    pub(crate) listen: SocketAddr,
    /// Print a token with which this agent may be read, and exit: it goes to the machine of the load
    #[arg(long)]
    pub(crate) invite: bool,
    /// With --invite, write the token to this file instead. Without it, serve, and make the file first where it is missing
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// How long a new token holds
    #[arg(long, value_name = "TIME", value_parser = duration_above_zero, default_value = "2160h")]
    pub(crate) valid_for: Duration,
    /// Name of this machine in readings and findings [default: its host name]
    #[arg(long, value_name = "NAME", value_parser = machine_name)]
    pub(crate) name: Option<String>,
    /// Serve one reader on standard input and output, as --agent ssh://… starts it
    #[arg(long, hide = true, conflicts_with_all = ["listen", "invite", "token_file"])]
    pub(crate) stdio: bool,
}

/// Agents on other machines.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WatchedAgentsArguments {
    /// Also read the machine on which this agent listens (`plimsoll agent`); <ssh://USER@HOST> sends one there over ssh, and
    /// takes it away at the end; repeatable
    #[arg(long, value_name = "HOST:PORT|ssh://USER@HOST")]
    pub(crate) agent: Vec<AgentAddress>,
    /// File with tokens of agents, one a line [default: the variable `PLIMSOLL_AGENT_TOKEN`]
    #[arg(long, value_name = "FILE")]
    pub(crate) agent_token_file: Vec<PathBuf>,
}

/// A name that may stand in a series.
fn machine_name(text: &str) -> Result<String, Problem> {
    const VALID: &str = "1 to 64 letters, digits, `.`, `_`, `-` and `:`, the first one a letter or a digit, such as db1";
    if is_machine_name(text) {
        Ok(text.to_owned())
    } else {
        Err(Problem::new(
            text,
            0..text.len(),
            "not a name of a machine",
            VALID,
        ))
    }
}
