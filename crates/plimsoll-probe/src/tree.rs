//! Which processes belong to the target: those that hold its listening sockets, those that are configured, and all
//! their descendants, tracked as they start and end.

use std::collections::{BTreeSet, HashMap};

use crate::clock;
use crate::files::Files;
use crate::kernel_files;
use crate::parse::process;

/// Most processes that are followed.
const MEMBERS_MAX: usize = 1024;
/// A new process keeps its parent's name until it starts its own program: its name is read this many times.
const NAME_READS: u8 = 3;
/// Shortest time between two searches for the holders of a socket, ns. Such a search reads every descriptor.
const HOLDER_PAUSE_NS: u64 = 5_000_000_000;

/// The configured target.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetSpec {
    pub(crate) pids: Vec<u32>,
    pub(crate) names: Vec<String>,
}

#[derive(Clone, Debug)]
struct KnownProcess {
    parent: u32,
    comm: String,
    name_reads: u8,
}

#[derive(Debug, Default)]
pub(crate) struct ProcessTree {
    known: HashMap<u32, KnownProcess>,
    members: BTreeSet<u32>,
    holders: BTreeSet<u32>,
    held: Vec<u64>,
    next_search_ns: u64,
    created: Option<u64>,
}

impl ProcessTree {
    /// Processes of the target, ascending.
    pub(crate) fn members(&self) -> &BTreeSet<u32> {
        &self.members
    }

    /// All processes of the machine.
    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        self.known.keys().copied()
    }

    /// Whether there is such a process.
    pub(crate) fn is_known(&self, pid: u32) -> bool {
        self.known.contains_key(&pid)
    }

    /// What of the configured target does not exist, for the user.
    pub(crate) fn missing(&self, wanted: &TargetSpec) -> Vec<String> {
        let pids = wanted.pids.iter().filter(|pid| !self.is_known(**pid));
        let names = wanted
            .names
            .iter()
            .filter(|name| !self.known.values().any(|known| is_named(known, name)));
        let of_pids =
            pids.map(|pid| format!("no process has the id {pid}: nothing is watched under it"));
        of_pids
            .chain(names.map(|name| {
                format!("no process is named {name}: it is watched once it has started (`ps -e -o comm` lists the names)")
            }))
            .collect()
    }

    /// These processes and all that descend from them.
    pub(crate) fn with_descendants(&self, roots: &BTreeSet<u32>) -> BTreeSet<u32> {
        let mut all = roots.clone();
        self.join_children(&mut all, |_| true);
        all
    }

    /// Forgets a process that ended.
    pub(crate) fn remove(&mut self, pid: u32) {
        self.members.remove(&pid);
        self.holders.remove(&pid);
        self.known.remove(&pid);
    }

    /// Brings the members up to date. `created` counts the processes created since boot: while it is unchanged no
    /// process can be new. `inodes` are the target's listening sockets.
    pub(crate) fn refresh(
        &mut self,
        files: &mut Files,
        wanted: &TargetSpec,
        created: u64,
        inodes: &[u64],
    ) {
        let young = self
            .known
            .values()
            .any(|known| known.name_reads < NAME_READS);
        if self.created != Some(created) || young {
            self.created = Some(created);
            self.scan(files);
        }
        let now_ns = clock::now_ns();
        let lost = self.held != inodes || (self.holders.is_empty() && !inodes.is_empty());
        if lost && now_ns >= self.next_search_ns {
            self.next_search_ns = now_ns.saturating_add(HOLDER_PAUSE_NS);
            self.holders = holders_of(files, inodes, self.known.keys().copied());
            self.held = inodes.to_vec();
            if self.holders.is_empty() && !inodes.is_empty() {
                files.note(
                    "holders",
                    "the target's process: the owner of the listening socket cannot be read; run as the same user \
                     or as root, or name its pid",
                );
            }
        }
        self.join(wanted);
    }

    /// Reads parent and name of processes not known yet, and forgets those that ended.
    fn scan(&mut self, files: &mut Files) {
        let Some(pids) = numbers_or_note(files) else {
            return;
        };
        let alive: BTreeSet<u32> = pids.into_iter().collect();
        self.known.retain(|pid, _| alive.contains(pid));
        self.members.retain(|pid| alive.contains(pid));
        self.holders.retain(|pid| alive.contains(pid));
        for pid in alive {
            let name_reads = self.known.get(&pid).map_or(0, |known| known.name_reads);
            if name_reads >= NAME_READS {
                continue;
            }
            let stat = files.read(&format!("proc/{pid}/stat")).ok();
            if let Some(stat) = stat.and_then(process::stat) {
                let known = KnownProcess {
                    parent: stat.parent,
                    comm: stat.comm,
                    name_reads: name_reads + 1,
                };
                self.known.insert(pid, known);
            }
        }
    }

    /// Adds roots and the descendants of members; a member stays until it ends, even when its parent ends first.
    fn join(&mut self, wanted: &TargetSpec) {
        let own = std::process::id();
        let named = |known: &KnownProcess| wanted.names.iter().any(|name| is_named(known, name));
        let roots = self.known.iter().filter(|&(pid, known)| {
            wanted.pids.contains(pid) || self.holders.contains(pid) || (*pid != own && named(known))
        });
        self.members.extend(roots.map(|(&pid, _)| pid));
        let own_is_root = self.holders.contains(&own) || wanted.pids.contains(&own);
        let mut members = std::mem::take(&mut self.members);
        self.join_children(&mut members, |pid| pid != own || own_is_root);
        self.members = members;
    }

    /// Adds the descendants of those that may be followed; of too many, the youngest are left out.
    fn join_children(&self, members: &mut BTreeSet<u32>, is_followed: impl Fn(u32) -> bool) {
        loop {
            let children: Vec<u32> = self
                .known
                .iter()
                .filter(|&(pid, known)| {
                    is_followed(*pid) && !members.contains(pid) && members.contains(&known.parent)
                })
                .map(|(&pid, _)| pid)
                .collect();
            if children.is_empty() {
                break;
            }
            members.extend(children);
        }
        while members.len() > MEMBERS_MAX {
            members.pop_last();
        }
    }
}

/// Whether a process has this name; the kernel keeps the first 15 bytes of a longer one.
fn is_named(known: &KnownProcess, name: &str) -> bool {
    name == known.comm || (name.len() > 15 && name.starts_with(&known.comm))
}

fn numbers_or_note(files: &mut Files) -> Option<Vec<u32>> {
    match files.numbers_in("proc") {
        Ok(pids) => Some(pids),
        Err(error) => {
            files.note("proc", &format!("processes: /proc: {error}"));
            None
        }
    }
}

/// Processes that hold one of the sockets.
pub(crate) fn holders_of(
    files: &mut Files,
    inodes: &[u64],
    pids: impl Iterator<Item = u32>,
) -> BTreeSet<u32> {
    let wanted: BTreeSet<String> = inodes
        .iter()
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let mut holders = BTreeSet::new();
    if wanted.is_empty() {
        return holders;
    }
    for pid in pids {
        let Ok(mut links) = kernel_files::links(&files.path(&format!("proc/{pid}/fd"))) else {
            continue;
        };
        if links.any(|link| wanted.contains(&link)) {
            holders.insert(pid);
        }
    }
    holders
}
