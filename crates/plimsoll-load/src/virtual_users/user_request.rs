//! One request of a user: its bytes, and what is stored of its response.

use std::cell::Cell;

use plimsoll_model::journey::StepId;
use plimsoll_wire::head::{ContentCoding, Head, HeadLimits};
use plimsoll_wire::response::{Expected, Sink};

/// Bytes of a failed response's body shown in a message.
pub(super) const SAMPLE_LEN: usize = 200;

/// Capacity above which a buffer is released instead of being reused, bytes.
const RETAINED_LEN_MAX: usize = 16 * 1024;

/// The purpose of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestRole {
    /// A step.
    #[default]
    Step,
    /// The page of a page step.
    Page,
    /// A resource of a page.
    Resource,
    /// A request of the user's external script.
    Script,
    /// The handshake of a WebSocket.
    Opening,
    /// The handshake of a reconnect; counted separately.
    Reopening,
    /// An awaited message on a WebSocket.
    Message,
}

impl RequestRole {
    /// Whether it opens a WebSocket.
    pub(crate) fn opens(self) -> bool {
        matches!(self, Self::Opening | Self::Reopening)
    }
}

/// A request of a user, including redirects and a retry.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of a call, and any of them may hold"
)]
pub(crate) struct UserRequest {
    /// Id under which it is counted.
    pub(super) id: StepId,
    /// Index in the program's requests.
    pub(super) request: u32,
    pub(super) role: RequestRole,
    pub(super) once: bool,
    pub(super) idempotent: bool,
    pub(super) origin: u16,
    /// A redirect has changed it to a GET.
    pub(super) is_get: bool,
    pub(super) redirects: u32,
    /// Deadline, where it differs from the plan's time-out.
    pub(super) expiry: Option<u64>,
    /// Current path and query.
    pub(super) target: Vec<u8>,
    /// Head and body as sent.
    pub(super) bytes: Vec<u8>,
    /// Offset of the body.
    pub(super) head_len: usize,
    /// The head requests the end of the connection.
    closes: bool,
    pub(super) expected: Expected,
    pub(super) keeps_head: bool,
    pub(super) keeps_cookies: bool,
    /// Its response is stored in the user's cache.
    pub(super) is_cached: bool,
    /// Served by the user's cache.
    pub(super) is_fresh: bool,
    /// Most bytes of the response body that are stored.
    pub(super) retained_len_max: usize,
    pub(super) head: Vec<u8>,
    pub(super) body: Vec<u8>,
    /// Bytes of all answers, heads included.
    pub(super) bytes_in: u64,
    /// Why it failed, if known.
    pub(super) reason: String,
    /// Status of the last answer.
    pub(super) status: u16,
    /// Content coding of its body.
    pub(super) coding: ContentCoding,
    /// Length of its body once it was decoded whole, until that is counted.
    pub(super) decoded_len: Cell<Option<u64>>,
    /// Offset of the JSON in its body.
    pub(super) json_at: usize,
}

impl UserRequest {
    pub(crate) fn empty() -> Box<Self> {
        Box::new(Self {
            id: 0,
            request: 0,
            role: RequestRole::Step,
            once: false,
            idempotent: false,
            origin: 0,
            is_get: false,
            redirects: 0,
            expiry: None,
            target: Vec::new(),
            bytes: Vec::new(),
            head_len: 0,
            closes: false,
            expected: Expected {
                no_body: false,
                keep_location: false,
                head: HeadLimits::DEFAULT,
                body_len_max: 0,
            },
            keeps_head: false,
            keeps_cookies: false,
            is_cached: false,
            is_fresh: false,
            retained_len_max: 0,
            head: Vec::new(),
            body: Vec::new(),
            bytes_in: 0,
            reason: String::new(),
            status: 0,
            coding: ContentCoding::Other,
            decoded_len: Cell::new(None),
            json_at: 0,
        })
    }

    /// Resets it for another request; its buffers are reused.
    pub(super) fn clear(&mut self) {
        for buffer in [
            &mut self.target,
            &mut self.bytes,
            &mut self.head,
            &mut self.body,
        ] {
            buffer.clear();
            buffer.shrink_to(RETAINED_LEN_MAX);
        }
        self.is_get = false;
        self.is_cached = false;
        self.is_fresh = false;
        self.redirects = 0;
        self.expiry = None;
        self.head_len = 0;
        self.closes = false;
        self.bytes_in = 0;
        self.json_at = 0;
        self.coding = ContentCoding::Other;
        self.decoded_len.set(None);
        self.reason.clear();
        self.status = 0;
    }

