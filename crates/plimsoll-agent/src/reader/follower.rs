//! The thread of an agent: receives its readings, notes when it is silent, and connects anew.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use plimsoll_model::lock::lock;
use plimsoll_peer::ChannelError;

use super::backoff::Backoff;
use super::connection::{BEGIN_MAX, Connection, SILENCE_MAX};
use super::{AgentSpec, AgentState, ReaderState};
use crate::clock::{self, SteadyClock};
use crate::message::{AgentMessage, ReaderMessage, Target};

const SECOND_NS: i64 = 1_000_000_000;

/// Seconds by which a second may be ahead of the own clock; more is a broken agent.
const AHEAD_MAX: u32 = 2;

/// An agent that is followed.
pub(super) struct Follower {
    /// Its place among all agents.
    pub(super) index: usize,
    pub(super) spec: AgentSpec,
    pub(super) target: Target,
    pub(super) clock: SteadyClock,
    pub(super) shared: Arc<ReaderState>,
}

impl Follower {
    /// Follows it until the end, over this connection first.
    pub(super) fn follow(self, connection: Connection) {
        let mut next = Some(connection);
        let mut backoff = Backoff::new();
        loop {
            if let Some(mut connection) = next.take() {
                let (error, has_delivered) = self.receive(&mut connection);
                drop(connection);
                if has_delivered {
                    backoff = Backoff::new();
                }
                self.lose(&error);
            }
            if self.is_stopped_after(backoff.wait()) {
                return;
            }
            next = self.reconnect();
        }
    }

    /// Receives until the connection ends; returns why, and whether readings came.
    fn receive(&self, connection: &mut Connection) -> (ChannelError, bool) {
        let mut has_delivered = false;
        let Err(error) = self.exchange(connection, &mut has_delivered);
        (error, has_delivered)
    }

    /// Begins, and answers until an error.
    fn exchange(
        &self,
        connection: &mut Connection,
        has_delivered: &mut bool,
    ) -> Result<Infallible, ChannelError> {
        let target = Target {
            address: connection.address_there(self.target.address),
            processes: self.target.processes.clone(),
        };
        let channel = connection.channel();
        channel.stream().set_time_out(BEGIN_MAX)?;
        channel.send(&ReaderMessage::Begin(target))?;
        loop {
            match channel.receive::<AgentMessage>()? {
                AgentMessage::Clock => channel.send(&ReaderMessage::Time {
                    run_ns: self.clock.now_ns(),
                    unix_ns: clock::unix_ns(),
                })?,
                AgentMessage::Readings { readings, notes } => {
                    if !*has_delivered {
                        channel.stream().set_time_out(SILENCE_MAX)?;
                        *has_delivered = true;
                        self.note_return(readings.second);
                    }
                    let second = readings.second;
                    self.change(|agent| {
                        for note in &notes {
                            agent.mailbox.note(note);
                        }
                        if second <= self.second().saturating_add(AHEAD_MAX) {
                            agent.mailbox.deliver(readings);
                        }
                    });
                }
                // What another version sends beside.
                AgentMessage::Welcome { .. }
                | AgentMessage::Refused { .. }
                | AgentMessage::Unknown => {}
            }
        }
    }

    /// The second of the run that goes on.
    fn second(&self) -> u32 {
        u32::try_from(self.clock.now_ns().max(0) / SECOND_NS).unwrap_or(u32::MAX)
    }

    fn change(&self, change: impl FnOnce(&mut AgentState)) {
        change(&mut lock(&self.shared.agents)[self.index]);
        self.shared.changed.notify_all();
    }

    fn lose(&self, error: &ChannelError) {
        let second = self.second();
        self.change(|agent| {
            agent.closer = None;
            agent.mailbox.lose();
            if !agent.stopping {
                agent.mailbox.note(&format!(
                    "its agent ({}) is gone since second {second}: {error}; readings are missing until it is back",
                    self.spec.address()
                ));
                agent.is_lost = true;
            }
        });
    }

    fn note_return(&self, second: u32) {
        self.change(|agent| {
            if std::mem::take(&mut agent.is_lost) {
                agent
                    .mailbox
                    .note(&format!("its agent is back since second {second}"));
            }
        });
    }

    /// Whether the end has come, waiting for it as long.
    fn is_stopped_after(&self, wait: Duration) -> bool {
        let agents = lock(&self.shared.agents);
        let waited = self
            .shared
            .changed
            .wait_timeout_while(agents, wait, |agents| !agents[self.index].stopping);
        let (agents, _) = waited.unwrap_or_else(PoisonError::into_inner);
        agents[self.index].stopping
    }

    /// A new connection to the same machine; the reason where there is none is noted.
    fn reconnect(&self) -> Option<Connection> {
        let opened = Connection::open(&self.spec);
        let mut agents = lock(&self.shared.agents);
        let agent = &mut agents[self.index];
        if agent.stopping {
            return None;
        }
        match opened {
            Ok(connection) if connection.name() == agent.mailbox.name() => {
                agent.closer = Some(connection.closer());
                Some(connection)
            }
            Ok(connection) => {
                let text = format!(
                    "its agent came back as {}, and is not read; give it its --name again",
                    connection.name()
                );
                agent.mailbox.note(&text);
                None
            }
            Err(error) => {
                agent.mailbox.note(&format!("not back yet: {error}"));
                None
            }
        }
    }
}
