//! Every word of an edge's configuration, in tables: the reader and the reference are made from them.

mod caching;
mod encryption;
mod hub;

use super::answer_keywords::{
    ACCESS, COMPRESS, COUNTRIES, FALLBACK, FRAGMENTS, RATE_ALERT, TRACES, WAITING,
};
use crate::plan::keywords::Shape::{
    Count, Duration, Either, ListOf, MapOf, Of, OneOf, OneOrMore, Rate, Size, Switch, Text,
};
use crate::plan::keywords::{KeywordTable, word};
pub(crate) use caching::{CACHE, CACHE_QUERY, DISK, STORE};
pub(crate) use encryption::{ACME, CERTIFICATE, SERVER_TLS};
pub(crate) use hub::{
    HUB, HUB_CHANNELS, HUB_HOOKS, HUB_REDIS, HUB_SHARED, HUB_SOURCES, HUB_TOKENS,
};

/// The whole file.
pub(crate) static EDGE: KeywordTable = KeywordTable {
    name: "edge",
    meaning: "The configuration of an edge.",
    words: &[
        word!(
            "listen",
            OneOrMore(&Either(&[Text, Of(&LISTENER)])),
            "Where clients come in: an address, or more about it."
        ),
        word!(
            "pools",
            MapOf(&Of(&POOL)),
            "Servers that can stand in for each other, by name."
        ),
        word!(
            "routes",
            ListOf(&Of(&ROUTE)),
            "What goes where; the first that matches. Without any, everything goes to the only pool."
        ),
        word!(
            "admin",
            Either(&[Text, Of(&ADMIN)]),
            "Where the edge itself is asked."
        ),
        word!(
            "access_log",
            Either(&[Text, Of(&LOG)]),
            "Where finished requests are written: a file, `-` for the standard output, `off`."
        ),
        word!(
            "cores",
            Count(1, 1024),
            "Event loops; one for each core by default."
        ),
        word!(
            "trusted",
            OneOrMore(&Text),
            "Addresses (`10.0.0.0/8`) whose word about clients is believed: `X-Forwarded-*`, `Forwarded`, PROXY headers."
        ),
        word!("limits", Of(&LIMITS), "Bounds of what clients may do."),
        word!(
            "cache",
            Either(&[OneOf(&["off"]), Of(&STORE)]),
            "Where copies of answers are kept; in 64MiB of memory."
        ),
        word!(
            "hub",
            Either(&[Text, Of(&HUB)]),
            "Channels that browsers subscribe to by WebSocket or Server-Sent Events: a path, or more about it; none."
        ),
        word!(
            "access",
            Of(&ACCESS),
            "Who is let in, by address and country; everybody."
        ),
        word!(
            "crawlers",
            OneOrMore(&Text),
            "Parts of the names (`User-Agent`) of further crawlers, which get no fallback and no waiting page."
        ),
        word!(
            "alarm",
            Either(&[Switch, Of(&RATE_ALERT)]),
            "Tells when the rate of requests leaves its usual range; off."
        ),
        word!(
            "traces",
            Of(&TRACES),
            "Where spans of requests are sent; nowhere."
        ),
        word!(
            "user",
            Text,
            "Who the process becomes once everything is bound."
        ),
        word!(
            "drain",
            Duration,
            "Longest time that requests on their way have at the end; 30s."
        ),
        word!(
            "resolver",
            OneOrMore(&Text),
            "Name servers (`127.0.0.1:53`) that know the servers' names; by default those of the system."
        ),
        word!("acme", Of(&ACME), "How certificates are obtained."),
        word!(
            "zone",
            Text,
            "Where this edge stands: servers of the same zone come first."
        ),
    ],
};

/// One listener.
pub(crate) static LISTENER: KeywordTable = KeywordTable {
    name: "listener",
    meaning: "One address at which clients come in.",
    words: &[
        word!("address", Text, "Address and port: `0.0.0.0:443`."),
        word!(
            "tls",
            ListOf(&Of(&CERTIFICATE)),
            "Certificates; the one for the asked name is used, else the first."
        ),
        word!(
            "proxy_protocol",
            Switch,
            "Connections of trusted sources begin with a PROXY header; false."
        ),
    ],
};

/// One pool.
pub(crate) static POOL: KeywordTable = KeywordTable {
    name: "pool",
    meaning: "Servers that can stand in for each other.",
    words: &[
        word!(
            "servers",
            ListOf(&Either(&[Text, Of(&SERVER)])),
            "Its servers: a URL, or more about it."
        ),
        word!(
            "balance",
            Either(&[OneOf(BALANCES), Of(&BALANCE)]),
            "How a server is picked; `peak_ewma`, the cheaper of two at random."
        ),
        word!(
            "max_in_flight",
            Either(&[Count(1, 1_000_000), OneOf(&["adaptive"])]),
            "Requests that may be with each server; `adaptive` learns it."
        ),
        word!(
            "queue",
            Count(0, 1_000_000),
            "Requests that may wait; without it as many as will be served in time."
        ),
        word!("queue_timeout", Duration, "How long one may wait; 500ms."),
        word!(
            "objective",
            Duration,
            "What an adaptive limit keeps: 95 % of answers within this; 500ms."
        ),
        word!(
            "tls",
            Of(&SERVER_TLS),
            "How servers behind `https://` are spoken to."
        ),
        word!("timeouts", Of(&TIMEOUTS), "How long an exchange may take."),
        word!(
            "keep_idle",
            Count(0, 100_000),
            "Idle connections kept for each server and event loop; 256."
        ),
        word!("check", Of(&CHECK), "Active checks; none by default."),
        word!(
            "eject",
            Of(&EJECT),
            "When failed answers take a server out."
        ),
        word!(
            "slow_start",
            Duration,
            "How long a server that came back gets less than its share; 30s."
        ),
        word!(
            "retries",
            Text,
            "Retries of idempotent requests, as a share of all; 10%."
        ),
    ],
};

