//! Whether a service goes on answering while it reads its files again: one request after the other, from before the reload
//! until the service is ready.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::ready::Address;

/// Longest wait for a response.
const RESPONSE_MAX: Duration = Duration::from_secs(5);
/// Time from a response to the next request.
const PAUSE: Duration = Duration::from_millis(10);

/// Requests while a service reloads.
#[derive(Debug)]
pub(super) struct ReloadWatch {
    end: SyncSender<()>,
    thread: JoinHandle<ReloadCounts>,
}

/// How the requests ended.
#[derive(Debug, Default)]
struct ReloadCounts {
    requests: u64,
    failed: u64,
    /// The first failure.
    first: Option<io::Error>,
}

impl ReloadWatch {
    /// Begins, if a request to `address` succeeds: a service that does not answer before cannot be judged.
    pub(super) fn begin(address: Address) -> Option<Self> {
        // Nothing is sent: it ends when the sender is dropped.
        let (end, ended) = sync_channel(0);
        let (begun, has_begun) = sync_channel(1);
        let body = move || watch(&address, &begun, |pause| ended.recv_timeout(pause));
        let thread = std::thread::Builder::new()
            .name("reload-watch".to_owned())
            .spawn(body)
            .ok()?;
        has_begun.recv().ok()?;
        Some(Self { end, thread })
    }

    /// Ends; what the user should know, if requests failed.
    pub(super) fn end(self, files: &str) -> Option<String> {
        drop(self.end);
        let counts = self.thread.join().ok()?;
        let first = counts.first?;
        Some(format!(
            "the reload of {files} drops connections: {} of {} requests failed meanwhile, the first with `{first}`; change it \
             when nobody uses the service, or name a `reload` that keeps connections",
            counts.failed, counts.requests
        ))
    }
}

/// Sends requests until `wait` tells the end.
fn watch(
    address: &Address,
    begun: &SyncSender<()>,
    wait: impl Fn(Duration) -> Result<(), RecvTimeoutError>,
) -> ReloadCounts {
    let mut counts = ReloadCounts::default();
    if address.request(RESPONSE_MAX).is_err() || begun.send(()).is_err() {
        return counts;
    }
    loop {
        let response = address.request(RESPONSE_MAX);
        counts.requests += 1;
        if let Err(error) = response {
            counts.failed += 1;
            counts.first.get_or_insert(error);
        }
        if wait(PAUSE) != Err(RecvTimeoutError::Timeout) {
            return counts;
        }
    }
}
