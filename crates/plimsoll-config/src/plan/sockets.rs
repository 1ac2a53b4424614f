//! Reads WebSocket steps.

mod beat;
mod cuts;
mod messages;
mod presets;
mod reconnect;

use std::time::Duration;

use plimsoll_model::journey::{
    Expectation, Layout, OutgoingMessage, RequestStep, SendStep, SocketStep, Step, SubscribeStep,
    TextMatch, TextPiece, TextTemplate, ThinkTime,
};

pub(crate) use self::beat::BEAT;
pub(crate) use self::cuts::DISCONNECT;
pub(crate) use self::messages::{AWAIT, AWAITED, MESSAGE, OUTGOING_MESSAGE};
pub(crate) use self::presets::PRESET;
use self::presets::Preset;
pub(crate) use self::reconnect::RECONNECT;
use super::PlanFile;
use super::answer::json_path;
use super::steps::Walk;
use super::transport::Http;
use crate::document::Shape::{Of, Template, Text};
use crate::document::{
    DocumentNode, DocumentReader, KeywordTable, MapFields, NodeKind, SettingKind as _, Word, word,
};
use crate::login;

/// Keys allowed with `await` alone, and with `subscribe`.
pub(crate) const AWAIT_OPTIONS: [&str; 3] = ["label", "timeout", "capture"];

/// Headers of the handshake that a plan cannot set.
const OWN_HEADERS: [&str; 6] = [
    "upgrade",
    "connection",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-extensions",
    "sec-websocket-protocol",
];
/// Characters of a message in its label.
const LABEL_MAX: usize = 40;

/// Where a message has its number, however it is received.
pub(crate) const SEQUENCE: Word = word!(
    "seq",
    Text,
    "JSON path of the sequence number. Without it, messages are distinguished by their content."
);
/// Where it has the time of its publication.
pub(crate) const STAMP: Word = word!(
    "stamp",
    Text,
    "JSON path of the publication time: s, ms, µs or ns since 1970."
);

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
        SEQUENCE,
        STAMP,
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

impl Walk<'_, '_> {
    /// `ws: URL` and its options.
    pub(crate) fn socket(&mut self, fields: &MapFields<'_>, url: &DocumentNode) -> Option<Step> {
        let reader = self.scope.reader;
        let written = reader.scalar(url, "a path such as /live, or an absolute URL");
        let label = self.label(fields, || {
            format!("WS {}", login::removed(written.unwrap_or_default()))
        });
        let id = self.count_step(label);
        let address = self.scope.socket_url(url, &self.reach);
        let headers = fields.get("headers").map(|node| {
            self.refuse_own_headers(node);
            self.scope.headers(node, &self.reach)
        });
        let timeout = self.timeout(fields);
        let preset = match fields.get("preset") {
            Some(node) => PRESET.read(reader, node)?,
            None => Preset::default(),
        }
        .socket();
        let address = address.map(|address| address.map_url(|url| preset.address(url)));
        let protocols = fields.get("protocol").map(|node| self.protocols(node));
        let compress = fields.get("compress").map(|node| reader.switch(node));
        let reconnect = fields
            .get("reconnect")
            .map(|node| reconnect::reconnect(reader, node));
        let first = fields.get("first").map(|node| self.outgoing_message(node));
        let ready = fields.get("ready").map(|node| self.meant(node));
        let replies = fields.get("replies").map(|node| self.replies(node));
        let beat = fields.get("beat").map(|node| beat::beat(reader, node));
        let cuts = cuts::cuts(reader, fields)?;
        Some(Step::Socket(Box::new(SocketStep {
            request: RequestStep {
                timeout: timeout?,
                ..super::request::plain_get(id, address?, headers.unwrap_or_default())
            },
            protocols: protocols.unwrap_or(Some(preset.protocols))?,
            compress: compress.unwrap_or(Some(false))?,
            reconnect: cuts.reconnect(reconnect.unwrap_or(Some(None))?),
            drops: cuts.drops,
            disconnects: cuts.disconnects,
            first: match first {
                Some(first) => Some(first?),
                None => preset.first,
            },
            ready: ready.unwrap_or(Some(preset.ready))?,
            replies: replies.unwrap_or(Some(preset.replies))?,
            beat: match beat {
                Some(beat) => Some(beat?),
                None => preset.beat,
            },
            layout: preset.layout,
            is_stream: false,
        })))
    }

