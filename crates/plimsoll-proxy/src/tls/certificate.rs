//! A certificate and its key, loaded from files.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use plimsoll_config::edge::Certificate;
use rustls::crypto;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::TlsError;

/// A matching pair.
#[derive(Debug)]
pub struct Loaded {
    /// Chain and key.
    pub key: Arc<CertifiedKey>,
    /// Its expiry.
    pub until: SystemTime,
}

/// Reads a pair, without checking its validity period.
///
/// # Errors
/// When a file cannot be read, or the key is not the one of the certificate.
pub fn load(files: &Certificate) -> Result<Loaded, TlsError> {
    let unreadable = |path: &PathBuf| {
        let path = path.clone();
        move |source: pem::Error| TlsError::Unreadable { path, source }
    };
    let chain = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable(&files.cert))?;
    if chain.is_empty() {
        return Err(TlsError::Empty(files.cert.clone()));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(unreadable(&files.key))?;
    let (cert, key_file) = (files.cert.clone(), files.key.clone());
    let provider = crypto::ring::default_provider();
    let pair = CertifiedKey::from_der(chain, key, &provider).map_err(|source| match source {
        rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch) => {
            TlsError::OtherKey {
                cert,
                key: key_file,
            }
        }
        source => TlsError::NotAPair {
            cert,
            key: key_file,
            source,
        },
    })?;
    let until = validity(&pair).map_or(SystemTime::UNIX_EPOCH, |(_, until)| until);
    Ok(Loaded {
        key: Arc::new(pair),
        until,
    })
}

impl Loaded {
    /// Whether it covers a name.
    pub fn is_for(&self, name: &str) -> bool {
        let name = ServerName::try_from(name.to_owned());
        name.is_ok_and(|name| super::is_for(&self.key, &name))
    }

    /// Whether it is valid now.
    pub(crate) fn must_be_valid(
        &self,
        files: &Certificate,
        now: SystemTime,
    ) -> Result<(), TlsError> {
        let cert = files.cert.clone();
        let Some((from, until)) = validity(&self.key) else {
            return Err(TlsError::NotAPair {
                cert,
                key: files.key.clone(),
                source: rustls::Error::InvalidCertificate(rustls::CertificateError::BadEncoding),
            });
        };
        if now < from {
            let from = httpdate::fmt_http_date(from);
            return Err(TlsError::NotYet { cert, from });
        }
        if now > until {
            let until = httpdate::fmt_http_date(until);
            return Err(TlsError::Expired { cert, until });
        }
        Ok(())
    }
}

/// Validity period of a certificate.
pub fn validity(key: &CertifiedKey) -> Option<(SystemTime, SystemTime)> {
    let (_, parsed) = X509Certificate::from_der(key.cert.first()?).ok()?;
    let moment = |seconds: i64| {
        // Times before 1970 count as long ago.
        let since = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        SystemTime::UNIX_EPOCH.checked_add(since)
    };
    let validity = parsed.validity();
    let from = moment(validity.not_before.timestamp())?;
    Some((from, moment(validity.not_after.timestamp())?))
}

/// Fingerprint that changes when a file is changed or replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileFingerprint([Option<(u64, u64, i64, i64)>; 2]);

impl FileFingerprint {
    pub(crate) fn of(files: &Certificate) -> Self {
        Self([&files.cert, &files.key].map(|path| file_identity(path)))
    }
}

fn file_identity(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.ino(), about.len(), about.mtime(), about.mtime_nsec()))
}
