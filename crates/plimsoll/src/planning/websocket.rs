//! `--ws` and `--sse`: the load of WebSockets or streams of Server-Sent Events.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use plimsoll_model::journey::bounded_json_path;
use plimsoll_model::journey::{Reconnect, Scenario};
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::{Load, LoadUnit, Plan};
use plimsoll_model::websocket::{WebSocketLoad, WebSocketMessage};
use serde_json_path::JsonPath;

use super::load::CONNECTIONS_DEFAULT;
use crate::arguments::RunArguments;
use crate::explain::CliError;

/// Default handshakes per second.
const RATE_DEFAULT: f64 = 1000.0;
/// Default hold time of WebSockets.
const HOLD_DEFAULT: Duration = Duration::from_secs(10);
/// Valid handshakes per second.
const RATES: std::ops::RangeInclusive<f64> = 1e-3..=1e6;
/// Default of `--max-body` for messages, bytes.
const MESSAGE_LEN_MAX_DEFAULT: u64 = 1 << 20;
/// Default of `--max-connections` where users hold WebSockets: descriptors and ports bind first.
pub(super) const CONNECTIONS_MAX_DEFAULT: u32 = 1_000_000;
/// Longest text that is sent, bytes.
const TEXT_LEN_MAX: usize = 1 << 20;
/// The system's range of ephemeral ports, and its usual size.
const PORTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";
const PORTS_DEFAULT: u64 = 28_232;
/// Maximum number of loopback addresses used as sources.
const LOOPBACKS_MAX: u8 = 250;
/// Headers of the handshake that users must not set.
const OWN_HEADERS: [&str; 5] = [
    "upgrade",
    "connection",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-extensions",
];

/// The load of WebSockets, if flags request one.
pub(super) fn of_flags(arguments: &RunArguments) -> Result<Option<Load>, CliError> {
    let flags = &arguments.websocket;
    let is_ws_url = ["ws://", "wss://"]
        .iter()
        .any(|scheme| arguments.transport.url.starts_with(scheme));
    if !flags.ws && !flags.sse {
        return if is_ws_url {
            Err(
                CliError::usage(format!("{} is a WebSocket URL", arguments.transport.url))
                    .remedy("add --ws, or use http:// or https://"),
            )
        } else {
            Ok(None)
        };
    }
    let rate = flags.connect_rate.unwrap_or(RATE_DEFAULT);
    if !RATES.contains(&rate) {
        return Err(
            CliError::usage(format!("--connect-rate {rate}/s is out of range"))
                .remedy("valid: 0.001/s to 1000000/s"),
        );
    }
    let message = match &flags.send {
        None => None,
        Some(text) if text.len() > TEXT_LEN_MAX => {
            return Err(CliError::usage(format!(
                "the text of --send is {} bytes long",
                text.len()
            ))
            .remedy("send at most 1 MiB"));
        }
        Some(text) => Some(WebSocketMessage {
            text: text.clone(),
            every: arguments.every,
        }),
    };
    for (flag, path) in [
        ("--broadcast-stamp", &flags.broadcast_stamp),
        ("--broadcast-seq", &flags.broadcast_seq),
    ] {
        check_path(flag, path.as_deref())?;
    }
    Ok(Some(Load::WebSockets(WebSocketLoad {
        connections: arguments.connections.unwrap_or(CONNECTIONS_DEFAULT),
        per_second: rate,
        hold: flags.hold.unwrap_or(HOLD_DEFAULT),
        message,
        timestamp: flags.broadcast_stamp.clone(),
        sequence: flags.broadcast_seq.clone(),
        compress: flags.ws_compress,
        is_stream: flags.sse,
        reconnect: flags.ws_reconnect.then_some(Reconnect::DEFAULT),
    })))
}

fn check_path(flag: &str, path: Option<&str>) -> Result<(), CliError> {
    let path_error = |path| {
        let bounded = bounded_json_path(path);
        bounded
            .err()
            .or_else(|| JsonPath::parse(path).err().map(|error| error.to_string()))
    };
    let Some(error) = path.and_then(path_error) else {
        return Ok(());
    };
    Err(CliError::usage(format!(
        "{flag} {} is not a JSONPath (RFC 9535): {error}",
        path.unwrap_or_default()
    ))
    .remedy("start at the root, such as $.time or $.data.seq"))
}

/// `--ws` or `--sse` with a plan file.
pub(super) fn needs_url() -> CliError {
    CliError::usage("--ws requires a URL, not a plan file")
        .remedy("give the URL, such as ws://host:port/live")
}

