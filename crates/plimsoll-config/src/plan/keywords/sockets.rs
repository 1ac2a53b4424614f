//! Keys of WebSocket steps.

use super::requests::MATCHED;
use crate::document::Shape::{
    Count, Duration, Either, Free, MapOf, Of, OneOf, OneOrMore, Switch, Template, Text,
};
use crate::document::{KeywordTable, Shape, Word, word};

/// Presets of application protocols.
const PRESETS: [&str; 5] = ["socket.io", "graphql", "stomp", "phoenix", "centrifugo"];

const OUTGOING_MESSAGE: Shape = Either(&[Template, Of(&MESSAGE)]);
const AWAITED: Shape = Either(&[Template, Of(&AWAIT)]);

pub(super) const WS: Word = word!(
    "ws",
    Template,
    "Opens a WebSocket at a path of the target, or at an absolute URL (`wss://…`), with the user's headers and cookies. It stays open until `close`, the user's next `ws`, or the end of the user. The next step starts once it is open."
);
pub(super) const SSE: Word = word!(
    "sse",
    Template,
    "Opens a stream of Server-Sent Events at a path of the target, or at an absolute URL. The data of each event is a message. Otherwise as `ws`, except that nothing can be sent. A `reconnect` sends the last event id."
);
pub(super) const SEND: Word = word!(
    "send",
    OUTGOING_MESSAGE,
    "Sends a message on the user's WebSocket. With `await`, the time until the response is recorded like that of a request."
);
pub(super) const AWAIT_WORD: Word = word!(
    "await",
    AWAITED,
    "The expected message: `any`, a text that it contains, or a map of conditions. With `send`, it must arrive after the sent message; alone, it may have arrived since the previous step."
);
pub(super) const SUBSCRIBE_WORD: Word = word!(
    "subscribe",
    Of(&SUBSCRIBE),
    "Counts broadcasts from here on: reach, time from publication to receipt, gaps, duplicates. Without it, the URL is the channel, and every message that is not a response is a broadcast, unless there is an `await` without `send`."
);
pub(super) const EVERY: Word = word!(
    "every",
    Duration,
    "Takes `steps` once per interval, with users spread evenly over it; if the steps take longer than the interval, rounds are skipped. Ends after `for`, or with the load."
);
pub(super) const FOR: Word = word!("for", Duration, "With `every`: total duration.");
pub(super) const HOLD: Word = word!(
    "hold",
    Duration,
    "Keeps the connection open for this time: receives messages and answers pings."
);
pub(super) const CLOSE: Word = word!(
    "close",
    Either(&[Count(1000, 4999), OneOf(&["normal"])]),
    "Closes the user's WebSocket with this code; `normal` is 1000."
);
pub(super) const PROTOCOL: Word = word!(
    "protocol",
    OneOrMore(&Text),
    "With `ws`: subprotocols to offer."
);
pub(super) const COMPRESS: Word = word!(
    "compress",
    Switch,
    "With `ws`: offers permessage-deflate. Default: false."
);
pub(super) const RECONNECT_WORD: Word = word!(
    "reconnect",
    Either(&[Switch, Of(&RECONNECT)]),
    "With `ws`: reconnects and subscribes again when the target or the network ends the connection, with separate statistics. `true`: after 500ms, doubling up to 30s, 10 times."
);
pub(super) const PRESET: Word = word!(
    "preset",
    OneOf(&PRESETS),
    "With `ws`: preset of an application protocol. Sets `protocol`, `first`, `ready`, `replies`, `beat` and the offset of the JSON in a message; keys given in the step take precedence."
);
pub(super) const FIRST: Word = word!(
    "first",
    OUTGOING_MESSAGE,
    "With `ws`: message sent as soon as the connection is open, also after a reconnect."
);
pub(super) const READY: Word = word!(
    "ready",
    AWAITED,
    "With `ws`: the message that completes the handshake."
);
pub(super) const REPLIES: Word = word!(
    "replies",
    MapOf(&Text),
    "With `ws`: texts and automatic replies, such as the pings of an application protocol: `{ ping: pong }`."
);
pub(super) const BEAT_WORD: Word = word!(
    "beat",
    Of(&BEAT),
    "With `ws`: keep-alive message, sent at an interval."
);

/// A message.
pub(crate) static MESSAGE: KeywordTable = KeywordTable {
    name: "message",
    meaning: "A message; one of text, json, binary, file.",
    words: &[
        word!("text", Template, "A text."),
        word!(
            "json",
            Free,
            "Any value, sent as JSON; placeholders within texts are escaped."
        ),
        word!("binary", Text, "Bytes, in base64."),
        word!(
            "file",
            Text,
            "File, relative to the folder of the plan file."
        ),
        word!(
            "template",
            Switch,
            "With `file`: whether placeholders `{{ … }}` are replaced. Default: false."
        ),
        word!(
            "bytes",
            Switch,
            "With `file`: sends a binary message. Default: text."
        ),
    ],
};

/// Conditions on a message.
pub(crate) static AWAIT: KeywordTable = KeywordTable {
    name: "await",
    meaning: "Conditions on a message; all must hold.",
    words: &[
        word!(
            "json",
            MapOf(&MATCHED),
            "First value of each JSON path, such as the id of the sent message: `{ $.id: \"{{ id }}\" }`."
        ),
        word!(
            "contains",
            OneOrMore(&Template),
            "Text that the message must contain."
        ),
        word!(
            "lacks",
            OneOrMore(&Template),
            "Text that the message must not contain."
        ),
        word!(
            "regex",
            OneOrMore(&Text),
            "Regular expression that the message must match."
        ),
    ],
};

/// How broadcasts are recognized.
pub(crate) static SUBSCRIBE: KeywordTable = KeywordTable {
    name: "subscribe",
    meaning: "How broadcasts are subscribed to and recognized. A message is a broadcast if it has the sequence number or the timestamp, and meets the conditions of `where`.",
    words: &[
        word!(
            "channel",
            Template,
            "Name of the channel. Default: the path of the URL. Reach is counted over all users of a channel."
        ),
        word!(
            "seq",
            Text,
            "JSON path of the sequence number. Without it, messages are distinguished by their content."
        ),
        word!(
            "stamp",
            Text,
            "JSON path of the publication time: s, ms, µs or ns since 1970."
        ),
        word!(
            "where",
            Of(&AWAIT),
            "Further conditions that a message of this channel meets."
        ),
        word!(
            "send",
            OUTGOING_MESSAGE,
            "Message that subscribes, if needed."
        ),
        word!(
            "await",
            AWAITED,
            "Message that confirms the subscription, if any."
        ),
    ],
};

/// How a lost WebSocket is reconnected.
pub(crate) static RECONNECT: KeywordTable = KeywordTable {
    name: "reconnect",
    meaning: "How a lost WebSocket is reconnected. Pauses are drawn between 0.5 and 1.5 times their mean.",
    words: &[
        word!(
            "after",
            Duration,
            "Mean pause before the first attempt. Default: 500ms."
        ),
        word!(
            "up_to",
            Duration,
            "Maximum of the mean pause, which doubles with each attempt. Default: 30s."
        ),
        word!(
            "times",
            Count(1, 1000),
            "Maximum number of attempts. Default: 10."
        ),
    ],
};

/// The keep-alive message.
pub(crate) static BEAT: KeywordTable = KeywordTable {
    name: "beat",
    meaning: "A message sent at an interval.",
    words: &[
        word!("every", Duration, "Interval."),
        word!("send", Text, "The text."),
    ],
};
