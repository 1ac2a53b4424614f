//! What an agent and its reader send each other, and who speaks when.
//!
//! ```text
//! agent                                reader
//! Hello                       ───►
//!                             ◄───     Hello
//! Welcome, or Refused         ───►
//!                             ◄───     Begin
//! Clock                       ───►                sixteen times, then once a second
//!                             ◄───     Time
//! Readings                    ───►                once a second
//! ```
//!
//! Each side ignores messages that it does not know: versions one apart speak with each other.

use std::io::{Read, Write};
use std::net::SocketAddr;

use plimsoll_model::reading::Readings;
use plimsoll_peer::{Channel, ChannelError, Hello, Refusal, Role};
use serde::{Deserialize, Serialize};

/// Longest message, bytes: the readings of some thousand series.
pub(crate) const MESSAGE_MAX: usize = 2 << 20;

/// Names of processes at most, and their longest, as the kernel cuts them.
pub(crate) const PROCESSES_MAX: usize = 64;
pub(crate) const PROCESS_NAME_MAX: usize = 15;

/// From an agent.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum AgentMessage {
    /// It serves.
    Welcome {
        /// How its machine is named.
        name: String,
    },
    /// It does not serve.
    Refused {
        /// For the user.
        reason: String,
    },
    /// What time is it? Answered at once.
    Clock,
    /// A second has ended.
    Readings {
        /// What was read.
        readings: Readings,
        /// What could not be read, as far as it was not sent before.
        #[serde(default)]
        notes: Vec<String>,
    },
    /// Of a later version.
    #[serde(other)]
    Unknown,
}

/// From a reader.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ReaderMessage {
    /// Read this.
    Begin(Target),
    /// Its clocks, in nanoseconds.
    Time {
        /// Since the start of the run, by a clock that is not set.
        run_ns: i64,
        /// Since 1970.
        unix_ns: i64,
    },
    /// Of a later version.
    #[serde(other)]
    Unknown,
}

/// What is looked for on the machine. The whole machine is read where it is not there.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Target {
    /// Where the service listens.
    pub(crate) address: Option<SocketAddr>,
    /// Names of its processes.
    #[serde(default)]
    pub(crate) processes: Vec<String>,
}

/// The first messages failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GreetingError {
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error(transparent)]
    Refusal(#[from] Refusal),
}

/// The agent's side of the first messages.
pub(crate) fn greet_reader<S: Read + Write>(channel: &mut Channel<S>) -> Result<(), GreetingError> {
    let own = Hello::of_this_build(Role::Agent);
    channel.send(&own)?;
    let other: Hello = channel.receive()?;
    Ok(own.judge(&other)?)
}

/// The reader's side.
pub(crate) fn greet_agent<S: Read + Write>(channel: &mut Channel<S>) -> Result<(), GreetingError> {
    let own = Hello::of_this_build(Role::Reader);
    let other: Hello = channel.receive()?;
    // Sent whatever it is: so the other side can name the same reason.
    channel.send(&own)?;
    Ok(own.judge(&other)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_later_versions_are_ignored() {
        let later = r#"{"kind":"flame_graph","of":[1,2]}"#;
        let message: AgentMessage = serde_json::from_str(later).unwrap();
        assert!(matches!(message, AgentMessage::Unknown));
        let message: ReaderMessage = serde_json::from_str(later).unwrap();
        assert!(matches!(message, ReaderMessage::Unknown));
    }

    #[test]
    fn readings_arrive_as_they_were_sent() {
        let mut readings = Readings {
            second: 7,
            ..Readings::default()
        };
        readings.values.insert("a{b=c}".to_owned(), 0.25);
        let sent = AgentMessage::Readings {
            readings: readings.clone(),
            notes: vec!["n".to_owned()],
        };
        let text = serde_json::to_string(&sent).unwrap();
        let AgentMessage::Readings {
            readings: received,
            notes,
        } = serde_json::from_str(&text).unwrap()
        else {
            panic!("{text}");
        };
        assert_eq!((received, notes.len()), (readings, 1));
    }
}
