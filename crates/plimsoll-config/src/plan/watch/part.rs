//! A part that is watched: where it tells of itself, and as whom it is asked.

use plimsoll_model::part::{Login, Part, PartKind, PartPlace};

use super::super::desk::Desk;
use super::super::tree::{Kind, Node};

/// Words of the parts that can be looked at.
pub(super) const PARTS: [(&str, PartKind); 5] = [
    ("haproxy", PartKind::Haproxy),
    ("memcached", PartKind::Memcached),
    ("nginx", PartKind::Nginx),
    ("redis", PartKind::Redis),
    ("valkey", PartKind::Redis),
];
/// What a part that needs a login may say.
const WORDS: [&str; 3] = ["at", "password", "user"];

/// What would be right for a kind of part.
fn valid(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Nginx => {
            "the address of its stub_status page, such as http://127.0.0.1:8080/nginx_status"
        }
        PartKind::Haproxy => {
            "its stats socket, such as unix:/run/haproxy/admin.sock or 127.0.0.1:9999, or the CSV of its stats page, \
             such as http://127.0.0.1:8404/stats;csv"
        }
        PartKind::Redis => {
            "its address or socket, such as 127.0.0.1:6379 or unix:/run/redis/redis-server.sock; with a login \
             { at: …, user: …, password: … }"
        }
        PartKind::Memcached => {
            "its address or socket, such as 127.0.0.1:11211 or unix:/run/memcached.sock"
        }
    }
}

/// Reads a part: where it is, or a map with a login.
pub(super) fn part(desk: &Desk<'_>, node: &Node, kind: PartKind) -> Option<Part> {
    let valid = valid(kind);
    if let Kind::Map(entries) = &node.kind {
        for (key, _) in entries {
            if !WORDS.contains(&key.text.as_str()) {
                desk.unknown(&key.span, "the word", &key.text, &WORDS);
            }
        }
        let Some(at) = node.get("at") else {
            desk.fault(node, "where it is is not said", format!("at: {valid}"));
            return None;
        };
        let word = |name: &str| node.get(name).map(|node| desk.word(node, "a text"));
        let (user, password) = (word("user"), word("password"));
        if kind != PartKind::Redis && (user.is_some() || password.is_some()) {
            let fault = format!("{} is asked without a login", kind.name());
            desk.fault(node, fault, valid);
            return None;
        }
        let mut part = at_place(desk, at, kind)?;
        if let Some(password) = password {
            part.login = Some(Login {
                user: user.flatten().unwrap_or_default(),
                password: password?,
            });
        } else if user.is_some() {
            desk.fault(node, "a user needs a password", "user and password");
            return None;
        }
        return Some(part);
    }
    at_place(desk, node, kind)
}

fn at_place(desk: &Desk<'_>, node: &Node, kind: PartKind) -> Option<Part> {
    let valid = valid(kind);
    let text = desk.word(node, valid)?;
    let Some((place, login)) = place(kind, &text) else {
        // A password may stand in it.
        let shown = text.rsplit('@').next().unwrap_or_default();
        let fault = format!("`{shown}` is not where {} tells of itself", kind.name());
        desk.fault(node, fault, valid);
        return None;
    };
    Some(Part { kind, place, login })
}

/// Where a part is, as people write it, and the login that stands in it.
fn place(kind: PartKind, text: &str) -> Option<(PartPlace, Option<Login>)> {
    let socket = text
        .strip_prefix("unix:")
        .or(text.starts_with('/').then_some(text));
    if let Some(path) = socket {
        let path = path.strip_prefix("//").unwrap_or(path);
        let is_right = path.starts_with('/') && kind != PartKind::Nginx;
        return is_right.then(|| (PartPlace::Socket(path.into()), None));
    }
    if let Some(rest) = text.strip_prefix("http://") {
        let split = rest.find('/').unwrap_or(rest.len());
        let (host, port) = host_and_port(&rest[..split], 80)?;
        let path = match &rest[split..] {
            "" => "/".to_owned(),
            path => path.to_owned(),
        };
        let is_safe = path.bytes().all(|byte| byte.is_ascii_graphic());
        let is_right = is_safe && matches!(kind, PartKind::Nginx | PartKind::Haproxy);
        return is_right.then_some((PartPlace::Page { host, port, path }, None));
    }
    let (rest, login) = match text.strip_prefix("redis://") {
        Some(rest) if kind == PartKind::Redis => with_login(rest.trim_end_matches('/')),
        _ => (text, None),
    };
    let port = match kind {
        PartKind::Redis => 6379,
        PartKind::Memcached => 11211,
        PartKind::Haproxy => 0,
        PartKind::Nginx => return None,
    };
    let (host, port) = host_and_port(rest, port)?;
    Some((PartPlace::Tcp { host, port }, login))
}

fn with_login(text: &str) -> (&str, Option<Login>) {
    let Some((login, rest)) = text.rsplit_once('@') else {
        return (text, None);
    };
    let (user, password) = login.split_once(':').unwrap_or(("", login));
    let login = Login {
        user: user.to_owned(),
        password: password.to_owned(),
    };
    (rest, Some(login))
}

/// `host`, `host:port`, `[::1]:port`; `default` where no port is written, unless it is 0.
fn host_and_port(text: &str, default: u16) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (
                host,
                rest.strip_prefix(':').or(rest.is_empty().then_some("")),
            )
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, Some("")),
        },
    };
    let port = match port? {
        "" => default,
        port => port.parse().ok()?,
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    (!host.is_empty() && host.chars().all(is_name) && port > 0).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kind: PartKind, text: &str) -> Option<String> {
        place(kind, text).map(|(place, _)| place.to_string())
    }

    #[test]
    fn places_as_people_write_them() {
        use PartKind::{Haproxy, Memcached, Nginx, Redis};
        for (kind, text, right) in [
            (
                Nginx,
                "http://localhost/status",
                "http://localhost:80/status",
            ),
            (Nginx, "http://[::1]:8080", "http://[::1]:8080/"),
            (Haproxy, "unix:/run/haproxy.sock", "/run/haproxy.sock"),
            (Haproxy, "/run/haproxy.sock", "/run/haproxy.sock"),
            (Haproxy, "127.0.0.1:9999", "127.0.0.1:9999"),
            (
                Haproxy,
                "http://lb:8404/stats;csv",
                "http://lb:8404/stats;csv",
            ),
            (Redis, "cache", "cache:6379"),
            (Redis, "redis://cache/", "cache:6379"),
            (Redis, "unix:///run/redis.sock", "/run/redis.sock"),
            (Memcached, "[::1]", "[::1]:11211"),
        ] {
            assert_eq!(shown(kind, text).as_deref(), Some(right), "{text}");
        }
        for (kind, text) in [
            (Nginx, "unix:/run/nginx.sock"),
            (Nginx, "127.0.0.1:80"),
            (Haproxy, "lb"),
            (Redis, "cache:x"),
            (Redis, "cache:0"),
            (Redis, "a b"),
            (Memcached, "http://cache/"),
            (Memcached, "[::1"),
            (Memcached, ""),
        ] {
            assert_eq!(shown(kind, text), None, "{text}");
        }
    }

    #[test]
    fn a_login_may_stand_in_the_address() {
        let (place, login) = place(PartKind::Redis, "redis://eye:s:e@c@cache:1").unwrap();
        assert_eq!(place.to_string(), "cache:1");
        let login = login.unwrap();
        assert_eq!(
            (login.user.as_str(), login.password.as_str()),
            ("eye", "s:e@c")
        );
    }
}