/// Choosers without anything more to say.
pub(crate) const BALANCES: &[&str] = &["peak_ewma", "round_robin", "least_in_flight"];

/// Choosers by something of the request.
pub(crate) static BALANCE: KeywordTable = KeywordTable {
    name: "balance",
    meaning: "Which server, by something of the request.",
    words: &[
        word!(
            "hash",
            Text,
            "`client`, `target`, or `header NAME`: the same goes to the same server."
        ),
        word!(
            "cookie",
            Text,
            "Name of a cookie that the edge sets: a client stays with its server."
        ),
    ],
};

/// One server.
pub(crate) static SERVER: KeywordTable = KeywordTable {
    name: "server",
    meaning: "One server.",
    words: &[
        word!(
            "url",
            Text,
            "`http://host:port` or `https://host:port`; each address of a name is a server, looked up by its TTL."
        ),
        word!(
            "max_in_flight",
            Count(1, 1_000_000),
            "Requests that may be with it; before the pool's."
        ),
        word!(
            "weight",
            Count(0, 1000),
            "Share beside the others; 1. With 0 it gets no new requests."
        ),
        word!("zone", Text, "Where it stands."),
    ],
};

/// Time-outs of an exchange.
pub(crate) static TIMEOUTS: KeywordTable = KeywordTable {
    name: "timeouts",
    meaning: "How long an exchange with a server may take.",
    words: &[
        word!("connect", Duration, "For a connection; 2s."),
        word!(
            "first_byte",
            Duration,
            "To the first byte of the answer; 1m."
        ),
        word!("idle", Duration, "Between two pieces of a body; 1m."),
        word!("total", Duration, "For the whole exchange; none."),
        word!(
            "keep_alive",
            Duration,
            "For an idle connection to a server; 1m."
        ),
        word!(
            "tunnel",
            Duration,
            "For a WebSocket in which nothing moves; 1h."
        ),
    ],
};

/// Active checks.
pub(crate) static CHECK: KeywordTable = KeywordTable {
    name: "check",
    meaning: "How servers are asked whether they are well.",
    words: &[
        word!(
            "path",
            Text,
            "Path of a GET that is answered 2xx or 3xx; without it a connection is enough."
        ),
        word!("every", Duration, "How often; 2s."),
        word!("timeout", Duration, "How long an answer may take; 1s."),
        word!(
            "fall",
            Count(1, 100),
            "Failures in a row that take a server out; 3."
        ),
        word!(
            "rise",
            Count(1, 100),
            "Good answers in a row that bring it back; 2."
        ),
    ],
};

/// Ejection.
pub(crate) static EJECT: KeywordTable = KeywordTable {
    name: "eject",
    meaning: "When failed answers take a server out.",
    words: &[
        word!(
            "failures",
            Count(0, 1000),
            "Failures in a row; 5. 0 never ejects."
        ),
        word!("for", Duration, "How long at first; 30s."),
        word!(
            "most",
            Text,
            "Largest share of the servers that is out at once; 50%."
        ),
    ],
};

/// One route.
pub(crate) static ROUTE: KeywordTable = KeywordTable {
    name: "route",
    meaning: "What becomes of some of the requests.",
    words: &[
        word!(
            "match",
            Of(&MATCH),
            "What a request must be like; without it any."
        ),
        word!("pool", Text, "The pool it goes to."),
        word!("redirect", Of(&REDIRECT), "Or where the client is sent."),
        word!(
            "fallback",
            Either(&[Text, Of(&FALLBACK)]),
            "A page that browsers get when the pool has no room: a file, or more about it."
        ),
        word!(
            "waiting",
            Either(&[Switch, Of(&WAITING)]),
            "Where there is no fallback: a page that asks again by itself and keeps a place in line."
        ),
        word!(
            "compress",
            Either(&[Switch, Of(&COMPRESS)]),
            "Whether and how answers are compressed; false."
        ),
        word!(
            "access",
            Of(&ACCESS),
            "Who may ask, besides what is said for the whole edge."
        ),
        word!(
            "path_parameters",
            OneOf(&["refused", "kept"]),
            "Paths with parameters (`/news;page=2`), which some servers read as if they had none: `kept` matches them so and hands them on. Without this word they are refused where `access` is said, and where another route takes what is left without them."
        ),
        word!(
            "case",
            OneOf(&["ignored", "exact"]),
            "Whether the path is matched whatever the case of its letters, and names of files as Windows reads them; `exact`."
        ),
        word!(
            "cache",
            Either(&[OneOf(&["off"]), Of(&CACHE)]),
            "What is kept of its answers; what they allow themselves."
        ),
        word!(
            "fragments",
            Either(&[Switch, Of(&FRAGMENTS)]),
            "Whether and how pages are put together from fragments (edge-side includes); false."
        ),
        word!(
            "class",
            OneOf(CLASSES),
            "Who goes first when not all can; `critical`."
        ),
        word!(
            "rewrite",
            Of(&REWRITE),
            "What is done to the path before the server sees it."
        ),
        word!(
            "request_headers",
            MapOf(&Text),
            "Headers of the request to set; one without a value is dropped."
        ),
        word!(
            "steering_headers",
            OneOrMore(&Text),
            "Steering headers that clients may send, such as `X-HTTP-Method-Override`; copies are told apart by them. \
             Without it, headers by which proxies tell applications the scheme, host, path, method or user are dropped \
             unless a trusted peer sent them."
        ),
        word!(
            "answer_headers",
            MapOf(&Text),
            "Headers of the answer to set; one without a value is dropped."
        ),
        word!("rate", Of(&RATE), "How often one client may ask."),
    ],
};

