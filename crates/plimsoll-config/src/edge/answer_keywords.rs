//! Words about answers of the edge's own, what is done to answers, who is let in, and what is told to others.

use crate::plan::keywords::Shape::{
    Count, Duration, MapOf, Of, OneOf, OneOrMore, Rate, Size, Text,
};
use crate::plan::keywords::{KeywordTable, word};

/// A fallback in all its forms.
pub(crate) static FALLBACK: KeywordTable = KeywordTable {
    name: "fallback",
    meaning: "A page that browsers get when the pool has no room.",
    words: &[
        word!(
            "file",
            Text,
            "A file; what is learnt from the origin goes before it."
        ),
        word!(
            "captured",
            Text,
            "A page of the route's pool, `/shell` or `http://a.example/shell`: fetched at the start and again at an interval; the last good one is used."
        ),
        word!(
            "header",
            Text,
            "A header by which an answer of the origin says that it is the shell, and of what: `X-Plimsoll-Shell: /news/*`. It ends at the edge."
        ),
        word!(
            "every",
            Duration,
            "How often the page is fetched, or taken from marked answers, at most; 1m."
        ),
        word!("size", Size, "Longest page that is learnt; 1MiB."),
    ],
};

/// The waiting page.
pub(crate) static WAITING: KeywordTable = KeywordTable {
    name: "waiting",
    meaning: "A page for browsers that must wait, with a place in line. `true` is all defaults.",
    words: &[
        word!(
            "page",
            Text,
            "An HTML file of your own; `{place}`, `{wait}` and `{retry}` (seconds) are filled."
        ),
        word!("most", Count(1, 1_000_000), "How many may wait; 10000."),
        word!(
            "retry",
            Duration,
            "Longest time until the page asks again; 10s."
        ),
        word!(
            "stay",
            Duration,
            "How long whoever got in goes past the line; 10m."
        ),
    ],
};

/// Compression.
pub(crate) static COMPRESS: KeywordTable = KeywordTable {
    name: "compress",
    meaning: "How answers are compressed for clients that take it. `true` is all defaults.",
    words: &[
        word!(
            "codings",
            OneOrMore(&OneOf(&["zstd", "br", "gzip"])),
            "In the order of preference among those a client likes equally; zstd, br, gzip."
        ),
        word!("level", Count(1, 9), "1 is fast, 9 is small; 4."),
        word!(
            "types",
            OneOrMore(&Text),
            "Media types: `text/html`, `text/*`; texts, scripts, JSON, XML, SVG, fonts that are not compressed. Never `text/event-stream` unless named."
        ),
        word!("least", Size, "Shorter answers stay as they are; 1KiB."),
        word!(
            "cpu",
            Text,
            "Share of an event loop's time beyond which further answers stay as they are; 50%."
        ),
    ],
};

/// Fragments.
pub(crate) static FRAGMENTS: KeywordTable = KeywordTable {
    name: "fragments",
    meaning: "How pages are put together from fragments (edge-side includes). `true` is all defaults.",
    words: &[
        word!(
            "pages",
            OneOf(&["html", "said"]),
            "Pages that are looked through: all of HTML, or those that say `Surrogate-Control: content=\"ESI/1.0\"`; html, and others that say so."
        ),
        word!(
            "most",
            Count(1, 1000),
            "Fragments for one request of a client, those in fragments included; 64."
        ),
        word!(
            "depth",
            Count(1, 10),
            "How deep fragments may lie in fragments; 3."
        ),
        word!(
            "size",
            Size,
            "Longest page that is looked through, 1KiB to 64MiB; a longer one stays as it is; 1MiB."
        ),
        word!(
            "timeout",
            Duration,
            "How long a fragment may take until the page goes on without it; 10s."
        ),
    ],
};

/// Who is let in.
pub(crate) static ACCESS: KeywordTable = KeywordTable {
    name: "access",
    meaning: "Who is let in, by address and country. Lists are read again on reload.",
    words: &[
        word!(
            "allow",
            OneOrMore(&Text),
            "Addresses that are let in whatever else is said: `10.0.0.0/8`. Beside it stands who is refused: `deny: all`."
        ),
        word!(
            "deny",
            OneOrMore(&Text),
            "Addresses that are refused; `all` is everybody."
        ),
        word!(
            "allow_files",
            OneOrMore(&Text),
            "Files with an address or a range on each line; `#` begins a comment."
        ),
        word!(
            "deny_files",
            OneOrMore(&Text),
            "Files of addresses that are refused."
        ),
        word!("countries", Of(&COUNTRIES), "Who is refused by country."),
    ],
};

/// Countries.
pub(crate) static COUNTRIES: KeywordTable = KeywordTable {
    name: "countries",
    meaning: "Countries by the address of the client.",
    words: &[
        word!("database", Text, "A MaxMind file (`.mmdb`) with countries."),
        word!(
            "allow",
            OneOrMore(&Text),
            "Only these, by their two letters: `DE`; `unknown` for addresses without one."
        ),
        word!("deny", OneOrMore(&Text), "All but these."),
    ],
};

/// The alarm.
pub(crate) static RATE_ALERT: KeywordTable = KeywordTable {
    name: "alarm",
    meaning: "Tells when the rate of requests leaves its usual range. `true` is all defaults.",
    words: &[
        word!(
            "webhook",
            Text,
            "A URL that is sent a JSON object for every beginning and end of an alarm."
        ),
        word!("headers", MapOf(&Text), "Headers that are sent with it."),
        word!("every", Duration, "How long the rate is counted for; 1m."),
        word!(
            "history",
            Count(5, 10_000),
            "How many such counts make the usual range; 60."
        ),
        word!(
            "factor",
            Count(1, 100),
            "Width of the range, in robust standard deviations; 4."
        ),
        word!("least", Rate, "Rates below this are never too many; 1/s."),
    ],
};

/// Traces.
pub(crate) static TRACES: KeywordTable = KeywordTable {
    name: "traces",
    meaning: "Spans of requests for an OpenTelemetry collector, by OTLP over HTTP.",
    words: &[
        word!("to", Text, "The collector's URL: `http://127.0.0.1:4318`."),
        word!("headers", MapOf(&Text), "Headers that are sent with them."),
        word!(
            "share",
            Text,
            "Share of the requests without a parent's decision that are traced; 1%."
        ),
        word!(
            "parents",
            OneOf(&["all", "trusted", "none"]),
            "Whose `traceparent` is followed; `all`."
        ),
        word!(
            "service",
            Text,
            "Name of the service in spans; `plimsoll-edge`."
        ),
    ],
};
