//! Takes over the directory of the disk cache from another edge: at a restart the old and the new process overlap.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_net::clock::{Nanoseconds, nanoseconds};
use plimsoll_proxy::lookup::disk::{disk_unavailable, is_in_use};

use crate::control::DiskTakeover;

/// How often the directory is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Added to the drain time of the other edge, so that it can write what is queued.
const GRACE: Duration = Duration::from_mins(1);

/// A directory that another edge still uses.
struct Awaited {
    path: PathBuf,
    until: Nanoseconds,
}

/// Background task: waits for a directory in use, and takes it over once it is free.
pub(super) async fn keep_taking_over(disk: &DiskTakeover) {
    let mut awaited: Option<Awaited> = None;
    loop {
        let changed = disk.changed();
        let is_changed = if awaited.is_some() {
            tokio::time::timeout(POLL_INTERVAL, changed).await.is_ok()
        } else {
            changed.await;
            true
        };
        if is_changed {
            awaited = begin(disk, awaited);
        }
        let Some(Awaited { path, until }) = &awaited else {
            continue;
        };
        if !is_in_use(path) {
            awaited = None;
            disk.take_over();
        } else if disk.now() >= *until {
            let why = "another edge still uses the directory; give each edge a directory of its own, or reload when \
                       the other edge has ended";
            disk.report(&disk_unavailable(path, &why));
            awaited = None;
        }
    }
}

/// Starts waiting, or continues when a reload has not changed the directory.
fn begin(disk: &DiskTakeover, before: Option<Awaited>) -> Option<Awaited> {
    let (path, drain) = disk.awaited()?;
    if let Some(before) = before.filter(|before| before.path == path) {
        return Some(before);
    }
    let at_most = drain + GRACE;
    let reason = format!(
        "another edge uses the directory; this edge takes over if the other ends within {} s; give each edge a \
         directory of its own if both are to stay",
        at_most.as_secs()
    );
    disk.report(&disk_unavailable(&path, &reason));
    let now = disk.now();
    let until = now.saturating_add(nanoseconds(at_most));
    Some(Awaited { path, until })
}