/// Classes of requests.
pub(crate) const CLASSES: &[&str] = &["critical_plus", "critical", "sheddable_plus", "sheddable"];

/// What a request must be like.
pub(crate) static MATCH: KeywordTable = KeywordTable {
    name: "match",
    meaning: "What a request must be like; all that is said must hold.",
    words: &[
        word!(
            "host",
            OneOrMore(&Text),
            "Hosts: `a.example`, `*.a.example`."
        ),
        word!(
            "path",
            Text,
            "`/exact`, `/below/*`, or `~` and a regular expression."
        ),
        word!("methods", OneOrMore(&Text), "Methods."),
        word!(
            "headers",
            MapOf(&Text),
            "Headers that are there; with a value, exactly so."
        ),
        word!("share", Text, "Share of such requests, at random: `5%`."),
    ],
};

/// A redirect.
pub(crate) static REDIRECT: KeywordTable = KeywordTable {
    name: "redirect",
    meaning: "Where a client is sent.",
    words: &[
        word!("to", Text, "A URL; `{host}` and `{target}` are filled."),
        word!("status", Count(301, 308), "301, 302, 303, 307 or 308; 308."),
    ],
};

/// A rewrite.
pub(crate) static REWRITE: KeywordTable = KeywordTable {
    name: "rewrite",
    meaning: "What is done to a path.",
    words: &[
        word!("prefix", Text, "What the matched prefix becomes."),
        word!(
            "regex",
            Text,
            "A regular expression; what it finds becomes `with`."
        ),
        word!("with", Text, "What is put there; `$1` is the first group."),
    ],
};

/// A rate.
pub(crate) static RATE: KeywordTable = KeywordTable {
    name: "rate",
    meaning: "How often one client may ask.",
    words: &[
        word!("limit", Rate, "Requests of one client: `10/s`."),
        word!(
            "burst",
            Count(1, 1_000_000),
            "How many may come at once; a second's worth."
        ),
    ],
};

/// The admin address.
pub(crate) static ADMIN: KeywordTable = KeywordTable {
    name: "admin",
    meaning: "Where the edge itself is asked.",
    words: &[
        word!("address", Text, "Address and port."),
        word!(
            "token",
            Text,
            "What whoever asks must know: `{{ env('EDGE_TOKEN') }}`. Who knows it may also `PURGE` a page at the site's own address."
        ),
    ],
};

/// The access log.
pub(crate) static LOG: KeywordTable = KeywordTable {
    name: "access_log",
    meaning: "Where finished requests are written.",
    words: &[
        word!("file", Text, "A file, or `-`."),
        word!(
            "format",
            OneOf(&["json", "combined"]),
            "How a line looks; `json`."
        ),
    ],
};

/// Bounds of clients.
pub(crate) static LIMITS: KeywordTable = KeywordTable {
    name: "limits",
    meaning: "Bounds of what clients may do.",
    words: &[
        word!("connections", Count(1, 10_000_000), "Connections; 65536."),
        word!(
            "per_address",
            Count(0, 10_000_000),
            "Connections of one address; 0 has no bound."
        ),
        word!("head", Size, "Longest head; 32KiB."),
        word!("body", Size, "Longest body; 64MiB."),
        word!(
            "memory",
            Size,
            "Bytes held for clients and servers that are slow, in all; beyond, requests are shed; 512MiB."
        ),
        word!(
            "head_timeout",
            Duration,
            "Time for a head, and before it for a TLS handshake and a PROXY header; 10s."
        ),
        word!(
            "body_timeout",
            Duration,
            "Time between two pieces of a body; 30s."
        ),
        word!("idle_timeout", Duration, "Time between two requests; 1m."),
        word!(
            "write_timeout",
            Duration,
            "Time a client may take nothing of its answer; 30s."
        ),
    ],
};

/// All tables, the whole file's first.
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
