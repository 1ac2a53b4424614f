//! A cgroup with one limit, of either version.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// A cgroup that may use a fifth of a CPU; `None`, said loudly, where none can be made.
    pub(crate) fn fifth_of_a_cpu() -> Option<Self> {
        Self::make(
            "cpu",
            &[
                ("cpu.cfs_period_us", "100000"),
                ("cpu.cfs_quota_us", "20000"),
            ],
            &[("cpu.max", "20000 100000")],
        )
    }

    /// A cgroup with 48 MiB of memory; `None`, said loudly, where none can be made.
    pub(crate) fn small_memory() -> Option<Self> {
        let limit = "50331648";
        Self::make(
            "memory",
            &[("memory.limit_in_bytes", limit)],
            &[("memory.max", limit), ("memory.swap.max", "0")],
        )
    }

    /// A cgroup of 24 processes and threads; `None`, said loudly, where none can be made.
    pub(crate) fn few_threads() -> Option<Self> {
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
            let control = parent.join("cgroup.subtree_control");
            // Refused where it is on already or where processes are in the way; the limit below tells.
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
                println!(
                    "NOT TRIED: no {controller} cgroup can be made here ({}): {error}",
                    cgroup.folder.display()
                );
                None
            }
        }
    }

    /// Moves a process in.
    pub(crate) fn take(&self, pid: u32) {
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
