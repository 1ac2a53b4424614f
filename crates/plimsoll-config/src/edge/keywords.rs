//! All keys of the edge's configuration, in tables from which the reader and the reference are generated.

mod caching;
mod encryption;
mod hub;

use super::answer_keywords::{
    ACCESS, COMPRESS, COUNTRIES, FALLBACK, FRAGMENTS, RATE_ALERT, TRACES, WAITING,
};
use crate::document::Shape::{
    Count, Duration, Either, ListOf, MapOf, Of, OneOf, OneOrMore, Rate, Size, Switch, Text,
};
use crate::document::{KeywordTable, word};
pub(crate) use caching::{CACHE, CACHE_QUERY, DISK, STORE};
pub(crate) use encryption::{ACME, CERTIFICATE, SERVER_TLS};
pub(crate) use hub::{
    HUB, HUB_CHANNELS, HUB_HOOKS, HUB_REDIS, HUB_SHARED, HUB_SOURCES, HUB_TOKENS,
};

/// The whole file.
pub(crate) static EDGE: KeywordTable = KeywordTable {
    name: "edge",
    meaning: "Configuration of the edge.",
    words: &[
        word!(
            "listen",
            OneOrMore(&Either(&[Text, Of(&LISTENER)])),
            "Listeners: an address, or a map with options."
        ),
        word!(
            "pools",
            MapOf(&Of(&POOL)),
            "Pools of equivalent upstream servers, by name."
        ),
        word!(
            "routes",
            ListOf(&Of(&ROUTE)),
            "Routes; the first match applies. Without routes, all requests go to the only pool."
        ),
        word!("admin", Either(&[Text, Of(&ADMIN)]), "The admin endpoint."),
        word!(
            "access_log",
            Either(&[Text, Of(&LOG)]),
            "Access log: a file, `-` for standard output, or `off`."
        ),
        word!(
            "cores",
            Count(1, 1024),
            "Number of event loops. Default: one per core."
        ),
        word!(
            "trusted",
            OneOrMore(&Text),
            "Trusted peers (`10.0.0.0/8`), whose `X-Forwarded-*`, `Forwarded` and PROXY headers are accepted."
        ),
        word!("limits", Of(&LIMITS), "Limits for clients."),
        word!(
            "cache",
            Either(&[OneOf(&["off"]), Of(&STORE)]),
            "The response cache. Default: 64MiB in memory."
        ),
        word!(
            "hub",
            Either(&[Text, Of(&HUB)]),
            "Channels that browsers subscribe to by WebSocket or Server-Sent Events: a path, or a map with options. Default: none."
        ),
        word!(
            "access",
            Of(&ACCESS),
            "IP filter by address and country. Default: every client is allowed."
        ),
        word!(
            "crawlers",
            OneOrMore(&Text),
            "Substrings of the `User-Agent` of additional crawlers, which get no fallback and no waiting page."
        ),
        word!(
            "alarm",
            Either(&[Switch, Of(&RATE_ALERT)]),
            "Rate alert: reports when the request rate leaves its usual range. Default: off."
        ),
        word!(
            "traces",
            Of(&TRACES),
            "Export of request spans. Default: none."
        ),
        word!(
            "user",
            Text,
            "User that the process switches to after binding its sockets."
        ),
        word!(
            "drain",
            Duration,
            "Time-out of graceful shutdown: requests in flight may finish until then. Default: 30s."
        ),
        word!(
            "resolver",
            OneOrMore(&Text),
            "DNS servers (`127.0.0.1:53`) that resolve upstream names. Default: those of the system."
        ),
        word!("acme", Of(&ACME), "How certificates are obtained by ACME."),
        word!(
            "zone",
            Text,
            "Zone of this edge; upstream servers of the same zone are preferred."
        ),
    ],
};

/// One listener.
pub(crate) static LISTENER: KeywordTable = KeywordTable {
    name: "listener",
    meaning: "One listener.",
    words: &[
        word!("address", Text, "Address and port: `0.0.0.0:443`."),
        word!(
            "tls",
            ListOf(&Of(&CERTIFICATE)),
            "Certificates, selected by server name (SNI). Without a match, the first is used."
        ),
        word!(
            "proxy_protocol",
            Switch,
            "Whether connections of trusted peers start with a PROXY header. Default: false."
        ),
    ],
};