    /// Id under which it is counted.
    pub(crate) fn id(&self) -> StepId {
        self.id
    }

    /// Index in the program's requests.
    #[inline]
    pub(crate) fn request(&self) -> u32 {
        self.request
    }

    pub(crate) fn role(&self) -> RequestRole {
        self.role
    }

    /// Whether it is counted outside of the measured loop.
    pub(crate) fn is_once(&self) -> bool {
        self.once
    }

    pub(crate) fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// Whether it is served by the user's cache.
    pub(crate) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Whether it could not be built, and there is nothing to send.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn origin(&self) -> u16 {
        self.origin
    }

    /// Current path, without a query.
    pub(crate) fn path(&self) -> &[u8] {
        let path = self.target.split(|&byte| byte == b'?').next();
        path.unwrap_or_default()
    }

    /// Head and body as sent.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same, apart.
    pub(crate) fn head_and_body(&self) -> (&[u8], &[u8]) {
        self.bytes.split_at(self.head_len)
    }

    /// Deadline, where it differs from the plan's time-out.
    #[inline]
    pub(crate) fn expiry(&self) -> Option<u64> {
        self.expiry
    }

    pub(crate) fn set_expiry(&mut self, expiry: Option<u64>) {
        self.expiry = expiry;
    }

    /// How its response is read.
    #[inline]
    pub(crate) fn expected(&self) -> Expected {
        self.expected
    }

    /// Bytes of a response have arrived.
    #[inline]
    pub(crate) fn count_bytes(&mut self, count: u64) {
        self.bytes_in += count;
    }

    /// Bytes of all responses, heads included.
    pub(crate) fn bytes_in(&self) -> u64 {
        self.bytes_in
    }

    /// The head of a response, written by `write` where it is needed.
    pub(crate) fn take_head(&mut self, sets_cookie: bool, write: &dyn Fn(&mut Vec<u8>)) {
        if self.keeps_head || (self.keeps_cookies && sets_cookie) {
            write(&mut self.head);
        }
    }

    /// A message of a WebSocket is its response; JSON begins at an offset.
    pub(crate) fn set_message(&mut self, message: &[u8], json_at: usize) {
        self.json_at = json_at;
        self.bytes_in = message.len() as u64;
        self.body.clear();
        self.body.extend_from_slice(message);
    }

    /// Status and content coding of its last response.
    pub(crate) fn set_answer(&mut self, status: u16, coding: ContentCoding) {
        self.status = status;
        self.coding = coding;
    }

    /// Lengths of the body of the last response in its coding and decoded, once, if it was decoded whole.
    pub(crate) fn take_decoded(&mut self) -> Option<(u64, u64)> {
        let decoded = self.decoded_len.take()?;
        Some((self.body.len() as u64, decoded))
    }

    /// Status of the last response; 0 without one.
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// What is stored of the body of its response.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Why it failed; empty where that is not known.
    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    pub(crate) fn set_reason(&mut self, reason: String) {
        self.reason = reason;
    }

    /// Clears the previous response.
    pub(crate) fn begin_answer(&mut self) {
        self.head.clear();
        self.body.clear();
    }

    /// Requests the end of the connection after the response.
    pub(crate) fn close_after(&mut self) {
        if !self.closes {
            self.closes = true;
            let line = b"Connection: close\r\n";
            let end = self.head_len - 2;
            self.bytes.splice(end..end, line.iter().copied());
            self.head_len += line.len();
        }
    }

    /// The bytes belong to another request now.
    pub(super) fn is_rewritten(&mut self) {
        self.closes = false;
    }

    /// Whether the body is needed beyond the excerpt in a message.
    pub(crate) fn wants_body(&self) -> bool {
        self.retained_len_max > SAMPLE_LEN
    }
}

impl Sink for UserRequest {
    #[inline]
    fn head(&mut self, head: &Head, bytes: &[u8]) {
        if self.keeps_head || (self.keeps_cookies && head.sets_cookie) {
            self.head.extend_from_slice(bytes);
        }
    }

    #[inline]
    fn content(&mut self, bytes: &[u8]) {
        let room = self.retained_len_max.saturating_sub(self.body.len());
        if room > 0 {
            self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }
}