/// Adapts the rest of the plan to WebSockets.
pub(super) fn fit(plan: &mut Plan, arguments: &RunArguments) -> Result<(), CliError> {
    fit_users(plan)?;
    if plan.load.websockets().is_none() {
        return Ok(());
    }
    let is_own = |name: &str| OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own));
    if let Some((name, _)) = plan.request.headers.iter().find(|(name, _)| is_own(name)) {
        return Err(
            CliError::usage(format!("the header `{name}` is set by the handshake"))
                .remedy("remove it; Sec-WebSocket-Protocol, Origin and Cookie are allowed"),
        );
    }
    let ports = std::fs::read_to_string(PORTS).ok();
    let ports = ports.as_deref().and_then(ports_of).unwrap_or(PORTS_DEFAULT);
    let connections = plan.load.websockets().map_or(0, |load| load.connections);
    spread_sources(plan, connections, ports)?;
    let limit = arguments.transport.connection.max_body;
    plan.transport.body_len_max = limit.unwrap_or(MESSAGE_LEN_MAX_DEFAULT);
    Ok(())
}

/// The same for a plan whose steps open WebSockets: one per user, beside the connection of its requests.
pub(super) fn fit_users(plan: &mut Plan) -> Result<(), CliError> {
    let bounds_broadcasts = plan
        .objective
        .as_ref()
        .is_some_and(Objective::has_broadcast_bounds);
    if bounds_broadcasts && !plan.receives_broadcasts() {
        return Err(CliError::usage(
            "the objective bounds broadcasts, and no step opens a WebSocket or polls",
        )
        .remedy("add a step `ws: URL` to the plan or use --ws, or bound requests: p95 < 500ms"));
    }
    if !plan.scenario.as_ref().is_some_and(Scenario::has_sockets) {
        return Ok(());
    }
    let users = most_users(plan);
    if users.is_some_and(|users| users > plan.transport.connections_max) {
        return Err(CliError::usage(format!(
            "{} users hold one WebSocket each, more than the maximum of {} open connections",
            users.unwrap_or_default(),
            plan.transport.connections_max
        ))
        .remedy("raise max_connections (--max-connections), or reduce the users"));
    }
    let ports = std::fs::read_to_string(PORTS).ok();
    let ports = ports.as_deref().and_then(ports_of).unwrap_or(PORTS_DEFAULT);
    spread_sources(plan, users.unwrap_or(0), ports)
}

/// The maximum of concurrent users, if known.
fn most_users(plan: &Plan) -> Option<u32> {
    let most = match (&plan.load, plan.find) {
        (_, Some(find)) if find.unit == LoadUnit::Users => find.to?,
        (Load::Users { phases, .. }, None) => phases
            .iter()
            .fold(0.0_f64, |most, phase| most.max(phase.from).max(phase.to)),
        _ => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of users, bounded where it is read"
    )]
    let most = most.ceil() as u32;
    Some(most)
}

/// Refuses a warm-up that leaves an objective nothing to judge: only handshakes, and messages that are answered, are requests.
pub(super) fn check_warmup(plan: &Plan) -> Result<(), CliError> {
    let objective = plan.objective.as_ref();
    let (Some(load), Some(objective)) = (plan.load.websockets(), objective) else {
        return Ok(());
    };
    let message = load.message.as_ref();
    let is_answered = message.is_some_and(|message| message.every.is_some());
    if is_answered || !objective.has_request_bounds() {
        return Ok(());
    }
    // Whole seconds are judged.
    let judged_s = plan.warmup.as_secs_f64().ceil();
    let last_s = f64::from(load.connections.saturating_sub(1)) / load.per_second;
    if last_s >= judged_s {
        return Ok(());
    }
    let handshakes = match load.connections {
        1 => "the handshake is".to_owned(),
        many => format!("all {many} handshakes are"),
    };
    let message = format!(
        "the objective ({objective}) has nothing to judge: {handshakes} due within the warm-up of {judged_s} s"
    );
    let answered = if load.is_stream {
        ""
    } else {
        "send messages that are answered (--send TEXT --every 1s), "
    };
    Err(CliError::usage(message).remedy(format!(
        "give a shorter --warmup, {answered}or bound broadcasts alone (broadcast p95 < 500ms, reach > 99%)"
    )))
}

