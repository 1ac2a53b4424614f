//! Why the edge answers itself.

/// Why the edge answered itself; each answer says it in `X-Plimsoll`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The fallback in place of a page.
    Fallback,
    /// All places in line were taken.
    QueueFull,
    /// No server had room in time.
    QueueTimeout,
    /// Refused on purpose, for others go first or the wait would be too long.
    Shed,
    /// The client asks too often.
    RateLimited,
    /// The client may not ask.
    Blocked,
    /// No server is well, or none answered.
    NoServer,
    /// The request is not acceptable.
    BadRequest,
    /// A route sends the client elsewhere.
    Redirect,
    /// A page with a place in line.
    Waiting,
    /// The client wants a copy or nothing, and there is none for it.
    NoCopy,
    /// A `PURGE` was carried out.
    Purged,
    /// A `PURGE` without the token.
    NoToken,
    /// It is the hub's.
    Hub,
}

impl Reason {
    pub(crate) const COUNT: usize = 14;

    /// All of them.
    pub(crate) const ALL: [Self; Self::COUNT] = [
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

    /// As it is written in headers, logs and metrics.
    pub(crate) fn name(self) -> &'static str {
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

    /// Whether the fallback may stand in for it.
    pub(crate) fn may_fall_back(self) -> bool {
        matches!(
            self,
            Self::QueueFull | Self::QueueTimeout | Self::Shed | Self::NoServer
        )
    }
}
