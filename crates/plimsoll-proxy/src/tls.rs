//! TLS towards clients: certificates by name.

pub mod certificate;
pub mod challenges;
mod examine;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use plimsoll_config::edge::{Acme, Certificate, ListenerConfig};
use plimsoll_net::lock::lock;
use plimsoll_net::tls_error::TlsError;
use rustls::crypto;
use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert, ServerConfig};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use certificate::{FileFingerprint, Loaded, load};
use challenges::{ACME_TLS, Challenges};
pub use examine::{Examined, examine};
pub use examine::{insecure, uncovered};

/// ALPN name of HTTP/2.
pub(crate) const H2: &[u8] = b"h2";
/// How long before its expiry a certificate causes a warning.
const SOON: Duration = Duration::from_hours(7 * 24);
const DAY: Duration = Duration::from_hours(24);

/// Certificates that may not exist yet, and ACME challenges.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Obtained<'a> {
    pub acme: Option<&'a Acme>,
    pub challenges: Option<&'a Arc<Challenges>>,
}

/// Terminates the TLS of a listener.
#[derive(Clone)]
pub(crate) struct TlsTermination {
    pub(crate) acceptor: TlsAcceptor,
    pub certificates: Arc<ByName>,
}

/// TLS of a listener; `None` when it is plain. An expired certificate is rejected, unless it was already in use
/// `before`: another change must not wait for it.
pub(crate) fn ending(
    listener: &ListenerConfig,
    before: Option<&ByName>,
    obtained: Obtained<'_>,
    now: SystemTime,
) -> Result<Option<TlsTermination>, TlsError> {
    if listener.tls.is_empty() {
        return Ok(None);
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let certificates = Arc::new(ByName::new(&listener.tls, before, obtained, now)?);
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::clone(&certificates) as Arc<dyn ResolvesServerCert>);
    config.alpn_protocols = vec![H2.to_vec(), b"http/1.1".to_vec()];
    if obtained.acme.is_some() {
        config.alpn_protocols.push(ACME_TLS.to_vec());
    }
    config.ticketer = crypto::ring::Ticketer::new()?;
    Ok(Some(TlsTermination {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        certificates,
    }))
}

/// Certificates by the names they contain; the first serves clients that send no name, or an unknown one. Their files
/// are watched: a replacement is used from then on.
#[derive(Debug)]
pub struct ByName {
    /// `None` is still to be obtained.
    keys: RwLock<Vec<Option<Arc<CertifiedKey>>>>,
    challenges: Option<Arc<Challenges>>,
    watched: Mutex<Vec<WatchedCertificate>>,
}

/// The files of a certificate, and their last observed state.
#[derive(Debug)]
struct WatchedCertificate {
    files: Certificate,
    fingerprint: FileFingerprint,
    until: Option<SystemTime>,
    /// When its approaching expiry was last reported.
    warned_at: Option<SystemTime>,
}

impl ByName {
    fn new(
        certificates: &[Certificate],
        before: Option<&Self>,
        obtained: Obtained<'_>,
        now: SystemTime,
    ) -> Result<Self, TlsError> {
        let mut keys = Vec::new();
        let mut watched = Vec::new();
        for files in certificates {
            // Before the files are read: a change during reading is detected afterwards.
            let fingerprint = FileFingerprint::of(files);
            let listed = obtained.acme.map_or(&[][..], |acme| &acme.certificates);
            let is_obtained = listed.iter().any(|certificate| certificate.files == *files);
            let loaded = match load(files) {
                // The ACME task detects that it is missing or too old.
                Err(_) if is_obtained => None,
                Err(error) => return Err(error),
                Ok(loaded) => Some(loaded),
            };
            if let Some(loaded) = &loaded
                && !is_obtained
                && !before.is_some_and(|before| before.holds(&loaded.key))
            {
                loaded.must_be_valid(files, now)?;
            }
            watched.push(WatchedCertificate {
                files: files.clone(),
                fingerprint,
                until: loaded.as_ref().map(|loaded| loaded.until),
                warned_at: None,
            });
            keys.push(loaded.map(|loaded| loaded.key));
        }
        Ok(Self {
            keys: RwLock::new(keys),
            challenges: obtained.challenges.map(Arc::clone),
            watched: Mutex::new(watched),
        })
    }

    fn holds(&self, key: &CertifiedKey) -> bool {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.iter()
            .flatten()
            .any(|candidate| candidate.cert == key.cert)
    }

    /// Whether a certificate covers a name.
    pub(crate) fn covers(&self, name: &ServerName<'_>) -> bool {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.iter().flatten().any(|key| is_for(key, name))
    }

    /// The file of each certificate, and until when it is valid. One that is still to be obtained is missing.
    pub fn expiries(&self) -> Vec<(PathBuf, SystemTime)> {
        let watched = lock(&self.watched);
        let known = watched.iter().filter_map(|certificate| {
            let until = certificate.until?;
            Some((certificate.files.cert.clone(), until))
        });
        known.collect()
    }

    /// Checks for changed files and approaching expiry; returns notices. An unusable file changes nothing.
    pub fn check(&self, now: SystemTime) -> Vec<String> {
        let mut notices = Vec::new();
        for (place, watched) in lock(&self.watched).iter_mut().enumerate() {
            let fingerprint = FileFingerprint::of(&watched.files);
            let cert = watched.files.cert.display();
            if fingerprint != watched.fingerprint {
                watched.fingerprint = fingerprint;
                match load(&watched.files).and_then(|loaded| {
                    loaded.must_be_valid(&watched.files, now)?;
                    Ok(loaded)
                }) {
                    Ok(Loaded { key, until }) => {
                        watched.until = Some(until);
                        watched.warned_at = None;
                        self.replace(place, key);
                        let until = httpdate::fmt_http_date(until);
                        notices.push(format!(
                            "the certificate {cert} was renewed; it is valid until {until}"
                        ));
                    }
                    Err(error) => notices.push(format!(
                        "the changed certificate {cert} is not used, the previous one stays: {}",
                        error.in_words()
                    )),
                }
            }
            let Some(until) = watched.until else {
                continue;
            };
            let was_warned = watched
                .warned_at
                .is_some_and(|warned_at| now < warned_at + DAY);
            if now + SOON > until && !was_warned {
                watched.warned_at = Some(now);
                let verb = if now > until { "expired" } else { "expires" };
                let until = httpdate::fmt_http_date(until);
                notices.push(format!(
                    "warning: the certificate {cert} {verb} on {until}; renew it"
                ));
            }
        }
        notices
    }

    fn replace(&self, place: usize, key: Arc<CertifiedKey>) {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = keys.get_mut(place) {
            *old = Some(key);
        }
    }
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        if let Some(challenges) = &self.challenges
            && let Ok(proof) = challenges.certificate_for(&hello)
        {
            return proof;
        }
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let mut keys = keys.iter().flatten();
        let first = keys.clone().next();
        let named = hello
            .server_name()
            .and_then(|name| ServerName::try_from(name).ok())
            .and_then(|name| keys.find(|key| is_for(key, &name)));
        named.or(first).cloned()
    }
}

pub(crate) fn is_for(key: &CertifiedKey, name: &ServerName<'_>) -> bool {
    key.end_entity_cert()
        .and_then(ParsedCertificate::try_from)
        .and_then(|parsed| rustls::client::verify_server_name(&parsed, name))
        .is_ok()
}
