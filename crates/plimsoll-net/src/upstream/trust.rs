//! Verification of servers' certificates.

use std::sync::Arc;

use plimsoll_config::edge::{Authorities, ServerTls};
use plimsoll_wire::tls::AnyCertificate;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, crypto};

use crate::tls_error::TlsError;

/// ALPN name of HTTP/1.1.
const HTTP_1_1: &[u8] = b"http/1.1";

/// TLS towards the servers of a pool. Sessions are resumed, so that full handshakes are rare.
///
/// # Errors
/// When the root certificates cannot be used.
pub fn config(tls: &ServerTls) -> Result<Arc<ClientConfig>, TlsError> {
    let mut config = bare(tls)?;
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    Ok(Arc::new(config))
}

/// The same for servers that speak another protocol, without ALPN.
///
/// # Errors
/// When the root certificates cannot be used.
pub fn bare(tls: &ServerTls) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    Ok(if tls.insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate::new(provider)))
            .with_no_client_auth()
    } else {
        builder
            .with_root_certificates(roots(tls.authorities.as_ref())?)
            .with_no_client_auth()
    })
}

/// The name that a server's certificate must contain.
///
/// # Errors
/// When no certificate can have that name.
pub fn name(tls: &ServerTls, host: &str) -> Result<ServerName<'static>, TlsError> {
    let name = tls.name.as_deref().unwrap_or(host);
    ServerName::try_from(name.to_owned()).map_err(|_| TlsError::Name(name.to_owned()))
}

fn roots(authorities: Option<&Authorities>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let Some(authorities) = authorities else {
        // Some system stores contain unparsable certificates; the others still serve.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(TlsError::NoRoots);
        }
        return Ok(roots);
    };
    let authorities_error = |why: String| TlsError::Authorities {
        name: authorities.name.clone(),
        why,
    };
    for certificate in CertificateDer::pem_slice_iter(&authorities.pem) {
        let certificate = certificate.map_err(|error| authorities_error(error.to_string()))?;
        let added = roots.add(certificate);
        added.map_err(|error| authorities_error(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(authorities_error("no certificate found".to_owned()));
    }
    Ok(roots)
}
