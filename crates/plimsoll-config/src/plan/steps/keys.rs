//! The keys of steps: one row for each, of which the reader, the JSON Schema and the reference are made.
//!
//! A row with an arrow is a kind of step: the keys that may stand beside it, and its reader.

use plimsoll_model::journey::Step;

use super::{CHOICE, CONNECTIONS, PAGE_CONNECTIONS, REPEAT_MAX, Walk};
use crate::distribution::{THINK, duration_distribution};
use crate::document::Shape::{
    Count, Duration, Either, Free, ListOf, MapOf, Of, OneOf, OneOrMore, Steps, Switch, Template,
    Text,
};
use crate::document::{DocumentNode, KeywordTable, MapFields, count, settings, switch, word};
use crate::plan::answer::{CAPTURE, EXPECT};
use crate::plan::body::{BODY_FILE, GRAPHQL, MULTIPART_PART};
use crate::plan::keywords::HEADERS;
use crate::plan::polls::POLLED;
use crate::plan::request::FOLLOW_MAX;
use crate::plan::sockets::{
    AWAIT_OPTIONS, AWAITED, BEAT, DISCONNECT, OUTGOING_MESSAGE, PRESET, RECONNECT, SUBSCRIBE,
};

/// Reads a step of a kind, from its map, the key of the kind, and the value of that key.
type ReadStep = fn(&mut Walk<'_, '_>, &MapFields<'_>, (&str, &DocumentNode)) -> Option<Step>;

/// A kind of step.
pub(super) struct StepKind {
    key: &'static str,
    /// Whether the keys of a request may stand beside it.
    has_request: bool,
    /// Other keys that may.
    options: &'static [&'static str],
    /// Whether its key is an option of other kinds, and a kind only without one.
    is_option: bool,
    read: ReadStep,
}

/// A kind beside which these keys may stand.
const fn with(options: &'static [&'static str], read: ReadStep) -> StepKind {
    StepKind {
        key: "",
        has_request: false,
        options,
        is_option: false,
        read,
    }
}

/// A kind beside which no other key may stand.
const fn alone(read: ReadStep) -> StepKind {
    with(&[], read)
}

/// A kind beside which the keys of a request may stand, and these.
const fn requesting(options: &'static [&'static str], read: ReadStep) -> StepKind {
    StepKind {
        has_request: true,
        ..with(options, read)
    }
}

impl StepKind {
    /// It is an option where there is another kind.
    const fn unless_option(self) -> Self {
        Self {
            is_option: true,
            ..self
        }
    }

    const fn called(self, key: &'static str) -> Self {
        Self { key, ..self }
    }

    /// Its key.
    pub(super) const fn key(&self) -> &'static str {
        self.key
    }

    /// Whether it is a kind only without another.
    pub(super) const fn is_option(&self) -> bool {
        self.is_option
    }

    /// The keys that may stand beside it.
    pub(super) fn options(&self) -> Vec<&'static str> {
        let request: &[&str] = if self.has_request { OPTIONS } else { &[] };
        [request, self.options].concat()
    }

    pub(super) fn read(
        &self,
        walk: &mut Walk<'_, '_>,
        fields: &MapFields<'_>,
        value: &DocumentNode,
    ) -> Option<Step> {
        (self.read)(walk, fields, (self.key, value))
    }
}

/// The kind of a key.
pub(super) fn kind_of(key: &str) -> Option<&'static StepKind> {
    KINDS.iter().find(|kind| kind.key == key)
}

fn request(
    walk: &mut Walk<'_, '_>,
    fields: &MapFields<'_>,
    (method, url): (&str, &DocumentNode),
) -> Option<Step> {
    let request = walk.request(fields, method, url)?;
    Some(Step::Request(Box::new(request)))
}

/// A key; with a default, its kind of value writes that into the reference.
macro_rules! step_word {
    ($name:literal, $shape:expr, $meaning:expr) => {
        word!($name, $shape, $meaning)
    };
    ($name:literal, $kind:expr, $meaning:expr, $default:expr) => {
        $crate::document::Word {
            name: $name,
            shape: ($kind).shape(),
            meaning: $meaning,
            describe: |meaning| settings::describe(meaning, &$kind, &$default),
        }
    };
}

