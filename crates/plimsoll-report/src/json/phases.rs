//! The object of the phases of a request.

use plimsoll_analysis::summary::phases::PhasesSummary;
use schemars::JsonSchema;
use serde::Serialize;

use super::TimesObject;

/// Where the time of a request goes on the network. `first_byte_ms` and `transfer_ms` of an answer are its service time
/// together; connecting and TLS come before it, on new connections alone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Phases")]
pub struct PhasesObject {
    /// Connections established.
    pub connections: u64,
    /// From dialing to the target's acceptance, ms; null without a new connection.
    pub connect_ms: TimesObject,
    /// TLS handshakes completed.
    pub handshakes: u64,
    /// The TLS handshake, ms; null without one.
    pub tls_ms: TimesObject,
    /// Good answers.
    pub answers: u64,
    /// From sending to the first bytes, of good answers, ms.
    pub first_byte_ms: TimesObject,
    /// From the first bytes to the last, of good answers, ms; 0 for one that was read at once.
    pub transfer_ms: TimesObject,
}

impl PhasesObject {
    pub(super) fn of(phases: &PhasesSummary) -> Self {
        Self {
            connections: phases.connections,
            connect_ms: TimesObject::of(phases.connect_us),
            handshakes: phases.handshakes,
            tls_ms: TimesObject::of(phases.tls_us),
            answers: phases.answers,
            first_byte_ms: TimesObject::of(phases.first_byte_us),
            transfer_ms: TimesObject::of(phases.transfer_us),
        }
    }
}
