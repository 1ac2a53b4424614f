//! What a server serves, without sockets.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

/// A request that has passed the guard.
#[derive(Debug)]
pub struct SiteRequest {
    /// Whether it acts (`POST`); otherwise it reads.
    pub is_act: bool,
    /// The path behind the token, without a leading slash.
    pub path: String,
    /// The query, without its question mark.
    pub query: String,
    /// The body of an act.
    pub body: Bytes,
    /// Ends the connection.
    pub(crate) hang_up: Arc<Notify>,
}

/// The content of a response.
#[derive(Debug)]
pub enum SiteBody {
    /// All of it.
    Whole(Bytes),
    /// Server-sent events, as they come.
    Events(mpsc::Receiver<Bytes>),
}

/// Media type of a page that the report crate wrote; its policy differs.
pub(crate) const REPORT_PAGE: &str = "text/html; charset=utf-8; x-report=1";

/// A response.
#[derive(Debug)]
pub struct SiteResponse {
    /// Status of HTTP.
    pub status: u16,
    /// Media type.
    pub content_type: &'static str,
    /// Content.
    pub body: SiteBody,
}

impl SiteResponse {
    /// Content with its media type.
    pub fn ok(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            status: 200,
            content_type,
            body: SiteBody::Whole(body.into()),
        }
    }

    /// A sentence with a status.
    pub fn text(status: u16, text: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            body: SiteBody::Whole(text.into()),
        }
    }

    /// A page that the report crate wrote: one file, with its style and script.
    pub fn report(page: impl Into<Bytes>) -> Self {
        Self::ok(REPORT_PAGE, page)
    }

    /// Nothing is there.
    pub fn not_found() -> Self {
        Self::text(404, "There is no such page.\n")
    }
}

/// Responds to requests.
pub trait Site: Send + Sync + 'static {
    /// The response to a request.
    fn respond(&self, request: SiteRequest) -> SiteResponse;

    /// Whether the response to this path takes long, so that it needs a thread of its own.
    fn is_slow(&self, path: &str) -> bool {
        let _ = path;
        false
    }
}
