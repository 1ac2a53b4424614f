//! Time-outs of proxies and servers, as their configurations write them.

use std::collections::BTreeMap;

use crate::parse::socket::socket_path;

/// Hops of one server that are followed at most.
pub(crate) const HOPS_MAX: usize = 256;
/// Servers, or sections, of one configuration at most.
pub(crate) const SERVERS_MAX: usize = 512;

/// A time-out and where it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    /// Its name in the configuration.
    pub(crate) word: &'static str,
    /// Its length, s.
    pub(crate) seconds: f64,
    /// `file:line`; empty for the program's default.
    pub(crate) place: String,
}

/// When a server gives a request up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Ends {
    /// It is not known.
    #[default]
    Unknown,
    /// No limit: this setting would set one, in this file.
    Never(&'static str, String),
    /// After this.
    After(Limit),
}

/// Where requests are handed on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hop {
    /// The address, as written.
    pub(crate) to: String,
    /// Time-out of a response.
    pub(crate) waits: Limit,
    /// Time-out of a connection attempt.
    pub(crate) connects: Option<Limit>,
    /// How long an idle connection is kept alive.
    pub(crate) keeps: Option<Limit>,
}

/// A server that accepts requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ServerTimeouts {
    /// The program.
    pub(crate) program: &'static str,
    /// Its name in the configuration; empty where it has none.
    pub(crate) name: String,
    /// Addresses where it listens, as written.
    pub(crate) listens: Vec<String>,
    /// When it gives a request up.
    pub(crate) ends: Ends,
    /// How long it keeps an idle connection of a client or proxy.
    pub(crate) keeps: Option<Limit>,
    /// How long it waits for its client: `HAProxy`.
    pub(crate) client: Option<Limit>,
    /// Time-out of a request's headers: `HAProxy`.
    pub(crate) request: Option<Limit>,
    /// Its upstreams.
    pub(crate) hops: Vec<Hop>,
}

/// The time-outs of a block or a section, by name.
pub(crate) type TimeoutLimits = BTreeMap<&'static str, Limit>;

/// Seconds of a time with units (`1m30s`); a number without one is in `unit` seconds. `None` when it is not a time.
pub(crate) fn seconds(text: &str, unit: f64) -> Option<f64> {
    let (mut sum, mut rest) = (0.0, text.trim());
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|sign: char| !sign.is_ascii_digit());
        let (digits, after) = rest.split_at(end.unwrap_or(rest.len()));
        let number: f64 = digits.parse().ok()?;
        let end = after.find(|sign: char| sign.is_ascii_digit());
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        sum += number
            * match name.trim() {
                "" => unit,
                "us" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = after;
    }
    Some(sum)
}

/// Whether the address `to` may be that of the listener `listen`, both as written.
pub(crate) fn is_at(to: &str, listen: &str) -> bool {
    let path = |text: &str| {
        let text = text.strip_prefix("unix:").unwrap_or(text);
        let text = text.strip_prefix("unix@").unwrap_or(text);
        text.starts_with('/').then(|| socket_path(text))
    };
    match (path(to), path(listen)) {
        (Some(to), Some(listen)) => return to == listen,
        (None, None) => {}
        _ => return false,
    }
    let both = |text: &str| -> Option<(String, u16)> {
        let text = text.trim_start_matches("ipv4@").trim_start_matches("ipv6@");
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            _ => match text.parse() {
                Ok(port) => ("*", port),
                Err(_) => (text, 80),
            },
        };
        let host = match host.trim_matches(['[', ']']) {
            "" | "*" | "0.0.0.0" | "::" => "*",
            "localhost" | "::1" => "127.0.0.1",
            host => host,
        };
        Some((host.to_owned(), port))
    };
    let (Some(to), Some(listen)) = (both(to), both(listen)) else {
        return false;
    };
    to.1 == listen.1 && (to.0 == listen.0 || listen.0 == "*" && to.0.starts_with("127."))
}

#[cfg(test)]
mod tests;