    /// `sse: URL`: a stream of events, received like the messages of a WebSocket.
    pub(crate) fn stream(&mut self, fields: &MapFields<'_>, url: &DocumentNode) -> Option<Step> {
        let reader = self.scope.reader;
        let written = reader.scalar(url, "a path such as /events, or an absolute URL");
        let label = self.label(fields, || {
            format!("SSE {}", login::removed(written.unwrap_or_default()))
        });
        let id = self.count_step(label);
        let address = self.scope.url(url, &self.reach);
        let headers = fields
            .get("headers")
            .map(|node| self.scope.headers(node, &self.reach));
        let timeout = self.timeout(fields);
        let reconnect = fields
            .get("reconnect")
            .map(|node| reconnect::reconnect(reader, node));
        let cuts = cuts::cuts(reader, fields)?;
        let plain = Preset::Plain.socket();
        Some(Step::Socket(Box::new(SocketStep {
            request: RequestStep {
                timeout: timeout?,
                ..super::request::plain_get(id, address?, headers.unwrap_or_default())
            },
            protocols: plain.protocols,
            compress: false,
            reconnect: cuts.reconnect(reconnect.unwrap_or(Some(None))?),
            drops: cuts.drops,
            disconnects: cuts.disconnects,
            first: plain.first,
            ready: plain.ready,
            replies: plain.replies,
            beat: plain.beat,
            layout: plain.layout,
            is_stream: true,
        })))
    }

    /// `send`, with or without `await`; or `await` alone.
    pub(crate) fn send(
        &mut self,
        fields: &MapFields<'_>,
        sent: Option<&DocumentNode>,
    ) -> Option<Step> {
        let outgoing = sent.map(|node| self.outgoing_message(node));
        let shown = sent.or(fields.get("await")).map(shown).unwrap_or_default();
        let verb = if sent.is_some() { "SEND" } else { "AWAIT" };
        if fields.get("await").is_none() {
            for (key, _) in fields.among(&AWAIT_OPTIONS) {
                let message = format!("`{}` has no effect without `await`", key.text);
                let at = key.span.start;
                self.scope
                    .reader
                    .report_at(at, message, "together with `await`", None);
            }
        }
        let awaited = fields
            .get("await")
            .map(|node| self.awaited(fields, node, &format!("{verb} {shown}")));
        Some(Step::Send(Box::new(SendStep {
            message: transposed(outgoing)?,
            awaited: transposed(awaited)?,
        })))
    }

    /// How broadcasts are subscribed to and recognized.
    pub(crate) fn subscribe(
        &mut self,
        fields: &MapFields<'_>,
        node: &DocumentNode,
    ) -> Option<Step> {
        let reader = self.scope.reader;
        let own = reader.fields(node, &SUBSCRIBE)?;
        let channel = own
            .get("channel")
            .map(|node| self.scope.text(node, &self.reach));
        let path = |word: &str| {
            own.get(word).map(|node| {
                let path = reader.word(node, "a JSON path such as $.seq")?;
                json_path(reader, node.span.start, &path)
            })
        };
        let (timestamp, sequence) = (path("stamp"), path("seq"));
        let conditions = own.get("where").map(|node| self.meant(node));
        let outgoing = own.get("send").map(|node| self.outgoing_message(node));
        let name = own
            .get("channel")
            .map_or_else(|| "channel".to_owned(), shown);
        let awaited = own
            .get("await")
            .map(|node| self.awaited(fields, node, &format!("SUBSCRIBE {name}")));
        if awaited.is_none() {
            for (key, _) in fields.among(&AWAIT_OPTIONS) {
                let message = format!("`{}` has no effect without `await`", key.text);
                reader.report_at(key.span.start, message, "`await` within `subscribe`", None);
            }
        }
        Some(Step::Subscribe(Box::new(SubscribeStep {
            channel: transposed(channel)?,
            timestamp: transposed(timestamp)?,
            sequence: transposed(sequence)?,
            conditions: conditions.unwrap_or(Some(Vec::new()))?,
            send: SendStep {
                message: transposed(outgoing)?,
                awaited: transposed(awaited)?,
            },
        })))
    }

    /// Steps at an interval.
    pub(crate) fn every(&mut self, fields: &MapFields<'_>, node: &DocumentNode) -> Option<Step> {
        let reader = self.scope.reader;
        let interval = reader.duration_above_zero(node);
        let lasting = fields
            .get("for")
            .map(|node| reader.duration_above_zero(node));
        let steps = self.some_steps(fields, "every");
        Some(Step::Every {
            interval: interval?,
            lasting: transposed(lasting)?,
            steps,
        })
    }

    /// `hold: 90m`.
    pub(crate) fn hold(&self, node: &DocumentNode) -> Option<Step> {
        let lasting = self.scope.reader.duration_above_zero(node)?;
        Some(Step::Think(ThinkTime::Fixed(lasting)))
    }

    /// `close: normal`, `close: 4000`.
    pub(crate) fn close(&self, node: &DocumentNode) -> Option<Step> {
        const VALID: &str = "normal, 1000 to 1003, 1007 to 1014, or 3000 to 4999";
        let reader = self.scope.reader;
        let text = reader.text(node, VALID)?;
        let code = match text.as_str() {
            "" | "normal" => Some(1000),
            other => other.parse::<u16>().ok(),
        };
        // RFC 6455, 7.4: the other codes are reserved.
        if let Some(code @ (1000..=1003 | 1007..=1014 | 3000..=4999)) = code {
            return Some(Step::Close(code));
        }
        let message = format!("`{text}` is not a close code that may be sent");
        reader.report(node, message, VALID);
        None
    }

