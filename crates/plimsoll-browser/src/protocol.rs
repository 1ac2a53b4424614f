//! The DevTools protocol over a pair of pipes: JSON messages, each ended by a zero byte.
//!
//! One thread reads what the browser writes, and hands each message to whom it is for: a response to the caller who waits
//! for it, an event to its session. Nobody waits without a deadline, and no queue grows without bound.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard};

use plimsoll_model::lock::lock;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::clock::Deadline;

/// Longest message of a browser, bytes: events quote URLs, and a URL may hold an image.
const MESSAGE_LEN_MAX: u64 = 64 << 20;
/// Events of a session that wait to be read at most.
const EVENTS_MAX: usize = 8192;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The browser has ended, or is being ended.
    #[error("the browser has ended")]
    Gone,
    /// It did not answer in time.
    #[error("the browser did not answer `{0}` in time")]
    Late(&'static str),
    /// It refused.
    #[error("the browser refused `{0}`: {1}")]
    Refused(&'static str, String),
    /// A page makes more events than are read.
    #[error("the page has more events than can be followed")]
    Flooded,
}

/// A message from the browser.
#[derive(Debug, Deserialize)]
struct Incoming {
    id: Option<u64>,
    result: Option<Value>,
    error: Option<ProtocolError>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(rename = "sessionId")]
    session: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ProtocolError {
    message: String,
}

/// Something that happened in a session.
#[derive(Debug)]
pub(crate) struct SessionEvent {
    /// `Network.loadingFinished`, for example.
    pub(crate) method: String,
    pub(crate) params: Value,
}

type Response = Result<Value, String>;

/// Who waits for what.
#[derive(Debug, Default)]
struct Routes {
    is_closed: bool,
    callers: HashMap<u64, SyncSender<Response>>,
    sessions: HashMap<String, SyncSender<SessionEvent>>,
}

/// A connection to a browser; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    routes: Arc<Mutex<Routes>>,
    writer: Arc<Mutex<Option<PipeWriter>>>,
    next_id: Arc<AtomicU64>,
}

impl Connection {
    /// Commands go to `writer`; [`Self::read_all`] brings the answers.
    pub(crate) fn new(writer: PipeWriter) -> Self {
        Self {
            routes: Arc::default(),
            writer: Arc::new(Mutex::new(Some(writer))),
            next_id: Arc::new(AtomicU64::new(1)),
        }
    }

    fn routes(&self) -> MutexGuard<'_, Routes> {
        lock(&self.routes)
    }

    /// Reads until the browser closes its pipe; whoever waits then finds it gone.
    pub(crate) fn read_all(&self, reader: PipeReader) {
        let mut reader = BufReader::new(reader);
        let mut message = Vec::new();
        while let Ok(true) = next_message(&mut reader, &mut message) {
            if let Ok(incoming) = serde_json::from_slice::<Incoming>(&message) {
                self.hand_over(incoming);
            }
        }
        self.close();
    }

    fn hand_over(&self, incoming: Incoming) {
        let mut routes = self.routes();
        if let Some(id) = incoming.id {
            let response = match (incoming.error, incoming.result) {
                (Some(error), _) => Err(error.message),
                (None, result) => Ok(result.unwrap_or_default()),
            };
            if let Some(caller) = routes.callers.remove(&id) {
                // The caller may have given up.
                let _ = caller.try_send(response);
            }
        } else if let (Some(method), Some(session)) = (incoming.method, incoming.session)
            && let Some(events) = routes.sessions.get(&session)
        {
            let event = SessionEvent {
                method,
                params: incoming.params,
            };
            if events.try_send(event).is_err() {
                // Nothing is left out silently: the session ends.
                routes.sessions.remove(&session);
            }
        }
    }

    /// Ends all waiting: nothing more comes from the browser, and nothing goes to it.
    pub(crate) fn close(&self) {
        let mut routes = self.routes();
        routes.is_closed = true;
        routes.callers.clear();
        routes.sessions.clear();
    }

    /// Closes the pipe to the browser, which ends by that.
    pub(crate) fn hang_up(&self) {
        self.close();
        // A writer that waits for the browser holds the lock; it ends with the browser.
        if let Ok(mut writer) = self.writer.try_lock() {
            writer.take();
        }
    }

    /// Calls a method of the browser itself.
    pub(crate) fn call(
        &self,
        method: &'static str,
        params: &Value,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        self.call_in(None, method, params, deadline)
    }

    fn call_in(
        &self,
        session: Option<&str>,
        method: &'static str,
        params: &Value,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (caller, response) = sync_channel(1);
        let mut routes = self.routes();
        if routes.is_closed {
            return Err(CallError::Gone);
        }
        routes.callers.insert(id, caller);
        drop(routes);
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let sent = self.send(&message);
        let outcome = match sent {
            Ok(()) => wait(&response, method, deadline),
            Err(_) => Err(CallError::Gone),
        };
        self.routes().callers.remove(&id);
        outcome
    }

    fn send(&self, message: &Value) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(message)?;
        bytes.push(0);
        let mut writer = lock(&self.writer);
        let writer = writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writer.write_all(&bytes)
    }

    /// A session by the id that the browser gave it.
    pub(crate) fn session(&self, id: String) -> Session {
        let (sender, events) = sync_channel(EVENTS_MAX);
        let mut routes = self.routes();
        if !routes.is_closed {
            routes.sessions.insert(id.clone(), sender);
        }
        drop(routes);
        Session {
            connection: self.clone(),
            id,
            events,
        }
    }
}

