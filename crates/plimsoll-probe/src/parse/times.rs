//! Time-outs of proxies and servers, from their configurations.

use std::collections::BTreeMap;

use super::nginx_tree::{Directive, TextOf, read};
use super::{gunicorn, php_fpm};

/// Hops of one server that are followed at most.
const HOPS_MAX: usize = 256;
/// Servers, or sections, of one configuration at most.
const SERVERS_MAX: usize = 512;

/// A time-out and where it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// Its name in the configuration.
    pub word: &'static str,
    /// Its length, s.
    pub seconds: f64,
    /// `file:line`; empty for the program's default.
    pub place: String,
}

/// When a server gives a request up.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Ends {
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
pub struct Hop {
    /// The address, as written.
    pub to: String,
    /// Time-out of a response.
    pub waits: Limit,
    /// Time-out of a connection attempt.
    pub connects: Option<Limit>,
    /// How long an idle connection is kept alive.
    pub keeps: Option<Limit>,
}

/// A server that accepts requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerTimeouts {
    /// The program.
    pub program: &'static str,
    /// Its name in the configuration; empty where it has none.
    pub name: String,
    /// Addresses where it listens, as written.
    pub listens: Vec<String>,
    /// When it gives a request up.
    pub ends: Ends,
    /// How long it keeps an idle connection of a client or proxy.
    pub keeps: Option<Limit>,
    /// How long it waits for its client: `HAProxy`.
    pub client: Option<Limit>,
    /// Time-out of a request's headers: `HAProxy`.
    pub request: Option<Limit>,
    /// Its upstreams.
    pub hops: Vec<Hop>,
}

