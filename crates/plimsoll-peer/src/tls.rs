//! TLS in which both sides are known by their keys: what a client and a server accept, and what a refusal means.

use std::io;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName,
    ServerConfig, SignatureScheme,
};

use crate::error::PeerError;
use crate::key::{Fingerprint, NAME, PrivateKey};

/// A key that is let in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invited {
    pub(crate) key: Fingerprint,
    /// Seconds since 1970.
    pub(crate) expires: u64,
}

/// The name that every client gives in its handshake.
pub fn server_name() -> ServerName<'static> {
    ServerName::try_from(NAME).expect("a name of the domain `invalid` is valid")
}

/// Why a handshake failed, as far as it is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TlsRefusal {
    /// The server has another certificate than the token names.
    OtherCertificate,
    /// The server does not know the token.
    UnknownToken,
    /// The server's clock is beyond the end of the token.
    ExpiredToken,
    /// The other side does not speak TLS 1.3.
    NotTls,
}

impl TlsRefusal {
    /// What an error of a TLS stream says about the handshake; nothing where it is another error, such as a reset.
    pub fn of(error: &io::Error) -> Option<Self> {
        let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
        match error {
            rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure) => {
                Some(Self::OtherCertificate)
            }
            rustls::Error::AlertReceived(AlertDescription::AccessDenied) => {
                Some(Self::UnknownToken)
            }
            rustls::Error::AlertReceived(AlertDescription::CertificateExpired) => {
                Some(Self::ExpiredToken)
            }
            rustls::Error::InvalidMessage(_)
            | rustls::Error::PeerIncompatible(_)
            | rustls::Error::AlertReceived(AlertDescription::ProtocolVersion) => Some(Self::NotTls),
            _ => None,
        }
    }
}

/// Lets those in whose keys were invited, until their invitation ends.
pub(crate) fn server_config(
    key: &PrivateKey,
    certificate: CertificateDer<'static>,
    invited: Vec<Invited>,
) -> Result<Arc<ServerConfig>, PeerError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(InvitedClients {
        invited,
        provider: Arc::clone(&provider),
    });
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate], key.der())?;
    // Every connection proves its key: nothing is resumed.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// Trusts one server, and proves a key to it.
pub(crate) fn client_config(
    server: Fingerprint,
    key: &PrivateKey,
) -> Result<Arc<ClientConfig>, PeerError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(PinnedServer {
        server,
        provider: Arc::clone(&provider),
    });
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_auth_cert(vec![key.certificate()?], key.der())?;
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct InvitedClients {
    invited: Vec<Invited>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for InvitedClients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let key = Fingerprint::of_public_key(end_entity)?;
        let invited = self.invited.iter().find(|invited| invited.key == key);
        match invited {
            Some(invited) if now.as_secs() < invited.expires => Ok(ClientCertVerified::assertion()),
            Some(_) => Err(CertificateError::Expired.into()),
            None => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(older_tls())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verified(&self.provider, message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[derive(Debug)]
struct PinnedServer {
    server: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if Fingerprint::of(end_entity) == self.server {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(older_tls())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verified(&self.provider, message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// That the other side holds the key of the certificate that it showed.
fn verified(
    provider: &CryptoProvider,
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, rustls::Error> {
    let algorithms = &provider.signature_verification_algorithms;
    rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
}

/// Neither configuration offers TLS 1.2.
fn older_tls() -> rustls::Error {
    rustls::Error::General("TLS 1.2 is not offered".to_owned())
}
