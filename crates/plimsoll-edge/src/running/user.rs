//! Dropping privileges.

use std::ffi::CString;
use std::io;

use nix::errno::Errno;
use nix::unistd::{User, initgroups, setgid, setuid};

use super::EdgeError;

fn user_error(name: &str, source: io::Error) -> EdgeError {
    EdgeError::User {
        name: name.to_owned(),
        source,
    }
}

/// Looks up a user by name.
pub(super) fn find(name: &str) -> Result<User, EdgeError> {
    let found = User::from_name(name).map_err(|error| user_error(name, error.into()))?;
    found.ok_or_else(|| {
        user_error(
            name,
            io::Error::new(io::ErrorKind::NotFound, "there is no such user"),
        )
    })
}

/// Becomes another user. No other thread runs yet, and privileged resources are already open.
pub(super) fn become_user(user: &User) -> Result<(), EdgeError> {
    let system = |error: Errno| user_error(&user.name, error.into());
    let name = CString::new(user.name.as_str());
    let name = name.map_err(|error| user_error(&user.name, error.into()))?;
    initgroups(&name, user.gid).map_err(system)?;
    setgid(user.gid).map_err(system)?;
    setuid(user.uid).map_err(system)
}
