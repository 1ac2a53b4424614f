//! Words about copies of answers.

use crate::plan::keywords::Shape::{
    Count, Duration, Either, MapOf, Of, OneOf, OneOrMore, Size, Switch, Text,
};
use crate::plan::keywords::{KeywordTable, word};

/// The store of all copies.
pub(crate) static STORE: KeywordTable = KeywordTable {
    name: "store",
    meaning: "Where copies of answers are kept. `off` keeps none.",
    words: &[
        word!(
            "size",
            Size,
            "Memory for copies and all that belongs to them; 64MiB."
        ),
        word!(
            "disk",
            Either(&[OneOf(&["off"]), Of(&DISK)]),
            "Where copies are kept on disk too, so that they outlive the process; nowhere."
        ),
    ],
};

/// Copies on disk.
pub(crate) static DISK: KeywordTable = KeywordTable {
    name: "disk",
    meaning: "Where copies are kept on disk. One takes an eighth of the size at most. A disk that fails is told of, and \
              the edge goes on without it.",
    words: &[
        word!(
            "path",
            Text,
            "The folder, for one edge alone; made if it is not there."
        ),
        word!("size", Size, "Bytes for the copies; 1GiB."),
    ],
};

/// Copies of a route's answers.
pub(crate) static CACHE: KeywordTable = KeywordTable {
    name: "cache",
    meaning: "What is kept of a route's answers beyond what they say themselves. `off` keeps nothing.",
    words: &[
        word!(
            "ttl",
            Duration,
            "Least lifetime of a plain page: a 200 to a GET that sets no cookie, is not `private`, `no-store` or `no-cache`, and was asked for without cookies or `Authorization`."
        ),
        word!("max_ttl", Duration, "Greatest lifetime of anything."),
        word!(
            "query",
            Either(&[Text, Of(&CACHE_QUERY)]),
            "What of the query tells pages apart: `all`, `ignore`, `tracking` (all but the known names that tell where a visitor came from), or `only`; all."
        ),
        word!(
            "sorted",
            Switch,
            "Parameters in another order ask for the same; false."
        ),
        word!(
            "ignore_cookies",
            OneOrMore(&Text),
            "Cookies that change no answer."
        ),
        word!(
            "bypass_cookies",
            OneOrMore(&Text),
            "Cookies with which a request passes the cache by."
        ),
        word!(
            "set_cookie",
            OneOf(&["refuse", "strip", "keep"]),
            "Answers that set a cookie are not kept, kept without it, or kept with it for everybody; `refuse`."
        ),
        word!(
            "statuses",
            OneOrMore(&Count(200, 599)),
            "Statuses that are kept; all that may be."
        ),
        word!(
            "by_status",
            MapOf(&Duration),
            "Lifetimes of answers that say none, by status: `{ 404: 10s }`."
        ),
        word!(
            "jitter",
            Text,
            "By how much a lifetime may be shortened by chance, so that pages do not end together; 0%."
        ),
        word!(
            "stale_while_revalidate",
            Duration,
            "How long a stale page is served while it is renewed, where the answer says nothing of it; 0s."
        ),
        word!(
            "stale_if_error",
            Duration,
            "How long a stale page is served when the servers fail, where the answer says nothing of it; 1h."
        ),
        word!(
            "reload_after",
            Duration,
            "From which age on a client that reloads gets a new page; never."
        ),
    ],
};

/// Parameters that count.
pub(crate) static CACHE_QUERY: KeywordTable = KeywordTable {
    name: "cache_query",
    meaning: "Which parameters tell pages apart.",
    words: &[word!("only", OneOrMore(&Text), "Those of these names.")],
};
