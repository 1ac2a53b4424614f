//! The time-outs of Apache, and where it hands requests on, for advice.

use super::discover::config_of;
use super::parse::{ApacheConfig, ApacheDirective, ApacheUpstream};
use crate::collectors::configuration::switch;
use crate::collectors::timeouts::{Ends, Hop, Limit, ServerTimeouts, seconds};
use crate::files::Files;

/// Time-outs of an Apache, by the configuration that its command line names and what that includes.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ServerTimeouts> {
    let (_, read) = config_of(files, pid, words);
    read.iter().map(server).collect()
}

fn server(read: &ApacheConfig) -> ServerTimeouts {
    let hops: Vec<Hop> = read.upstreams.iter().map(|to| hop(read, to)).collect();
    let longest = hops.iter().map(|hop| &hop.waits);
    let longest = longest.max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    ServerTimeouts {
        program: "Apache",
        listens: read.listen.clone(),
        ends: longest.map_or(Ends::Unknown, |limit| Ends::After(limit.clone())),
        keeps: keeps(read),
        hops,
        ..ServerTimeouts::default()
    }
}

/// How long it keeps an idle connection of a client, if it does.
fn keeps(read: &ApacheConfig) -> Option<Limit> {
    const WORD: &str = "KeepAliveTimeout";
    let switched = read.numbers.get("KeepAlive");
    if switched.and_then(|written| switch(&written.value)) == Some(0.0) {
        return None;
    }
    Some(read.numbers.get(WORD).map_or_else(
        || default(WORD, 5.0),
        |written| limit(WORD, written).unwrap_or_else(|| default(WORD, 5.0)),
    ))
}

/// A server, with the time-out of its own, else `ProxyTimeout`, else `Timeout`.
fn hop(read: &ApacheConfig, upstream: &ApacheUpstream) -> Hop {
    let own = |name: &str, word: &'static str| {
        let mut parameters = upstream.parameters.iter();
        let value = parameters.find_map(|word| word.strip_prefix(name))?;
        Some(Limit {
            word,
            seconds: seconds(value, 1.0)?,
            place: upstream.place.clone(),
        })
    };
    let named = |word: &'static str| limit(word, read.times.get(word)?);
    let waits = own("timeout=", "timeout");
    let waits = waits.or_else(|| named("ProxyTimeout"));
    let waits = waits.or_else(|| named("Timeout"));
    Hop {
        to: upstream.to.clone(),
        waits: waits.unwrap_or_else(|| default("Timeout", 60.0)),
        connects: own("connectiontimeout=", "connectiontimeout"),
        keeps: None,
    }
}

fn limit(word: &'static str, written: &ApacheDirective) -> Option<Limit> {
    Some(Limit {
        word,
        seconds: seconds(&written.value, 1.0)?,
        place: format!("{}:{}", written.file, written.line),
    })
}

/// Apache's default.
fn default(word: &'static str, seconds: f64) -> Limit {
    Limit {
        word,
        seconds,
        place: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::configuration;
    use super::*;

    /// Of Debian, shortened: `php8.2-fpm.conf`, and a site with further servers.
    const SITE: &str = "Timeout 300\nListen 127.0.0.1:8080\n<IfModule proxy_fcgi_module>\n\
        <FilesMatch \".+\\.ph(?:ar|p|tml)$\">\n\
        SetHandler \"proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost\"\n</FilesMatch>\n</IfModule>\n\
        <VirtualHost *:8080>\nProxyPass /static !\n\
        ProxyPass \"/api\" \"http://127.0.0.1:9000/v1\" connectiontimeout=2 timeout=20\n\
        ProxyPassMatch ^/(.*)$ http://$1/\nProxyPass / balancer://app/\n<Proxy balancer://app>\n\
        BalancerMember http://10.0.0.7\nBalancerMember fcgi://[::1] timeout=500ms\n</Proxy>\n</VirtualHost>\n";

    #[test]
    fn where_apache_hands_requests_on_and_how_long_it_waits() {
        let read = configuration("/a", SITE, &mut |_| Vec::new());
        let server = server(&read);
        let hops = server.hops.iter().map(|hop| {
            let connects = hop.connects.as_ref().map(|limit| limit.seconds);
            let waits = &hop.waits;
            (
                hop.to.as_str(),
                waits.word,
                waits.seconds,
                waits.place.as_str(),
                connects,
            )
        });
        let right = [
            ("/run/php/php8.2-fpm.sock", "Timeout", 300.0, "/a:1", None),
            ("127.0.0.1:9000", "timeout", 20.0, "/a:10", Some(2.0)),
            ("10.0.0.7:80", "Timeout", 300.0, "/a:1", None),
            ("[::1]:8000", "timeout", 0.5, "/a:15", None),
        ];
        assert_eq!(hops.collect::<Vec<_>>(), right);
        assert_eq!(server.listens, ["127.0.0.1:8080"]);
        let Ends::After(longest) = &server.ends else {
            panic!("{server:?}")
        };
        assert_eq!((longest.word, longest.seconds), ("Timeout", 300.0));
        let kept = server.keeps.map(|limit| (limit.seconds, limit.place));
        assert_eq!(kept, Some((5.0, String::new())));
    }

    #[test]
    fn without_keep_alive_no_idle_connection_is_kept() {
        let of = |text: &str| {
            let read = configuration("/a", text, &mut |_| Vec::new());
            server(&read).keeps.map(|limit| limit.seconds)
        };
        assert_eq!(of("KeepAlive Off\nKeepAliveTimeout 15\n"), None);
        assert_eq!(of("KeepAlive On\nKeepAliveTimeout 250ms\n"), Some(0.25));
        let read = configuration("/a", "SetHandler server-status\n", &mut |_| Vec::new());
        assert_eq!(server(&read).ends, Ends::Unknown);
    }
}
