//! Certificate files of the listeners: loaded again when they have changed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_net::clock;
use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;

use super::Followed;

/// How often certificate files are checked.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The certificate files of the configuration in effect.
#[derive(Clone)]
pub(crate) struct CertificateFiles {
    state: Arc<Mutex<Followed>>,
    report: NoticeSink,
}

impl CertificateFiles {
    pub(super) fn new(state: Arc<Mutex<Followed>>, report: NoticeSink) -> Self {
        Self { state, report }
    }

    /// Background task: reloads certificate files when they change.
    pub(crate) async fn watch(&self) {
        loop {
            self.reload();
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Reloads certificates whose files have changed.
    pub(crate) fn reload(&self) {
        let listeners = lock(&self.state).listeners.clone();
        let certificates = listeners
            .iter()
            .filter_map(|listener| listener.certificates.as_ref());
        for message in certificates.flat_map(|certificate| certificate.check(clock::wall())) {
            (self.report)(&message);
        }
    }
}
