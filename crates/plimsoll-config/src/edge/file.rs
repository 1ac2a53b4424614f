//! The configuration file of an edge: read with all its faults at once, each with line, column and remedy.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::words::{ADMIN, CERTIFICATE, EDGE, LIMITS, LISTENER, LOG};
use super::{
    AccessLog, Action, Admin, Certificate, Edge, Limits, Listener, LogFormat, Network, Pool, Route,
    Server, pools, routes,
};
use crate::plan::Surroundings;
use crate::plan::desk::{Desk, Fields};
use crate::plan::fault::Faults;
use crate::plan::source::Source;
use crate::plan::tree::{self, Kind, Node};
use crate::units;

/// Longest configuration file, bytes.
pub const EDGE_LEN_MAX: u64 = 4 << 20;

/// Looks up the server that a URL names: what it is, or what is wrong with it.
pub(crate) type Resolve<'a> = dyn Fn(&str) -> Result<Server, String> + 'a;

/// Reads a configuration. `resolve` looks servers up.
///
/// # Errors
/// All faults of the file together.
pub fn read(
    text: &str,
    surroundings: &dyn Surroundings,
    resolve: &Resolve<'_>,
) -> Result<Edge, Faults> {
    let source = Source::new(text);
    let desk = Desk::new(&source, surroundings);
    let (root, tree_faults) = tree::read(&source);
    for fault in tree_faults {
        desk.note(fault.span.start, fault.fault, fault.valid, None);
    }
    let edge = match &root {
        Some(root) if !root.is_null() => edge(&desk, root, resolve),
        // A tree that was refused has its fault noted.
        None if desk.has_faults() => None,
        _ => {
            desk.note(
                0,
                "this configuration is empty",
                "listen, pools, routes",
                None,
            );
            None
        }
    };
    let faults = desk.into_faults();
    match edge {
        Some(edge) if faults.is_empty() => Ok(edge),
        _ => Err(Faults::new(faults)),
    }
}

fn edge(desk: &Desk<'_>, root: &Node, resolve: &Resolve<'_>) -> Option<Edge> {
    let fields = desk.fields(root, &EDGE)?;
    let listen = listeners(desk, &fields);
    let pools = match fields.get("pools") {
        Some(node) => pools::pools(desk, node, resolve),
        None => Vec::new(),
    };
    if pools.is_empty() && !fields.misspells(&["pools"]) {
        desk.fault(
            root,
            "there is no pool",
            "pools: { app: { servers: [http://127.0.0.1:3000] } }",
        );
    }
    let routes = match fields.get("routes") {
        Some(node) => routes::routes(desk, node, &pools),
        None => only_pool(desk, &fields, &pools),
    };
    let duration = |word: &str| {
        fields
            .get(word)
            .and_then(|node| desk.duration_above_zero(node))
    };
    let defaults = Edge::one_pool(
        SocketAddr::from(([127, 0, 0, 1], 8080)),
        Pool::new("", Vec::new()),
    );
    Some(Edge {
        listen,
        pools,
        routes,
        admin: fields.get("admin").and_then(|node| admin(desk, node)),
        access_log: fields
            .get("access_log")
            .and_then(|node| access_log(desk, node)),
        cores: fields
            .get("cores")
            .and_then(|node| desk.count32(node, 1..=1024)),
        trusted: fields
            .get("trusted")
            .map_or_else(Vec::new, |node| networks(desk, node)),
        limits: fields
            .get("limits")
            .map_or(defaults.limits, |node| limits(desk, node)),
        user: fields
            .get("user")
            .and_then(|node| desk.word(node, "the name of a user")),
        drain: duration("drain").unwrap_or(defaults.drain),
    })
}

/// Without routes everything goes to the only pool.
fn only_pool(desk: &Desk<'_>, fields: &Fields<'_>, pools: &[Pool]) -> Vec<Route> {
    if pools.len() > 1 && !fields.misspells(&["routes"]) {
        let valid = "routes: [{ match: { path: /api/* }, pool: api }, …]";
        desk.fault(fields.node, "there are several pools and no routes", valid);
    }
    vec![Route {
        action: Action::Pool(0),
        ..Route::everything(0)
    }]
}

fn listeners(desk: &Desk<'_>, fields: &Fields<'_>) -> Vec<Listener> {
    let Some(node) = fields.get("listen") else {
        return vec![Listener {
            address: SocketAddr::from(([127, 0, 0, 1], 8080)),
            tls: Vec::new(),
            proxy_protocol: false,
        }];
    };
    let mut listeners: Vec<Listener> = Vec::new();
    for item in desk.one_or_more(node) {
        let Some(listener) = listener(desk, item) else {
            continue;
        };
        if listeners.iter().any(|one| one.address == listener.address) {
            let fault = format!("the address {} is listened on twice", listener.address);
            desk.fault(item, fault, "each address once");
        }
        listeners.push(listener);
    }
    listeners
}

fn listener(desk: &Desk<'_>, node: &Node) -> Option<Listener> {
    if matches!(node.kind, Kind::Scalar { .. }) {
        return Some(Listener {
            address: address(desk, node)?,
            tls: Vec::new(),
            proxy_protocol: false,
        });
    }
    let fields = desk.fields(node, &LISTENER)?;
    let tls = match fields.get("tls") {
        Some(node) => desk.list(node, "certificates").iter(),
        None => [].iter(),
    };
    let tls = tls.filter_map(|node| certificate(desk, node)).collect();
    let proxy_protocol = fields
        .get("proxy_protocol")
        .and_then(|node| desk.switch(node));
    Some(Listener {
        address: required(desk, &fields, "address").and_then(|node| address(desk, node))?,
        tls,
        proxy_protocol: proxy_protocol == Some(true),
    })
}

