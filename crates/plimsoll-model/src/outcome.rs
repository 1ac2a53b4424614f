//! The outcome of a request. A failed request is data, not an error of the instrument.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How one request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Outcome {
    /// A complete answer whose status counts as good.
    Ok,
    /// A complete answer whose status does not count as good.
    WrongStatus,
    /// Sent, and not answered completely within the time-out.
    Timeout,
    /// The target refused the connection.
    ConnectRefused,
    /// No connection within the time-out.
    ConnectTimeout,
    /// The target's name could not be resolved.
    Dns,
    /// The connection was reset, or closed before any byte of the answer.
    Reset,
    /// The TLS handshake or a TLS record failed.
    Tls,
    /// The answer was not valid HTTP.
    Protocol,
    /// The head of the answer was longer than the plan's `max_head`.
    HeadTooLong,
    /// The answer had more headers than the plan's `max_headers`.
    TooManyHeaders,
    /// The connection ended inside the body.
    BodyCut,
    /// Due and never sent.
    Dropped,
    /// Answered, and not what the plan expects.
    Expectation,
}

impl Outcome {
    /// Every outcome, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::Ok,
        Self::WrongStatus,
        Self::Timeout,
        Self::ConnectRefused,
        Self::ConnectTimeout,
        Self::Dns,
        Self::Reset,
        Self::Tls,
        Self::Protocol,
        Self::HeadTooLong,
        Self::TooManyHeaders,
        Self::BodyCut,
        Self::Dropped,
        Self::Expectation,
    ];

    /// The name in JSON, CSV and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::WrongStatus => "wrong_status",
            Self::Timeout => "timeout",
            Self::ConnectRefused => "connect_refused",
            Self::ConnectTimeout => "connect_timeout",
            Self::Dns => "dns",
            Self::Reset => "reset",
            Self::Tls => "tls",
            Self::Protocol => "protocol",
            Self::HeadTooLong => "head_too_long",
            Self::TooManyHeaders => "too_many_headers",
            Self::BodyCut => "body_cut",
            Self::Dropped => "dropped",
            Self::Expectation => "expectation",
        }
    }

    /// Whether the answer was good.
    pub const fn is_ok(self) -> bool {
        matches!(self, Self::Ok)
    }

    /// Whether the target sent no response at all: neither good, nor wrong, nor truncated.
    pub const fn is_unreached(self) -> bool {
        matches!(
            self,
            Self::ConnectRefused | Self::ConnectTimeout | Self::Dns
        )
    }
}

/// Requests by outcome. Cheap enough for the hot path: one array, indexed by the outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts([u64; Outcome::ALL.len()]);

impl OutcomeCounts {
    /// Counts one more request.
    pub fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    /// Counts `count` more requests.
    pub fn add_many(&mut self, outcome: Outcome, count: u64) {
        self.0[outcome as usize] += count;
    }

    /// Requests that ended as `outcome`.
    pub fn get(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    /// All requests.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// All requests that did not end well.
    pub fn failed(&self) -> u64 {
        self.total() - self.get(Outcome::Ok)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// Outcome and count, zeros included, in the order of [`Outcome::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, u64)> {
        Outcome::ALL.into_iter().zip(self.0)
    }
}

impl Serialize for OutcomeCounts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().filter(|pair| pair.1 > 0))
    }
}

impl<'de> Deserialize<'de> for OutcomeCounts {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = BTreeMap::<Outcome, u64>::deserialize(deserializer)?;
        let mut counts = Self::default();
        for (outcome, count) in stored {
            counts.add_many(outcome, count);
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_all_is_the_index() {
        for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, index);
        }
    }

    #[test]
    fn counts_survive_json() {
        let mut counts = OutcomeCounts::default();
        counts.add(Outcome::Ok);
        counts.add_many(Outcome::BodyCut, 4);
        let text = serde_json::to_string(&counts).unwrap();
        assert_eq!(text, r#"{"ok":1,"body_cut":4}"#);
        assert_eq!(
            serde_json::from_str::<OutcomeCounts>(&text).unwrap(),
            counts
        );
    }
}
