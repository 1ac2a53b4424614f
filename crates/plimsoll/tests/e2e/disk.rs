//! A disk that fills up during a run: no measured data is lost, and the message has a remedy.

use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testkit::origin::fault::{self, OriginFault};

use crate::support::{Sandbox, count};

/// A separate file system, too small for a run log.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(crate) fn mount(at: &Path, size: &str) -> Self {
        std::fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(at)
            .status()
            .is_ok_and(|status| status.success());
        assert!(mounted, "mounting a small disk needs root");
        Self(at.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_costs_nothing_measured() {
    let origin = fault::start(OriginFault::None).unwrap();
    let place = Sandbox::new();
    let disk = SmallDisk::mount(&place.path().join("small"), "12k");
    let output = place.run(&[
        "run",
        &origin.url(),
        "--connections",
        "8",
        "--for",
        "8s",
        "--out",
        "small",
        "--json",
    ]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("incomplete") && output.stderr.contains("--out"),
        "{output:?}"
    );
    let json = output.json();
    assert!(count(&json, "outcomes.ok") > 0, "{json:#}");
    drop(disk);
}

#[test]
fn a_disk_full_from_the_start_sends_nothing() {
    let origin = fault::start(OriginFault::None).unwrap();
    let place = Sandbox::new();
    let disk = SmallDisk::mount(&place.path().join("full"), "4k");
    std::fs::write(place.path().join("full/filler"), [0_u8; 4096]).unwrap();
    let output = place.run(&["run", &origin.url(), "--for", "1s", "--out", "full"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("--out"), "{output:?}");
    assert_eq!(origin.requests(), 0);
    drop(disk);
}
