//! What obtaining certificates works on.

use std::sync::{Arc, Mutex};

use plimsoll_config::edge::Acme;
use plimsoll_net::lock::lock;
use plimsoll_net::notice::NoticeSink;
use plimsoll_proxy::tls::challenges::Challenges;
use tokio::sync::Notify;

use super::Followed;
use super::certificates::CertificateFiles;

/// The ACME configuration in effect, pending challenges, and the certificate files.
#[derive(Clone)]
pub(crate) struct AcmeState {
    state: Arc<Mutex<Followed>>,
    files: CertificateFiles,
    challenges: Arc<Challenges>,
    changed: Arc<Notify>,
    report: NoticeSink,
}

impl AcmeState {
    pub(super) fn new(
        state: Arc<Mutex<Followed>>,
        files: CertificateFiles,
        challenges: Arc<Challenges>,
        report: NoticeSink,
    ) -> Self {
        Self {
            state,
            files,
            challenges,
            changed: Arc::default(),
            report,
        }
    }

    /// The configuration, if any.
    pub(crate) fn config(&self) -> Option<Acme> {
        lock(&self.state).edge.acme.clone()
    }

    /// Waits until the set of certificates may have changed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The set of certificates may have changed.
    pub(super) fn notify(&self) {
        self.changed.notify_one();
    }

    /// Challenges that the listeners answer.
    pub(crate) fn challenges(&self) -> &Arc<Challenges> {
        &self.challenges
    }

    /// Reloads certificates whose files have changed.
    pub(crate) fn reload_files(&self) {
        self.files.reload();
    }

    /// Reports to the user.
    pub(crate) fn report(&self, text: &str) {
        (self.report)(text);
    }
}
