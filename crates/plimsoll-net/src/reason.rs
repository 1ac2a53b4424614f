//! Reasons of synthetic responses.

/// Why the edge answered itself; each response carries it in `X-Plimsoll`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The fallback in place of a page.
    Fallback,
    /// The queue was full.
    QueueFull,
    /// No server had room in time.
    QueueTimeout,
    /// Load shedding: other classes go first or the wait would be too long.
    Shed,
    /// The client exceeds its rate limit.
    RateLimited,
    /// The client is not allowed.
    Blocked,
    /// No healthy server, or none answered.
    NoServer,
    /// The request is invalid.
    BadRequest,
    /// A route redirects the client.
    Redirect,
    /// A waiting page with a place in line.
    Waiting,
    /// The client accepts only a cached response, and there is none.
    NoCopy,
    /// A `PURGE` was executed.
    Purged,
    /// A `PURGE` without the token.
    NoToken,
    /// It belongs to the hub.
    Hub,
}

impl Reason {
    /// The number of reasons.
    pub const COUNT: usize = 14;

    /// All of them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Fallback,
        Self::QueueFull,
        Self::QueueTimeout,
        Self::Shed,
        Self::RateLimited,
        Self::Blocked,
        Self::NoServer,
        Self::BadRequest,
        Self::Redirect,
        Self::Waiting,
        Self::NoCopy,
        Self::Purged,
        Self::NoToken,
        Self::Hub,
    ];

    /// Its word in headers, logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fallback => "fallback",
            Self::QueueFull => "queue-full",
            Self::QueueTimeout => "queue-timeout",
            Self::Shed => "shed",
            Self::RateLimited => "rate-limited",
            Self::Blocked => "blocked",
            Self::NoServer => "no-server",
            Self::BadRequest => "bad-request",
            Self::Redirect => "redirect",
            Self::Waiting => "waiting",
            Self::NoCopy => "no-copy",
            Self::Purged => "purged",
            Self::NoToken => "no-token",
            Self::Hub => "hub",
        }
    }

    /// Whether the fallback may replace it.
    pub fn may_fall_back(self) -> bool {
        matches!(
            self,
            Self::QueueFull | Self::QueueTimeout | Self::Shed | Self::NoServer
        )
    }
}
