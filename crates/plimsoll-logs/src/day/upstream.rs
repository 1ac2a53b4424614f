//! Times of the servers behind a proxy.

use super::summary::UpstreamSummary;
use super::times::Times;
use crate::entry::UpstreamTimes;

/// Where the time behind the proxy went.
#[derive(Debug)]
pub(super) struct Upstream {
    requests: u64,
    retried: u64,
    connect: Times,
    header: Times,
    response: Times,
}

impl Upstream {
    pub(super) fn new() -> Self {
        Self {
            requests: 0,
            retried: 0,
            connect: Times::new(),
            header: Times::new(),
            response: Times::new(),
        }
    }

    pub(super) fn take(&mut self, times: &UpstreamTimes<'_>) {
        self.requests += 1;
        self.retried += u64::from(times.tries > 1);
        self.connect.record(times.connect_ms);
        self.header.record(times.header_ms);
        self.response.record(times.response_ms);
    }

    pub(super) fn summary(&self) -> UpstreamSummary {
        UpstreamSummary {
            requests: self.requests,
            tried_several: self.retried,
            connect_ms: self.connect.distribution(),
            header_ms: self.header.distribution(),
            response_ms: self.response.distribution(),
        }
    }
}