/// One pool.
pub(crate) static POOL: KeywordTable = KeywordTable {
    name: "pool",
    meaning: "A pool of equivalent upstream servers.",
    words: &[
        word!(
            "servers",
            ListOf(&Either(&[Text, Of(&SERVER)])),
            "Upstream servers: a URL, or a map with options."
        ),
        word!(
            "balance",
            Either(&[OneOf(BALANCES), Of(&BALANCE)]),
            "Balancing policy. Default: `peak_ewma`, which picks two servers at random and takes the one with the lower cost."
        ),
        word!(
            "max_in_flight",
            Either(&[Count(1, 1_000_000), OneOf(&["adaptive"])]),
            "Maximum requests in flight per server; `adaptive` adjusts it to the response time."
        ),
        word!(
            "queue",
            Count(0, 1_000_000),
            "Maximum queue length. Default: as many requests as can be served in time."
        ),
        word!(
            "queue_timeout",
            Duration,
            "Maximum time in the queue. Default: 500ms."
        ),
        word!(
            "objective",
            Duration,
            "Target of an adaptive limit: 95 % of responses within this time. Default: 500ms."
        ),
        word!(
            "tls",
            Of(&SERVER_TLS),
            "TLS settings for `https://` servers."
        ),
        word!("timeouts", Of(&TIMEOUTS), "Time-outs of upstream requests."),
        word!(
            "keep_idle",
            Count(0, 100_000),
            "Idle keep-alive connections per server and event loop. Default: 256."
        ),
        word!("check", Of(&CHECK), "Active health checks. Default: none."),
        word!(
            "eject",
            Of(&EJECT),
            "Outlier detection: when failed responses eject a server."
        ),
        word!(
            "slow_start",
            Duration,
            "Slow start: how long a recovered server gets less than its share. Default: 30s."
        ),
        word!(
            "retries",
            Text,
            "Retry budget of idempotent requests, as a share of all requests. Default: 10%."
        ),
    ],
};

/// Balancing policies without parameters.
pub(crate) const BALANCES: &[&str] = &["peak_ewma", "round_robin", "least_in_flight"];

/// Balancing policies that use a part of the request.
pub(crate) static BALANCE: KeywordTable = KeywordTable {
    name: "balance",
    meaning: "Session affinity: how requests are pinned to a server.",
    words: &[
        word!(
            "hash",
            Text,
            "Hash key: `client`, `target`, or `header NAME`. Equal keys go to the same server."
        ),
        word!(
            "cookie",
            Text,
            "Name of a cookie that the edge sets to pin a client to its server."
        ),
    ],
};

/// One upstream server.
pub(crate) static SERVER: KeywordTable = KeywordTable {
    name: "server",
    meaning: "One upstream server.",
    words: &[
        word!(
            "url",
            Text,
            "`http://host:port` or `https://host:port`. Each address of a name is a server; the name is resolved again after its TTL."
        ),
        word!(
            "max_in_flight",
            Count(1, 1_000_000),
            "Maximum requests in flight for this server; overrides that of the pool."
        ),
        word!(
            "weight",
            Count(0, 1000),
            "Weight relative to the other servers. Default: 1. With 0, the server gets no new requests."
        ),
        word!("zone", Text, "Zone of this server."),
    ],
};

/// Time-outs of upstream requests.
pub(crate) static TIMEOUTS: KeywordTable = KeywordTable {
    name: "timeouts",
    meaning: "Time-outs of upstream requests.",
    words: &[
        word!("connect", Duration, "Connect time-out. Default: 2s."),
        word!(
            "first_byte",
            Duration,
            "Time to the first byte of the response. Default: 1m."
        ),
        word!(
            "idle",
            Duration,
            "Time between two reads of the body. Default: 1m."
        ),
        word!(
            "total",
            Duration,
            "Time for the whole request. Default: none."
        ),
        word!(
            "keep_alive",
            Duration,
            "Idle time after which a keep-alive connection is closed. Default: 1m."
        ),
        word!(
            "tunnel",
            Duration,
            "Idle time after which a WebSocket is closed. Default: 1h."
        ),
    ],
};

