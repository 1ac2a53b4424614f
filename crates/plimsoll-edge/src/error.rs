//! Why a configuration cannot be used.

use std::path::PathBuf;

use rustls::pki_types::pem;

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that is missing or no PEM.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: pem::Error,
    },
    /// A file without a certificate.
    #[error("{} holds no certificate", .0.display())]
    Empty(PathBuf),
    /// A key that is not the certificate's.
    #[error("the key {} does not belong to the certificate {}", key.display(), cert.display())]
    OtherKey {
        /// The chain.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// A certificate or a key that is broken or of a kind that is not known.
    #[error("the certificate {} and the key {} cannot be used together", cert.display(), key.display())]
    NotAPair {
        /// The chain.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why not.
        source: rustls::Error,
    },
    /// A certificate whose time is over.
    #[error("the certificate {} has expired on {until}", cert.display())]
    Expired {
        /// The chain.
        cert: PathBuf,
        /// Its last moment.
        until: String,
    },
    /// A certificate whose time has not come.
    #[error("the certificate {} is not valid before {from}; check the system clock", cert.display())]
    NotYet {
        /// The chain.
        cert: PathBuf,
        /// Its first moment.
        from: String,
    },
    /// A file of those who vouch for servers.
    #[error("cannot use the root certificates in {name}: {why}")]
    Authorities {
        /// The file.
        name: String,
        /// Why not.
        why: String,
    },
    /// Nobody vouches for servers.
    #[error("the system has no root certificates to verify servers")]
    NoRoots,
    /// A server's name that no certificate can have.
    #[error("`{0}` is not a valid server name for a certificate")]
    Name(String),
    /// No protocol version is left.
    #[error("cannot set up TLS")]
    Setup(#[from] rustls::Error),
}

impl TlsError {
    /// With its cause, in one line.
    pub fn in_words(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Countries(#[from] maxminddb::MaxMindDbError),
    #[error("the system provides no random bytes")]
    NoRandom,
    #[error("the hub supports at most 64 event loops, but {0} are configured")]
    HubLoops(usize),
}