/// The browser's view of one page, as one user sees it.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Connection,
    id: String,
    events: Receiver<SessionEvent>,
}

impl Session {
    /// Calls a method of the page.
    pub(crate) fn call(
        &self,
        method: &'static str,
        params: &Value,
        deadline: Deadline,
    ) -> Result<Value, CallError> {
        self.connection
            .call_in(Some(&self.id), method, params, deadline)
    }

    /// The next event; `None` when none came until then.
    pub(crate) fn next_event(&self, until: Deadline) -> Result<Option<SessionEvent>, CallError> {
        match self.events.recv_timeout(until.left()) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) if self.connection.routes().is_closed => {
                Err(CallError::Gone)
            }
            Err(RecvTimeoutError::Disconnected) => Err(CallError::Flooded),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.connection.routes().sessions.remove(&self.id);
    }
}

fn wait(
    response: &Receiver<Response>,
    method: &'static str,
    deadline: Deadline,
) -> Result<Value, CallError> {
    match response.recv_timeout(deadline.left()) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(reason)) => Err(CallError::Refused(method, reason)),
        Err(RecvTimeoutError::Timeout) => Err(CallError::Late(method)),
        Err(RecvTimeoutError::Disconnected) => Err(CallError::Gone),
    }
}

/// Reads a message without its end; false at the end of the stream.
fn next_message(reader: &mut impl io::BufRead, message: &mut Vec<u8>) -> io::Result<bool> {
    message.clear();
    reader.take(MESSAGE_LEN_MAX).read_until(0, message)?;
    Ok(message.pop() == Some(0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A browser that answers each call by `answer`.
    fn browser(
        answer: impl Fn(&Value) -> Vec<Value> + Send + 'static,
    ) -> (Connection, std::thread::JoinHandle<()>) {
        let (their_input, our_output) = io::pipe().unwrap();
        let (our_input, mut their_output) = io::pipe().unwrap();
        let connection = Connection::new(our_output);
        let reading = connection.clone();
        std::thread::spawn(move || reading.read_all(our_input));
        let thread = std::thread::spawn(move || {
            let mut input = BufReader::new(their_input);
            let mut message = Vec::new();
            while next_message(&mut input, &mut message).unwrap() {
                for answer in answer(&serde_json::from_slice(&message).unwrap()) {
                    let mut bytes = serde_json::to_vec(&answer).unwrap();
                    bytes.push(0);
                    their_output.write_all(&bytes).unwrap();
                }
            }
        });
        (connection, thread)
    }

    fn soon() -> Deadline {
        Deadline::after(Duration::from_mins(1))
    }

    #[test]
    fn responses_and_events_find_whom_they_are_for() {
        let (connection, thread) = browser(|call| {
            let event =
                json!({ "method": "Page.frameNavigated", "params": { "n": 1 }, "sessionId": "s" });
            let other =
                json!({ "method": "Page.frameNavigated", "params": {}, "sessionId": "nobody" });
            let response = json!({ "id": call["id"], "result": { "of": call["method"], "in": call["sessionId"] } });
            vec![event, other, response]
        });
        let session = connection.session("s".to_owned());
        let result = connection.call("Browser.getVersion", &json!({}), soon());
        assert_eq!(
            result.unwrap(),
            json!({ "of": "Browser.getVersion", "in": null })
        );
        let result = session.call("Page.enable", &json!({}), soon());
        assert_eq!(result.unwrap(), json!({ "of": "Page.enable", "in": "s" }));
        let event = session.next_event(soon()).unwrap().unwrap();
        assert_eq!(
            (event.method.as_str(), &event.params["n"]),
            ("Page.frameNavigated", &json!(1))
        );
        drop(session);
        connection.hang_up();
        thread.join().unwrap();
        assert!(matches!(
            connection.call("Browser.getVersion", &json!({}), soon()),
            Err(CallError::Gone)
        ));
    }

    #[test]
    fn a_browser_that_refuses_is_quoted() {
        let (connection, thread) = browser(|call| {
            vec![
                json!({ "id": call["id"], "error": { "code": -32601, "message": "no such method" } }),
            ]
        });
        let error = connection
            .call("Page.none", &json!({}), soon())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the browser refused `Page.none`: no such method"
        );
        connection.hang_up();
        thread.join().unwrap();
    }

    #[test]
    fn who_waits_for_a_browser_that_ends_learns_it() {
        let (connection, thread) = browser(|_| Vec::new());
        let waiting = connection.clone();
        let caller =
            std::thread::spawn(move || waiting.call("Browser.getVersion", &json!({}), soon()));
        // The call is registered before it is sent, and closing ends it whichever comes first.
        connection.hang_up();
        assert!(matches!(caller.join().unwrap(), Err(CallError::Gone)));
        connection.hang_up();
        thread.join().unwrap();
    }

    #[test]
    fn a_late_answer_is_not_waited_for() {
        let (connection, thread) = browser(|_| Vec::new());
        let now = Deadline::after(Duration::ZERO);
        assert!(matches!(
            connection.call("Browser.getVersion", &json!({}), now),
            Err(CallError::Late("Browser.getVersion"))
        ));
        assert!(connection.routes().callers.is_empty());
        connection.hang_up();
        thread.join().unwrap();
    }
}