    fn label(&mut self, fields: &MapFields<'_>, otherwise: impl FnOnce() -> String) -> String {
        match fields.get("label") {
            Some(node) => self.scope.reader.word(node, "a name").unwrap_or_default(),
            None => otherwise(),
        }
    }

    #[expect(clippy::option_option, reason = "written or not, readable or not")]
    fn timeout(&self, fields: &MapFields<'_>) -> Option<Option<Duration>> {
        transposed(
            fields
                .get("timeout")
                .map(|node| self.scope.reader.duration_above_zero(node)),
        )
    }

    fn refuse_own_headers(&self, node: &DocumentNode) {
        let NodeKind::Map(entries) = &node.kind else {
            return;
        };
        for (key, _) in entries {
            if OWN_HEADERS.contains(&key.text.to_ascii_lowercase().as_str()) {
                let message = format!("the header `{}` is set by the handshake", key.text);
                let valid = "`protocol` and `compress`, and any other header";
                self.scope
                    .reader
                    .report_at(key.span.start, message, valid, None);
            }
        }
    }

    fn protocols(&self, node: &DocumentNode) -> Option<String> {
        const VALID: &str = "names without spaces and commas, such as graphql-transport-ws";
        let reader = self.scope.reader;
        let mut names = Vec::new();
        for item in reader.one_or_more(node) {
            let name = reader.word(item, VALID)?;
            let is_token =
                |byte: u8| byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&byte);
            if !name.bytes().all(is_token) {
                reader.report(item, format!("`{name}` is not a subprotocol name"), VALID);
                return None;
            }
            names.push(name);
        }
        Some(names.join(", "))
    }

    fn replies(&self, node: &DocumentNode) -> Option<Vec<(String, String)>> {
        let reader = self.scope.reader;
        let mut replies = Vec::new();
        for (key, value) in reader.entries(node, "texts and their replies")? {
            replies.push((key.text.clone(), reader.text(value, "a text")?));
        }
        Some(replies)
    }
}

/// Reports what is incompatible with WebSockets, and what needs one.
pub(crate) fn check(reader: &DocumentReader<'_>, fields: &MapFields<'_>, plan: &PlanFile) {
    let Some(scenario) = &plan.scenario else {
        return;
    };
    let http = plan.transport.http;
    let has_sockets = scenario.has_sockets();
    let is_other = has_sockets && http.is_some_and(|http| http != Http::Http1);
    let written = fields.get("transport").filter(|_| is_other);
    if let Some(node) = written.and_then(|transport| transport.get("http")) {
        let message = "WebSockets need HTTP/1.1";
        reader.report(node, message, "`http: 1` in a plan with `ws`");
    }
    if has_sockets {
        return;
    }
    let mut is_missing = false;
    for journey in &scenario.journeys {
        journey.each_step(&mut |step| {
            is_missing |= matches!(step, Step::Send(_) | Step::Subscribe(_) | Step::Close(_));
        });
    }
    if is_missing {
        let words = ["journeys", "steps", "once"];
        let at = fields
            .among(&words)
            .first()
            .map_or(0, |(key, _)| key.span.start);
        let message = "the messages have no WebSocket";
        reader.report_at(at, message, "a step `ws: URL` before them", None);
    }
}

/// `None` only for a value that is invalid.
#[expect(clippy::option_option, reason = "written or not, readable or not")]
pub(crate) fn transposed<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        Some(read) => read.map(Some),
        None => Some(None),
    }
}

/// The label of a message.
fn shown(node: &DocumentNode) -> String {
    let NodeKind::Scalar { text, .. } = &node.kind else {
        return "message".to_owned();
    };
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(LABEL_MAX)
        .collect();
    let cut = if line.len() < text.len() { "…" } else { "" };
    format!("{}{cut}", line.trim())
}

/// A literal text.
fn literal(text: &str) -> OutgoingMessage {
    OutgoingMessage {
        text: TextTemplate {
            pieces: vec![TextPiece::Literal(text.to_owned())],
        },
        binary: false,
    }
}

/// A message that contains a text.
fn contains(text: &str) -> Vec<Expectation> {
    vec![Expectation::Body(TextMatch::Contains(
        TextTemplate::literal(text),
    ))]
}

/// A message with a value at a JSON path.
fn with_value(path: &str, value: &str) -> Expectation {
    Expectation::Json(
        path.to_owned(),
        TextMatch::Equals(TextTemplate::literal(value)),
    )
}

/// Defaults of a socket by its preset.
struct PresetDefaults {
    protocols: String,
    first: Option<OutgoingMessage>,
    ready: Vec<Expectation>,
    replies: Vec<(String, String)>,
    beat: Option<(Duration, String)>,
    layout: Layout,
    /// Query parameters that are added to the URL if missing.
    query: Option<(&'static str, &'static str)>,
}
