//! Waits for files that a program writes into a folder, by inotify instead of polling.

use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use rustix::io::read;

/// Longest time without any change, after which the wait fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// A folder whose changes are reported from its creation on.
#[derive(Debug)]
pub struct FolderWatch {
    changes: OwnedFd,
}

impl FolderWatch {
    /// Watches a folder, without its subfolders.
    ///
    /// # Panics
    /// When it cannot be watched.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let changes = init(CreateFlags::CLOEXEC).expect("the kernel tells of changes");
        let which = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVE | WatchFlags::DELETE;
        add_watch(&changes, folder, which).expect("the folder may be watched");
        Self { changes }
    }

    /// Returns as soon as the condition holds, which is checked now and after every change.
    ///
    /// # Panics
    /// When nothing changes for a minute and it does not hold.
    pub fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        let patience = Timespec::try_from(PATIENCE).expect("a minute is a time");
        while !holds() {
            let mut ready = [PollFd::new(&self.changes, PollFlags::IN)];
            let count = poll(&mut ready, Some(&patience)).expect("a descriptor can be waited for");
            assert!(count > 0, "not within {PATIENCE:?}: {what}");
            let mut events = [0; 4096];
            read(&self.changes, &mut events).expect("there is a change to read");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_another_thread_are_awaited() {
        let folder = tempfile::tempdir().unwrap();
        let watch = FolderWatch::new(folder.path());
        let file = folder.path().join("log");
        let written = file.clone();
        let writer = std::thread::spawn(move || {
            std::fs::write(&written, "one").unwrap();
            std::fs::write(&written, "two").unwrap();
        });
        watch.wait_until("two", || {
            std::fs::read_to_string(&file).is_ok_and(|text| text == "two")
        });
        writer.join().unwrap();
    }
}
