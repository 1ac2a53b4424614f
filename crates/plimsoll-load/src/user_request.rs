//! One request of a user: its bytes, and what is stored of its response.

use plimsoll_model::journey::StepId;
use plimsoll_wire::head::{ContentCoding, Head};
use plimsoll_wire::response::{Expected, Sink};

/// Bytes of a failed response's body shown in a message.
pub(crate) const SAMPLE_LEN: usize = 200;

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
    pub(crate) id: StepId,
    /// Index in the program's requests.
    pub(crate) request: u32,
    pub(crate) role: RequestRole,
    pub(crate) once: bool,
    pub(crate) idempotent: bool,
    pub(crate) origin: u16,
    /// A redirect has changed it to a GET.
    pub(crate) is_get: bool,
    pub(crate) redirects: u32,
    /// Deadline, where it differs from the plan's time-out.
    pub(crate) expiry: Option<u64>,
    /// Current path and query.
    pub(crate) target: Vec<u8>,
    /// Head and body as sent.
    pub(crate) bytes: Vec<u8>,
    /// Offset of the body.
    pub(crate) head_len: usize,
    /// The head requests the end of the connection.
    closes: bool,
    pub(crate) expected: Expected,
    pub(crate) keeps_head: bool,
    pub(crate) keeps_cookies: bool,
    /// Its response is stored in the user's cache.
    pub(crate) is_cached: bool,
    /// Served by the user's cache.
    pub(crate) is_fresh: bool,
    /// Most bytes of the response body that are stored.
    pub(crate) retained_len_max: usize,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
    /// Bytes of all answers, heads included.
    pub(crate) bytes_in: u64,
    /// Why it failed, if known.
    pub(crate) reason: String,
    /// Status of the last answer.
    pub(crate) status: u16,
    /// Content coding of its body.
    pub(crate) coding: ContentCoding,
    /// Offset of the JSON in its body.
    pub(crate) json_at: usize,
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
            json_at: 0,
        })
    }

    /// Resets it for another request; its buffers are reused.
    pub(crate) fn clear(&mut self) {
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
        self.reason.clear();
        self.status = 0;
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
    pub(crate) fn is_rewritten(&mut self) {
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
