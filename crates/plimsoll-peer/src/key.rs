//! Private keys, and the certificates that carry their public halves.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ParsedCertificate;
use sha2::{Digest as _, Sha256};

use crate::error::PeerError;

/// The name in every certificate and in every handshake: certificates are known by their bytes, so it carries nothing, and
/// a stranger who connects reads nothing from it.
pub(crate) const NAME: &str = "peer.invalid";

/// Bytes of a key, and of a fingerprint.
pub(crate) const KEY_BYTES: usize = 32;

/// PKCS #8 (RFC 8410) of an Ed25519 key, up to the 32 bytes that the key is derived from.
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// SHA-256 of a certificate or of a public key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Fingerprint([u8; KEY_BYTES]);

impl Fingerprint {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(crate) fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// That of the public key in a certificate, which may be anybody's.
    pub(crate) fn of_public_key(certificate: &CertificateDer<'_>) -> Result<Self, rustls::Error> {
        let parsed = ParsedCertificate::try_from(certificate)?;
        Ok(Self::of(parsed.subject_public_key_info().as_ref()))
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    pub(crate) fn to_text(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        bytes_of(text).map(Self)
    }
}

/// An Ed25519 key, as the bytes that it is derived from.
#[derive(Clone)]
pub(crate) struct PrivateKey([u8; KEY_BYTES]);

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PrivateKey(…)")
    }
}

impl PrivateKey {
    pub(crate) fn generate() -> Result<Self, PeerError> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub(crate) fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    pub(crate) fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        bytes_of(text).map(Self)
    }

    /// As TLS reads it.
    pub(crate) fn der(&self) -> PrivateKeyDer<'static> {
        let mut der = PKCS8_HEAD.to_vec();
        der.extend_from_slice(&self.0);
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(der))
    }

    /// A certificate of this key, signed by itself.
    pub(crate) fn certificate(&self) -> Result<CertificateDer<'static>, PeerError> {
        let key = KeyPair::try_from(&self.der())?;
        let mut params = CertificateParams::new(vec![NAME.to_owned()])?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, NAME);
        Ok(params.self_signed(&key)?.der().clone())
    }
}

fn bytes_of(text: &str) -> Option<[u8; KEY_BYTES]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_public_half_in_all_its_certificates() {
        let key = PrivateKey::generate().unwrap();
        let first = key.certificate().unwrap();
        let second = key.certificate().unwrap();
        let public = Fingerprint::of_public_key(&first).unwrap();
        assert_eq!(public, Fingerprint::of_public_key(&second).unwrap());
        let other = PrivateKey::generate().unwrap().certificate().unwrap();
        assert_ne!(public, Fingerprint::of_public_key(&other).unwrap());
    }

    #[test]
    fn a_key_is_not_printed() {
        assert_eq!(
            format!("{:?}", PrivateKey::from_bytes([7; KEY_BYTES])),
            "PrivateKey(…)"
        );
    }

    #[test]
    fn bytes_that_are_no_certificate_are_refused() {
        let garbage = CertificateDer::from(vec![0x30, 0x03, 1, 2, 3]);
        assert!(Fingerprint::of_public_key(&garbage).is_err());
    }
}
