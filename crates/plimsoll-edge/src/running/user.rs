//! Dropping privileges.

use std::io;

use plimsoll_names::user::Account;

use super::EdgeError;

fn user_error(name: &str, source: io::Error) -> EdgeError {
    EdgeError::User {
        name: name.to_owned(),
        source,
    }
}

/// Looks up a user by name.
pub(super) fn find(name: &str) -> Result<Account, EdgeError> {
    let found = Account::find(name).map_err(|error| user_error(name, error))?;
    found.ok_or_else(|| {
        user_error(
            name,
            io::Error::new(io::ErrorKind::NotFound, "there is no such user"),
        )
    })
}

/// Becomes another user. No other thread runs yet, and privileged resources are already open.
pub(super) fn become_user(user: &Account) -> Result<(), EdgeError> {
    user.assume().map_err(|error| user_error(&user.name, error))
}
