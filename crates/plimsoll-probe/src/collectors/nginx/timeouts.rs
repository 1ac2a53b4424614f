//! The time-outs of nginx' servers, for advice.

use std::collections::BTreeMap;

use super::tree::{Directive, NginxTree};
use crate::collectors::timeouts::{
    Ends, HOPS_MAX, Hop, Limit, SERVERS_MAX, ServerTimeouts, TimeoutLimits, seconds,
};
use crate::files::Files;

/// Time-outs of the servers of an nginx, by the configuration that its command line names.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ServerTimeouts> {
    let tree = NginxTree::of_process(files, pid, words);
    tree.map_or_else(Vec::new, |tree| servers(&tree.directives))
}

/// Servers of a configuration.
fn servers(directives: &[Directive]) -> Vec<ServerTimeouts> {
    let http = directives
        .iter()
        .filter(|directive| directive.name() == "http");
    let mut servers = Vec::new();
    for http in http {
        let blocks = http.inner.iter();
        let groups: BTreeMap<&str, &Directive> = blocks
            .filter(|directive| directive.name() == "upstream")
            .map(|directive| (directive.value(), directive))
            .collect();
        let http_limits = limits_of(&BTreeMap::new(), &http.inner);
        let blocks = http
            .inner
            .iter()
            .filter(|directive| directive.name() == "server");
        for block in blocks.take(SERVERS_MAX) {
            let server_limits = limits_of(&http_limits, &block.inner);
            let listens = block
                .inner
                .iter()
                .filter(|directive| directive.name() == "listen");
            let mut hops = Vec::new();
            add_hops(&block.inner, &server_limits, &groups, &mut hops);
            let longest = hops.iter().map(|hop| &hop.waits);
            let longest = longest.max_by(|a, b| a.seconds.total_cmp(&b.seconds));
            servers.push(ServerTimeouts {
                program: "nginx",
                listens: listens
                    .map(|directive| directive.value().to_owned())
                    .collect(),
                ends: longest.map_or(Ends::Unknown, |limit| Ends::After(limit.clone())),
                keeps: Some(limit_of(&server_limits, "keepalive_timeout", 75.0)),
                hops,
                ..ServerTimeouts::default()
            });
        }
    }
    servers
}

/// Words of nginx that are times.
const WORDS: [&str; 9] = [
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

/// Effective settings of a block: its own, else those of the enclosing blocks.
fn limits_of(around: &TimeoutLimits, block: &[Directive]) -> TimeoutLimits {
    let mut limits = around.clone();
    for directive in block.iter().filter(|directive| directive.inner.is_empty()) {
        let word = WORDS.into_iter().find(|word| *word == directive.name());
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
fn limit_of(limits: &TimeoutLimits, word: &'static str, default: f64) -> Limit {
    let own = Limit {
        word,
        seconds: default,
        place: String::new(),
    };
    limits.get(word).cloned().unwrap_or(own)
}

fn add_hops(
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
            add_hops(
                &directive.inner,
                &limits_of(limits, &directive.inner),
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
        let keeps = group.and_then(keeps_of);
        let members = group.unwrap_or_default().iter();
        let members = members.filter(|directive| directive.name() == "server");
        let mut all: Vec<&str> = members.map(Directive::value).collect();
        if group.is_none() {
            all.push(to);
        }
        for to in all.into_iter().take(HOPS_MAX.saturating_sub(hops.len())) {
            hops.push(Hop {
                to: to.to_owned(),
                waits: limit_of(limits, read, 60.0),
                connects: Some(limit_of(limits, connect, 60.0)),
                keeps: keeps.clone(),
            });
        }
    }
}

/// How long an `upstream` group keeps idle connections, if it does.
fn keeps_of(group: &[Directive]) -> Option<Limit> {
    group
        .iter()
        .find(|directive| directive.name() == "keepalive")?;
    Some(limit_of(
        &limits_of(&BTreeMap::new(), group),
        "keepalive_timeout",
        60.0,
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_block_of_nginx_says_holds_inside_it_wherever_it_stands() {
        let text = "events {}\nhttp {\n  server {\n    listen 8080;\n    location / { proxy_pass http://app/x; }\n\
            location /p { proxy_read_timeout 5s; fastcgi_pass unix:/run/p.sock; fastcgi_read_timeout 2m; }\n\
            location /v { proxy_pass http://$host; }\n  }\n  proxy_read_timeout 90;\n\
            upstream app { server 127.0.0.1:9001 weight=2; server 127.0.0.1:9002; keepalive 8; }\n  include more/*.conf;\n}\n";
        let mut asked = Vec::new();
        let tree = NginxTree::read("/n.conf", text.to_owned(), &mut |pattern| {
            asked.push(pattern.to_owned());
            let more = "server { listen 81; keepalive_timeout 10s; }";
            vec![("/more/a.conf".to_owned(), more.to_owned())]
        });
        assert_eq!(asked, ["more/*.conf"]);
        let found = servers(&tree.directives);
        let hops: Vec<_> = found[0]
            .hops
            .iter()
            .map(|hop| {
                let keeps = hop.keeps.as_ref().map(|limit| limit.seconds);
                (
                    hop.to.as_str(),
                    hop.waits.seconds,
                    hop.waits.place.as_str(),
                    keeps,
                )
            })
            .collect();
        let right = [
            ("127.0.0.1:9001", 90.0, "/n.conf:9", Some(60.0)),
            ("127.0.0.1:9002", 90.0, "/n.conf:9", Some(60.0)),
            ("/run/p.sock", 120.0, "/n.conf:6", None),
        ];
        assert_eq!(hops, right);
        let Ends::After(longest) = &found[0].ends else {
            panic!("{found:?}")
        };
        assert_eq!(
            (longest.word, longest.seconds),
            ("fastcgi_read_timeout", 120.0)
        );
        let keeps = found[1].keeps.as_ref().unwrap();
        assert_eq!(
            (keeps.seconds, keeps.place.as_str()),
            (10.0, "/more/a.conf:1")
        );
        assert_eq!((found[1].hops.len(), &found[1].ends), (0, &Ends::Unknown));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(proxy_pass|timeout|server|bind|[a-z{};:$ \n/0-9])*") {
            let tree = NginxTree::read("a", text, &mut |_| Vec::new());
            let _ = servers(&tree.directives);
        }
    }
}
