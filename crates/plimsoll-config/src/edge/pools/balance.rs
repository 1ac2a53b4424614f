//! Balancing policies, and the limit of requests in flight.

use crate::document::Shape::Text;
use crate::document::{DocumentNode, DocumentReader, KeywordTable, NodeKind, word};

/// Balancing policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BalancingPolicy {
    /// The cheaper of two random servers, by peak EWMA latency and requests in flight.
    #[default]
    PeakEwma,
    /// Weighted round robin.
    RoundRobin,
    /// The one with the fewest requests in flight, by weight.
    LeastInFlight,
    /// Consistent hashing of a part of the request.
    Hash(HashKey),
    /// Sticky sessions by a cookie of this name, which the edge sets.
    Cookie(String),
}

/// Hash key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashKey {
    /// The client's address.
    Client,
    /// Path and query.
    Target,
    /// The value of a header.
    Header(String),
}

/// Maximum requests in flight per server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ceiling {
    /// Adapted to the response time, so that the pool meets its objective.
    #[default]
    Adaptive,
    /// A fixed number.
    Fixed(u32),
}

/// Balancing policies without parameters.
pub(crate) const BALANCES: &[&str] = &["peak_ewma", "round_robin", "least_in_flight"];

/// Balancing policies that use a part of the request.
pub(crate) static BALANCE: KeywordTable = KeywordTable {
    name: "balance",
    meaning: "Session affinity: how requests are pinned to a server.",
    words: &[
        word!(
            "hash",
            Text,
            "Hash key: `client`, `target`, or `header NAME`. Equal keys go to the same server."
        ),
        word!(
            "cookie",
            Text,
            "Name of a cookie that the edge sets to pin a client to its server."
        ),
    ],
};

/// Reads `balance:`.
pub(super) fn load_balancer(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
) -> Option<BalancingPolicy> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        let text = reader.word(node, "peak_ewma, round_robin, least_in_flight")?;
        return match text.as_str() {
            "peak_ewma" => Some(BalancingPolicy::PeakEwma),
            "round_robin" => Some(BalancingPolicy::RoundRobin),
            "least_in_flight" => Some(BalancingPolicy::LeastInFlight),
            _ => {
                reader.unknown(&node.span, "balancing policy", &text, BALANCES);
                None
            }
        };
    }
    let fields = reader.fields(node, &BALANCE)?;
    let (key, value) = reader.exactly_one(&fields, &["hash", "cookie"])?;
    if key.text == "cookie" {
        let name = reader.word(value, "a cookie name")?;
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !is_name {
            reader.report(
                value,
                format!("`{name}` is not a cookie name"),
                "letters, digits, - _ .",
            );
        }
        return is_name.then_some(BalancingPolicy::Cookie(name));
    }
    let valid = "client, target, or header NAME";
    let text = reader.word(value, valid)?;
    let key = match text.as_str() {
        "client" => HashKey::Client,
        "target" => HashKey::Target,
        other => match other.strip_prefix("header ") {
            Some(name) if !name.trim().is_empty() => HashKey::Header(name.trim().to_owned()),
            _ => {
                reader.report(value, format!("`{text}` is not a hash key"), valid);
                return None;
            }
        },
    };
    Some(BalancingPolicy::Hash(key))
}