fn certificate(desk: &Desk<'_>, node: &Node) -> Option<Certificate> {
    let fields = desk.fields(node, &CERTIFICATE)?;
    let file =
        |word: &str| required(desk, &fields, word).and_then(|node| desk.word(node, "a PEM file"));
    let (cert, key) = (file("cert"), file("key"));
    Some(Certificate {
        cert: PathBuf::from(cert?),
        key: PathBuf::from(key?),
    })
}

/// A word that must be there.
pub(super) fn required<'n>(desk: &Desk<'_>, fields: &Fields<'n>, word: &str) -> Option<&'n Node> {
    let found = fields.get(word);
    if found.is_none() && !fields.misspells(&[word]) {
        desk.fault(
            fields.node,
            format!("`{word}` is missing"),
            format!("`{word}: …`"),
        );
    }
    found
}

fn address(desk: &Desk<'_>, node: &Node) -> Option<SocketAddr> {
    let valid = "an address with its port, such as 0.0.0.0:8080 or [::]:443";
    let text = desk.word(node, valid)?;
    let address = text.parse().ok();
    if address.is_none() {
        desk.fault(
            node,
            format!("`{text}` is not an address with a port"),
            valid,
        );
    }
    address
}

fn networks(desk: &Desk<'_>, node: &Node) -> Vec<Network> {
    let valid = "an address or a range, such as 10.0.0.0/8";
    let read = |item| {
        let text = desk.word(item, valid)?;
        let network = Network::parse(&text);
        if network.is_none() {
            desk.fault(item, format!("`{text}` is not a range of addresses"), valid);
        }
        network
    };
    desk.one_or_more(node).iter().filter_map(read).collect()
}

fn admin(desk: &Desk<'_>, node: &Node) -> Option<Admin> {
    let new = |address| Admin {
        address,
        must_bind: true,
        token: None,
    };
    if matches!(node.kind, Kind::Scalar { .. }) {
        return address(desk, node).map(new);
    }
    let fields = desk.fields(node, &ADMIN)?;
    let token = fields.get("token").and_then(|node| {
        let valid = "at least 8 visible ASCII characters";
        let token = desk.word(node, valid)?;
        let is_token = token.len() >= 8 && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_token {
            desk.fault(node, "this is not a token", valid);
        }
        is_token.then_some(token)
    });
    let address = required(desk, &fields, "address").and_then(|node| address(desk, node))?;
    Some(Admin {
        token,
        ..new(address)
    })
}

fn access_log(desk: &Desk<'_>, node: &Node) -> Option<AccessLog> {
    const VALID: &str = "a file, `-` or `off`";
    let path = |text: String| (text != "-").then(|| PathBuf::from(text));
    if matches!(node.kind, Kind::Scalar { .. }) {
        let text = desk.word(node, VALID)?;
        return (text != "off").then(|| AccessLog {
            path: path(text),
            format: LogFormat::Json,
        });
    }
    let fields = desk.fields(node, &LOG)?;
    let file = required(desk, &fields, "file").and_then(|node| desk.word(node, VALID));
    let formats = [("json", LogFormat::Json), ("combined", LogFormat::Combined)];
    let format = fields
        .get("format")
        .and_then(|node| desk.one_of(node, &formats));
    Some(AccessLog {
        path: path(file?),
        format: format.unwrap_or_default(),
    })
}

fn limits(desk: &Desk<'_>, node: &Node) -> Limits {
    let defaults = Limits::default();
    let Some(fields) = desk.fields(node, &LIMITS) else {
        return defaults;
    };
    let count = |word: &str, least| {
        let node = fields.get(word)?;
        desk.count32(node, least..=10_000_000)
    };
    let size = |word: &str, least: u64, most: u64| {
        let node = fields.get(word)?;
        let size = desk.value(node, "a size such as 64MiB", units::size)?;
        if (least..=most).contains(&size) {
            return Some(size);
        }
        let valid = format!("{least} to {most} bytes");
        desk.fault(node, format!("{size} bytes are out of range"), valid);
        None
    };
    let time = |word: &str| {
        fields
            .get(word)
            .and_then(|node| desk.duration_above_zero(node))
    };
    let head = size("head", 1024, 1 << 20).and_then(|len| u32::try_from(len).ok());
    Limits {
        connections_max: count("connections", 1).unwrap_or(defaults.connections_max),
        per_address_max: count("per_address", 0).unwrap_or(defaults.per_address_max),
        head_len_max: head.unwrap_or(defaults.head_len_max),
        body_len_max: size("body", 0, u64::MAX).unwrap_or(defaults.body_len_max),
        head_timeout: time("head_timeout").unwrap_or(defaults.head_timeout),
        body_timeout: time("body_timeout").unwrap_or(defaults.body_timeout),
        idle_timeout: time("idle_timeout").unwrap_or(defaults.idle_timeout),
        write_timeout: time("write_timeout").unwrap_or(defaults.write_timeout),
    }
}

#[cfg(test)]
mod tests;
