//! Why a load of several hosts does not begin, or a worker ends.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use plimsoll_model::region_loops::RegionLoopsError;
use plimsoll_peer::{ChannelError, PeerError, Refusal, TokenError};
use plimsoll_ssh::SshError;
use thiserror::Error;

/// Why a load of several hosts does not begin, or a worker ends.
#[derive(Debug, Error)]
pub enum WorkersError {
    /// The coordinator cannot listen.
    #[error(
        "cannot listen on {address} for workers: {source}; choose a free address of this machine"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The token of a worker is none.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Keys cannot be made or used.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}; raise the limit on processes (ulimit -u)")]
    Thread(io::Error),
    /// This program cannot be sent to hosts.
    #[error(transparent)]
    Program(SshError),
    /// The plan cannot be carried by several hosts.
    #[error("workers cannot carry this plan: {0}")]
    Plan(String),
    /// The plan and its files are too long.
    #[error(
        "the plan and its files have {len} bytes as text, at most {max} are sent to workers; use smaller files"
    )]
    TaskLength {
        /// Bytes.
        len: usize,
        /// Most bytes.
        max: usize,
    },
    /// The file with certificate authorities cannot be read, to be sent.
    #[error("cannot read the CA file {}: {source}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Too few workers were ready in time, or can be.
    #[error(
        "{joined} of {wanted} workers were ready after {waited}{who}; start the missing ones, ask for fewer (--workers), wait \
         longer (--join-within), or let those carry the load that are there (--allow-fewer)"
    )]
    Missing {
        /// Workers that were ready.
        joined: u32,
        /// Workers that were asked for.
        wanted: u32,
        /// How long it was waited.
        waited: String,
        /// `; missing: eu1 (…)`, or nothing where they have no names yet.
        who: String,
    },
    /// The workers that are there cannot carry the parts of their regions.
    #[error(transparent)]
    Regions(#[from] RegionLoopsError),
    /// A worker cannot carry its part.
    #[error("worker {name} cannot carry its part: {reason}")]
    Failed {
        /// Its name.
        name: String,
        /// Why, and what helps.
        reason: String,
    },
    /// A worker left after all had joined, and before the load began.
    #[error("a worker left before the load began; start it and this run again")]
    Left,
    /// The load before is not over, or was the last.
    #[error("the workers carry another load, or have ended; one load follows the other")]
    Busy,
    /// The worker cannot reach the coordinator.
    #[error(
        "cannot connect to the coordinator at {address}: {source}; start `plimsoll run … --on listen:PORT` there first, or `limit`, and let \
         firewalls pass its port"
    )]
    Connect {
        /// The address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The connection to the coordinator cannot be used.
    #[error("cannot join the coordinator: {0}")]
    Channel(#[from] ChannelError),
    /// Coordinator and worker do not speak with each other.
    #[error(transparent)]
    Version(#[from] Refusal),
    /// The coordinator refused the worker.
    #[error("the coordinator refused this worker: {0}")]
    Refused(String),
    /// The worker cannot carry its part.
    #[error("cannot carry the part: {0}")]
    Part(String),
    /// The coordinator was silent for too long.
    #[error("the coordinator was silent for {0:.1} s; the load was stopped here")]
    Silent(f64),
}
