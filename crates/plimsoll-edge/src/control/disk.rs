//! Taking over the directory of the disk cache from another edge.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::lock::lock;
use plimsoll_proxy::lookup::disk;

use super::{Control, explain};

/// The disk cache of the configuration in effect, for the task that waits for its directory.
#[derive(Clone)]
pub(crate) struct DiskTakeover {
    control: Arc<Control>,
}

impl DiskTakeover {
    pub(super) fn new(control: Arc<Control>) -> Self {
        Self { control }
    }

    /// Waits until the directory may have changed.
    pub(crate) async fn changed(&self) {
        self.control.disk_changed.notified().await;
    }

    /// The directory that another edge uses, and how long that edge may take to end if it has the same drain time.
    pub(crate) fn awaited(&self) -> Option<(PathBuf, Duration)> {
        let state = lock(&self.control.state);
        let cache = lock(&self.control.watch.cache);
        let awaits = &cache.as_ref()?.awaits_disk;
        let edge = awaits.load(Ordering::Relaxed).then_some(&state.edge)?;
        Some((edge.cache_disk.as_ref()?.path.clone(), edge.drain))
    }

    /// The directory is free: applies the current configuration once more, with it. Uses the configuration read last; a
    /// file edited since then waits for a reload.
    pub(crate) fn take_over(&self) {
        let mut state = lock(&self.control.state);
        let edge = state.edge.clone();
        let done = self.control.follow_in(&mut state, &edge);
        drop(state);
        let disk = self.control.disk();
        let message = match (done, edge.cache_disk, disk) {
            (Err(error), Some(config), _) => disk::disk_unavailable(&config.path, &explain(&error)),
            (Ok(_), Some(config), Some(_)) => format!(
                "disk cache on in {}: no other edge uses the directory any more",
                config.path.display()
            ),
            // The reason was already reported.
            _ => return,
        };
        self.report(&message);
    }

    /// Time since the edge was started.
    pub(crate) fn now(&self) -> Nanoseconds {
        self.control.watch.clock.now()
    }

    /// Reports to the user.
    pub(crate) fn report(&self, text: &str) {
        (self.control.hooks.report)(text);
    }
}
