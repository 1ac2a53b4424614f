//! One request over HTTP, to see whether a service answers.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_wire::head;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Stream};
use url::Url;

use crate::clock::TimeLimit;

/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 8;

/// Requests a page, over TLS if `tls` is there.
///
/// # Errors
/// When no response with a good status (200 to 399) arrives in time.
pub(super) fn get(url: &Url, tls: Option<&Arc<ClientConfig>>, within: Duration) -> io::Result<()> {
    let limit = TimeLimit::start(within);
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(80);
    let mut stream = connect(&format!("{host}:{port}"), within)?;
    let query = url.query().map_or_else(String::new, |it| format!("?{it}"));
    let authority = match url.port() {
        None => host.to_owned(),
        Some(port) => format!("{host}:{port}"),
    };
    let request = format!(
        "GET {}{query} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: plimsoll\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        url.path()
    );
    stream.set_write_timeout(Some(within))?;
    let status = if let Some(tls) = tls {
        let mut session = session(host, tls)?;
        let timeouts = stream.try_clone()?;
        exchange(
            &mut Stream::new(&mut session, &mut stream),
            &timeouts,
            &request,
            limit,
        )?
    } else {
        let timeouts = stream.try_clone()?;
        exchange(&mut stream, &timeouts, &request, limit)?
    };
    if (200..400).contains(&status) {
        Ok(())
    } else {
        Err(io::Error::other(format!("it answers with status {status}")))
    }
}

/// Sends a request; returns the status of the response.
fn exchange(
    stream: &mut (impl Read + Write),
    timeouts: &TcpStream,
    request: &str,
    limit: TimeLimit,
) -> io::Result<u16> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if limit.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        timeouts.set_read_timeout(Some(limit.left().max(Duration::from_millis(1))))?;
        let count = match stream.read(&mut buffer) {
            Ok(0) => {
                return Err(io::Error::other(
                    "it closes the connection without a response",
                ));
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        };
        let scanned = answer.len();
        answer.extend_from_slice(&buffer[..count]);
        let invalid = |error: plimsoll_wire::error::Http1Error| {
            io::Error::other(format!("its response is not HTTP: {error}"))
        };
        if let Some(end) = head::find_end(&answer, scanned).map_err(invalid)? {
            return Ok(head::parse(&answer[..end]).map_err(invalid)?.status);
        }
        if answer.len() > head::HEAD_LEN_MAX {
            return Err(io::Error::other("the head of its response is too long"));
        }
    }
}

fn session(host: &str, config: &Arc<ClientConfig>) -> io::Result<ClientConnection> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)
}

/// Whether an error is that of a certificate: it does not pass by itself.
pub(super) fn is_of_certificate(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|it| it.downcast_ref());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

/// Connects to `host:port`.
///
/// # Errors
/// When none of its addresses accepts a connection.
pub(super) fn connect(address: &str, within: Duration) -> io::Result<TcpStream> {
    let limit = TimeLimit::start(within);
    let mut last = io::Error::other(format!("{address} has no address"));
    let addresses = plimsoll_names::host::resolve_authority(address)?;
    for address in addresses.into_iter().take(ADDRESSES_MAX) {
        if limit.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&address, limit.left()) {
            // A connection to an unused port of the local range may be one to itself.
            Ok(stream) if stream.local_addr()? == stream.peer_addr()? => {
                last = io::ErrorKind::ConnectionRefused.into();
            }
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
