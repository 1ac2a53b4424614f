//! Keys of steps.

use super::sockets::{
    AWAIT_WORD, BEAT_WORD, CLOSE, COMPRESS, EVERY, FIRST, FOR, HOLD, PRESET, PROTOCOL, READY,
    RECONNECT_WORD, REPLIES, SEND, SSE, SUBSCRIBE_WORD, WS,
};
use super::{BODY_FILE, CAPTURE, EXPECT, GRAPHQL, HEADERS, MULTIPART_PART};
use crate::document::Shape::{
    Count, Duration, Either, Free, ListOf, MapOf, Number, Of, OneOf, OneOrMore, Steps, Switch,
    Template, Text,
};
use crate::document::{KeywordTable, Shape, Word, word};

/// Keys that are HTTP methods.
pub(crate) const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

const URL: &str = "Requests a path of the target, or an absolute URL of a different origin.";
const BODY: Shape = Either(&[Template, Of(&BODY_FILE)]);
const FORM: Shape = MapOf(&OneOrMore(&Template));
const MULTIPART: Shape = MapOf(&Either(&[Template, Of(&MULTIPART_PART)]));
const FOLLOW: Shape = Either(&[Count(0, 50), Switch]);

const GET: Word = word!("get", Template, URL);
const POST: Word = word!("post", Template, URL);
const PUT: Word = word!("put", Template, URL);
const PATCH: Word = word!("patch", Template, URL);
const DELETE: Word = word!("delete", Template, URL);
const HEAD: Word = word!("head", Template, URL);
const OPTIONS: Word = word!("options", Template, URL);
const LABEL_WORD: Word = word!(
    "label",
    Text,
    "Name in tables. Default: `POST /login`, as written. Steps with the same label within a `choose` are one row."
);
const HEADERS_WORD: Word = word!(
    "headers",
    HEADERS,
    "Headers of this request; they override those of the journey and the plan."
);
const BODY_WORD: Word = word!("body", BODY, "A text, or a file.");
const FORM_WORD: Word = word!(
    "form",
    FORM,
    "Form fields; a list gives a field several values."
);
const MULTIPART_WORD: Word = word!(
    "multipart",
    MULTIPART,
    "Parts of a multipart form with files."
);
const JSON_WORD: Word = word!(
    "json",
    Free,
    "Any value, sent as JSON; placeholders within texts are escaped. A text is sent as it is and must be JSON."
);
const GRAPHQL_WORD: Word = word!("graphql", Of(&GRAPHQL), "A GraphQL request.");
const EXPECT_WORD: Word = word!(
    "expect",
    Of(&EXPECT),
    "Conditions that the first response must meet; a condition that does not hold is a failure and ends the iteration."
);
const CAPTURE_WORD: Word = word!(
    "capture",
    MapOf(&Either(&[Text, Of(&CAPTURE)])),
    "Values captured from the response, by name: a regular expression, or a map with the source. A missing value ends the iteration."
);
const FOLLOW_WORD: Word = word!(
    "follow",
    FOLLOW,
    "Maximum redirects to follow; `true` is 10. Default: none."
);
const TIMEOUT_WORD: Word = word!("timeout", Duration, "Time-out of this request.");

/// One step.
pub(crate) static STEP: KeywordTable = KeywordTable {
    name: "step",
    meaning: "One step: a request (get, post, …), page, think, repeat, choose, if, group or set; or a WebSocket step: ws, sse, send, await, subscribe, every, hold or close.",
    words: &[
        GET,
        POST,
        PUT,
        PATCH,
        DELETE,
        HEAD,
        OPTIONS,
        LABEL_WORD,
        HEADERS_WORD,
        BODY_WORD,
        FORM_WORD,
        MULTIPART_WORD,
        JSON_WORD,
        GRAPHQL_WORD,
        EXPECT_WORD,
        CAPTURE_WORD,
        FOLLOW_WORD,
        TIMEOUT_WORD,
        word!(
            "page",
            Template,
            "Requests a page and, concurrently, its resources; by POST when it has a body or form."
        ),
        word!(
            "resources",
            Either(&[
                OneOf(&["found"]),
                ListOf(&Either(&[Template, Of(&RESOURCE)]))
            ]),
            "With `page`: its resources, or `found` for those that the page references on its own origin; `found` may also be an item of the list."
        ),
        word!(
            "connections",
            Count(1, 6),
            "With `page`: concurrent connections. Default: 6."
        ),
        word!(
            "think",
            Either(&[Text, Of(&THINK)]),
            "Think time: `2s`, `1s..15s`, or a distribution."
        ),
        word!(
            "repeat",
            Either(&[Count(0, 1_000_000), Text]),
            "Number of repetitions of `steps`: `5`, `2..4`."
        ),
        word!(
            "steps",
            Steps,
            "With `repeat`, `every` and `group`: the steps."
        ),
        word!(
            "choose",
            ListOf(&Of(&CHOICE)),
            "Takes one of several branches at random."
        ),
        word!(
            "if",
            Text,
            "Condition: `{{ stock }} > 0`, also `==`, `!=`, `<`, `<=`, `>=`, `contains`, `matches`, `not`."
        ),
        word!("then", Steps, "With `if`: steps when the condition holds."),
        word!("else", Steps, "With `if`: steps when it does not."),
        word!(
            "group",
            Text,
            "Aggregates the statistics of `steps` under this name."
        ),
        word!("set", MapOf(&Template), "Sets variables by name."),
        WS,
        SSE,
        PROTOCOL,
        COMPRESS,
        RECONNECT_WORD,
        PRESET,
        FIRST,
        READY,
        REPLIES,
        BEAT_WORD,
        SEND,
        AWAIT_WORD,
        SUBSCRIBE_WORD,
        EVERY,
        FOR,
        HOLD,
        CLOSE,
    ],
};

/// Resources of a page.
pub(crate) static RESOURCE: KeywordTable = KeywordTable {
    name: "resource",
    meaning: "A resource of a page.",
    words: &[
        GET,
        POST,
        PUT,
        PATCH,
        DELETE,
        HEAD,
        OPTIONS,
        LABEL_WORD,
        HEADERS_WORD,
        BODY_WORD,
        FORM_WORD,
        MULTIPART_WORD,
        JSON_WORD,
        GRAPHQL_WORD,
        EXPECT_WORD,
        CAPTURE_WORD,
        FOLLOW_WORD,
        TIMEOUT_WORD,
    ],
};

/// Distributions of think time.
pub(crate) static THINK: KeywordTable = KeywordTable {
    name: "think",
    meaning: "Distribution of the think time; one of these.",
    words: &[
        word!(
            "exponential",
            Duration,
            "Exponential with this mean, truncated at ten times the mean."
        ),
        word!(
            "normal",
            ListOf(&Duration),
            "Normal: mean and standard deviation, truncated at 0."
        ),
        word!(
            "lognormal",
            ListOf(&Either(&[Duration, Number])),
            "Log-normal: median, and standard deviation of the logarithm."
        ),
    ],
};

/// One branch of a `choose`.
pub(crate) static CHOICE: KeywordTable = KeywordTable {
    name: "choice",
    meaning: "One branch of a `choose`.",
    words: &[
        word!(
            "weight",
            Number,
            "Probability, relative to the weights of the other branches. Default: 1."
        ),
        word!("steps", Steps, "Steps of the branch; may be empty."),
    ],
};
