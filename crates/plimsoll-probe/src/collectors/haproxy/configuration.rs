//! The configuration of HAProxy: its stats addresses and session limits.

/// First words of the lines that begin a section.
pub(crate) const SECTIONS: [&str; 19] = [
    "global",
    "defaults",
    "frontend",
    "backend",
    "listen",
    "peers",
    "resolvers",
    "userlist",
    "mailers",
    "cache",
    "program",
    "ring",
    "http-errors",
    "fcgi-app",
    "log-forward",
    "log-profile",
    "crt-store",
    "traces",
    "acme",
];

/// A limit and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Its scope: empty for the process, `frontend`, `backend/server` or `backend/default-server`.
    pub(crate) of: String,
    /// The limit.
    pub(crate) value: u64,
    /// The line, from 1.
    pub(crate) line: u32,
}

/// The settings of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HaproxyConfig {
    /// Addresses behind `stats socket`, as written.
    pub(crate) sockets: Vec<String>,
    /// Every `maxconn`.
    pub(crate) limits: Vec<Limit>,
    /// `nbthread`, of the process.
    pub(crate) threads: Option<Limit>,
}

/// Parses one file.
pub(crate) fn read(text: &str) -> HaproxyConfig {
    let mut configuration = HaproxyConfig::default();
    let (mut section, mut name) = ("", "");
    for (line, content) in (1..).zip(text.lines()) {
        let content = content
            .split_once('#')
            .map_or(content, |(before, _)| before);
        let words: Vec<&str> = content.split_whitespace().collect();
        let Some(&first) = words.first() else {
            continue;
        };
        if SECTIONS.contains(&first) {
            (section, name) = (first, words.get(1).copied().unwrap_or_default());
            continue;
        }
        let behind = |words: &[&str], name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1)?.parse().ok()
        };
        let maxconn = |words: &[&str]| behind(words, "maxconn");
        let mut limit = |of: String, value: Option<u64>| {
            configuration
                .limits
                .extend(value.map(|value| Limit { of, value, line }));
        };
        match (section, first) {
            ("global", "maxconn") => limit(String::new(), maxconn(&words)),
            ("global", "nbthread") => {
                let of = String::new();
                let threads = behind(&words, first).map(|value| Limit { of, value, line });
                configuration.threads = threads;
            }
            ("global", "stats") if words.get(1) == Some(&"socket") => {
                configuration
                    .sockets
                    .extend(words.get(2).map(|&at| at.to_owned()));
            }
            ("frontend" | "listen", "maxconn") => limit(name.to_owned(), maxconn(&words)),
            ("backend" | "listen", "server" | "default-server") => {
                let (server, options) = match first {
                    "server" => (words.get(1).copied().unwrap_or_default(), words.get(3..)),
                    _ => (first, words.get(1..)),
                };
                limit(
                    format!("{name}/{server}"),
                    maxconn(options.unwrap_or_default()),
                );
            }
            _ => {}
        }
    }
    configuration
}
