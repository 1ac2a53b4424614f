//! One request of a log, whatever the format.

use std::borrow::Cow;

/// Longest line that is read, bytes.
pub const LINE_LEN_MAX: usize = 64 << 10;

/// A request from a log. Texts borrow from the line, where no escape of the log had to be undone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogEntry<'a> {
    /// When the request began, or ended if the log only has that: milliseconds since 1970.
    pub at_ms: i64,
    /// Whether `at_ms` is the end of the request.
    pub is_end: bool,
    /// Response time as the log has it, milliseconds.
    pub lasted_ms: Option<f64>,
    /// Address of the client: the left-most of a forwarded list; absent if the log does not tell.
    pub address: Option<Cow<'a, str>>,
    /// User agent; absent if the log has none, or `-`.
    pub agent: Option<Cow<'a, str>>,
    /// As in HTTP.
    pub method: Cow<'a, str>,
    /// Path and query as a client sends them: escapes of the log are undone, bytes outside of printable ASCII and
    /// blanks are percent-encoded.
    pub path: Cow<'a, str>,
    /// Status of the answer; 0 if there was none.
    pub status: u16,
    /// Requested host, where the log has it.
    pub host: Option<Cow<'a, str>>,
    /// URL of the page that led here.
    pub referer: Option<Cow<'a, str>>,
    /// Bytes sent to the client, of the body or of the whole answer, as the log has it.
    pub bytes: Option<u64>,
    /// How much compression saved: bytes before it per byte after it (nginx' `$gzip_ratio`).
    pub compression_ratio: Option<f32>,
    /// What a cache made of it.
    pub cache: Option<CacheOutcome>,
    /// Times of the server behind a proxy.
    pub upstream: Option<UpstreamTimes<'a>>,
    /// What `HAProxy` tells.
    pub haproxy: Option<HaproxyDetails<'a>>,
}

/// Longest plausible response time, milliseconds: a day. What is longer is no duration but, say, a Unix time.
pub(crate) const LASTED_MAX_MS: f64 = 86_400_000.0;

impl LogEntry<'_> {
    /// When the request began, milliseconds since 1970: an end less the response time. A log without response times
    /// has only its own moment.
    pub fn began_ms(&self) -> i64 {
        if self.is_end {
            self.at_ms - self.whole_ms()
        } else {
            self.at_ms
        }
    }

    /// When the request ended, milliseconds since 1970, as far as the log tells.
    pub fn ended_ms(&self) -> i64 {
        if self.is_end {
            self.at_ms
        } else {
            self.at_ms + self.whole_ms()
        }
    }

    fn whole_ms(&self) -> i64 {
        let ms = self.lasted_ms.unwrap_or(0.0).clamp(0.0, LASTED_MAX_MS);
        #[expect(clippy::cast_possible_truncation, reason = "at most a day")]
        let whole = ms.round() as i64;
        whole
    }
}

/// What a cache made of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheOutcome {
    /// Answered by the cache, fresh.
    Hit,
    /// Answered by the cache after its time, or while it was renewed.
    Stale,
    /// Answered by the cache after the origin confirmed its copy.
    Revalidated,
    /// Fetched from the origin.
    Miss,
    /// Not for the cache.
    Bypass,
}

/// Times of the server behind a proxy, milliseconds; sums if it tried several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UpstreamTimes<'a> {
    /// The server that answered: the last of several.
    pub address: Option<Cow<'a, str>>,
    /// How many servers it tried.
    pub tries: u32,
    /// To connect.
    pub connect_ms: Option<f64>,
    /// Until the head of the answer.
    pub header_ms: Option<f64>,
    /// Until the end of the answer.
    pub response_ms: Option<f64>,
}

/// What `HAProxy` tells of a request. Times are milliseconds; absent where it writes -1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HaproxyDetails<'a> {
    /// The frontend that accepted it.
    pub frontend: &'a str,
    /// The backend that it was given to.
    pub backend: &'a str,
    /// `<NOSRV>` if it came to none.
    pub server: &'a str,
    /// Termination state with its two or four characters: `----`, `sH--`.
    pub termination: &'a str,
    /// Until the whole request was there (Tq, TR).
    pub request_ms: Option<f64>,
    /// In queues (Tw).
    pub queue_ms: Option<f64>,
    /// To connect (Tc).
    pub connect_ms: Option<f64>,
    /// Until the server's response (Tr).
    pub response_ms: Option<f64>,
    /// In all (Tt, Ta).
    pub total_ms: Option<f64>,
    /// Attempts to connect again.
    pub retries: u32,
    /// Requests before it in the server's queue.
    pub server_queue: u32,
    /// Requests before it in the backend's queue.
    pub backend_queue: u32,
}

/// Why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// A field is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A field is invalid.
    #[error("{what} `{found}` is not valid")]
    Invalid {
        /// What.
        what: &'static str,
        /// As written, shortened.
        found: String,
    },
    /// The line tells of something else than an HTTP request.
    #[error("not an HTTP request: {0}")]
    NotHttp(&'static str),
    /// Bytes that were in no known encoding and cannot be sent again as they were.
    #[error("{0} is not UTF-8, and the log does not tell its encoding")]
    NotText(&'static str),
    /// The line is too long.
    #[error("the line is longer than 64 KiB")]
    TooLong,
}

impl LineError {
    pub(crate) fn invalid(what: &'static str, found: &[u8]) -> Self {
        let shown = String::from_utf8_lossy(&found[..found.len().min(160)]);
        Self::Invalid {
            what,
            found: shown.chars().filter(|c| !c.is_control()).take(40).collect(),
        }
    }
}
