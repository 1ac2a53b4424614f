//! WebSockets: handlers of a script become steps of a plan.

use std::time::Duration;

use super::machine::Machine;
use super::node::Node;
use super::text::Text;
use super::value::Value;
use crate::script::Template;
use crate::script::draft::{ThinkDraft, duration};
use crate::yaml::{YamlEntry, YamlNode};

/// A WebSocket of the script, until its steps are written.
pub(super) struct SocketDraft<'a> {
    at: u32,
    /// The step that opens it.
    open: Vec<YamlEntry>,
    /// Functions by event.
    handlers: Vec<(String, Value<'a>)>,
    /// Functions with their milliseconds: once, or again and again.
    timers: Vec<(bool, f64, Value<'a>)>,
    is_closed: bool,
    is_written: bool,
}

/// How long a WebSocket is held that no timer closes.
const HOLD: Duration = Duration::from_secs(30);

impl<'a> Machine<'a, '_> {
    /// `ws.connect(url, params, function (socket) { … })`.
    pub(super) fn connect(&mut self, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let undefined = Value::Undefined;
        let url = arguments.first().unwrap_or(&undefined);
        let function = arguments
            .iter()
            .rev()
            .find(|value| matches!(value, Value::Function(_)));
        let parameters = arguments
            .get(1)
            .filter(|value| matches!(value, Value::Object(_)));
        let Some(index) = self.open_socket(url, parameters.unwrap_or(&undefined), at) else {
            return Value::unknown("a WebSocket");
        };
        if let Some(function) = function.cloned() {
            self.call(&function, &[Value::Socket(index)], None, at);
        }
        self.write_socket(index);
        // Its answer has the status 101 if the step succeeds.
        Value::object(vec![
            ("status".to_owned(), Value::Number(101.0)),
            ("error".to_owned(), Value::text("")),
        ])
    }

    /// `new WebSocket(url, protocols, params)`.
    pub(super) fn new_socket(&mut self, arguments: &[Value<'a>], at: u32) -> Value<'a> {
        let undefined = Value::Undefined;
        let url = arguments.first().unwrap_or(&undefined);
        let parameters = arguments.get(2).unwrap_or(&undefined);
        match self.open_socket(url, parameters, at) {
            Some(index) => Value::Socket(index),
            None => Value::unknown("a WebSocket"),
        }
    }

    fn open_socket(&mut self, url: &Value<'a>, parameters: &Value<'a>, at: u32) -> Option<usize> {
        if url.is_nothing() {
            return None;
        }
        let text = self.text_of(url, at);
        let template = self.socket_url(&text, at);
        let mut open = vec![YamlEntry::new("ws", YamlNode::text(template.as_str()))];
        let mut headers = Vec::new();
        for (name, value) in parameters
            .field("headers")
            .map(|headers| headers.entries())
            .unwrap_or_default()
        {
            if name.eq_ignore_ascii_case("sec-websocket-protocol") {
                let protocol = self.known_text(&value).unwrap_or_default();
                open.push(YamlEntry::new("protocol", YamlNode::text(protocol)));
                continue;
            }
            let text = self.text_of(&value, at);
            let template = self.template(&text);
            headers.push((name, YamlNode::text(template.as_str())));
        }
        if !headers.is_empty() {
            open.push(YamlEntry::new("headers", YamlNode::map(headers)));
        }
        self.sockets.push(SocketDraft {
            at,
            open,
            handlers: Vec::new(),
            timers: Vec::new(),
            is_closed: false,
            is_written: false,
        });
        Some(self.sockets.len() - 1)
    }

    /// The URL of a WebSocket. One whose site comes from the environment is a path of the target, which is an http URL.
    fn socket_url(&mut self, text: &Text, at: u32) -> Template {
        let as_http = |text: &str| {
            text.replace("wss://", "https://")
                .replace("ws://", "http://")
        };
        let site = text.map_all(as_http);
        let is_variable = site != *text && text.map(as_http) == *text;
        if self.socket_site.is_none() {
            self.socket_site = Some(site.clone());
        }
        if is_variable && self.socket_site.as_ref() == Some(&site) {
            self.note("the site of WebSockets is `target`: its variable is an http:// or https:// URL in the plan");
            return self.split_url(&site, at).url.path;
        }
        self.template(text)
    }

    /// Milliseconds of a timer; of a random one the mean.
    fn time_of(&mut self, value: &Value<'a>) -> f64 {
        if let Value::Random(random) = value {
            self.note("a timer with a random time has its mean in the plan");
            return f64::midpoint(random.low, random.high);
        }
        self.number(value).unwrap_or(0.0)
    }

    pub(super) fn socket_member(name: &str) -> Value<'a> {
        match name {
            "readyState" => Value::Number(1.0),
            _ => Value::Undefined,
        }
    }

    /// `socket.onmessage = function`.
    pub(super) fn set_handler(&mut self, socket: usize, name: &str, value: Value<'a>, _at: u32) {
        if let (Some(event), Some(draft)) = (name.strip_prefix("on"), self.sockets.get_mut(socket))
        {
            draft.handlers.push((event.to_owned(), value));
        }
    }

    pub(super) fn socket_method(
        &mut self,
        socket: usize,
        name: &str,
        arguments: &[Value<'a>],
        at: u32,
    ) -> Value<'a> {
        let undefined = Value::Undefined;
        let first = arguments.first().unwrap_or(&undefined);
        let second = arguments.get(1).unwrap_or(&undefined);
        match name {
            "on" | "addEventListener" => {
                let event = self.known_text(first).unwrap_or_default();
                if let Some(draft) = self.sockets.get_mut(socket) {
                    draft.handlers.push((event, second.clone()));
                }
            }
            "send" => {
                let text = self.text_of(first, at);
                let template = self.template(&text);
                self.emit(Node::Keys(vec![YamlEntry::new(
                    "send",
                    YamlNode::text(template.as_str()),
                )]));
            }
            "sendBinary" => self.lose(
                at,
                "socket.sendBinary()",
                "its bytes are known only at run time",
                "write `send: { binary: BASE64 }` or `send: { file: NAME, bytes: true }`",
            ),
            // A ping is answered by any server, and a plan answers those that it receives.
            "setTimeout" | "setInterval" => {
                let ms = self.time_of(second);
                if let Some(draft) = self.sockets.get_mut(socket) {
                    draft.timers.push((name == "setTimeout", ms, first.clone()));
                }
            }
            "close" => {
                if let Some(draft) = self.sockets.get_mut(socket) {
                    draft.is_closed = true;
                }
            }
            _ => {}
        }
        Value::Undefined
    }

    /// `setTimeout` and `setInterval` beside a WebSocket; without one, a timer is a pause before its steps.
    pub(super) fn timer(&mut self, name: &str, arguments: &[Value<'a>], at: u32) {
        let undefined = Value::Undefined;
        let first = arguments.first().unwrap_or(&undefined).clone();
        let ms = arguments.get(1).map_or(0.0, |ms| self.time_of(ms));
        let open = self
            .sockets
            .iter_mut()
            .rev()
            .find(|draft| !draft.is_written);
        if let Some(draft) = open {
            draft.timers.push((name == "setTimeout", ms, first));
            return;
        }
        if name == "setInterval" {
            self.lose(
                at,
                "setInterval()",
                "a plan repeats steps with `repeat` and `think`",
                "write both",
            );
            return;
        }
        if let Some(time) = milliseconds(ms).filter(|time| !time.is_zero()) {
            self.emit(Node::Think(ThinkDraft::Fixed(time)));
        }
        self.call(&first, &[], None, at);
    }

    /// Writes the WebSockets whose function has ended.
    pub(super) fn write_sockets(&mut self) {
        for index in 0..self.sockets.len() {
            self.write_socket(index);
        }
    }

    fn write_socket(&mut self, index: usize) {
        let Some(draft) = self
            .sockets
            .get_mut(index)
            .filter(|draft| !draft.is_written)
        else {
            return;
        };
        let at = draft.at;
        let open = std::mem::take(&mut draft.open);
        self.emit(Node::Keys(open));
        self.run_handlers(index, "open");
        if let Some(draft) = self.sockets.get_mut(index) {
            draft.is_written = true;
        }
        let closes_on_message = self.write_message(index);
        if closes_on_message {
            self.emit(close());
            return;
        }
        let timers: Vec<(bool, f64, Value<'a>)> = self
            .sockets
            .get(index)
            .map(|draft| draft.timers.clone())
            .unwrap_or_default();
        let (mut once, every): (Vec<_>, Vec<_>) =
            timers.into_iter().partition(|(is_once, ..)| *is_once);
        once.sort_by(|left, right| left.1.total_cmp(&right.1));
        let is_closed = self.sockets.get(index).is_some_and(|draft| draft.is_closed);
        if once.is_empty() && every.is_empty() {
            if !is_closed {
                self.lose(
                    at,
                    "how long the WebSocket stays open",
                    "no timer of the script closes it; the plan holds it for 30 seconds",
                    "write the time at `hold:`",
                );
                self.hold(&every, HOLD, at);
            }
            self.emit(close());
            return;
        }
        let mut now = 0.0;
        for (_, ms, function) in &once {
            if let Some(time) = milliseconds(ms - now).filter(|time| !time.is_zero()) {
                self.hold(&every, time, at);
            }
            now = *ms;
            self.call(function, &[], None, at);
        }
        if once.is_empty() {
            self.hold(&every, HOLD, at);
        }
        self.emit(close());
    }

    fn run_handlers(&mut self, index: usize, event: &str) {
        let handlers: Vec<Value<'a>> = self
            .sockets
            .get(index)
            .map(|draft| {
                let matching = draft.handlers.iter().filter(|(name, _)| name == event);
                matching.map(|(_, function)| function.clone()).collect()
            })
            .unwrap_or_default();
        let at = self.sockets.get(index).map_or(0, |draft| draft.at);
        for function in handlers {
            self.call(&function, &[], None, at);
        }
    }

    /// What the script does with a message; true if it closes the WebSocket then.
    fn write_message(&mut self, index: usize) -> bool {
        let Some(draft) = self.sockets.get(index) else {
            return false;
        };
        let at = draft.at;
        let handlers: Vec<Value<'a>> = draft
            .handlers
            .iter()
            .filter(|(name, _)| name == "message" || name == "binaryMessage")
            .map(|(_, function)| function.clone())
            .collect();
        if handlers.is_empty() {
            return false;
        }
        let was_closed = draft.is_closed;
        self.open();
        let message = Value::unknown("a message of a WebSocket, which is known only at run time");
        for function in &handlers {
            self.call(function, std::slice::from_ref(&message), None, at);
        }
        let steps = self.close();
        let closes = !was_closed && self.sockets.get(index).is_some_and(|draft| draft.is_closed);
        if !steps.is_empty() && !closes {
            self.lose(
                at,
                "what the script sends for each message",
                "a plan awaits one message, or answers fixed texts",
                "write `replies:` at the `ws` step, or `await:` and `send:`",
            );
        }
        if closes {
            self.emit(Node::Keys(vec![YamlEntry::new(
                "await",
                YamlNode::text("any"),
            )]));
            self.emit_all(steps);
        }
        closes
    }

    /// Time on an open WebSocket, with what is sent at intervals.
    fn hold(&mut self, every: &[(bool, f64, Value<'a>)], time: Duration, at: u32) {
        let mut is_held = false;
        for (index, (_, ms, function)) in every.iter().enumerate() {
            let Some(interval) = milliseconds(*ms).filter(|interval| !interval.is_zero()) else {
                continue;
            };
            if index > 0 {
                self.lose(
                    at,
                    "a further setInterval()",
                    "a plan has one `every` at a time",
                    "write both messages into one `every`",
                );
                break;
            }
            self.open();
            self.call(function, &[], None, at);
            let steps = self.close();
            if steps.is_empty() {
                continue;
            }
            self.emit(Node::Every {
                interval,
                time,
                steps,
            });
            is_held = true;
        }
        if !is_held {
            self.emit(Node::Keys(vec![YamlEntry::new(
                "hold",
                YamlNode::plain(duration(time)),
            )]));
        }
    }
}

fn close() -> Node {
    Node::Keys(vec![YamlEntry::new("close", YamlNode::text("normal"))])
}

fn milliseconds(ms: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(ms.clamp(0.0, 86_400_000.0) / 1000.0).ok()
}
