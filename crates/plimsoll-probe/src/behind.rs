//! Processes behind the target on this machine: those that it has connected to, and those that these have connected
//! to. They do the work of a proxy, or of an application that mainly uses its database.

use std::collections::BTreeSet;

use crate::clock;
use crate::files::Files;
use crate::host::sockets::SocketTable;
use crate::kernel_files;
use crate::parse::socket::socket_link;
use crate::tree::{ProcessTree, holders_of};

/// Interval between two scans, ns: a second for each ms of CPU of the last scan, within these bounds.
const PAUSE_MIN_NS: u64 = 2_000_000_000;
const PAUSE_MAX_NS: u64 = 30_000_000_000;
const PAUSE_PER_CPU: u64 = 1000;
/// Limits of examined processes, and of descriptors of each: connections to upstreams are mixed with those of
/// clients.
const PROCESSES_MAX: usize = 64;
const DESCRIPTORS_MAX: usize = 512;
/// Processes that hold such a socket.
const ROOTS_MAX: usize = 64;

/// Follows connections.
#[derive(Debug, Default)]
pub(crate) struct Behind {
    /// Processes that were connected to.
    roots: BTreeSet<u32>,
    /// Listening sockets, by the number of their file, whose holders are known.
    searched: BTreeSet<u64>,
    next_ns: u64,
}

impl Behind {
    /// The processes behind the target and their descendants, ascending: none of `members`, and not this one.
    pub(crate) fn find(
        &mut self,
        files: &mut Files,
        sockets: &mut SocketTable,
        tree: &ProcessTree,
        members: &BTreeSet<u32>,
    ) -> BTreeSet<u32> {
        self.roots.retain(|&pid| tree.is_known(pid));
        let now_ns = clock::now_ns();
        if now_ns >= self.next_ns && !members.is_empty() {
            let before_ns = clock::thread_cpu_ns();
            self.scan(files, sockets, tree, members);
            let cost_ns = clock::thread_cpu_ns().saturating_sub(before_ns);
            let pause_ns = cost_ns.saturating_mul(PAUSE_PER_CPU);
            self.next_ns = now_ns.saturating_add(pause_ns.clamp(PAUSE_MIN_NS, PAUSE_MAX_NS));
        }
        self.known(tree, members)
    }

    /// The same as they were found last.
    pub(crate) fn known(&self, tree: &ProcessTree, members: &BTreeSet<u32>) -> BTreeSet<u32> {
        let mut all = tree.with_descendants(&self.roots);
        all.retain(|pid| !members.contains(pid) && *pid != std::process::id());
        all
    }

    fn scan(
        &mut self,
        files: &mut Files,
        sockets: &mut SocketTable,
        tree: &ProcessTree,
        members: &BTreeSet<u32>,
    ) {
        let known = self.known(tree, members);
        let clients: BTreeSet<u64> = members
            .iter()
            .chain(&known)
            .take(PROCESSES_MAX)
            .flat_map(|&pid| sockets_of(files, pid))
            .collect();
        // Whoever listens has a socket at least.
        if clients.is_empty() {
            files.note(
                "behind",
                "processes behind the target: its connections cannot be read; run as the same user or as root",
            );
            return;
        }
        let mut found = sockets.servers_of(files, &clients);
        found.retain(|inode| self.searched.insert(*inode));
        if found.is_empty() {
            return;
        }
        // The first process holds the sockets of services that it has not begun yet, and all others are its descendants.
        let others = tree.pids().filter(|pid| *pid > 1);
        let holders = holders_of(files, &found, others);
        if holders.is_empty() {
            files.note(
                "behind",
                "processes behind the target: the owners of the sockets that it connects to cannot be read; run as \
                root",
            );
        }
        self.roots.extend(holders);
        while self.roots.len() > ROOTS_MAX {
            self.roots.pop_last();
        }
    }
}

/// The numbers of the files of a process's sockets.
fn sockets_of(files: &Files, pid: u32) -> Vec<u64> {
    let Ok(links) = kernel_files::links(&files.path(&format!("proc/{pid}/fd"))) else {
        return Vec::new();
    };
    links
        .take(DESCRIPTORS_MAX)
        .filter_map(|link| socket_link(&link))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::tree::TargetSpec;

    /// A process that prints a line once it is there, and ends with its standard input.
    struct ScriptProcess(Child);

    impl ScriptProcess {
        fn start(script: &str) -> (Self, String) {
            let mut child = Command::new("python3")
                .args(["-c", script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = String::new();
            let output = child.stdout.as_mut().unwrap();
            BufReader::new(output).read_line(&mut line).unwrap();
            (Self(child), line.trim().to_owned())
        }
    }

    impl Drop for ScriptProcess {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    const LISTEN_LOCALLY: &str = "import socket, sys, os, tempfile\n\
        s = socket.socket(socket.AF_UNIX); s.bind(tempfile.mkdtemp() + '/s'); s.listen(5)\n\
        print(s.getsockname(), flush=True); c, _ = s.accept(); c.send(b'!'); sys.stdin.read()";

    fn between(path: &str) -> String {
        format!(
            "import socket, sys\n\
             c = socket.socket(socket.AF_UNIX); c.connect('{path}'); c.recv(1)\n\
             s = socket.create_server(('127.0.0.1', 0))\n\
             print(s.getsockname()[1], flush=True); sys.stdin.read()"
        )
    }

    fn front(port: &str) -> String {
        format!(
            "import socket, sys\n\
             c = socket.create_connection(('127.0.0.1', {port}))\n\
             print('there', flush=True); sys.stdin.read()"
        )
    }

    /// One process has connected to another over TCP, and that one to a third by a Unix socket; a fourth is
    /// unrelated.
    #[test]
    fn connections_lead_to_those_behind() {
        let (last, path) = ScriptProcess::start(LISTEN_LOCALLY);
        let (stranger, _) = ScriptProcess::start(LISTEN_LOCALLY);
        let (middle, port) = ScriptProcess::start(&between(&path));
        let (first, _) = ScriptProcess::start(&front(&port));
        let mut files = Files::new("/".into());
        let mut sockets = SocketTable::open(&mut files, "proc/thread-self/net".to_owned(), true);
        let mut tree = ProcessTree::default();
        let wanted = TargetSpec {
            pids: vec![first.0.id()],
            names: Vec::new(),
        };
        tree.refresh(&mut files, &wanted, 0, &[]);
        let members = tree.members().clone();
        assert_eq!(members, BTreeSet::from([first.0.id()]));
        let mut behind = Behind::default();
        let found = behind.find(&mut files, &mut sockets, &tree, &members);
        assert_eq!(found, BTreeSet::from([middle.0.id()]));
        // However long this thread stands still.
        assert!(behind.next_ns > 0);
        behind.next_ns = u64::MAX;
        assert_eq!(
            behind.find(&mut files, &mut sockets, &tree, &members),
            found,
            "no scan before its time"
        );
        behind.next_ns = 0;
        let both = behind.find(&mut files, &mut sockets, &tree, &members);
        assert_eq!(both, BTreeSet::from([middle.0.id(), last.0.id()]));
        assert!(!both.contains(&stranger.0.id()));
    }
}