/// Number of ports in a range.
fn ports_of(text: &str) -> Option<u64> {
    let mut ends = text.split_whitespace().map(|end| end.parse::<u64>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    (last + 1).checked_sub(first)
}

/// Spreads connections over several source addresses if one has too few ports.
fn spread_sources(plan: &mut Plan, connections: u32, ports: u64) -> Result<(), CliError> {
    let addresses = &plan.target.addresses;
    if plan.target.unix_socket.is_some() || !plan.transport.sources.is_empty() {
        return Ok(());
    }
    // On connect, Linux tries every second port first: once half are taken, it skips thousands for each connection, a
    // millisecond of CPU. Loopback addresses cost nothing, so more of them are used early. Elsewhere a tenth is left:
    // other programs use ports too, and closed connections hold theirs for a while.
    let tenths = if are_here(addresses) { 4 } else { 9 };
    let usable = ports * tenths / 10 * addresses.len() as u64;
    let needed = u64::from(connections).div_ceil(usable.max(1));
    if needed <= 1 {
        return Ok(());
    }
    let own = sources_of(addresses);
    let is_enough = usize::try_from(needed).is_ok_and(|needed| needed <= own.len());
    if is_enough {
        let sources = own.into_iter().zip(0..needed).map(|(source, _)| source);
        plan.transport.sources = sources.collect();
        return Ok(());
    }
    Err(CliError::usage(format!(
        "{connections} connections need the ports of {needed} local addresses: one has {ports}, and {} of this machine \
         reach the target",
        own.len()
    ))
    .remedy(
        "add addresses to the interface (ip address add), give others with --source, or widen \
         net.ipv4.ip_local_port_range with sysctl",
    ))
}

/// Whether a target is on loopback, where each address of 127.0.0.0/8 is local.
fn are_here(addresses: &[SocketAddr]) -> bool {
    let is_here = |address: &SocketAddr| address.ip().is_loopback() && address.is_ipv4();
    addresses.iter().all(is_here)
}

/// Local addresses from which all addresses of the target can be reached, the system's choice first.
fn sources_of(addresses: &[SocketAddr]) -> Vec<IpAddr> {
    if are_here(addresses) {
        let hosts = (1..=LOOPBACKS_MAX).map(|host| Ipv4Addr::new(127, 0, 0, host).into());
        return hosts.collect();
    }
    let mut each = addresses
        .iter()
        .map(|&address| plimsoll_load::sources_toward(address));
    let first = each.next().unwrap_or_default();
    each.fold(first, |found, next| {
        found
            .into_iter()
            .filter(|source| next.contains(source))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Cli, Command};
    use clap::Parser as _;

    fn try_planned(url: &str, more: &[&str]) -> Result<Plan, CliError> {
        let words = [&["plimsoll", "run", url, "--ws"][..], more].concat();
        let Command::Run(arguments) = Cli::try_parse_from(words).unwrap().command else {
            panic!("another command");
        };
        Ok(super::super::run_plan(&arguments)?.plan)
    }

    fn planned(url: &str, connections: &str) -> Plan {
        try_planned(url, &["--connections", connections]).unwrap()
    }

    #[test]
    fn a_warmup_leaves_an_objective_something_to_judge() {
        let try_with = |more: &[&str]| {
            let flags = ["--connections", "20", "--connect-rate", "10/s"];
            let all = [&flags[..], more].concat();
            try_planned("ws://127.0.0.1:9/live", &all)
        };
        let bound = ["--objective", "p95 < 500ms"];
        for (warmup, is_valid) in [("0s", true), ("1s", true), ("1100ms", false), ("2s", false)] {
            let result = try_with(&[&bound[..], &["--warmup", warmup]].concat());
            assert_eq!(result.is_ok(), is_valid, "{warmup}: {result:?}");
        }
        let late = ["--warmup", "5s"];
        let error = try_with(&[&bound[..], &late].concat()).unwrap_err();
        let text = error.to_string();
        for part in [
            "the objective (p95 < 500ms) has nothing to judge",
            "all 20 handshakes are due within the warm-up of 5 s",
            "--every",
            "broadcast p95",
        ] {
            assert!(text.contains(part), "{text}");
        }
        for more in [
            &[][..],
            &["--objective", "reach > 99%"],
            &["--objective", "p95 < 500ms", "--send", "a", "--every", "1s"],
        ] {
            let result = try_with(&[more, &late].concat());
            assert!(result.is_ok(), "{more:?}: {result:?}");
        }
        let once = [&bound[..], &late, &["--send", "a"]].concat();
        assert!(try_with(&once).is_err(), "nobody waits for an answer");
    }

    #[test]
    fn ports_are_counted() {
        assert_eq!(ports_of("32768\t60999\n"), Some(28_232));
        for wrong in ["", "5", "a b", "9 5"] {
            assert_eq!(ports_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn many_connections_come_from_several_addresses() {
        let mut plan = planned("ws://127.0.0.1:9/live", "40000");
        plan.transport.sources.clear();
        spread_sources(&mut plan, 11_000, 28_232).unwrap();
        assert!(plan.transport.sources.is_empty());
        spread_sources(&mut plan, 19_500, 28_232).unwrap();
        let sources: Vec<String> = plan
            .transport
            .sources
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(sources, ["127.0.0.1", "127.0.0.2"]);
        plan.transport.sources.clear();
        plan.target.addresses = vec!["10.0.0.1:80".parse().unwrap()];
        let error = spread_sources(&mut plan, 40_000, 2)
            .unwrap_err()
            .to_string();
        assert!(error.contains("--source"), "{error}");
        assert!(error.contains("ip address add"), "{error}");
    }
}
