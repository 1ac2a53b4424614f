//! The page of nginx's `stub_status`.

/// Connection metrics of nginx.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StubStatus {
    /// Connections open, idle ones included.
    pub(crate) active: u64,
    /// Connections accepted since nginx was started.
    pub(crate) accepts: u64,
    /// Of these, connections that were not dropped.
    pub(crate) handled: u64,
    /// Requests since nginx was started.
    pub(crate) requests: u64,
    /// Connections whose request is being read.
    pub(crate) reading: u64,
    /// Connections whose response is being written.
    pub(crate) writing: u64,
    /// Connections without a request.
    pub(crate) waiting: u64,
}

/// Parses the page; `None` when it is something else.
pub(crate) fn stub_status(text: &str) -> Option<StubStatus> {
    let mut lines = text.lines();
    let active = lines.next()?.strip_prefix("Active connections:")?;
    let heading = lines.next()?.trim_start();
    heading.strip_prefix("server accepts handled requests")?;
    let mut totals = lines.next()?.split_whitespace().map(str::parse);
    let mut total = || totals.next()?.ok();
    let (accepts, handled, requests) = (total()?, total()?, total()?);
    let last = lines.next()?;
    let state = |name: &str| -> Option<u64> {
        let (_, rest) = last.split_once(name)?;
        rest.split_whitespace().next()?.parse().ok()
    };
    Some(StubStatus {
        active: active.trim().parse().ok()?,
        accepts,
        handled,
        requests,
        reading: state("Reading:")?,
        writing: state("Writing:")?,
        waiting: state("Waiting:")?,
    })
}
