//! The readers' side: connections to agents, whose readings are added to those of this machine.

mod backoff;
mod connection;
mod follower;
mod mailbox;
mod ssh;

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use plimsoll_model::agent::AgentAddress;
use plimsoll_model::lock::lock;
use plimsoll_model::reading::Readings;
use plimsoll_peer::Token;

use crate::clock::SteadyClock;
use crate::error::AgentError;
use crate::message::{PROCESS_NAME_MAX, PROCESSES_MAX, Target};
use connection::{Closer, Connection};
use follower::Follower;
use mailbox::Mailbox;

/// As many agents are read at once.
pub const AGENTS_MAX: usize = 64;

/// Where an agent is, and what invites to it.
#[derive(Clone)]
pub struct AgentSpec {
    address: AgentAddress,
    tokens: Vec<Token>,
}

impl AgentSpec {
    /// An agent, and tokens of which one is its own; over `ssh` none is needed.
    pub fn new(address: AgentAddress, tokens: Vec<Token>) -> Self {
        Self { address, tokens }
    }

    /// Where it is.
    pub fn address(&self) -> &AgentAddress {
        &self.address
    }
}

/// Without the tokens.
impl fmt::Debug for AgentSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("AgentSpec")
            .field(&self.address.to_string())
            .finish()
    }
}

/// Agents of other machines.
pub struct Agents {
    specs: Vec<AgentSpec>,
    /// Those that are not read yet.
    connections: Vec<Connection>,
    shared: Arc<ReaderState>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads and their owner share.
struct ReaderState {
    agents: Mutex<Vec<AgentState>>,
    /// Something was delivered, or an agent is lost, or the end has come.
    changed: Condvar,
}

/// An agent, as its thread knows it.
struct AgentState {
    mailbox: Mailbox,
    /// Ends its connection; none while there is none.
    closer: Option<Closer>,
    /// It was lost, and has not delivered since.
    is_lost: bool,
    stopping: bool,
}

impl Agents {
    /// Connects to all agents at once, and learns the names of their machines.
    ///
    /// # Errors
    /// When one of them cannot be reached, refuses, or has the name of another.
    pub fn connect(specs: Vec<AgentSpec>) -> Result<Self, AgentError> {
        if specs.len() > AGENTS_MAX {
            return Err(AgentError::TooMany {
                count: specs.len(),
                most: AGENTS_MAX,
            });
        }
        let connections = thread::scope(|scope| {
            let opening: Vec<_> = specs
                .iter()
                .map(|spec| {
                    let named = thread::Builder::new().name("agent".to_owned());
                    named.spawn_scoped(scope, move || Connection::open(spec))
                })
                .collect();
            let opened = opening.into_iter().map(|thread| {
                let ended = thread.map_err(AgentError::Thread)?.join();
                ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            opened.collect::<Result<Vec<_>, _>>()
        })?;
        check_names(&specs, &connections)?;
        let agents = connections.iter().map(|connection| AgentState {
            mailbox: Mailbox::new(connection.name().to_owned()),
            closer: Some(connection.closer()),
            is_lost: false,
            stopping: false,
        });
        Ok(Self {
            shared: Arc::new(ReaderState {
                agents: Mutex::new(agents.collect()),
                changed: Condvar::new(),
            }),
            specs,
            connections,
            threads: Vec::new(),
        })
    }

    /// Names of the machines, in the order of the specs.
    pub fn names(&self) -> Vec<String> {
        let agents = lock(&self.shared.agents);
        let names = agents.iter().map(|agent| agent.mailbox.name().to_owned());
        names.collect()
    }

    /// Name of each machine, and the host under which its agent is reached.
    pub fn hosts(&self) -> Vec<(String, String)> {
        let hosts = self.specs.iter().map(|spec| spec.address.host().to_owned());
        self.names().into_iter().zip(hosts).collect()
    }

    /// Has them read from now on: this target where it is on their machine. Second 0 of the run begins at `epoch`.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn begin(
        &mut self,
        epoch: Instant,
        target: Option<SocketAddr>,
        processes: &[String],
    ) -> Result<(), AgentError> {
        let processes = processes
            .iter()
            .filter(|name| name.len() <= PROCESS_NAME_MAX);
        let target = Target {
            address: target,
            processes: processes.take(PROCESSES_MAX).cloned().collect(),
        };
        let connections = std::mem::take(&mut self.connections);
        for (index, connection) in connections.into_iter().enumerate() {
            let follower = Follower {
                index,
                spec: self.specs[index].clone(),
                target: target.clone(),
                clock: SteadyClock::since(epoch),
                shared: Arc::clone(&self.shared),
            };
            let started = thread::Builder::new()
                .name("agent".to_owned())
                .spawn(move || follower.follow(connection));
            self.threads.push(started.map_err(AgentError::Thread)?);
        }
        Ok(())
    }

    /// Adds the agents' readings of the same second, each under the name of its machine. Waits for those who deliver regularly,
    /// at most for `patience`. Seconds ascend.
    pub fn add_to(&self, readings: &mut Readings, patience: Duration) {
        let second = readings.second;
        let agents = lock(&self.shared.agents);
        let is_waiting = |agents: &mut Vec<AgentState>| {
            let mut agents = agents.iter();
            agents.any(|agent| !agent.stopping && agent.mailbox.expects(second))
        };
        let waited = self
            .shared
            .changed
            .wait_timeout_while(agents, patience, is_waiting);
        let (mut agents, _) = waited.unwrap_or_else(PoisonError::into_inner);
        for agent in agents.iter_mut() {
            agent.mailbox.add_to(readings);
        }
    }

    /// What the agents could not read, and when they were silent.
    pub fn notes(&self) -> Vec<String> {
        let agents = lock(&self.shared.agents);
        agents
            .iter()
            .flat_map(|agent| agent.mailbox.notes())
            .collect()
    }

    /// The notes since the last call.
    pub fn take_notes(&self) -> Vec<String> {
        let mut agents = lock(&self.shared.agents);
        agents
            .iter_mut()
            .flat_map(|agent| agent.mailbox.take_new_notes())
            .collect()
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Agents").field(&self.specs).finish()
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        for agent in lock(&self.shared.agents).iter_mut() {
            agent.stopping = true;
            if let Some(closer) = agent.closer.take() {
                closer.close();
            }
        }
        self.shared.changed.notify_all();
        // A thread that is connecting anew ends by itself, within its time-outs; it holds nothing that others need.
        for thread in self.threads.drain(..).filter(JoinHandle::is_finished) {
            let _ = thread.join();
        }
    }
}

fn check_names(specs: &[AgentSpec], connections: &[Connection]) -> Result<(), AgentError> {
    for (index, connection) in connections.iter().enumerate() {
        let other = connections[..index]
            .iter()
            .position(|other| other.name() == connection.name());
        if let Some(other) = other {
            return Err(AgentError::SameName {
                name: connection.name().to_owned(),
                first: specs[other].address.to_string(),
                second: specs[index].address.to_string(),
            });
        }
    }
    Ok(())
}
