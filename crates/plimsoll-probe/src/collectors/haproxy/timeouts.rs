//! The time-outs of `HAProxy`'s frontends, for advice.

use super::discover::paths_of;
use crate::collectors::discovery::text_named;
use crate::collectors::timeouts::{
    Ends, HOPS_MAX, Hop, Limit, SERVERS_MAX, ServerTimeouts, TimeoutLimits, seconds,
};
use crate::files::Files;

/// Time-outs of the frontends of an `HAProxy`, by the configurations that its command line names.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ServerTimeouts> {
    let mut servers = Vec::new();
    for path in paths_of(words) {
        if let Some(text) = text_named(files, pid, path) {
            servers.extend(self::servers(path, &text));
        }
    }
    servers
}

/// Words behind `timeout` in `HAProxy`.
const WORDS: [(&str, &str); 7] = [
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
fn servers(file: &str, text: &str) -> Vec<ServerTimeouts> {
    let sections = sections_of(file, text);
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

fn sections_of(file: &str, text: &str) -> Vec<Section> {
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
            let word = WORDS.iter().find(|word| word.0 == second);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sections_of_haproxy_take_what_the_defaults_before_them_say() {
        let text = "global\n  maxconn 9\ndefaults\n  timeout client 30s\n  timeout server 50000 # ms\n  timeout queue 10s\n\
            frontend web\n  bind :80\n  default_backend app\nbackend app\n  timeout connect 2s\n  server a 127.0.0.1:1 check\n\
            backend other\n  server b 127.0.0.1:2\ndefaults\n  timeout client 1m\nlisten api\n  bind *:81,*:82\n  timeout server 9s\n\
            server c 127.0.0.1:3\n";
        let text = text.replace("\nserver c", "\n  server c");
        let found = servers("/h.cfg", &text);
        let [web, api] = found.as_slice() else {
            panic!("{found:?}")
        };
        let [hop] = web.hops.as_slice() else {
            panic!("{web:?}")
        };
        assert_eq!(
            (hop.to.as_str(), hop.waits.seconds, hop.waits.place.as_str()),
            ("127.0.0.1:1", 50.0, "/h.cfg:5")
        );
        assert_eq!(hop.connects.as_ref().map(|limit| limit.seconds), Some(2.0));
        let Ends::After(whole) = &web.ends else {
            panic!("{web:?}")
        };
        assert_eq!((whole.word, whole.seconds), ("timeout server", 60.0));
        assert_eq!(web.keeps.as_ref().map(|limit| limit.seconds), Some(30.0));
        assert_eq!((api.listens.len(), api.hops[0].waits.seconds), (2, 9.0));
        assert_eq!(api.client.as_ref().map(|limit| limit.seconds), Some(60.0));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(proxy_pass|timeout|server|bind|[a-z{};:$ \n/0-9])*") {
            let _ = servers("a", &text);
        }
    }
}