/// Health checks.
pub(crate) static CHECK: KeywordTable = KeywordTable {
    name: "check",
    meaning: "Active health checks.",
    words: &[
        word!(
            "path",
            Text,
            "Path of a GET request that must return 2xx or 3xx. Without it, a successful connection is enough."
        ),
        word!("every", Duration, "Interval of checks. Default: 2s."),
        word!("timeout", Duration, "Time-out of a check. Default: 1s."),
        word!(
            "fall",
            Count(1, 100),
            "Consecutive failures that mark a server as down. Default: 3."
        ),
        word!(
            "rise",
            Count(1, 100),
            "Consecutive successes that mark a server as up. Default: 2."
        ),
    ],
};

/// Outlier detection.
pub(crate) static EJECT: KeywordTable = KeywordTable {
    name: "eject",
    meaning: "Outlier detection: when failed responses eject a server.",
    words: &[
        word!(
            "failures",
            Count(0, 1000),
            "Consecutive failures that eject a server; 0 disables ejection. Default: 5."
        ),
        word!(
            "for",
            Duration,
            "Duration of the first ejection. Default: 30s."
        ),
        word!(
            "most",
            Text,
            "Largest share of servers ejected at the same time. Default: 50%."
        ),
    ],
};

/// One route.
pub(crate) static ROUTE: KeywordTable = KeywordTable {
    name: "route",
    meaning: "One route.",
    words: &[
        word!(
            "match",
            Of(&MATCH),
            "Conditions on the request. Without them, every request matches."
        ),
        word!("pool", Text, "Pool that handles the requests."),
        word!("redirect", Of(&REDIRECT), "Or a redirect."),
        word!(
            "fallback",
            Either(&[Text, Of(&FALLBACK)]),
            "Fallback page that browsers get when the pool has no capacity: a file, or a map with options."
        ),
        word!(
            "waiting",
            Either(&[Switch, Of(&WAITING)]),
            "Waiting page for requests without a fallback; it retries by itself and holds a position in the queue."
        ),
        word!(
            "compress",
            Either(&[Switch, Of(&COMPRESS)]),
            "Response compression. Default: false."
        ),
        word!(
            "access",
            Of(&ACCESS),
            "IP filter of this route, in addition to that of the edge."
        ),
        word!(
            "path_parameters",
            OneOf(&["refused", "kept"]),
            "Paths with parameters (`/news;page=2`), which some servers read as if they had none. `kept` matches and forwards them as they are. By default they are refused where `access` is set, and where the path without them matches a different route."
        ),
        word!(
            "case",
            OneOf(&["ignored", "exact"]),
            "Whether paths match regardless of case, and file names as Windows reads them. Default: `exact`."
        ),
        word!(
            "cache",
            Either(&[OneOf(&["off"]), Of(&CACHE)]),
            "Caching of this route's responses. Default: as their headers allow."
        ),
        word!(
            "fragments",
            Either(&[Switch, Of(&FRAGMENTS)]),
            "Assembly of pages from fragments (Edge Side Includes, ESI). Default: false."
        ),
        word!(
            "class",
            OneOf(CLASSES),
            "Priority under overload. Default: `critical`."
        ),
        word!(
            "rewrite",
            Of(&REWRITE),
            "Rewriting of the path before the request is forwarded."
        ),
        word!(
            "request_headers",
            MapOf(&Text),
            "Request headers to set; one without a value is removed."
        ),
        word!(
            "steering_headers",
            OneOrMore(&Text),
            "Steering headers that clients may send, such as `X-HTTP-Method-Override`; they become part of the cache key. By default, headers by which proxies pass the scheme, host, path, method or user to applications are removed unless a trusted peer sent them."
        ),
        word!(
            "answer_headers",
            MapOf(&Text),
            "Response headers to set; one without a value is removed."
        ),
        word!("rate", Of(&RATE), "Rate limit per client."),
    ],
};

/// Priorities of requests.
pub(crate) const CLASSES: &[&str] = &["critical_plus", "critical", "sheddable_plus", "sheddable"];

/// Conditions on the request.
pub(crate) static MATCH: KeywordTable = KeywordTable {
    name: "match",
    meaning: "Conditions on the request; all must hold.",
    words: &[
        word!(
            "host",
            OneOrMore(&Text),
            "Hosts: `a.example`, `*.a.example`."
        ),
        word!(
            "path",
            Text,
            "`/exact`, `/below/*`, or `~` followed by a regular expression."
        ),
        word!("methods", OneOrMore(&Text), "Methods."),
        word!(
            "headers",
            MapOf(&Text),
            "Headers that must be present; with a value, exactly that value."
        ),
        word!("share", Text, "Random share of matching requests: `5%`."),
    ],
};

