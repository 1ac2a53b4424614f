//! Decides which of the found components are scraped.
//!
//! Discovered addresses come from untrusted text: a command line or a configuration. An address is scraped only
//! where the process that names it really listens on it, on this machine, and only where the process belongs to the
//! target. See decision 0344.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_model::component::{Component, ComponentAddress};
use rustix::process::geteuid;

use crate::files::Files;
use crate::host::diag::Diag;
use crate::host::sockets::is_own_address;
use crate::parse::socket::{LISTEN, TcpSocket, tcp_line};
use crate::tree::{ProcessTree, holders_of};
use crate::untrusted::Credentials;

/// The decision on a found component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is scraped.
    Now,
    /// It is scraped once it is observed to belong to the target.
    Later,
    /// It is not scraped: the reason.
    Refused(String),
}

/// Which processes belong to the target.
#[derive(Debug)]
pub(crate) struct Belonging<'a> {
    /// All processes.
    pub(crate) tree: &'a ProcessTree,
    /// Those of the target, and those behind it.
    pub(crate) related: BTreeSet<u32>,
    /// No target was given: the machine is watched.
    pub(crate) is_whole_machine: bool,
}

impl Belonging<'_> {
    /// Whether a component that a process names is scraped.
    pub(crate) fn admission(
        &self,
        files: &mut Files,
        component: &Component,
        pid: u32,
    ) -> Admission {
        if !files.is_live() {
            return Admission::Now;
        }
        if let Some(why) = self.elsewhere(files, &component.place, pid) {
            return Admission::Refused(why);
        }
        let belongs = self.is_whole_machine || self.related.contains(&pid) || is_own(pid);
        if belongs {
            Admission::Now
        } else {
            Admission::Later
        }
    }

    /// Why a process does not listen on the address that it names.
    fn elsewhere(&self, files: &mut Files, place: &ComponentAddress, pid: u32) -> Option<String> {
        let (ComponentAddress::Tcp { host, port }
        | ComponentAddress::Page { host, port, .. }
        | ComponentAddress::Figures { host, port, .. }) = place
        else {
            // The owner of a Unix socket is checked when connecting.
            return None;
        };
        let is_here = match host.parse::<IpAddr>() {
            Ok(address) => is_own_address(address),
            Err(_) => host == "localhost",
        };
        if !is_here {
            return Some(format!("{host} is not an address of this machine"));
        }
        let inodes = listeners_at(files, *port);
        let family = self.tree.with_descendants(&BTreeSet::from([pid]));
        // Only root can read the sockets of another user's process.
        if crate::kernel_files::names(&files.path(&format!("proc/{pid}/fd"))).is_err() {
            return (inodes.is_empty()).then(|| format!("nothing listens on port {port}"));
        }
        holders_of(files, &inodes, family.into_iter())
            .is_empty()
            .then(|| format!("pid {pid} does not listen on port {port} in this network namespace"))
    }
}

/// The sockets that listen at a port of this network, by the numbers of their files.
fn listeners_at(files: &mut Files, port: u16) -> Vec<u64> {
    let mut inodes = Vec::new();
    let mut add = |socket: TcpSocket| {
        if socket.state == LISTEN && socket.local.port() == port {
            inodes.push(socket.inode);
        }
    };
    let asked = Diag::open().and_then(|mut diag| diag.tcp_of_port(port, &mut add));
    if asked.is_err() {
        for table in ["tcp", "tcp6"] {
            let text = files.read(&format!("proc/thread-self/net/{table}"));
            text.unwrap_or_default()
                .lines()
                .filter_map(tcp_line)
                .for_each(&mut add);
        }
    }
    inodes
}

/// Whether a process belongs to the same user.
fn is_own(pid: u32) -> bool {
    Credentials::of(pid).is_some_and(|theirs| theirs.uid == geteuid().as_raw())
}
