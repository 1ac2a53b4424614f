//! A certificate for the site, generated per recording; its private key is never written to disk.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData as _,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest as _, Sha256};
use url::Url;

/// The certificate authority and the site's certificate.
pub(super) struct Authority {
    pem: String,
    fingerprint: String,
    config: Arc<ServerConfig>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum CertificateError {
    #[error("cannot create a certificate: {0}")]
    Made(#[from] rcgen::Error),
    #[error("cannot use the certificate: {0}")]
    Used(#[from] rustls::Error),
}

impl Authority {
    pub(super) fn new(url: &Url) -> Result<Self, CertificateError> {
        let host = url
            .host_str()
            .unwrap_or_default()
            .trim_matches(['[', ']'])
            .to_owned();
        let authority_key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params
            .distinguished_name
            .push(DnType::CommonName, "Plimsoll recording");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let pem = params.self_signed(&authority_key)?.pem();
        let issuer = Issuer::new(params, authority_key);

        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![host.clone()])?;
        params.distinguished_name.push(DnType::CommonName, host);
        params.insert_extended_key_usage(ExtendedKeyUsagePurpose::ServerAuth);
        let certificate = params.signed_by(&key, &issuer)?;
        let fingerprint = STANDARD.encode(Sha256::digest(key.subject_public_key_info()));
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            pem,
            fingerprint,
            config: Arc::new(config),
        })
    }

    /// The CA certificate that the browser must trust.
    pub(super) fn pem(&self) -> String {
        self.pem.clone()
    }

    /// SHA-256 of the public key of the site's certificate, in base64, as Chromium expects it.
    pub(super) fn fingerprint(&self) -> String {
        self.fingerprint.clone()
    }

    /// TLS configuration that presents the site's certificate.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}
