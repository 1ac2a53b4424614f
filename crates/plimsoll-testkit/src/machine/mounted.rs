//! A small file system.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted file system.
#[derive(Debug)]
pub struct Mounted {
    point: PathBuf,
}

impl Mounted {
    /// A tmpfs of 1 MiB, at an empty folder; `None`, with a message, where that is not allowed.
    #[must_use]
    pub fn small(point: &Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "plimsoll"])
            .arg(point)
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            crate::not_tried::not_tried("no file system can be mounted here; needs root");
        }
        mounted.then(|| Self {
            point: point.to_owned(),
        })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.point).status();
    }
}
