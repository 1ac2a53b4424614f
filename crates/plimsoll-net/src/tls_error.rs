//! Why a certificate cannot be used.

use std::path::PathBuf;

use rustls::pki_types::pem;

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that is missing or not PEM.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
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
    /// A certificate or a key that is broken or of an unsupported kind.
    #[error("the certificate {} and the key {} cannot be used together", cert.display(), key.display())]
    NotAPair {
        /// The chain.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
        /// The reason.
        source: rustls::Error,
    },
    /// A certificate that has expired.
    #[error("the certificate {} has expired on {until}", cert.display())]
    Expired {
        /// The chain.
        cert: PathBuf,
        /// The end of its validity.
        until: String,
    },
    /// A certificate that is not valid yet.
    #[error("the certificate {} is not valid before {from}; check the system clock", cert.display())]
    NotYet {
        /// The chain.
        cert: PathBuf,
        /// The start of its validity.
        from: String,
    },
    /// A file of root certificates.
    #[error("cannot use the root certificates in {name}: {why}")]
    Authorities {
        /// The file.
        name: String,
        /// The reason.
        why: String,
    },
    /// No root certificates.
    #[error("the system has no root certificates to verify servers")]
    NoRoots,
    /// A server name that no certificate can have.
    #[error("`{0}` is not a valid server name for a certificate")]
    Name(String),
    /// No protocol version is enabled.
    #[error("cannot set up TLS")]
    Setup(#[from] rustls::Error),
}

impl TlsError {
    /// The error with its cause, in one line.
    pub fn in_words(&self) -> String {
        match std::error::Error::source(self) {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }
}
