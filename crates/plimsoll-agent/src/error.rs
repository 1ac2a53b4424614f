//! Why an agent cannot be read, or cannot serve.

use std::io;
use std::path::PathBuf;

use plimsoll_model::agent::AgentAddress;
use plimsoll_peer::{ChannelError, PeerError, Refusal, TokenError};
use plimsoll_ssh::SshError;

/// An agent cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Nothing accepts a connection there.
    #[error("cannot reach the agent at {address}: {source}")]
    Unreachable {
        /// Where it should be.
        address: AgentAddress,
        /// The error of the system.
        source: io::Error,
    },
    /// It refuses, or it is refused.
    #[error("the agent at {address}: {source}")]
    Channel {
        /// Where it is.
        address: AgentAddress,
        /// What was wrong.
        source: ChannelError,
    },
    /// It has another version, or is no agent.
    #[error("the agent at {address}: {source}")]
    Version {
        /// Where it is.
        address: AgentAddress,
        /// Which side to update.
        source: Refusal,
    },
    /// It gives a reason for not serving.
    #[error("the agent at {address} refuses: {reason}")]
    Refused {
        /// Where it is.
        address: AgentAddress,
        /// Its words.
        reason: String,
    },
    /// Nothing invites to it.
    #[error("there is no token for the agent at {0}")]
    NoToken(AgentAddress),
    /// A token is none, or has ended.
    #[error("the token of the agent at {address}: {source}")]
    Token {
        /// Whose token.
        address: AgentAddress,
        /// What is wrong with it.
        source: TokenError,
    },
    /// A key cannot be used.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// Readings of two machines would have one name.
    #[error(
        "the agents at {first} and {second} are both named {name}; start one with another --name"
    )]
    SameName {
        /// Their name.
        name: String,
        /// Where one is.
        first: String,
        /// Where the other is.
        second: String,
    },
    /// There are more than are read.
    #[error("{count} agents; valid: at most {most}")]
    TooMany {
        /// As many are named.
        count: usize,
        /// As many are read.
        most: usize,
    },
    /// It cannot be sent or started.
    #[error("cannot start an agent at {address}: {source}")]
    Ssh {
        /// Where it should run.
        address: AgentAddress,
        /// What went wrong; `ssh` itself has printed more.
        source: SshError,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}; raise the limit on processes (ulimit -u)")]
    Thread(io::Error),
}

/// An agent has no identity that it could serve with.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nobody was invited yet.
    #[error("nobody is invited: {} is missing", .0.display())]
    Missing(PathBuf),
    /// The file is readable by others.
    #[error("{} holds a private key and is open to other users (mode {mode:o})", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file cannot be read or written.
    #[error("cannot use {} ({source})", .path.display())]
    Io {
        /// The file or its folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Its content cannot be used.
    #[error("cannot use {} ({source})", .path.display())]
    Identity {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: PeerError,
    },
}
