//! Keys of synthetic responses, compression, the IP filter, the rate alert and traces.

use crate::document::Shape::{Count, Duration, MapOf, Of, OneOf, OneOrMore, Rate, Size, Text};
use crate::document::{KeywordTable, word};

/// The fallback.
pub(crate) static FALLBACK: KeywordTable = KeywordTable {
    name: "fallback",
    meaning: "Fallback page that browsers get when the pool has no capacity.",
    words: &[
        word!(
            "file",
            Text,
            "HTML file. A page learned from the origin takes precedence."
        ),
        word!(
            "captured",
            Text,
            "URL in the route's pool, `/shell` or `http://a.example/shell`. Fetched at start and at each interval; the last good response is served."
        ),
        word!(
            "header",
            Text,
            "Name of a response header with which the origin marks a page as the fallback for a path pattern: `X-Plimsoll-Shell: /news/*`. The edge removes it."
        ),
        word!(
            "every",
            Duration,
            "Interval of fetches; also the shortest interval between two updates from marked responses. Default: 1m."
        ),
        word!(
            "size",
            Size,
            "Maximum size of a learned page. Default: 1MiB."
        ),
    ],
};

/// The waiting page.
pub(crate) static WAITING: KeywordTable = KeywordTable {
    name: "waiting",
    meaning: "Waiting page for browsers, with their position in the queue. `true` selects all defaults.",
    words: &[
        word!(
            "page",
            Text,
            "Custom HTML file; the placeholders `{place}`, `{wait}` and `{retry}` (seconds) are replaced."
        ),
        word!(
            "most",
            Count(1, 1_000_000),
            "Maximum length of the queue. Default: 10000."
        ),
        word!(
            "retry",
            Duration,
            "Maximum interval at which the page retries. Default: 10s."
        ),
        word!(
            "stay",
            Duration,
            "How long an admitted client bypasses the queue. Default: 10m."
        ),
    ],
};

/// Compression.
pub(crate) static COMPRESS: KeywordTable = KeywordTable {
    name: "compress",
    meaning: "Response compression for clients that accept it. `true` selects all defaults.",
    words: &[
        word!(
            "codings",
            OneOrMore(&OneOf(&["zstd", "br", "gzip"])),
            "Codings in order of preference among those that a client accepts equally. Default: zstd, br, gzip."
        ),
        word!(
            "level",
            Count(1, 9),
            "Compression level: 1 is fastest, 9 is smallest. Default: 4."
        ),
        word!(
            "types",
            OneOrMore(&Text),
            "Media types: `text/html`, `text/*`. Default: text, scripts, JSON, XML, SVG and uncompressed fonts. `text/event-stream` only if named."
        ),
        word!(
            "least",
            Size,
            "Minimum size; smaller responses are not compressed. Default: 1KiB."
        ),
        word!(
            "cpu",
            Text,
            "Share of an event loop's time above which further responses are not compressed. Default: 50%."
        ),
    ],
};

/// Fragments.
pub(crate) static FRAGMENTS: KeywordTable = KeywordTable {
    name: "fragments",
    meaning: "Assembly of pages from fragments (Edge Side Includes, ESI). `true` selects all defaults.",
    words: &[
        word!(
            "pages",
            OneOf(&["html", "said"]),
            "Pages that are parsed: all HTML, or those with `Surrogate-Control: content=\"ESI/1.0\"`. Default: HTML, and others with that header."
        ),
        word!(
            "most",
            Count(1, 1000),
            "Maximum fragments per client request, nested ones included. Default: 64."
        ),
        word!("depth", Count(1, 10), "Maximum nesting depth. Default: 3."),
        word!(
            "size",
            Size,
            "Maximum size of a page that is parsed, 1KiB to 64MiB; larger pages are passed through unchanged. Default: 1MiB."
        ),
        word!(
            "timeout",
            Duration,
            "Time-out of a fragment, after which the page continues without it. Default: 10s."
        ),
    ],
};

/// The IP filter.
pub(crate) static ACCESS: KeywordTable = KeywordTable {
    name: "access",
    meaning: "IP filter by address and country. Lists are reloaded with the configuration.",
    words: &[
        word!(
            "allow",
            OneOrMore(&Text),
            "Addresses that are always allowed: `10.0.0.0/8`. Needs a rule that denies, such as `deny: all`."
        ),
        word!(
            "deny",
            OneOrMore(&Text),
            "Addresses that are denied; `all` matches every client."
        ),
        word!(
            "allow_files",
            OneOrMore(&Text),
            "Files of allowed addresses: one address or range per line; `#` starts a comment."
        ),
        word!("deny_files", OneOrMore(&Text), "Files of denied addresses."),
        word!("countries", Of(&COUNTRIES), "Filter by country."),
    ],
};

/// Countries.
pub(crate) static COUNTRIES: KeywordTable = KeywordTable {
    name: "countries",
    meaning: "Country filter by client address.",
    words: &[
        word!("database", Text, "MaxMind country database (`.mmdb`)."),
        word!(
            "allow",
            OneOrMore(&Text),
            "Allowed countries by two-letter code (ISO 3166-1): `DE`; `unknown` matches addresses without a country."
        ),
        word!("deny", OneOrMore(&Text), "Denied countries."),
    ],
};

/// The rate alert.
pub(crate) static RATE_ALERT: KeywordTable = KeywordTable {
    name: "alarm",
    meaning: "Rate alert: reports when the request rate leaves its usual range. `true` selects all defaults.",
    words: &[
        word!(
            "webhook",
            Text,
            "Webhook URL; receives a JSON object at the start and end of each alert."
        ),
        word!("headers", MapOf(&Text), "Request headers for the webhook."),
        word!(
            "every",
            Duration,
            "Window over which the rate is counted. Default: 1m."
        ),
        word!(
            "history",
            Count(5, 10_000),
            "Number of windows that define the usual range. Default: 60."
        ),
        word!(
            "factor",
            Count(1, 100),
            "Width of the range in robust standard deviations. Default: 4."
        ),
        word!(
            "least",
            Rate,
            "Rates below this never count as too high. Default: 1/s."
        ),
    ],
};

/// Traces.
pub(crate) static TRACES: KeywordTable = KeywordTable {
    name: "traces",
    meaning: "Export of request spans to an OpenTelemetry collector, by OTLP over HTTP.",
    words: &[
        word!("to", Text, "URL of the collector: `http://127.0.0.1:4318`."),
        word!("headers", MapOf(&Text), "Request headers for the export."),
        word!(
            "share",
            Text,
            "Sampling rate of requests without a parent decision. Default: 1%."
        ),
        word!(
            "parents",
            OneOf(&["all", "trusted", "none"]),
            "Peers whose `traceparent` is honored. Default: `all`."
        ),
        word!(
            "service",
            Text,
            "Service name in spans. Default: `plimsoll-edge`."
        ),
    ],
};
