//! Keys of the response cache.

use crate::document::Shape::{
    Count, Duration, Either, MapOf, Of, OneOf, OneOrMore, Size, Switch, Text,
};
use crate::document::{KeywordTable, word};

/// The cache of the whole edge.
pub(crate) static STORE: KeywordTable = KeywordTable {
    name: "store",
    meaning: "The response cache. `off` disables it.",
    words: &[
        word!(
            "size",
            Size,
            "Memory for cached responses and their index. Default: 64MiB."
        ),
        word!(
            "disk",
            Either(&[OneOf(&["off"]), Of(&DISK)]),
            "Disk cache, which survives a restart. Default: none."
        ),
    ],
};

/// The disk cache.
pub(crate) static DISK: KeywordTable = KeywordTable {
    name: "disk",
    meaning: "Disk cache. One response takes at most an eighth of the size. When the disk fails, the edge reports it and continues without it.",
    words: &[
        word!(
            "path",
            Text,
            "Folder, used by one edge only; created if missing."
        ),
        word!("size", Size, "Size of the disk cache. Default: 1GiB."),
    ],
};

/// Caching of a route.
pub(crate) static CACHE: KeywordTable = KeywordTable {
    name: "cache",
    meaning: "Caching beyond what the response headers specify. `off` stores nothing.",
    words: &[
        word!(
            "ttl",
            Duration,
            "Minimum lifetime of a plain page: a 200 response to a GET request without cookies or `Authorization`, which sets no cookie and is not `private`, `no-store` or `no-cache`."
        ),
        word!("max_ttl", Duration, "Maximum lifetime of any response."),
        word!(
            "query",
            Either(&[Text, Of(&CACHE_QUERY)]),
            "Query parameters in the cache key: `all`, `ignore`, `tracking` (all except known tracking parameters), or `only`. Default: all."
        ),
        word!(
            "sorted",
            Switch,
            "Whether the order of parameters is ignored. Default: false."
        ),
        word!(
            "ignore_cookies",
            OneOrMore(&Text),
            "Cookies that do not affect the response."
        ),
        word!(
            "bypass_cookies",
            OneOrMore(&Text),
            "Cookies with which a request bypasses the cache."
        ),
        word!(
            "set_cookie",
            OneOf(&["refuse", "strip", "keep"]),
            "Responses that set a cookie are not stored, stored without it, or stored with it for every client. Default: `refuse`."
        ),
        word!(
            "statuses",
            OneOrMore(&Count(200, 599)),
            "Status codes that are stored. Default: all that are cacheable."
        ),
        word!(
            "by_status",
            MapOf(&Duration),
            "Lifetimes by status for responses without one: `{ 404: 10s }`."
        ),
        word!(
            "jitter",
            Text,
            "Maximum random reduction of a lifetime, so that pages do not expire together. Default: 0%."
        ),
        word!(
            "stale_while_revalidate",
            Duration,
            "How long a stale response is served while it is revalidated, unless the response specifies it. Default: 0s."
        ),
        word!(
            "stale_if_error",
            Duration,
            "How long a stale response is served when the servers fail, unless the response specifies it. Default: 1h."
        ),
        word!(
            "reload_after",
            Duration,
            "Age from which a client that reloads gets a fresh response. Default: never."
        ),
    ],
};

/// Query parameters in the cache key.
pub(crate) static CACHE_QUERY: KeywordTable = KeywordTable {
    name: "cache_query",
    meaning: "Query parameters in the cache key.",
    words: &[word!(
        "only",
        OneOrMore(&Text),
        "Only the parameters with these names."
    )],
};
