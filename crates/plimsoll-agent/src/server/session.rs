//! A reader that is served: its clock is measured, and this machine is read whenever a second ends there.

use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_model::agent::is_machine_name;
use plimsoll_model::reading::Readings;
use plimsoll_model::{metric, redact};
use plimsoll_peer::{Channel, ChannelError, Refusal};
use plimsoll_probe::{Probe, series};

use super::SILENCE_MAX;
use super::offset::ReaderClock;
use super::transport::Transport;
use crate::clock::{self, SteadyClock};
use crate::message::{
    AgentMessage, GreetingError, PROCESS_NAME_MAX, PROCESSES_MAX, ReaderMessage, Target,
    greet_reader,
};

/// Messages that nobody waits for, between two readings: a reader that sends more ends its session.
const UNEXPECTED_MAX: u32 = 16;

/// How long a reader may take between its welcome and what it wants: it prepares a run.
const BEGIN_MAX: Duration = Duration::from_mins(1);

/// Notes that are sent in a session; a probe makes far fewer.
const NOTES_MAX: usize = 1_000;

/// What is read once a second.
pub(super) trait Sampler {
    /// The readings of a second that has just ended.
    fn read(&mut self, second: u32) -> Readings;
    /// What could not be read so far.
    fn notes(&self) -> Vec<String>;
}

impl Sampler for Probe {
    fn read(&mut self, second: u32) -> Readings {
        Self::read(self, second)
    }

    fn notes(&self) -> Vec<String> {
        Self::notes(self)
    }
}

/// Why a session has ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error("it has left")]
    Closed,
    #[error(transparent)]
    Channel(ChannelError),
    #[error(transparent)]
    Refusal(Refusal),
    #[error("it sent messages that nobody waits for")]
    Flood,
}

impl From<ChannelError> for SessionError {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::Closed => Self::Closed,
            error => Self::Channel(error),
        }
    }
}

impl From<GreetingError> for SessionError {
    fn from(error: GreetingError) -> Self {
        match error {
            GreetingError::Channel(error) => error.into(),
            GreetingError::Refusal(refusal) => Self::Refusal(refusal),
        }
    }
}

struct Session<T> {
    channel: Channel<T>,
    clock: SteadyClock,
    reader: ReaderClock,
    /// Notes that were sent.
    sent: BTreeSet<String>,
    unexpected: u32,
}

/// Serves a reader until it goes. `open` opens what is read.
pub(super) fn serve<T: Transport, R: Sampler>(
    channel: Channel<T>,
    name: &str,
    open: impl FnOnce(Target) -> R,
) -> Result<(), SessionError> {
    debug_assert!(
        is_machine_name(name),
        "{name} was checked where it was given"
    );
    let mut session = Session {
        channel,
        clock: SteadyClock::start(),
        reader: ReaderClock::default(),
        sent: BTreeSet::new(),
        unexpected: 0,
    };
    greet_reader(&mut session.channel)?;
    session.channel.send(&AgentMessage::Welcome {
        name: name.to_owned(),
    })?;
    let target = session.target()?;
    while !session.reader.is_measured() {
        session.measure()?;
    }
    session.stream(open(target))
}

impl<T: Transport> Session<T> {
    /// What the reader wants to be read. What it names beyond what a target may have is left out.
    fn target(&mut self) -> Result<Target, SessionError> {
        self.set_time_out(BEGIN_MAX)?;
        loop {
            let message = self.channel.receive::<ReaderMessage>()?;
            let ReaderMessage::Begin(mut target) = message else {
                self.count_unexpected()?;
                continue;
            };
            target.processes.truncate(PROCESSES_MAX);
            target
                .processes
                .retain(|name| name.len() <= PROCESS_NAME_MAX);
            return Ok(target);
        }
    }

    /// One round trip.
    fn measure(&mut self) -> Result<(), SessionError> {
        self.set_time_out(SILENCE_MAX)?;
        let sent = self.clock.now_ns();
        self.channel.send(&AgentMessage::Clock)?;
        loop {
            let message = self.channel.receive::<ReaderMessage>()?;
            let received = self.clock.now_ns();
            if let ReaderMessage::Time { run_ns, unix_ns } = message {
                self.reader.add((sent, received), run_ns, unix_ns);
                return Ok(());
            }
            self.count_unexpected()?;
        }
    }

    /// Reads this machine whenever a second ends, until the reader goes.
    fn stream(&mut self, mut sampler: impl Sampler) -> Result<(), SessionError> {
        // Counters have no predecessor yet; the definitions are sent with the first second.
        let mut defined = sampler.read(0).new_series;
        let offset = series::definition(metric::CLOCK_OFFSET);
        defined.extend(offset.map(|offset| (offset.metric.to_owned(), offset.info())));
        let mut second = self.reader.second_at(self.clock.now_ns());
        loop {
            self.wait_until(self.reader.end_of(second))?;
            let mut readings = sampler.read(second);
            readings.new_series.append(&mut defined);
            let now = self.clock.now_ns();
            let offset = self.reader.machine_ahead_s(now, clock::unix_ns());
            readings
                .values
                .insert(metric::CLOCK_OFFSET.to_owned(), offset);
            // JSON has no other numbers.
            readings.values.retain(|_, value| value.is_finite());
            let notes = self.new_notes(&sampler.notes());
            self.channel
                .send(&AgentMessage::Readings { readings, notes })?;
            self.unexpected = 0;
            self.measure()?;
            // Seconds missed while the machine was too busy stay missing.
            second = self
                .reader
                .second_at(self.clock.now_ns())
                .max(second.saturating_add(1));
        }
    }

    /// Waits for a moment of the own clock; notices when the reader goes.
    fn wait_until(&mut self, moment: i64) -> Result<(), SessionError> {
        loop {
            let left = moment.saturating_sub(self.clock.now_ns());
            let Ok(left) = u64::try_from(left) else {
                return Ok(());
            };
            if left == 0 {
                return Ok(());
            }
            let left = Duration::from_nanos(left);
            self.set_time_out(left)?;
            match self.channel.receive::<ReaderMessage>() {
                Err(ChannelError::Silent) => {}
                Ok(_) => self.count_unexpected()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn set_time_out(&mut self, time_out: Duration) -> Result<(), SessionError> {
        let set = self.channel.stream_mut().set_time_out(time_out);
        Ok(set.map_err(ChannelError::from)?)
    }

    fn count_unexpected(&mut self) -> Result<(), SessionError> {
        self.unexpected += 1;
        if self.unexpected > UNEXPECTED_MAX {
            Err(SessionError::Flood)
        } else {
            Ok(())
        }
    }

    /// The notes that were not sent yet. They quote texts of services, drivers and logs.
    fn new_notes(&mut self, notes: &[String]) -> Vec<String> {
        let mut new = Vec::new();
        for note in notes {
            if self.sent.len() < NOTES_MAX && !self.sent.contains(note) {
                self.sent.insert(note.clone());
                new.push(redact::text(note).into_owned());
            }
        }
        new
    }
}
