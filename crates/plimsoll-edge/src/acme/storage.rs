//! ACME files that survive restarts: the account, and certificates with their keys.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use instant_acme::AccountCredentials;
use plimsoll_config::edge::Acme;

/// Size limit of an account file, bytes.
const ACCOUNT_LEN_MAX: u64 = 64 * 1024;

/// Creates the state directories, readable only by their owner; `owner` is the user that the process will switch to.
pub(crate) fn prepare(acme: &Acme, owner: Option<(u32, u32)>) -> io::Result<()> {
    for folder in [acme.state.clone(), certificates(acme)] {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
        if let Some((user, group)) = owner {
            std::os::unix::fs::chown(&folder, Some(user), Some(group))?;
        }
    }
    Ok(())
}

fn certificates(acme: &Acme) -> PathBuf {
    acme.state.join("certificates")
}

/// The account file, one for each ACME directory URL.
fn account_file(acme: &Acme) -> PathBuf {
    let name: String = acme
        .directory
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || ".-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .take(128)
        .collect();
    acme.state.join(format!("account-{name}.json"))
}

/// The stored account, if any.
pub(super) fn account(acme: &Acme) -> Result<Option<AccountCredentials>, String> {
    let path = account_file(acme);
    let shown = path.display();
    match fs::metadata(&path) {
        Ok(about) if about.len() > ACCOUNT_LEN_MAX => {
            return Err(format!(
                "{shown} is not an ACME account file: larger than 64 KiB"
            ));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read {shown}: {error}")),
    }
    let content = fs::read(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let account = serde_json::from_slice(&content);
    account.map(Some).map_err(|error| {
        format!("{shown} is not an ACME account file: {error}; move it away to have a new account created")
    })
}

/// Stores an account.
pub(super) fn keep_account(acme: &Acme, account: &AccountCredentials) -> Result<(), String> {
    let content = serde_json::to_vec(account).map_err(|error| error.to_string())?;
    put(&account_file(acme), &content)
}

/// Writes a file atomically; only its owner may read it.
pub(super) fn put(path: &Path, content: &[u8]) -> Result<(), String> {
    let beside = path.with_extension("new");
    let write = || {
        // A leftover file may have another mode, or be a symbolic link.
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| format!("cannot write {}: {error}", path.display()))
}
