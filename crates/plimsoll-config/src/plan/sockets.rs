//! Steps on WebSockets.

mod messages;
mod presets;

use std::time::Duration;

use plimsoll_model::journey::{
    Expectation, Layout, Match, Pause, Piece, Reconnect, RequestStep, SayStep, Saying, SocketStep,
    Step, SubscribeStep, Text,
};

use self::presets::Preset;
use super::PlanFile;
use super::answer::json_path;
use super::desk::{Desk, Fields};
use super::steps::Walk;
use super::transport::Http;
use super::tree::{Kind, Node};
use super::words::{BEAT, RECONNECT, SUBSCRIBE};

/// Words beside `ws`.
pub(crate) const SOCKET_WORDS: [&str; 11] = [
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
];
/// Words beside `sse`.
pub(crate) const STREAM_WORDS: [&str; 4] = ["label", "headers", "timeout", "reconnect"];
/// Words beside `send`.
pub(crate) const SEND_WORDS: [&str; 4] = ["await", "label", "timeout", "capture"];
/// Words beside a lone `await`, and beside `subscribe`.
pub(crate) const AWAIT_WORDS: [&str; 3] = ["label", "timeout", "capture"];

/// Headers of the handshake that are not the user's.
const OWN_HEADERS: [&str; 6] = [
    "upgrade",
    "connection",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-extensions",
    "sec-websocket-protocol",
];
/// Characters of a message that its label shows.
const LABEL_MAX: usize = 40;

