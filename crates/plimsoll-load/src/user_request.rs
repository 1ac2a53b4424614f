//! One request of a user: its bytes, and what is kept of its answer.

use plimsoll_model::journey::StepId;
use plimsoll_wire::head::{ContentCoding, Head};
use plimsoll_wire::response::{Expected, Sink};

/// Bytes of a failed answer's body that a message shows.
pub(crate) const SAMPLE_LEN: usize = 200;

/// Capacity above which a buffer is given back instead of being kept for the next call, bytes.
const RETAINED_LEN_MAX: usize = 16 * 1024;

/// What a call is to its user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestRole {
    /// A step of its own.
    #[default]
    Step,
    /// The page of a page step.
    Page,
    /// What a page needs.
    Resource,
    /// What its user's process said.
    Script,
    /// The handshake of a WebSocket.
    Opening,
    /// The same, after it was lost; counted apart.
    Reopening,
    /// A message that is awaited on it.
    Message,
}

impl RequestRole {
    /// Whether it asks for a WebSocket.
    pub(crate) fn opens(self) -> bool {
        matches!(self, Self::Opening | Self::Reopening)
    }
}

/// A request of a user, on its way over redirects and a retry.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing of a call, and any of them may hold"
)]
pub(crate) struct UserRequest {
    /// Counted under this id.
    pub(crate) id: StepId,
    /// Index in the program's requests.
    pub(crate) request: u32,
    pub(crate) role: RequestRole,
    pub(crate) once: bool,
    pub(crate) idempotent: bool,
    pub(crate) origin: u16,
    /// A redirect has made a GET of it.
    pub(crate) is_get: bool,
    pub(crate) redirects: u32,
    /// Given up then, when that is not the plan's time-out.
    pub(crate) expiry: Option<u64>,
    /// Path and query asked for now.
    pub(crate) target: Vec<u8>,
    /// Head and body as they are sent.
    pub(crate) bytes: Vec<u8>,
    /// Where the body begins.
    pub(crate) head_len: usize,
    /// The head asks for the connection to be closed.
    closes: bool,
    pub(crate) expected: Expected,
    pub(crate) keeps_head: bool,
    pub(crate) keeps_cookies: bool,
    /// Its answer goes into its user's cache.
    pub(crate) is_cached: bool,
    /// Its user has the answer already.
    pub(crate) is_fresh: bool,
    /// Bytes of the answer's body that are kept at most.
    pub(crate) retained_len_max: usize,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
    /// Bytes of all answers, heads included.
    pub(crate) bytes_in: u64,
    /// Why it failed, when that is known.
    pub(crate) reason: String,
    /// Status of the last answer.
    pub(crate) status: u16,
    /// Content coding of its body.
    pub(crate) coding: ContentCoding,
    /// Where in its body JSON begins.
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

    /// Makes it ready for another request, with the buffers it has.
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

    /// Forgets the answer before.
    pub(crate) fn begin_answer(&mut self) {
        self.head.clear();
        self.body.clear();
    }

    /// Asks for the connection to be closed after the answer.
    pub(crate) fn close_after(&mut self) {
        if !self.closes {
            self.closes = true;
            let line = b"Connection: close\r\n";
            let end = self.head_len - 2;
            self.bytes.splice(end..end, line.iter().copied());
            self.head_len += line.len();
        }
    }

    /// The bytes are another request's now.
    pub(crate) fn is_rewritten(&mut self) {
        self.closes = false;
    }

    /// Whether the body is needed beyond what fits a message.
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
