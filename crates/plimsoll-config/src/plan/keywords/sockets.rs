//! Words of WebSockets.

use super::Shape::{
    Count, Duration, Either, Free, MapOf, Of, OneOf, OneOrMore, Switch, Template, Text,
};
use super::requests::MATCHED;
use super::{KeywordTable, Shape, Word};

/// Protocols that a WebSocket may speak.
const PRESETS: [&str; 5] = ["socket.io", "graphql", "stomp", "phoenix", "centrifugo"];

const OUTGOING_MESSAGE: Shape = Either(&[Template, Of(&MESSAGE)]);
const AWAITED: Shape = Either(&[Template, Of(&AWAIT)]);

pub(super) const WS: Word = word!(
    "ws",
    Template,
    "Opens a WebSocket at a path of the target, or at a whole URL (`wss://…`), with the user's headers and cookies. It stays until `close`, the user's next `ws`, or the user leaves, and is opened before the next step is taken."
);
pub(super) const SSE: Word = word!(
    "sse",
    Template,
    "Asks for Server-Sent Events at a path of the target, or at a whole URL. Each event's data is a message; all else is as with `ws`, but that nothing can be sent. A `reconnect` says the last id."
);
pub(super) const SEND: Word = word!(
    "send",
    OUTGOING_MESSAGE,
    "Sends a message on the user's WebSocket. With `await` beside it, the time until the answer is that of a request."
);
pub(super) const AWAIT_WORD: Word = word!(
    "await",
    AWAITED,
    "The message that is waited for: `any`, a text that it contains, or more. Beside `send` it comes after that; alone it may have come since the step before."
);
pub(super) const SUBSCRIBE_WORD: Word = word!(
    "subscribe",
    Of(&SUBSCRIBE),
    "From here on broadcasts are counted: reach, time from stamp to receipt, gaps, duplicates. Without it the URL is the channel, and every message that answers nothing is a broadcast, unless an `await` stands alone."
);
pub(super) const EVERY: Word = word!(
    "every",
    Duration,
    "Takes `steps` once in each such interval, users spread evenly over it; what takes longer than the interval leaves rounds out. Ends after `for`, or with the load."
);
pub(super) const FOR: Word = word!("for", Duration, "With `every`: how long.");
pub(super) const HOLD: Word = word!(
    "hold",
    Duration,
    "Does nothing but listen, answer pings and stay, for so long."
);
pub(super) const CLOSE: Word = word!(
    "close",
    Either(&[Count(1000, 4999), OneOf(&["normal"])]),
    "Closes the user's WebSocket with this code; `normal` is 1000."
);
pub(super) const PROTOCOL: Word = word!(
    "protocol",
    OneOrMore(&Text),
    "With `ws`: subprotocols that are offered."
);
pub(super) const COMPRESS: Word = word!(
    "compress",
    Switch,
    "With `ws`: offer permessage-deflate; false by default."
);
pub(super) const RECONNECT_WORD: Word = word!(
    "reconnect",
    Either(&[Switch, Of(&RECONNECT)]),
    "With `ws`: open it again when the target or the network ends it, subscriptions included, with statistics of its own. `true`: after 500ms, doubling up to 30s, 10 times."
);
pub(super) const PRESET: Word = word!(
    "preset",
    OneOf(&PRESETS),
    "With `ws`: the protocol spoken on it. Says `protocol`, `first`, `ready`, `replies`, `beat` and where in a message its JSON begins; what is written beside it goes before."
);
pub(super) const FIRST: Word = word!(
    "first",
    OUTGOING_MESSAGE,
    "With `ws`: sent as soon as it is open, after a reconnect too."
);
pub(super) const READY: Word = word!(
    "ready",
    AWAITED,
    "With `ws`: the message that makes it ready; the handshake lasts until then."
);
pub(super) const REPLIES: Word = word!(
    "replies",
    MapOf(&Text),
    "With `ws`: texts that are answered at once, such as a protocol's own pings: `{ ping: pong }`."
);
pub(super) const BEAT_WORD: Word = word!(
    "beat",
    Of(&BEAT),
    "With `ws`: what is sent again and again so that the target keeps it."
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
            "Any value, sent as JSON; holes within texts are escaped."
        ),
        word!("binary", Text, "Bytes, in base64."),
        word!("file", Text, "A file, from the plan file's folder."),
        word!(
            "template",
            Switch,
            "With `file`: fill its holes `{{ … }}`; false by default."
        ),
        word!(
            "bytes",
            Switch,
            "With `file`: send it as bytes; as text by default."
        ),
    ],
};

/// Which message is meant.
pub(crate) static AWAIT: KeywordTable = KeywordTable {
    name: "await",
    meaning: "Which message is meant; all that is said must hold.",
    words: &[
        word!(
            "json",
            MapOf(&MATCHED),
            "First values of JSON paths, such as the id of what was sent: `{ $.id: \"{{ id }}\" }`."
        ),
        word!(
            "contains",
            OneOrMore(&Template),
            "What the message contains."
        ),
        word!(
            "lacks",
            OneOrMore(&Template),
            "What the message does not contain."
        ),
        word!(
            "regex",
            OneOrMore(&Text),
            "A regular expression that the message matches."
        ),
    ],
};

/// What marks a broadcast.
pub(crate) static SUBSCRIBE: KeywordTable = KeywordTable {
    name: "subscribe",
    meaning: "What asks for broadcasts and marks them. A message is one if it has the sequence number or the stamp, and is as `where` says.",
    words: &[
        word!(
            "channel",
            Template,
            "Name of the channel; the path of the URL without it. Reach is counted over all users of a channel."
        ),
        word!(
            "seq",
            Text,
            "Where its sequence number stands, a JSON path; without it messages are told apart by their content."
        ),
        word!(
            "stamp",
            Text,
            "Where its moment of publication stands, a JSON path: s, ms, µs or ns since 1970."
        ),
        word!(
            "where",
            Of(&AWAIT),
            "What else a message must be to belong to this channel."
        ),
        word!(
            "send",
            OUTGOING_MESSAGE,
            "The message that subscribes, if any."
        ),
        word!("await", AWAITED, "The message that confirms it, if any."),
    ],
};

/// How a lost WebSocket is opened again.
pub(crate) static RECONNECT: KeywordTable = KeywordTable {
    name: "reconnect",
    meaning: "How a lost WebSocket is opened again. Pauses are drawn between half and one and a half times their mean.",
    words: &[
        word!(
            "after",
            Duration,
            "Mean pause before the first try; 500ms by default."
        ),
        word!(
            "up_to",
            Duration,
            "Longest mean pause, as it doubles; 30s by default."
        ),
        word!("times", Count(1, 1000), "Tries at most; 10 by default."),
    ],
};

/// What is sent to stay.
pub(crate) static BEAT: KeywordTable = KeywordTable {
    name: "beat",
    meaning: "What is sent again and again.",
    words: &[
        word!("every", Duration, "How often."),
        word!("send", Text, "The text."),
    ],
};
