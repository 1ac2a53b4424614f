//! What the background tasks work on.

use std::sync::Arc;

use plimsoll_hub_io::hub::InUse;
use plimsoll_net::notice::NoticeSink;
use tokio::sync::Notify;

use super::Control;
use super::acme::AcmeState;
use super::background_tasks::BackgroundTasks;
use super::certificates::CertificateFiles;
use super::disk::DiskTakeover;
use super::servers::ServerNames;
use crate::overview::OverviewSource;

/// Tells the tasks of the hub that a configuration was applied, each by itself.
#[derive(Default)]
pub(super) struct HubChanges {
    /// The hub may have been added or removed.
    hub: Notify,
    /// The Redis source may have changed.
    redis: Notify,
    /// Other message sources may have changed.
    sources: Notify,
    /// The shared backend may have changed.
    shared: Notify,
}

impl HubChanges {
    pub(super) fn notify(&self) {
        self.hub.notify_one();
        self.redis.notify_one();
        self.sources.notify_one();
        self.shared.notify_one();
    }
}

/// The background tasks' part of a running edge: for each task what it needs.
#[derive(Clone)]
pub(crate) struct TaskState {
    watch: Arc<OverviewSource>,
    config: Arc<BackgroundTasks>,
    hub_changes: Arc<HubChanges>,
    certificates: CertificateFiles,
    acme: AcmeState,
    names: ServerNames,
    disk: DiskTakeover,
    report: NoticeSink,
}

impl TaskState {
    pub(super) fn new(control: &Arc<Control>) -> Self {
        Self {
            watch: Arc::clone(&control.watch),
            config: Arc::clone(&control.background_tasks),
            hub_changes: Arc::clone(&control.hub_changes),
            certificates: control.certificates.clone(),
            acme: control.acme.clone(),
            names: ServerNames::new(Arc::clone(&control.servers)),
            disk: DiskTakeover::new(Arc::clone(control)),
            report: Arc::clone(&control.hooks.report),
        }
    }

    /// Metrics, and the settings in use.
    pub(crate) fn watch(&self) -> &Arc<OverviewSource> {
        &self.watch
    }

    /// Configuration of rate alerts and of the export of spans.
    pub(crate) fn config(&self) -> &BackgroundTasks {
        &self.config
    }

    /// Receives notices for the user.
    pub(crate) fn notices(&self) -> &NoticeSink {
        &self.report
    }

    /// Certificate files.
    pub(crate) fn certificates(&self) -> &CertificateFiles {
        &self.certificates
    }

    /// Certificates by ACME.
    pub(crate) fn acme(&self) -> AcmeState {
        self.acme.clone()
    }

    /// Names of servers.
    pub(crate) fn server_names(&self) -> ServerNames {
        self.names.clone()
    }

    /// The directory of the disk cache.
    pub(crate) fn disk(&self) -> &DiskTakeover {
        &self.disk
    }

    /// The hub, for its timers.
    pub(crate) fn hub(&self) -> InUse<'_> {
        self.in_use(&self.hub_changes.hub)
    }

    /// The hub, for its Redis source.
    pub(crate) fn hub_redis(&self) -> InUse<'_> {
        self.in_use(&self.hub_changes.redis)
    }

    /// The hub, for its other message sources.
    pub(crate) fn hub_sources(&self) -> InUse<'_> {
        self.in_use(&self.hub_changes.sources)
    }

    /// The hub, for its shared backend.
    pub(crate) fn hub_shared(&self) -> InUse<'_> {
        self.in_use(&self.hub_changes.shared)
    }

    fn in_use<'a>(&'a self, changed: &'a Notify) -> InUse<'a> {
        InUse {
            hub: &self.watch.hub,
            changed,
            report: &self.report,
            clock: self.watch.clock,
        }
    }
}
