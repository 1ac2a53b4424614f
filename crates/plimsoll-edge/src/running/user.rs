//! Who the process becomes.

use std::ffi::CString;
use std::io;

use nix::errno::Errno;
use nix::unistd::{User, initgroups, setgid, setuid};

use super::Fault;

fn fault(name: &str, source: io::Error) -> Fault {
    Fault::User {
        name: name.to_owned(),
        source,
    }
}

/// The user of a name.
pub(super) fn find(name: &str) -> Result<User, Fault> {
    let found = User::from_name(name).map_err(|error| fault(name, error.into()))?;
    found.ok_or_else(|| fault(name, io::ErrorKind::NotFound.into()))
}

/// Becomes another user. Nothing but this thread runs yet, and what needs rights is bound and open.
pub(super) fn become_user(user: &User) -> Result<(), Fault> {
    let system = |error: Errno| fault(&user.name, error.into());
    let name = CString::new(user.name.as_str());
    let name = name.map_err(|error| fault(&user.name, error.into()))?;
    initgroups(&name, user.gid).map_err(system)?;
    setgid(user.gid).map_err(system)?;
    setuid(user.uid).map_err(system)
}
