//! The file in which an agent keeps its key and whom it invited.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_peer::{Identity, PeerError, Token};
use rustls::ServerConfig;

use crate::clock;
use crate::error::StoreError;

/// Longest file, bytes.
const FILE_MAX: u64 = 64 << 10;

/// When an invitation ends that is made now, in seconds since 1970.
pub fn invitation_ends(lasting: Duration) -> u64 {
    clock::unix_s().saturating_add(lasting.as_secs())
}

/// A file with an identity. An agent that runs notices when it changes, so that who is invited later is let in.
#[derive(Debug)]
pub struct IdentityStore {
    path: PathBuf,
    /// Of the file as it was read last.
    known: Option<(Stamp, Arc<ServerConfig>)>,
}

/// What changes when a file is replaced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stamp {
    inode: u64,
    len: u64,
    modified: (i64, i64),
}

impl IdentityStore {
    /// A store in this file, which need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, known: None }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a token that ends at `expires`, in seconds since 1970; the first one makes the key as well.
    ///
    /// # Errors
    /// When the file cannot be read or written, or too many are invited.
    pub fn invite(&self, expires: u64) -> Result<Token, StoreError> {
        let mut identity = match self.read() {
            Ok((_, identity)) => identity,
            Err(StoreError::Missing(_)) => Identity::generate().map_err(|e| self.wrong(e))?,
            Err(error) => return Err(error),
        };
        let token = identity
            .invite(clock::unix_s(), expires)
            .map_err(|e| self.wrong(e))?;
        write_secret(&self.path, &identity.to_text())?;
        Ok(token)
    }

    /// Whether a token invites to this agent.
    ///
    /// # Errors
    /// When the file is missing, cannot be read, or is open to others.
    pub fn knows(&self, token: &Token) -> Result<bool, StoreError> {
        Ok(self.read()?.1.knows(token))
    }

    /// How TLS is spoken with those who are invited now.
    ///
    /// # Errors
    /// When the file is missing, cannot be read, or is open to others.
    pub fn server_config(&mut self) -> Result<Arc<ServerConfig>, StoreError> {
        if let Some((stamp, config)) = &self.known
            && let Ok(metadata) = std::fs::metadata(&self.path)
            && *stamp == Stamp::of(&metadata)
        {
            return Ok(Arc::clone(config));
        }
        let (stamp, identity) = self.read()?;
        let config = identity.server_config().map_err(|e| self.wrong(e))?;
        self.known = Some((stamp, Arc::clone(&config)));
        Ok(config)
    }

    fn read(&self) -> Result<(Stamp, Identity), StoreError> {
        let file = File::open(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Missing(self.path.clone()),
            _ => self.failed(error),
        })?;
        let metadata = file.metadata().map_err(|e| self.failed(e))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(StoreError::Open {
                path: self.path.clone(),
                mode,
            });
        }
        let mut text = String::new();
        file.take(FILE_MAX)
            .read_to_string(&mut text)
            .map_err(|e| self.failed(e))?;
        let identity = Identity::parse(&text).map_err(|e| self.wrong(e))?;
        Ok((Stamp::of(&metadata), identity))
    }

    fn failed(&self, source: io::Error) -> StoreError {
        StoreError::Io {
            path: self.path.clone(),
            source,
        }
    }

    fn wrong(&self, source: PeerError) -> StoreError {
        StoreError::Identity {
            path: self.path.clone(),
            source,
        }
    }
}

impl Stamp {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Writes a file that only its owner may read, whole or not at all; its folder is made where it is missing.
///
/// # Errors
/// When the file or its folder cannot be made.
pub fn write_secret(path: &Path, text: &str) -> Result<(), StoreError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Io { path, source }
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed(folder))?;
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&beside)
        .and_then(|mut file| {
            // The mode above is only that of a new file.
            file.set_permissions(Permissions::from_mode(0o600))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // What is left of it holds a key. It may not even have been made.
        let _ = std::fs::remove_file(&beside);
    }
    written.map_err(failed(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_reads_what_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/agent.json");
        let mut store = IdentityStore::new(path.clone());
        assert!(matches!(store.server_config(), Err(StoreError::Missing(_))));
        let token = store.invite(u64::MAX).unwrap();
        assert!(store.knows(&token).unwrap());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let folder = path.parent().unwrap();
        assert_eq!(
            folder.metadata().unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
        store.server_config().unwrap();
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.json");
        let mut store = IdentityStore::new(path.clone());
        store.invite(u64::MAX).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let error = store.server_config().unwrap_err();
        assert!(error.to_string().contains("mode 640"), "{error}");
    }

    #[test]
    fn a_later_invitation_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = IdentityStore::new(folder.path().join("agent.json"));
        store.invite(u64::MAX).unwrap();
        let first = store.server_config().unwrap();
        assert!(Arc::ptr_eq(&first, &store.server_config().unwrap()));
        store.invite(u64::MAX).unwrap();
        assert!(!Arc::ptr_eq(&first, &store.server_config().unwrap()));
    }
}
