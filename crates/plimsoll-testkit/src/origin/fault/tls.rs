//! A self-signed certificate, and the server side of TLS over a blocking socket.

use std::io;
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use socket2::Socket;

/// A self-signed certificate.
pub(in crate::origin) struct Identity {
    pub(in crate::origin) pem: String,
    config: Arc<ServerConfig>,
}

impl Identity {
    pub(super) fn for_names(names: &[String]) -> io::Result<Self> {
        Self::for_protocols(names, &[])
    }

    /// One of these ALPN protocols is chosen.
    pub(in crate::origin) fn for_protocols(
        names: &[String],
        protocols: &[&[u8]],
    ) -> io::Result<Self> {
        let certified = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(Self {
            pem: certified.cert.pem(),
            config: Arc::new(config),
        })
    }

    pub(in crate::origin) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    pub(super) fn accept(
        &self,
        socket: Socket,
    ) -> io::Result<StreamOwned<ServerConnection, Socket>> {
        let connection =
            ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        Ok(StreamOwned::new(connection, socket))
    }
}
