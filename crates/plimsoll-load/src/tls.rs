//! TLS by rustls, without I/O of its own: bytes pass through the loop's sockets and buffers.

use std::io::{self, IoSlice, Read as _, Write};
use std::path::Path;
use std::sync::Arc;

use plimsoll_model::plan::{Plan, Target};
use plimsoll_wire::tls::AnyCertificate;
use rustix::fd::OwnedFd;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::error::LoadError;

/// TLS settings shared by all connections of a job.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// `None` when the target speaks plain HTTP.
    pub(crate) fn new(target: &Target, plan: &Plan) -> Result<Option<Self>, LoadError> {
        if !target.tls {
            return Ok(None);
        }
        let transport = &plan.transport;
        let mut config = client_config(transport.insecure, transport.ca_file.as_deref())?;
        config.alpn_protocols = match plan.transport.http2 {
            None => vec![b"http/1.1".to_vec()],
            Some(_) => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        };
        let host = target.host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(|error| {
            LoadError::Tls(format!("{host} is not a valid certificate name: {error}"))
        })?;
        Ok(Some(Self {
            config: Arc::new(config),
            name,
        }))
    }

    /// The state of a new connection.
    pub(crate) fn session(&self) -> Result<Box<TlsSession>, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone()).map(|connection| {
            Box::new(TlsSession {
                connection,
                closed: false,
            })
        })
    }
}

/// TLS towards a server: any certificate is accepted (`insecure`), or those of the authorities of a PEM file, by default of
/// the system.
///
/// # Errors
/// When the file cannot be read, or there is no authority.
pub fn client_config(insecure: bool, ca_file: Option<&Path>) -> Result<ClientConfig, LoadError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| LoadError::Tls(error.to_string()))?;
    if insecure {
        let verifier = Arc::new(AnyCertificate::new(provider));
        return Ok(builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth());
    }
    Ok(builder
        .with_root_certificates(roots(ca_file)?)
        .with_no_client_auth())
}

fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, LoadError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = ca_file else {
        // Some systems' stores contain certificates that cannot be parsed; the others remain usable.
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(LoadError::Tls(
                "the system has no root certificates; install them, or set a CA file".to_owned(),
            ));
        }
        return Ok(roots);
    };
    let ca_file_error = |reason: String| LoadError::CaFile {
        path: path.to_owned(),
        reason,
    };
    for certificate in
        CertificateDer::pem_file_iter(path).map_err(|error| ca_file_error(error.to_string()))?
    {
        let certificate = certificate.map_err(|error| ca_file_error(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| ca_file_error(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(ca_file_error("it contains no certificate".to_owned()));
    }
    Ok(roots)
}

/// One connection's TLS state.
#[derive(Debug)]
pub(crate) struct TlsSession {
    connection: ClientConnection,
    /// The target has closed its side.
    closed: bool,
}

impl TlsSession {
    pub(crate) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether the target chose HTTP/2; known after the handshake.
    pub(crate) fn chose_http2(&self) -> bool {
        self.connection.alpn_protocol() == Some(b"h2")
    }

    /// Whether the target has ended the session with a closing alert.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether ciphertext is pending.
    pub(crate) fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// Writes ciphertext as far as the socket takes it.
    pub(crate) fn flush(&mut self, socket: &OwnedFd) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut SocketWriter(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Encrypts and writes `head` and `body` as far as the socket takes them. Returns how many of their bytes were
    /// accepted.
    pub(crate) fn send(&mut self, socket: &OwnedFd, head: &[u8], body: &[u8]) -> io::Result<usize> {
        let mut count = 0;
        for mut remaining in [head, body] {
            while !remaining.is_empty() {
                let taken = self.connection.writer().write(remaining)?;
                if taken == 0 {
                    // Its buffer is full: the socket has to take some first.
                    self.flush(socket)?;
                    if self.connection.wants_write() {
                        return Ok(count);
                    }
                }
                remaining = &remaining[taken..];
                count += taken;
            }
        }
        self.flush(socket)?;
        Ok(count)
    }

    /// Takes some ciphertext from `input`, and passes its plaintext to `each`.
    pub(crate) fn receive(
        &mut self,
        input: &mut &[u8],
        plain: &mut [u8],
        mut each: impl FnMut(&mut [u8]),
    ) -> Result<(), rustls::Error> {
        match self.connection.read_tls(input) {
            // After the target's closing alert all data is ignored.
            Ok(0) => *input = &[],
            Ok(_) => {}
            // A handshake message without an end.
            Err(error) => return Err(rustls::Error::General(error.to_string())),
        }
        let state = self.connection.process_new_packets()?;
        self.closed |= state.peer_has_closed();
        let mut left = state.plaintext_bytes_to_read();
        while left > 0 {
            let Ok(count @ 1..) = self.connection.reader().read(plain) else {
                break;
            };
            each(&mut plain[..count]);
            left = left.saturating_sub(count);
        }
        Ok(())
    }
}

struct SocketWriter<'a>(&'a OwnedFd);

impl Write for SocketWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut nothing = SendAncillaryBuffer::default();
        Ok(rustix::net::sendmsg(
            self.0,
            slices,
            &mut nothing,
            SendFlags::NOSIGNAL,
        )?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
