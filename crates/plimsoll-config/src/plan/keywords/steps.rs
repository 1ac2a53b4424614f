//! Words of steps.

use super::Shape::{
    Count, Duration, Either, Free, ListOf, MapOf, Number, Of, OneOf, OneOrMore, Steps, Switch,
    Template, Text,
};
use super::sockets::{
    AWAIT_WORD, BEAT_WORD, CLOSE, COMPRESS, EVERY, FIRST, FOR, HOLD, PRESET, PROTOCOL, READY,
    RECONNECT_WORD, REPLIES, SEND, SSE, SUBSCRIBE_WORD, WS,
};
use super::{
    BODY_FILE, CAPTURE, EXPECT, GRAPHQL, HEADERS, KeywordTable, MULTIPART_PART, Shape, Word,
};

/// Words that are methods of HTTP.
pub(crate) const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

const URL: &str = "Asks for a path of the target, or for a whole URL of another origin.";
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
    "Name in tables; `POST /login`, as written, without it. In a choice of ways, steps of one label are one line."
);
const HEADERS_WORD: Word = word!(
    "headers",
    HEADERS,
    "Headers of this request; they replace those of the journey and the plan."
);
const BODY_WORD: Word = word!("body", BODY, "A text, or a file.");
const FORM_WORD: Word = word!(
    "form",
    FORM,
    "Fields of a form; a list gives a field several values."
);
const MULTIPART_WORD: Word = word!("multipart", MULTIPART, "Parts of a form with files.");
const JSON_WORD: Word = word!(
    "json",
    Free,
    "Any value, sent as JSON; holes within texts are escaped. A text is JSON as it is to be sent."
);
const GRAPHQL_WORD: Word = word!("graphql", Of(&GRAPHQL), "A GraphQL request.");
const EXPECT_WORD: Word = word!(
    "expect",
    Of(&EXPECT),
    "What makes the first answer good; what is missed is a failure and ends the iteration."
);
const CAPTURE_WORD: Word = word!(
    "capture",
    MapOf(&Either(&[Text, Of(&CAPTURE)])),
    "Values kept of the answer, by name: a regular expression, or where it stands. What is not found ends the iteration."
);
const FOLLOW_WORD: Word = word!(
    "follow",
    FOLLOW,
    "Redirects followed at most; `true` means 10, without it none."
);
const TIMEOUT_WORD: Word = word!("timeout", Duration, "Time-out of this request.");

/// One step.
pub(crate) static STEP: KeywordTable = KeywordTable {
    name: "step",
    meaning: "One step: a request (get, post, …), page, think, repeat, choose, if, group or set; or one of WebSockets: ws, sse, send, await, subscribe, every, hold or close.",
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
            "Asks for a page and, at once, for what it needs; by POST when it has a body or form."
        ),
        word!(
            "resources",
            Either(&[
                OneOf(&["found"]),
                ListOf(&Either(&[Template, Of(&RESOURCE)]))
            ]),
            "With `page`: what it needs, or `found` for what the page names on its own origin; `found` may also stand in the list."
        ),
        word!(
            "connections",
            Count(1, 6),
            "With `page`: connections used at once; 6 by default."
        ),
        word!(
            "think",
            Either(&[Text, Of(&THINK)]),
            "Does nothing for a while: `2s`, `1s..15s`, or a distribution."
        ),
        word!(
            "repeat",
            Either(&[Count(0, 1_000_000), Text]),
            "Takes `steps` so often: `5`, `2..4`."
        ),
        word!("steps", Steps, "With `repeat`, `every` and `group`: what."),
        word!("choose", ListOf(&Of(&CHOICE)), "Takes one of several ways."),
        word!(
            "if",
            Text,
            "Decides: `{{ stock }} > 0`, also `==`, `!=`, `<`, `<=`, `>=`, `contains`, `matches`, `not`."
        ),
        word!("then", Steps, "With `if`: what is done when it holds."),
        word!("else", Steps, "With `if`: what is done when it does not."),
        word!("group", Text, "Counts `steps` together under this name."),
        word!("set", MapOf(&Template), "Remembers values by name."),
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

/// What a page needs.
pub(crate) static RESOURCE: KeywordTable = KeywordTable {
    name: "resource",
    meaning: "A request of a page.",
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

/// How long a user thinks.
pub(crate) static THINK: KeywordTable = KeywordTable {
    name: "think",
    meaning: "How long a user thinks; one of these.",
    words: &[
        word!(
            "exponential",
            Duration,
            "Exponential with this mean, cut at ten means."
        ),
        word!(
            "normal",
            ListOf(&Duration),
            "Normal: mean and standard deviation, never below 0."
        ),
        word!(
            "lognormal",
            ListOf(&Either(&[Duration, Number])),
            "Log-normal: median, and standard deviation of the logarithm."
        ),
    ],
};

/// One way of several.
pub(crate) static CHOICE: KeywordTable = KeywordTable {
    name: "choice",
    meaning: "One way of several.",
    words: &[
        word!(
            "weight",
            Number,
            "Share beside the other ways' weights; 1 by default."
        ),
        word!("steps", Steps, "What is done then; may be nothing."),
    ],
};
