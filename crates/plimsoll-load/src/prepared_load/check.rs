//! Validates a plan and a load.

use plimsoll_model::journey::Scenario;
use plimsoll_model::plan::{Load, Plan, STREAMS_MAX};
use plimsoll_model::websocket::WebSocketLoad;

use crate::error::LoadError;

/// # Errors
/// When a value is out of its range.
pub(super) fn check(plan: &Plan, load: &Load) -> Result<(), LoadError> {
    require(
        (1..=1024).contains(&plan.cores),
        "cores",
        plan.cores.to_string(),
        "1 to 1024",
    )?;
    let paths = plan.request.paths.len();
    require(
        (1..=1 << 24).contains(&paths),
        "number of paths",
        paths.to_string(),
        "1 to 16,777,216",
    )?;
    let timeout = plan.transport.timeout;
    require(
        !timeout.is_zero(),
        "timeout",
        format!("{timeout:?}"),
        "above 0",
    )?;
    let connect = plan.transport.connect_timeout;
    require(
        !connect.is_zero(),
        "connect timeout",
        format!("{connect:?}"),
        "above 0",
    )?;
    let target = &plan.target;
    require(
        !target.addresses.is_empty() || target.unix_socket.is_some(),
        "number of addresses",
        "0".to_owned(),
        "at least 1 without a unix socket",
    )?;
    let streams = plan.transport.http2.map_or(1, |http2| http2.streams);
    require(
        (1..=STREAMS_MAX).contains(&streams),
        "number of streams",
        streams.to_string(),
        "1 to 100",
    )?;
    let connections = match load {
        Load::Open { .. } | Load::Users { .. } | Load::Sessions { .. } => {
            plan.transport.connections_max
        }
        Load::Closed { connections, .. } => connections.saturating_mul(streams),
        Load::WebSockets(load) => load.connections,
    };
    require(
        (1..=1 << 24).contains(&connections),
        "number of connections times streams",
        connections.to_string(),
        "1 to 16,777,216",
    )?;
    let has_sockets = plan.scenario.as_ref().is_some_and(Scenario::has_sockets);
    require(
        !has_sockets || plan.transport.http2.is_none(),
        "HTTP version",
        "2".to_owned(),
        "1 where steps open WebSockets",
    )?;
    load.websockets().map_or(Ok(()), check_websockets)
}

fn check_websockets(load: &WebSocketLoad) -> Result<(), LoadError> {
    let rate = load.per_second;
    require(
        rate.is_finite() && (1e-3..=1e6).contains(&rate),
        "rate of handshakes",
        rate.to_string(),
        "0.001/s to 1,000,000/s",
    )?;
    let every = load.message.as_ref().and_then(|message| message.every);
    require(
        every.is_none_or(|every| !every.is_zero()),
        "interval of messages",
        "0".to_owned(),
        "above 0",
    )
}

fn require(
    holds: bool,
    place: &'static str,
    found: String,
    range: &'static str,
) -> Result<(), LoadError> {
    if holds {
        Ok(())
    } else {
        Err(LoadError::Plan {
            place,
            found,
            range,
        })
    }
}