impl Walk<'_, '_> {
    /// `ws: URL` and what stands beside it.
    pub(crate) fn socket(&mut self, fields: &Fields<'_>, url: &Node) -> Option<Step> {
        let desk = self.scene.desk;
        let written = desk.scalar(url, "a path such as /live, or a whole URL");
        let label = self.label(fields, || format!("WS {}", written.unwrap_or_default()));
        let id = self.count_step(label);
        let address = self.scene.socket_url(url, &self.reach);
        let headers = fields.get("headers").map(|node| {
            self.refuse_own_headers(node);
            self.scene.headers(node, &self.reach)
        });
        let timeout = self.timeout(fields);
        let preset = match fields.get("preset") {
            Some(node) => desk.one_of(node, &Preset::NAMES)?,
            None => Preset::default(),
        }
        .socket();
        let protocols = fields.get("protocol").map(|node| self.protocols(node));
        let compress = fields.get("compress").map(|node| desk.switch(node));
        let reconnect = fields.get("reconnect").map(|node| self.reconnect(node));
        let first = fields.get("first").map(|node| self.said(node));
        let ready = fields.get("ready").map(|node| self.meant(node));
        let replies = fields.get("replies").map(|node| self.replies(node));
        let beat = fields.get("beat").map(|node| self.beat(node));
        Some(Step::Socket(Box::new(SocketStep {
            request: RequestStep {
                headers: headers.unwrap_or_default(),
                timeout: timeout?,
                ..super::request::plain_get(id, preset.address(address?))
            },
            protocols: protocols.unwrap_or(Some(preset.protocols))?,
            compress: compress.unwrap_or(Some(false))?,
            reconnect: reconnect.unwrap_or(Some(None))?,
            first: match first {
                Some(said) => Some(said?),
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

    /// `sse: URL`: a stream of events, heard as a WebSocket is.
    pub(crate) fn stream(&mut self, fields: &Fields<'_>, url: &Node) -> Option<Step> {
        let desk = self.scene.desk;
        let written = desk.scalar(url, "a path such as /events, or a whole URL");
        let label = self.label(fields, || format!("SSE {}", written.unwrap_or_default()));
        let id = self.count_step(label);
        let address = self.scene.url(url, &self.reach);
        let headers = fields
            .get("headers")
            .map(|node| self.scene.headers(node, &self.reach));
        let timeout = self.timeout(fields);
        let reconnect = fields.get("reconnect").map(|node| self.reconnect(node));
        let plain = Preset::Plain.socket();
        Some(Step::Socket(Box::new(SocketStep {
            request: RequestStep {
                headers: headers.unwrap_or_default(),
                timeout: timeout?,
                ..super::request::plain_get(id, address?)
            },
            protocols: plain.protocols,
            compress: false,
            reconnect: reconnect.unwrap_or(Some(None))?,
            first: plain.first,
            ready: plain.ready,
            replies: plain.replies,
            beat: plain.beat,
            layout: plain.layout,
            is_stream: true,
        })))
    }

    /// `send`, with or without `await`; or `await` alone.
    pub(crate) fn say(&mut self, fields: &Fields<'_>, sent: Option<&Node>) -> Option<Step> {
        let said = sent.map(|node| self.said(node));
        let shown = sent.or(fields.get("await")).map(shown).unwrap_or_default();
        let verb = if sent.is_some() { "SEND" } else { "AWAIT" };
        if fields.get("await").is_none() {
            for (key, _) in fields.among(&AWAIT_WORDS) {
                let fault = format!("`{}` means nothing without `await`", key.text);
                let at = key.span.start;
                self.scene.desk.note(at, fault, "await beside it", None);
            }
        }
        let awaited = fields
            .get("await")
            .map(|node| self.awaited(fields, node, &format!("{verb} {shown}")));
        Some(Step::Say(Box::new(SayStep {
            said: transposed(said)?,
            awaited: transposed(awaited)?,
        })))
    }

    /// What asks for broadcasts and marks them.
    pub(crate) fn subscribe(&mut self, fields: &Fields<'_>, node: &Node) -> Option<Step> {
        let desk = self.scene.desk;
        let own = desk.fields(node, &SUBSCRIBE)?;
        let channel = own
            .get("channel")
            .map(|node| self.scene.text(node, &self.reach));
        let path = |word: &str| {
            own.get(word).map(|node| {
                let path = desk.word(node, "a JSON path such as $.seq")?;
                json_path(desk, node.span.start, &path)
            })
        };
        let (stamp, sequence) = (path("stamp"), path("seq"));
        let conditions = own.get("where").map(|node| self.meant(node));
        let said = own.get("send").map(|node| self.said(node));
        let name = own
            .get("channel")
            .map_or_else(|| "channel".to_owned(), shown);
        let awaited = own
            .get("await")
            .map(|node| self.awaited(fields, node, &format!("SUBSCRIBE {name}")));
        if awaited.is_none() {
            for (key, _) in fields.among(&AWAIT_WORDS) {
                let fault = format!("`{}` means nothing without `await`", key.text);
                desk.note(key.span.start, fault, "await within subscribe", None);
            }
        }
        Some(Step::Subscribe(Box::new(SubscribeStep {
            channel: transposed(channel)?,
            stamp: transposed(stamp)?,
            sequence: transposed(sequence)?,
            conditions: conditions.unwrap_or(Some(Vec::new()))?,
            say: SayStep {
                said: transposed(said)?,
                awaited: transposed(awaited)?,
            },
        })))
    }

    /// Steps in an interval.
    pub(crate) fn every(&mut self, fields: &Fields<'_>, node: &Node) -> Option<Step> {
        let desk = self.scene.desk;
        let interval = desk.duration_above_zero(node);
        let lasting = fields.get("for").map(|node| desk.duration_above_zero(node));
        let steps = self.some_steps(fields, "every");
        Some(Step::Every {
            interval: interval?,
            lasting: transposed(lasting)?,
            steps,
        })
    }

    /// `hold: 90m`.
    pub(crate) fn hold(&self, node: &Node) -> Option<Step> {
        let lasting = self.scene.desk.duration_above_zero(node)?;
        Some(Step::Think(Pause::Fixed(lasting)))
    }

    /// `close: normal`, `close: 4000`.
    pub(crate) fn close(&self, node: &Node) -> Option<Step> {
        const VALID: &str = "normal, 1000 to 1003, 1007 to 1014, or 3000 to 4999";
        let desk = self.scene.desk;
        let text = desk.text(node, VALID)?;
        let code = match text.as_str() {
            "" | "normal" => Some(1000),
            other => other.parse::<u16>().ok(),
        };
        // RFC 6455, 7.4: others are kept for what is never sent, and for later standards.
        if let Some(code @ (1000..=1003 | 1007..=1014 | 3000..=4999)) = code {
            return Some(Step::Close(code));
        }
        let fault = format!("`{text}` is no code that may be sent");
        desk.fault(node, fault, VALID);
        None
    }

    fn label(&mut self, fields: &Fields<'_>, otherwise: impl FnOnce() -> String) -> String {
        match fields.get("label") {
            Some(node) => self.scene.desk.word(node, "a name").unwrap_or_default(),
            None => otherwise(),
        }
    }

    #[expect(clippy::option_option, reason = "written or not, readable or not")]
    fn timeout(&self, fields: &Fields<'_>) -> Option<Option<Duration>> {
        transposed(
            fields
                .get("timeout")
                .map(|node| self.scene.desk.duration_above_zero(node)),
        )
    }

    fn refuse_own_headers(&self, node: &Node) {
        let Kind::Map(entries) = &node.kind else {
            return;
        };
        for (key, _) in entries {
            if OWN_HEADERS.contains(&key.text.to_ascii_lowercase().as_str()) {
                let fault = format!("the header `{}` belongs to the handshake", key.text);
                let valid = "protocol and compress, and any other header";
                self.scene.desk.note(key.span.start, fault, valid, None);
            }
        }
    }

    fn protocols(&self, node: &Node) -> Option<String> {
        const VALID: &str = "names without spaces and commas, such as graphql-transport-ws";
        let desk = self.scene.desk;
        let mut names = Vec::new();
        for item in desk.one_or_more(node) {
            let name = desk.word(item, VALID)?;
            let is_token =
                |byte: u8| byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&byte);
            if !name.bytes().all(is_token) {
                desk.fault(item, format!("`{name}` is no subprotocol"), VALID);
                return None;
            }
            names.push(name);
        }
        Some(names.join(", "))
    }

    #[expect(clippy::option_option, reason = "wanted or not, readable or not")]
    fn reconnect(&self, node: &Node) -> Option<Option<Reconnect>> {
        let desk = self.scene.desk;
        if !matches!(node.kind, Kind::Map(_)) {
            return Some(desk.switch(node)?.then_some(Reconnect::DEFAULT));
        }
        let fields = desk.fields(node, &RECONNECT)?;
        let time = |word: &str, otherwise: Duration| match fields.get(word) {
            Some(node) => desk.duration_above_zero(node),
            None => Some(otherwise),
        };
        let after = time("after", Reconnect::DEFAULT.after);
        let up_to = time(
            "up_to",
            Reconnect::DEFAULT.up_to.max(after.unwrap_or_default()),
        );
        let times = match fields.get("times") {
            Some(node) => desk.count32(node, 1..=1000),
            None => Some(Reconnect::DEFAULT.times),
        };
        let (after, up_to) = (after?, up_to?);
        if up_to < after {
            let fault = "the longest pause is shorter than the first";
            desk.fault(node, fault, "up_to at least as long as after");
            return None;
        }
        Some(Some(Reconnect {
            after,
            up_to,
            times: times?,
        }))
    }

    fn replies(&self, node: &Node) -> Option<Vec<(String, String)>> {
        let desk = self.scene.desk;
        let mut replies = Vec::new();
        for (key, value) in desk.entries(node, "texts and their answers")? {
            replies.push((key.text.clone(), desk.text(value, "a text")?));
        }
        Some(replies)
    }

    fn beat(&self, node: &Node) -> Option<(Duration, String)> {
        const VALID: &str = "{ every: 25s, send: TEXT }";
        let desk = self.scene.desk;
        let fields = desk.fields(node, &BEAT)?;
        let (Some(every), Some(send)) = (fields.get("every"), fields.get("send")) else {
            desk.fault(node, "a beat is a time and a text", VALID);
            return None;
        };
        Some((desk.duration_above_zero(every)?, desk.text(send, "a text")?))
    }
}

/// What WebSockets cannot stand beside, and what cannot stand without them.
pub(crate) fn check(desk: &Desk<'_>, fields: &Fields<'_>, plan: &PlanFile) {
    let Some(scenario) = &plan.scenario else {
        return;
    };
    let http = plan.transport.http;
    let has_sockets = scenario.has_sockets();
    let is_other = has_sockets && http.is_some_and(|http| http != Http::One);
    let written = fields.get("transport").filter(|_| is_other);
    if let Some(node) = written.and_then(|transport| transport.get("http")) {
        let fault = "WebSockets are opened by HTTP/1.1 here";
        desk.fault(node, fault, "http: 1 in a plan with `ws`");
    }
    if has_sockets {
        return;
    }
    let mut is_missing = false;
    for journey in &scenario.journeys {
        journey.each_step(&mut |step| {
            is_missing |= matches!(step, Step::Say(_) | Step::Subscribe(_) | Step::Close(_));
        });
    }
    if is_missing {
        let words = ["journeys", "steps", "once"];
        let at = fields
            .among(&words)
            .first()
            .map_or(0, |(key, _)| key.span.start);
        let fault = "messages are sent or awaited, and nothing opens a WebSocket";
        desk.note(at, fault, "a step `ws: URL` before them", None);
    }
}

/// `None` only for what is written and cannot be read.
#[expect(clippy::option_option, reason = "written or not, readable or not")]
fn transposed<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        Some(read) => read.map(Some),
        None => Some(None),
    }
}

/// What a label shows of a message.
fn shown(node: &Node) -> String {
    let Kind::Scalar { text, .. } = &node.kind else {
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

/// A text that stands as it is.
fn literal(text: &str) -> Saying {
    Saying {
        text: Text {
            pieces: vec![Piece::Literal(text.to_owned())],
        },
        binary: false,
    }
}

/// A message that contains a text.
fn contains(text: &str) -> Vec<Expectation> {
    vec![Expectation::Body(Match::Contains(Text::literal(text)))]
}

/// A message with a value at a JSON path.
fn with_value(path: &str, value: &str) -> Expectation {
    Expectation::Json(path.to_owned(), Match::Equals(Text::literal(value)))
}

/// How a socket speaks when nothing else is said.
struct Spoken {
    protocols: String,
    first: Option<Saying>,
    ready: Vec<Expectation>,
    replies: Vec<(String, String)>,
    beat: Option<(Duration, String)>,
    layout: Layout,
    /// What the URL's query must hold, and is added where it does not.
    query: Option<(&'static str, &'static str)>,
}
