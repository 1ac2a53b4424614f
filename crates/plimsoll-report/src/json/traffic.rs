//! The objects of bytes and compression.

use plimsoll_analysis::summary::traffic::TrafficSummary;
use schemars::JsonSchema;
use serde::Serialize;

/// Bytes over the judged seconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Traffic")]
pub struct TrafficObject {
    /// Bytes received, heads included, TLS left out.
    pub bytes_in: u64,
    /// Bytes sent, heads included, TLS left out.
    pub bytes_out: u64,
    /// Response bodies by content coding; empty in reports of older run files.
    pub bodies: Vec<BodiesObject>,
}

/// Response bodies of one content coding.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Bodies")]
pub struct BodiesObject {
    /// `gzip`, `br`, or `other` for bodies without a coding or in another one.
    pub coding: String,
    /// Responses, redirects included.
    pub answers: u64,
    /// Bytes as transferred: without heads and chunk sizes, in their coding.
    pub bytes: u64,
    /// Of these, bytes of bodies that were decoded, which happens where a journey reads them.
    pub decoded_from: u64,
    /// The same bodies decoded, bytes.
    pub decoded: u64,
    /// `decoded` over `decoded_from`; null where no body was decoded.
    pub ratio: Option<f64>,
}

impl TrafficObject {
    pub(super) fn of(traffic: &TrafficSummary) -> Self {
        let bodies = traffic.bodies.by_coding().into_iter();
        let bodies = bodies.map(|(coding, bodies)| BodiesObject {
            coding: coding.to_owned(),
            answers: bodies.answers,
            bytes: bodies.bytes,
            decoded_from: bodies.decoded_from,
            decoded: bodies.decoded,
            ratio: bodies.ratio(),
        });
        Self {
            bytes_in: traffic.bytes_in,
            bytes_out: traffic.bytes_out,
            bodies: bodies.collect(),
        }
    }
}