/// A redirect.
pub(crate) static REDIRECT: KeywordTable = KeywordTable {
    name: "redirect",
    meaning: "A redirect.",
    words: &[
        word!(
            "to",
            Text,
            "URL; the placeholders `{host}` and `{target}` are replaced."
        ),
        word!(
            "status",
            Count(301, 308),
            "Status: 301, 302, 303, 307 or 308. Default: 308."
        ),
    ],
};

/// A rewrite.
pub(crate) static REWRITE: KeywordTable = KeywordTable {
    name: "rewrite",
    meaning: "Rewriting of the path.",
    words: &[
        word!("prefix", Text, "Replacement of the matched prefix."),
        word!(
            "regex",
            Text,
            "Regular expression; each match is replaced by `with`."
        ),
        word!("with", Text, "Replacement text; `$1` is the first group."),
    ],
};

/// A rate limit.
pub(crate) static RATE: KeywordTable = KeywordTable {
    name: "rate",
    meaning: "Rate limit per client.",
    words: &[
        word!("limit", Rate, "Requests per client: `10/s`."),
        word!(
            "burst",
            Count(1, 1_000_000),
            "Burst: requests allowed at once. Default: those of one second."
        ),
    ],
};

/// The admin endpoint.
pub(crate) static ADMIN: KeywordTable = KeywordTable {
    name: "admin",
    meaning: "The admin endpoint.",
    words: &[
        word!("address", Text, "Address and port."),
        word!(
            "token",
            Text,
            "Bearer token of the endpoint: `{{ env('EDGE_TOKEN') }}`. It also authorizes `PURGE` requests at the public URL of a page."
        ),
    ],
};

/// The access log.
pub(crate) static LOG: KeywordTable = KeywordTable {
    name: "access_log",
    meaning: "Access log.",
    words: &[
        word!("file", Text, "A file, or `-`."),
        word!(
            "format",
            OneOf(&["json", "combined"]),
            "Format of a line. Default: `json`."
        ),
    ],
};

/// Limits for clients.
pub(crate) static LIMITS: KeywordTable = KeywordTable {
    name: "limits",
    meaning: "Limits for clients.",
    words: &[
        word!(
            "connections",
            Count(1, 10_000_000),
            "Maximum connections. Default: 65536."
        ),
        word!(
            "per_address",
            Count(0, 10_000_000),
            "Maximum connections per address; 0 is unlimited."
        ),
        word!(
            "head",
            Size,
            "Maximum size of a request head. Default: 32KiB."
        ),
        word!(
            "body",
            Size,
            "Maximum size of a request body. Default: 64MiB."
        ),
        word!(
            "memory",
            Size,
            "Total bytes buffered for slow clients and servers; above it, requests are shed. Default: 512MiB."
        ),
        word!(
            "head_timeout",
            Duration,
            "Time-out of a request head, and before it of the TLS handshake and the PROXY header. Default: 10s."
        ),
        word!(
            "body_timeout",
            Duration,
            "Time between two reads of a request body. Default: 30s."
        ),
        word!(
            "idle_timeout",
            Duration,
            "Idle time between two requests. Default: 1m."
        ),
        word!(
            "write_timeout",
            Duration,
            "Time during which a client reads nothing of its response. Default: 30s."
        ),
    ],
};

/// All tables, the one of the whole file first.
pub(crate) static TABLES: [&KeywordTable; 38] = [
    &EDGE,
    &LISTENER,
    &CERTIFICATE,
    &ACME,
    &POOL,
    &BALANCE,
    &SERVER,
    &SERVER_TLS,
    &TIMEOUTS,
    &CHECK,
    &EJECT,
    &ROUTE,
    &FALLBACK,
    &WAITING,
    &COMPRESS,
    &FRAGMENTS,
    &MATCH,
    &REDIRECT,
    &REWRITE,
    &RATE,
    &CACHE,
    &CACHE_QUERY,
    &STORE,
    &DISK,
    &HUB,
    &HUB_CHANNELS,
    &HUB_HOOKS,
    &HUB_REDIS,
    &HUB_SOURCES,
    &HUB_SHARED,
    &HUB_TOKENS,
    &ACCESS,
    &COUNTRIES,
    &RATE_ALERT,
    &TRACES,
    &ADMIN,
    &LOG,
    &LIMITS,
];
