//! The rights of the process that names a file: root opens it as that process could, and no more.
//!
//! On Linux each thread has rights of its own. Only the effective ones are changed: the owner of this process, and
//! so the right to send it signals, stays. See decision 0343.

use std::io;
use std::ops::RangeInclusive;

use rustix::fs::{Gid, Uid};
use rustix::process::{getegid, geteuid, getgroups};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::kernel_files;
use crate::parse::process;

/// Ids of users from here on are those of people.
const PEOPLE_FROM: u32 = 1000;
/// Except those that systemd gives to services while they run, and `nobody`.
const SERVICES: RangeInclusive<u32> = 61_184..=65_534;
/// Supplementary groups that are adopted at most.
const GROUPS_MAX: usize = 1024;

/// User, group and further groups of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    /// User.
    pub(crate) uid: u32,
    pub(super) gid: u32,
    pub(super) groups: Vec<u32>,
}

/// Whether processes of a user are services of the machine, or of whoever runs this: not of another person.
pub(crate) fn is_service(uid: u32) -> bool {
    uid == geteuid().as_raw() || uid < PEOPLE_FROM || SERVICES.contains(&uid)
}

impl Credentials {
    /// Those of a process of this machine; `None` where it has ended, and where no other rights can or need to be
    /// used.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let text = kernel_files::text(&format!("/proc/{pid}/status")).ok()?;
        Self::from_status(&text)
    }

    /// Those in the text of a `status` file.
    pub(crate) fn from_status(text: &str) -> Option<Self> {
        let (uids, gids) = (
            process::numbers(text, "Uid:"),
            process::numbers(text, "Gid:"),
        );
        let mut groups = process::numbers(text, "Groups:");
        groups.truncate(GROUPS_MAX);
        // For a setuid-root program, the user who started it chose the command line: that user's rights count. For
        // one that has dropped root's rights temporarily, its current ones count.
        let which = usize::from(*uids.first()? == 0);
        Some(Self {
            uid: *uids.get(which)?,
            gid: *gids.get(which)?,
            groups,
        })
    }
}

/// Runs an operation with these rights, then restores the own ones. Only root can and needs to do so: other users
/// have only their own rights.
pub(super) fn acting_as<T>(
    credentials: Option<&Credentials>,
    job: impl FnOnce() -> T,
) -> io::Result<T> {
    let Some(theirs) = credentials.filter(|theirs| geteuid().is_root() && theirs.uid != 0) else {
        return Ok(job());
    };
    let (gid, groups) = (getegid(), getgroups()?);
    let their_groups: Vec<Gid> = theirs.groups.iter().copied().map(Gid::from_raw).collect();
    let taken = set_thread_groups(&their_groups)
        .and_then(|()| set_thread_res_gid(None, Gid::from_raw(theirs.gid), None))
        .and_then(|()| set_thread_res_uid(None, Uid::from_raw(theirs.uid), None));
    let done = taken.map(|()| job());
    // In reverse order: setting groups requires root again.
    set_thread_res_uid(None, Uid::ROOT, None)?;
    set_thread_res_gid(None, gid, None)?;
    set_thread_groups(&groups)?;
    Ok(done?)
}

/// The same with other results, for what connects.
pub(crate) fn connect_as<T>(
    credentials: Option<&Credentials>,
    job: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    acting_as(credentials, job)?
}
