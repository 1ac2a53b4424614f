//! A cgroup with one limit, of either version.

use std::fs;
use std::path::{Path, PathBuf};

/// A disk by its device numbers.
#[derive(Clone, Copy, Debug)]
pub struct BlockDevice {
    major: u32,
    minor: u32,
}

impl BlockDevice {
    /// The disk of a file; `None` where it has none. A partition is mapped to its disk
    /// where the kernel numbers them in steps of sixteen.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let device = rustix::fs::stat(path).ok()?.st_dev;
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        (major > 0).then_some(Self {
            major,
            minor: minor & !15,
        })
    }
}

/// A cgroup. Its processes must have ended before it is dropped.
#[derive(Debug)]
pub struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// A cgroup with a fifth of a CPU; `None`, with a message, where it cannot be created.
    #[must_use]
    pub fn fifth_of_a_cpu() -> Option<Self> {
        Self::make(
            "cpu",
            &[
                ("cpu.cfs_period_us", "100000"),
                ("cpu.cfs_quota_us", "20000"),
            ],
            &[("cpu.max", "20000 100000")],
        )
    }

    /// A cgroup with 48 MiB of memory and no swap; `None`, with a message, where it cannot be created.
    #[must_use]
    pub fn small_memory() -> Option<Self> {
        let limit = "50331648";
        Self::make(
            "memory",
            &[("memory.limit_in_bytes", limit), ("memory.swappiness", "0")],
            &[("memory.max", limit), ("memory.swap.max", "0")],
        )
    }

    /// The same with swap.
    #[must_use]
    pub fn small_memory_and_swap() -> Option<Self> {
        let limit = "50331648";
        let of_version_1 = [
            ("memory.limit_in_bytes", limit),
            ("memory.swappiness", "100"),
        ];
        Self::make("memory", &of_version_1, &[("memory.max", limit)])
    }

    /// A cgroup with a limit on bytes written per second to a disk; `None`, with a message, where it cannot be created.
    /// Version 1 throttles only processes that wait for the write.
    #[must_use]
    pub fn slow_writes(disk: BlockDevice, bytes_per_second: u64) -> Option<Self> {
        let BlockDevice { major, minor } = disk;
        Self::make(
            "blkio",
            &[(
                "blkio.throttle.write_bps_device",
                &format!("{major}:{minor} {bytes_per_second}"),
            )],
            &[(
                "io.max",
                &format!("{major}:{minor} wbps={bytes_per_second}"),
            )],
        )
    }

    /// A cgroup of 24 processes and threads; `None`, with a message, where it cannot be created.
    #[must_use]
    pub fn few_threads() -> Option<Self> {
        let limit = [("pids.max", "24")];
        Self::make("pids", &limit, &limit)
    }

    fn make(controller: &str, v1: &[(&str, &str)], v2: &[(&str, &str)]) -> Option<Self> {
        let name = format!("plimsoll-{}-{controller}", std::process::id());
        let root = Path::new("/sys/fs/cgroup");
        let old = root.join(controller).join("cgroup.procs").exists();
        let parent = if old {
            root.join(controller)
        } else {
            root.to_owned()
        };
        if !old {
            let controller = if controller == "blkio" {
                "io"
            } else {
                controller
            };
            let control = parent.join("cgroup.subtree_control");
            // Refused where it is enabled already or where processes are in the way; the limit below fails then.
            let _ = fs::write(control, format!("+{controller}"));
        }
        let cgroup = Self {
            folder: parent.join(name),
        };
        let limits = if old { v1 } else { v2 };
        let made = fs::create_dir(&cgroup.folder).and_then(|()| {
            limits
                .iter()
                .filter(|limit| {
                    limit.0 != "memory.swap.max" || cgroup.folder.join(limit.0).exists()
                })
                .try_for_each(|(file, text)| fs::write(cgroup.folder.join(file), text))
        });
        match made {
            Ok(()) => Some(cgroup),
            Err(error) => {
                crate::not_tried::not_tried(format_args!(
                    "no {controller} cgroup can be made here ({}): {error}",
                    cgroup.folder.display()
                ));
                None
            }
        }
    }

    /// Moves a process in, with all its threads.
    ///
    /// # Panics
    /// When it has ended.
    pub fn take(&self, pid: u32) {
        fs::write(self.folder.join("cgroup.procs"), pid.to_string())
            .expect("a process may be moved into a cgroup of one's own");
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Refused while a process is inside: the cases end theirs first.
        let _ = fs::remove_dir(&self.folder);
    }
}