/// From the rows: the keys of a request, those of a step, and the kinds of steps. The comment of a row is its text in the
/// reference; a row is `"key": Shape`, or `"key": kind(), default`, and with an arrow a kind of step.
macro_rules! steps {
    (
        methods { #[doc = $url:literal] $($method:literal)+ }
        request { $(
            $(#[doc = $option_text:literal])+
            $option:literal: $option_shape:expr;
        )+ }
        others { $(
            $(#[doc = $text:literal])+
            $key:literal: $shape:expr $(, $default:expr)? $(=> $kind:expr)?;
        )+ }
    ) => {
        /// The methods of requests.
        pub(super) const METHODS: &[&str] = &[$($method),+];

        /// Keys beside a method.
        const OPTIONS: &[&str] = &[$($option),+];

        /// A resource of a page: a request.
        pub(crate) static RESOURCE: KeywordTable = KeywordTable {
            name: "resource",
            meaning: "A resource of a page.",
            words: &[
                $(word!($method, Template, $url.trim_ascii_start()),)+
                $(word!($option, $option_shape, concat!($($option_text),+).trim_ascii_start()),)+
            ],
        };

        /// One step.
        pub(crate) static STEP: KeywordTable = KeywordTable {
            name: "step",
            meaning: "One step: a request (get, post, …), page, poll, think, repeat, choose, if, group or set; or a WebSocket \
                      step: ws, sse, send, await, subscribe, every, hold or close.",
            words: &[
                $(word!($method, Template, $url.trim_ascii_start()),)+
                $(word!($option, $option_shape, concat!($($option_text),+).trim_ascii_start()),)+
                $(step_word!($key, $shape, concat!($($text),+).trim_ascii_start() $(, $default)?),)+
            ],
        };

        /// The kinds of steps, in the order of their keys.
        pub(super) static KINDS: &[StepKind] = &[
            $(requesting(&[], request).called($method),)+
            $($($kind.called($key),)?)+
        ];
    };
}

/// Keys beside `ws`.
const WS: &[&str] = &[
    "label",
    "headers",
    "timeout",
    "protocol",
    "compress",
    "reconnect",
    "preset",
    "first",
    "ready",
    "replies",
    "beat",
    "drop",
    "for",
    "disconnect",
];
/// Keys beside `sse`.
const SSE: &[&str] = &[
    "label",
    "headers",
    "timeout",
    "reconnect",
    "drop",
    "for",
    "disconnect",
];
/// Keys beside `send`.
const SEND: &[&str] = &["await", "label", "timeout", "capture"];

steps! {
    methods {
        /// Requests a path of the target, or an absolute URL of a different origin.
        "get" "post" "put" "patch" "delete" "head" "options"
    }
    request {
        /// Name in tables. Default: `POST /login`, as written. Steps with the same label within a `choose` are one row.
        "label": Text;
        /// Headers of this request; they override those of the journey and the plan.
        "headers": HEADERS;
        /// A text, or a file.
        "body": Either(&[Template, Of(&BODY_FILE)]);
        /// Form fields; a list gives a field several values.
        "form": MapOf(&OneOrMore(&Template));
        /// Parts of a multipart form with files; a list gives several parts of one name.
        "multipart": MapOf(&OneOrMore(&Either(&[Template, Of(&MULTIPART_PART)])));
        /// Any value, sent as JSON; placeholders within texts are escaped. A text is sent as it is and must be JSON.
        "json": Free;
        /// A GraphQL request.
        "graphql": Of(&GRAPHQL);
        /// Conditions that the first response must meet; a condition that does not hold is a failure and ends the
        /// iteration.
        "expect": Of(&EXPECT);
        /// Values captured from the response, by name: a regular expression, or a map with the source. A missing value
        /// ends the iteration.
        "capture": MapOf(&Either(&[Text, Of(&CAPTURE)]));
        /// Maximum redirects to follow; `true` is 10. Default: none.
        "follow": Either(&[Count(0, FOLLOW_MAX as u64), Switch]);
        /// Time-out of this request.
        "timeout": Duration;
    }
    others {
        /// Requests a page and, concurrently, its resources; by POST when it has a body or form.
        "page": Template
            => requesting(&["resources", "connections"], |walk, fields, (_, url)| walk.page(fields, url));
        /// With `page`: its resources, or `found` for those that the page references on its own origin; `found` may
        /// also be an item of the list.
        "resources": Either(&[OneOf(&["found"]), ListOf(&Either(&[Template, Of(&RESOURCE)]))]);
        /// With `page`: concurrent connections.
        "connections": count(CONNECTIONS), PAGE_CONNECTIONS;
        /// Think time: `2s`, `1s..15s`, or a distribution.
        "think": Either(&[Text, Of(&THINK)])
            => alone(|walk, _, (_, value)| duration_distribution(walk.scope.reader, value).map(Step::Think));
        /// Number of repetitions of `steps`: `5`, `2..4`.
        "repeat": Either(&[Count(0, REPEAT_MAX), Text])
            => with(&["steps"], |walk, fields, (_, times)| walk.repeat(fields, times));
        /// With `repeat`, `every` and `group`: the steps.
        "steps": Steps;
        /// Takes one of several branches at random.
        "choose": ListOf(&Of(&CHOICE)) => alone(|walk, _, (_, value)| walk.choose(value));
        /// Condition: `{{ stock }} > 0`, also `==`, `!=`, `<`, `<=`, `>=`, `contains`, `matches`, `not`.
        "if": Text => with(&["then", "else"], |walk, fields, (_, value)| walk.branch(fields, value));
        /// With `if`: steps when the condition holds.
        "then": Steps;
        /// With `if`: steps when it does not.
        "else": Steps;
        /// Aggregates the statistics of `steps` under this name.
        "group": Text => with(&["steps"], |walk, fields, (_, name)| walk.group(fields, name));
        /// Sets variables by name.
        "set": MapOf(&Template) => alone(|walk, _, (_, value)| walk.set(value));
        /// Opens a WebSocket at a path of the target, or at an absolute URL (`wss://…`), with the user's headers and
        /// cookies. It stays open until `close`, the user's next `ws`, or the end of the user. The next step starts
        /// once it is open.
        "ws": Template => with(WS, |walk, fields, (_, url)| walk.socket(fields, url));
        /// Opens a stream of Server-Sent Events at a path of the target, or at an absolute URL. The data of each event
        /// is a message. Otherwise as `ws`, except that nothing can be sent. A `reconnect` sends the last event id.
        "sse": Template => with(SSE, |walk, fields, (_, url)| walk.stream(fields, url));
        /// With `ws`: subprotocols to offer.
        "protocol": OneOrMore(&Text);
        /// With `ws`: offers permessage-deflate.
        "compress": switch(), false;
        /// With `ws`: reconnects and subscribes again when the target or the network ends the connection, with separate
        /// statistics. `true`: after 500ms, doubling up to 30s, 10 times.
        "reconnect": Either(&[Switch, Of(&RECONNECT)]);
        /// With `ws`: preset of an application protocol. Sets `protocol`, `first`, `ready`, `replies`, `beat` and the
        /// offset of the JSON in a message; keys given in the step take precedence.
        "preset": PRESET.shape();
        /// With `ws`: message sent as soon as the connection is open, also after a reconnect.
        "first": OUTGOING_MESSAGE;
        /// With `ws`: the message that completes the handshake.
        "ready": AWAITED;
        /// With `ws`: texts and automatic replies, such as the pings of an application protocol: `{ ping: pong }`.
        "replies": MapOf(&Text);
        /// With `ws`: keep-alive message, sent at an interval.
        "beat": Of(&BEAT);
        /// With `ws` or `sse`: users drop out of their network, as phones in a tunnel do, so many of the open ones in a time:
        /// `5%/min`. Their connections are reset without a close frame. They come back after `for`, and reconnect. Default:
        /// none.
        "drop": Text;
        /// With `ws` or `sse`: moments at which a share of the open ones is cut together.
        "disconnect": OneOrMore(&Of(&DISCONNECT));
        /// Sends a message on the user's WebSocket. With `await`, the time until the response is recorded like that of
        /// a request.
        "send": OUTGOING_MESSAGE
            => with(SEND, |walk, fields, (_, value)| walk.send(fields, Some(value)));
        /// The expected message: `any`, a text that it contains, or a map of conditions. With `send`, it must arrive
        /// after the sent message; alone, it may have arrived since the previous step.
        "await": AWAITED
            => with(&AWAIT_OPTIONS, |walk, fields, _| walk.send(fields, None)).unless_option();
        /// Counts broadcasts from here on: reach, time from publication to receipt, gaps, duplicates. Without it, the
        /// URL is the channel, and every message that is not a response is a broadcast, unless there is an `await`
        /// without `send`.
        "subscribe": Of(&SUBSCRIBE)
            => with(&AWAIT_OPTIONS, |walk, fields, (_, value)| walk.subscribe(fields, value));
        /// Takes `steps` once per interval, with users spread evenly over it; if the steps take longer than the
        /// interval, rounds are skipped. Ends after `for`, or with the load. With `poll`: its interval.
        "every": Duration
            => with(&["steps", "for"], |walk, fields, (_, value)| walk.every(fields, value)).unless_option();
        /// With `every` and `poll`: total duration. With `drop`: how long a user is away, as a duration, a range or a distribution. Default
        /// with `drop`: 10s..60s.
        "for": Either(&[Text, Of(&THINK)]);
        /// Keeps the connection open for this time: receives messages and answers pings.
        "hold": Duration => alone(|walk, _, (_, value)| walk.hold(value));
        /// Closes the user's WebSocket with this code; `normal` is 1000.
        "close": Either(&[Count(1000, 4999), OneOf(&["normal"])])
            => alone(|walk, _, (_, value)| walk.close(value));
        /// Fetches messages by polling a path of the target, or an absolute URL: with `every` at an interval, without it again
        /// as soon as the last request was answered (long polling). Ends after `for`, or with the load. A failed request is
        /// counted, and the next follows after a second. The time of a long poll contains the wait for a message: it counts
        /// under this step alone.
        "poll": Template
            => requesting(&["every", "for", "messages"], |walk, fields, (_, url)| walk.poll(fields, url));
        /// With `poll`: how messages are found in the answers.
        "messages": Of(&POLLED);
    }
}
