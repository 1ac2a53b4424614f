//! ACME challenges answered in a dedicated TLS handshake (TLS-ALPN-01).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use plimsoll_net::lock::lock;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::crypto;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ClientHello;
use rustls::sign::CertifiedKey;

/// ALPN name of such a handshake.
pub(crate) const ACME_TLS: &[u8] = b"acme-tls/1";

/// A challenge certificate for each name being validated.
#[derive(Debug, Default)]
pub struct Challenges(Mutex<HashMap<String, Arc<CertifiedKey>>>);

impl Challenges {
    /// Adds a challenge for a name.
    ///
    /// # Errors
    /// The reason, as text.
    pub fn answer(&self, name: &str, digest: &[u8]) -> Result<(), String> {
        let made = || -> Result<CertifiedKey, Box<dyn std::error::Error>> {
            let mut params = CertificateParams::new([name.to_owned()])?;
            let extension = CustomExtension::new_acme_identifier(digest);
            params.custom_extensions.push(extension);
            let key = KeyPair::generate()?;
            let certificate = params.self_signed(&key)?;
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
            let provider = crypto::ring::default_provider();
            let chain = vec![certificate.der().clone()];
            // Not checked against its certificate: it has a critical extension that certificate parsers must reject.
            let key = provider.key_provider.load_private_key(key)?;
            Ok(CertifiedKey::new(chain, key))
        };
        let made = made().map_err(|error| error.to_string())?;
        lock(&self.0).insert(name.to_ascii_lowercase(), Arc::new(made));
        Ok(())
    }

    /// Removes a challenge.
    pub fn forget(&self, names: &[String]) {
        lock(&self.0).retain(|name, _| !names.contains(name));
    }

    /// The challenge certificate that a handshake requests; `Err` when it requests none.
    pub(crate) fn certificate_for(
        &self,
        hello: &ClientHello<'_>,
    ) -> Result<Option<Arc<CertifiedKey>>, ()> {
        let mut protocols = hello.alpn().into_iter().flatten();
        if protocols.next() != Some(ACME_TLS) || protocols.next().is_some() {
            return Err(());
        }
        let name = hello.server_name().unwrap_or_default().to_ascii_lowercase();
        Ok(lock(&self.0).get(&name).cloned())
    }
}
