//! Encryption towards clients: certificates by name, read when a configuration is.

use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_config::edge::{Certificate, Listener};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, crypto};
use tokio_rustls::TlsAcceptor;

/// The name of HTTP/2 in the handshake.
pub(crate) const H2: &[u8] = b"h2";

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsFault {
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
    /// A key that is not the certificate's, or a certificate that is not valid.
    #[error("the certificate {} and the key {} are not a pair that can be used", cert.display(), key.display())]
    NotAPair {
        /// The chain.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why not.
        source: rustls::Error,
    },
    /// No protocol version is left.
    #[error("encryption cannot be set up")]
    Setup(#[from] rustls::Error),
}

/// What ends the encryption of a listener's clients; `None` when it is plain.
pub(crate) fn acceptor(listener: &Listener) -> Result<Option<TlsAcceptor>, TlsFault> {
    if listener.tls.is_empty() {
        return Ok(None);
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let keys = listener.tls.iter().map(|one| certified(one, &provider));
    let by_name = ByName {
        keys: keys.collect::<Result<_, _>>()?,
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(by_name));
    config.alpn_protocols = vec![H2.to_vec(), b"http/1.1".to_vec()];
    config.ticketer = crypto::ring::Ticketer::new()?;
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

fn certified(
    files: &Certificate,
    provider: &crypto::CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsFault> {
    let unreadable = |path: &PathBuf| {
        let path = path.clone();
        move |source| TlsFault::Unreadable { path, source }
    };
    let chain = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable(&files.cert))?;
    if chain.is_empty() {
        return Err(TlsFault::Empty(files.cert.clone()));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(unreadable(&files.key))?;
    let pair = CertifiedKey::from_der(chain, key, provider);
    pair.map(Arc::new).map_err(|source| TlsFault::NotAPair {
        cert: files.cert.clone(),
        key: files.key.clone(),
        source,
    })
}

/// Certificates, each for the names in it; the first is for clients that name none, or another.
#[derive(Debug)]
struct ByName {
    keys: Vec<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let named = hello
            .server_name()
            .and_then(|name| ServerName::try_from(name).ok())
            .and_then(|name| self.keys.iter().find(|key| is_for(key, &name)));
        named.or(self.keys.first()).cloned()
    }
}

fn is_for(key: &CertifiedKey, name: &ServerName<'_>) -> bool {
    key.end_entity_cert()
        .and_then(ParsedCertificate::try_from)
        .and_then(|parsed| rustls::client::verify_server_name(&parsed, name))
        .is_ok()
}