/// Seconds of a time with units (`1m30s`); a number without one is in `unit` seconds. `None` when it is not a time.
pub fn seconds(text: &str, unit: f64) -> Option<f64> {
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

/// Servers of an nginx whose configuration begins in `file`.
pub fn nginx(file: &str, text: &str, text_of: TextOf<'_>) -> Vec<ServerTimeouts> {
    let tree = read(file, text, text_of);
    let http = tree.iter().filter(|directive| directive.name() == "http");
    let mut servers = Vec::new();
    for http in http {
        let blocks = http.inner.iter();
        let groups: BTreeMap<&str, &Directive> = blocks
            .filter(|directive| directive.name() == "upstream")
            .map(|directive| (directive.value(), directive))
            .collect();
        let http_limits = nginx_limits(&BTreeMap::new(), &http.inner);
        let blocks = http
            .inner
            .iter()
            .filter(|directive| directive.name() == "server");
        for block in blocks.take(SERVERS_MAX) {
            let server_limits = nginx_limits(&http_limits, &block.inner);
            let listens = block
                .inner
                .iter()
                .filter(|directive| directive.name() == "listen");
            let mut hops = Vec::new();
            nginx_hops(&block.inner, &server_limits, &groups, &mut hops);
            let longest = hops.iter().map(|hop| &hop.waits);
            let longest = longest.max_by(|a, b| a.seconds.total_cmp(&b.seconds));
            servers.push(ServerTimeouts {
                program: "nginx",
                listens: listens
                    .map(|directive| directive.value().to_owned())
                    .collect(),
                ends: longest.map_or(Ends::Unknown, |limit| Ends::After(limit.clone())),
                keeps: Some(nginx_limit(&server_limits, "keepalive_timeout", 75.0)),
                hops,
                ..ServerTimeouts::default()
            });
        }
    }
    servers
}

/// Words of nginx that are times.
const NGINX_WORDS: [&str; 9] = [
    "proxy_read_timeout",
    "proxy_connect_timeout",
    "fastcgi_read_timeout",
    "fastcgi_connect_timeout",
    "uwsgi_read_timeout",
    "uwsgi_connect_timeout",
    "grpc_read_timeout",
    "grpc_connect_timeout",
    "keepalive_timeout",
];

type TimeoutLimits = BTreeMap<&'static str, Limit>;

/// Effective settings of a block: its own, else those of the enclosing blocks.
fn nginx_limits(around: &TimeoutLimits, block: &[Directive]) -> TimeoutLimits {
    let mut limits = around.clone();
    for directive in block.iter().filter(|directive| directive.inner.is_empty()) {
        let word = NGINX_WORDS
            .into_iter()
            .find(|word| *word == directive.name());
        let Some((word, seconds)) = word.zip(seconds(directive.value(), 1.0)) else {
            continue;
        };
        let place = directive.place.clone();
        let limit = Limit {
            word,
            seconds,
            place,
        };
        limits.insert(word, limit);
    }
    limits
}

/// The setting, or nginx' default.
fn nginx_limit(limits: &TimeoutLimits, word: &'static str, default: f64) -> Limit {
    let own = Limit {
        word,
        seconds: default,
        place: String::new(),
    };
    limits.get(word).cloned().unwrap_or(own)
}

fn nginx_hops(
    block: &[Directive],
    limits: &TimeoutLimits,
    groups: &BTreeMap<&str, &Directive>,
    hops: &mut Vec<Hop>,
) {
    for directive in block {
        if hops.len() >= HOPS_MAX {
            return;
        }
        if !directive.inner.is_empty() {
            nginx_hops(
                &directive.inner,
                &nginx_limits(limits, &directive.inner),
                groups,
                hops,
            );
            continue;
        }
        let (read, connect) = match directive.name() {
            "proxy_pass" => ("proxy_read_timeout", "proxy_connect_timeout"),
            "fastcgi_pass" => ("fastcgi_read_timeout", "fastcgi_connect_timeout"),
            "uwsgi_pass" => ("uwsgi_read_timeout", "uwsgi_connect_timeout"),
            "grpc_pass" => ("grpc_read_timeout", "grpc_connect_timeout"),
            _ => continue,
        };
        let url = directive.value();
        let to = url.split_once("://").map_or(url, |(_, rest)| rest);
        let to = match to.strip_prefix("unix:") {
            Some(path) => path.split(':').next().unwrap_or(path),
            None => to.split('/').next().unwrap_or(to),
        };
        // The value of a variable depends on the request.
        if to.is_empty() || to.contains('$') {
            continue;
        }
        let group = groups.get(to).map(|group| group.inner.as_slice());
        let keeps = group.and_then(nginx_keeps);
        let members = group.unwrap_or_default().iter();
        let members = members.filter(|directive| directive.name() == "server");
        let mut all: Vec<&str> = members.map(Directive::value).collect();
        if group.is_none() {
            all.push(to);
        }
        for to in all.into_iter().take(HOPS_MAX.saturating_sub(hops.len())) {
            hops.push(Hop {
                to: to.to_owned(),
                waits: nginx_limit(limits, read, 60.0),
                connects: Some(nginx_limit(limits, connect, 60.0)),
                keeps: keeps.clone(),
            });
        }
    }
}

/// How long an `upstream` group keeps idle connections, if it does.
fn nginx_keeps(group: &[Directive]) -> Option<Limit> {
    group
        .iter()
        .find(|directive| directive.name() == "keepalive")?;
    Some(nginx_limit(
        &nginx_limits(&BTreeMap::new(), group),
        "keepalive_timeout",
        60.0,
    ))
}

/// Words behind `timeout` in `HAProxy`.
const HAPROXY_WORDS: [(&str, &str); 7] = [
    ("client", "timeout client"),
    ("server", "timeout server"),
    ("connect", "timeout connect"),
    ("queue", "timeout queue"),
    ("http-request", "timeout http-request"),
    ("http-keep-alive", "timeout http-keep-alive"),
    ("check", "timeout check"),
];

/// A section of `HAProxy`'s configuration.
#[derive(Debug, Default)]
struct Section {
    kind: String,
    name: String,
    limits: TimeoutLimits,
    listens: Vec<String>,
    backends: Vec<String>,
    servers: Vec<String>,
}

/// Frontends of `HAProxy`, with the servers of their backends.
pub fn haproxy(file: &str, text: &str) -> Vec<ServerTimeouts> {
    let sections = haproxy_sections(file, text);
    let fronts = sections
        .iter()
        .filter(|section| !section.listens.is_empty());
    let mut servers = Vec::new();
    for front in fronts {
        let backends = sections.iter().filter(|section| {
            std::ptr::eq(*section, front)
                || section.kind == "backend" && front.backends.contains(&section.name)
        });
        let (mut hops, mut longest) = (Vec::new(), None::<Limit>);
        for backend in backends {
            let Some(waits) = backend.limits.get("timeout server") else {
                continue;
            };
            // A request waits for a free slot first.
            let queue = backend.limits.get("timeout queue");
            let mut whole = waits.clone();
            whole.seconds += queue.map_or(0.0, |queue| queue.seconds);
            if !backend.servers.is_empty()
                && longest
                    .as_ref()
                    .is_none_or(|current| current.seconds < whole.seconds)
            {
                longest = Some(whole);
            }
            for to in &backend.servers {
                hops.push(Hop {
                    to: to.clone(),
                    waits: waits.clone(),
                    connects: backend.limits.get("timeout connect").cloned(),
                    // By default it uses no idle connection for a client's first request.
                    keeps: None,
                });
            }
        }
        hops.truncate(HOPS_MAX);
        let limit = |word: &str| front.limits.get(word).cloned();
        let client = limit("timeout client");
        let keeps = limit("timeout http-keep-alive").or_else(|| limit("timeout http-request"));
        servers.push(ServerTimeouts {
            program: "HAProxy",
            name: front.name.clone(),
            listens: front.listens.clone(),
            ends: longest.map_or(Ends::Unknown, Ends::After),
            keeps: keeps.or_else(|| client.clone()),
            client,
            request: limit("timeout http-request"),
            hops,
        });
    }
    servers
}

fn haproxy_sections(file: &str, text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let (mut defaults, mut is_defaults) = (TimeoutLimits::new(), false);
    let mut is_open = false;
    for (line, content) in (1_u32..).zip(text.lines()) {
        let content = content
            .split_once('#')
            .map_or(content, |(before, _)| before);
        let words: Vec<&str> = content.split_whitespace().collect();
        let Some(&first) = words.first() else {
            continue;
        };
        if !content.starts_with([' ', '\t']) {
            is_defaults = first == "defaults";
            is_open = ["frontend", "backend", "listen"].contains(&first);
            if is_defaults {
                defaults = TimeoutLimits::new();
            }
            if is_open && sections.len() >= SERVERS_MAX {
                break;
            }
            if is_open {
                sections.push(Section {
                    kind: first.to_owned(),
                    name: words.get(1).copied().unwrap_or_default().to_owned(),
                    limits: defaults.clone(),
                    ..Section::default()
                });
            }
            continue;
        }
        let second = words.get(1).copied().unwrap_or_default();
        if first == "timeout" {
            let word = HAPROXY_WORDS.iter().find(|word| word.0 == second);
            let time = words.get(2).and_then(|time| seconds(time, 1e-3));
            if let Some((&(_, word), seconds)) = word.zip(time) {
                let place = format!("{file}:{line}");
                let limit = Limit {
                    word,
                    seconds,
                    place,
                };
                if is_defaults {
                    defaults.insert(word, limit);
                } else if let Some(section) = sections.last_mut().filter(|_| is_open) {
                    section.limits.insert(word, limit);
                }
            }
            continue;
        }
        let Some(section) = sections.last_mut().filter(|_| is_open) else {
            continue;
        };
        match first {
            "bind" => section.listens.extend(second.split(',').map(str::to_owned)),
            "default_backend" | "use_backend" => section.backends.push(second.to_owned()),
            "server" => section
                .servers
                .extend(words.get(2).map(|&to| to.to_owned())),
            _ => {}
        }
        for words in [
            &mut section.listens,
            &mut section.backends,
            &mut section.servers,
        ] {
            words.truncate(HOPS_MAX);
        }
    }
    sections
}

/// A pool of PHP-FPM.
pub fn php_fpm(file: &str, pool: &php_fpm::PhpFpmPool) -> Option<ServerTimeouts> {
    const WORD: &str = "request_terminate_timeout";
    let listen = pool.words.get("listen")?;
    let written = pool.words.get(WORD);
    let limit = written.and_then(|written| {
        Some(Limit {
            word: WORD,
            seconds: seconds(&written.value, 1.0).filter(|&seconds| seconds > 0.0)?,
            place: format!("{file}:{}", written.line),
        })
    });
    Some(ServerTimeouts {
        program: "PHP-FPM",
        name: pool.name.clone(),
        listens: vec![listen.value.replace("$pool", &pool.name)],
        ends: limit.map_or_else(|| Ends::Never(WORD, file.to_owned()), Ends::After),
        ..ServerTimeouts::default()
    })
}

/// gunicorn, from its command line and its `file`.
pub fn gunicorn(file: &str, options: &gunicorn::GunicornOptions) -> ServerTimeouts {
    let limit = |word, setting: Option<(u64, usize)>, default: u64| {
        let (value, line) = setting.unwrap_or((default, 0));
        let place = if line > 0 {
            format!("{file}:{line}")
        } else {
            String::new()
        };
        Limit {
            word,
            seconds: value as f64,
            place,
        }
    };
    let bind = options.bind.as_deref().unwrap_or("127.0.0.1:8000");
    // With threads, a worker sends heartbeats during a request, so that the time-out does not end it.
    let is_plain = options.class.as_deref().is_none_or(|class| class == "sync")
        && options.threads.is_none_or(|(threads, _)| threads < 2);
    let ends = limit("timeout", options.timeout, 30);
    let ends = if !is_plain {
        Ends::Unknown
    } else if ends.seconds > 0.0 {
        Ends::After(ends)
    } else {
        Ends::Never("timeout", file.to_owned())
    };
    ServerTimeouts {
        program: "gunicorn",
        listens: bind.split(',').map(str::to_owned).collect(),
        ends,
        // The sync class closes the connection after each response, with `Connection: close`.
        keeps: (!is_plain).then(|| limit("keepalive", options.keepalive, 2)),
        ..ServerTimeouts::default()
    }
}

/// Whether the address `to` may be that of the listener `listen`, both as written.
pub fn is_at(to: &str, listen: &str) -> bool {
    let path = |text: &str| {
        let text = text.strip_prefix("unix:").unwrap_or(text);
        let text = text.strip_prefix("unix@").unwrap_or(text);
        text.starts_with('/').then(|| text.to_owned())
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
