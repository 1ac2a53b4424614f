//! Swap in a temporary file.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Swap that exists until this is dropped.
#[derive(Debug)]
pub struct Swap {
    file: PathBuf,
    _folder: TempDir,
}

impl Swap {
    /// This many MiB of swap; `None`, with a message, where that is not allowed.
    ///
    /// # Panics
    /// When no folder can be made.
    #[must_use]
    pub fn of(mebibytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let file = folder.path().join("swap");
        let path = file.display().to_string();
        let room = format!("{mebibytes}M");
        let is_on = succeeds(&["fallocate", "-l", &room, &path])
            && succeeds(&["chmod", "600", &path])
            && succeeds(&["mkswap", &path])
            && succeeds(&["swapon", &path]);
        if !is_on {
            crate::not_tried::not_tried(
                "no swap can be had here; needs root and a file system that allows it",
            );
        }
        is_on.then_some(Self {
            file,
            _folder: folder,
        })
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        succeeds(&["swapoff", &self.file.display().to_string()]);
    }
}

fn succeeds(words: &[&str]) -> bool {
    Command::new(words[0])
        .args(&words[1..])
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
