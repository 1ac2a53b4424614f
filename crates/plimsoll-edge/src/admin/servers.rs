//! Commands about servers, as JSON.
//!
//! `{"pool": "app", "add": "http://10.0.0.5:3000", "weight": 2, "max_in_flight": 15, "zone": "west"}`,
//! `{"pool": "app", "remove": "10.0.0.5:3000"}`, `{"pool": "app", "drain": "10.0.0.5:3000"}`,
//! `{"pool": "app", "change": "10.0.0.5:3000", "weight": 2}`, `{"pool": "app", "reset": true}`.

use std::net::SocketAddr;

use plimsoll_config::edge::ServerConfig;
use serde::Deserialize;

use crate::dns;
use crate::upstream_registry::ServerOrder;

/// Valid actions, for error messages.
const VALID: &str = "one of add, remove, drain, change (with weight) and reset";
/// Largest weight.
const WEIGHT_MAX: u32 = 1000;
/// Largest concurrency limit of one server.
const IN_FLIGHT_MAX: u32 = 1_000_000;

/// A command as received.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerOrderBody {
    pool: String,
    add: Option<String>,
    remove: Option<String>,
    drain: Option<String>,
    change: Option<String>,
    reset: Option<bool>,
    weight: Option<u32>,
    max_in_flight: Option<u32>,
    zone: Option<String>,
}

/// Parses a command: the pool, and the change. A server added by name is resolved.
pub(super) fn read(body: &[u8], resolvers: &[SocketAddr]) -> Result<(String, ServerOrder), String> {
    let written: ServerOrderBody = serde_json::from_slice(body)
        .map_err(|error| format!("invalid command: {error}; valid: {VALID}"))?;
    in_range("weight", written.weight, 0..=WEIGHT_MAX)?;
    in_range("max_in_flight", written.max_in_flight, 1..=IN_FLIGHT_MAX)?;
    let (is_adding, is_changing) = (written.add.is_some(), written.change.is_some());
    if written.weight.is_some() && !is_adding && !is_changing {
        return Err("`weight` is only valid with `add` or `change`".to_owned());
    }
    if (written.max_in_flight.is_some() || written.zone.is_some()) && !is_adding {
        return Err("`max_in_flight` and `zone` are only valid with `add`".to_owned());
    }
    let reset = written
        .reset
        .map(|reset| reset.then_some(ServerOrder::Reset));
    let orders = [
        written.remove.map(|name| Some(ServerOrder::Remove(name))),
        written.drain.map(|name| Some(ServerOrder::Weight(name, 0))),
        written.change.map(|name| {
            written
                .weight
                .map(|weight| ServerOrder::Weight(name, weight))
        }),
        reset,
    ];
    let mut orders = orders.into_iter().flatten();
    let order = match (written.add, orders.next(), orders.next()) {
        (Some(url), None, _) => {
            let mut server = server(&url, resolvers)?;
            server.weight = written.weight.unwrap_or(1);
            server.max_in_flight = written.max_in_flight;
            server.zone = written.zone;
            ServerOrder::Add(Box::new(server))
        }
        (None, Some(Some(order)), None) => order,
        (None, Some(None), None) => {
            return Err("`change` requires `weight`; `reset` must be true".to_owned());
        }
        (None, None, _) => return Err(format!("the command has no action; valid: {VALID}")),
        _ => {
            return Err(format!("the command has several actions; valid: {VALID}"));
        }
    };
    Ok((written.pool, order))
}

fn in_range(
    word: &str,
    number: Option<u32>,
    range: std::ops::RangeInclusive<u32>,
) -> Result<(), String> {
    match number {
        Some(number) if !range.contains(&number) => Err(format!(
            "`{word}` {number} is out of range; valid: {} to {}",
            range.start(),
            range.end()
        )),
        _ => Ok(()),
    }
}

fn server(url: &str, resolvers: &[SocketAddr]) -> Result<ServerConfig, String> {
    let mut server =
        ServerConfig::parse(url).map_err(|error| format!("{}; {}", error.message, error.valid))?;
    if server.is_named() {
        server.addresses = dns::resolve_server(&server, resolvers)?;
    }
    Ok(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: Result<ServerOrder, &str>) {
        let read = read(body.as_bytes(), &[]);
        match (read, expected) {
            (Ok((pool, order)), Ok(expected)) => {
                assert_eq!((pool.as_str(), order), ("a", expected));
            }
            (Err(why), Err(expected)) => assert!(why.contains(expected), "{body}: {why}"),
            (read, _) => panic!("{body}: {read:?}"),
        }
    }

    #[test]
    fn orders_are_read() {
        let name = || "x:1".to_owned();
        check(
            r#"{"pool":"a","remove":"x:1"}"#,
            Ok(ServerOrder::Remove(name())),
        );
        check(
            r#"{"pool":"a","drain":"x:1"}"#,
            Ok(ServerOrder::Weight(name(), 0)),
        );
        check(
            r#"{"pool":"a","change":"x:1","weight":7}"#,
            Ok(ServerOrder::Weight(name(), 7)),
        );
        check(r#"{"pool":"a","reset":true}"#, Ok(ServerOrder::Reset));
        let added = ServerConfig {
            weight: 2,
            max_in_flight: Some(15),
            zone: Some("west".to_owned()),
            ..ServerConfig::parse("https://192.0.2.1:3000").unwrap()
        };
        check(
            r#"{"pool":"a","add":"https://192.0.2.1:3000","weight":2,"max_in_flight":15,"zone":"west"}"#,
            Ok(ServerOrder::Add(Box::new(added))),
        );
    }

    #[test]
    fn orders_that_make_no_sense_are_refused() {
        check("[]", Err("invalid command"));
        check(
            r#"{"pool":"a"}"#,
            Err("the command has no action; valid: one of add"),
        );
        check(r#"{"remove":"x:1"}"#, Err("missing field `pool`"));
        check(
            r#"{"pool":"a","remve":"x:1"}"#,
            Err("unknown field `remve`"),
        );
        check(
            r#"{"pool":"a","remove":"x:1","drain":"x:1"}"#,
            Err("several actions"),
        );
        check(
            r#"{"pool":"a","add":"192.0.2.1","drain":"x:1"}"#,
            Err("several actions"),
        );
        check(r#"{"pool":"a","change":"x:1"}"#, Err("requires `weight`"));
        check(
            r#"{"pool":"a","change":"x:1","weight":1001}"#,
            Err("0 to 1000"),
        );
        check(
            r#"{"pool":"a","remove":"x:1","weight":1}"#,
            Err("only valid with"),
        );
        check(
            r#"{"pool":"a","drain":"x:1","zone":"b"}"#,
            Err("only valid with `add`"),
        );
        check(
            r#"{"pool":"a","add":"http://192.0.2.1","max_in_flight":0}"#,
            Err("1 to 1000000"),
        );
        check(
            r#"{"pool":"a","add":"http://192.0.2.1/x"}"#,
            Err("not the URL of a server alone"),
        );
        check(
            r#"{"pool":"a","add":"http://nobody.invalid"}"#,
            Err("cannot resolve the host `nobody.invalid`"),
        );
        check(r#"{"pool":"a","reset":false}"#, Err("`reset` must be true"));
    }
}
