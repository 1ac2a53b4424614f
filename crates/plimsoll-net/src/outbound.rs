//! Outgoing requests of the edge itself: to the collector, to a webhook, and for a page of the origin. One request per
//! connection, bounded in time and length, no redirects.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use plimsoll_config::edge::Endpoint;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::upstream::{Secure, Upstream};

/// Longest response to a POST; it is discarded.
const ANSWER_LEN_MAX: usize = 64 * 1024;

/// A response.
#[derive(Debug)]
pub struct OutboundResponse {
    /// The status code.
    pub status: StatusCode,
    /// All header fields.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// A page of a server of the origin.
#[derive(Debug)]
pub struct OriginRequest<'a> {
    /// Address of the server.
    pub address: SocketAddr,
    /// TLS towards it, if any.
    pub secure: Option<Secure>,
    /// Value of `Host`.
    pub host: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// Longest accepted body.
    pub len_max: usize,
}

/// Sends JSON to an endpoint.
///
/// # Errors
/// A message, when there is no response in time.
pub async fn post(
    endpoint: &Endpoint,
    json: String,
    timeout: Duration,
) -> Result<StatusCode, String> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(&endpoint.target)
        .header(HOST, host(endpoint))
        .header(CONTENT_TYPE, "application/json");
    for (name, value) in &endpoint.headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(Bytes::from(json)));
    let request = request.map_err(|error| error.to_string())?;
    let exchange = async {
        if endpoint.secure {
            let stream = connect_secured(&endpoint.host, endpoint.port, &connector()).await?;
            return exchange(stream, request, ANSWER_LEN_MAX).await;
        }
        let stream = plimsoll_names::host::connect(&endpoint.host, endpoint.port).await;
        let stream = stream.map_err(|error| error.to_string())?;
        exchange(stream, request, ANSWER_LEN_MAX).await
    };
    let answer = tokio::time::timeout(timeout, exchange).await;
    answer
        .map_err(|_| format!("no answer within {timeout:?}"))?
        .map(|answer| answer.status)
}

/// A connection over TLS to a host, which may be an IPv6 address in brackets.
async fn connect_secured(
    host: &str,
    port: u16,
    connector: &TlsConnector,
) -> Result<TlsStream<TcpStream>, String> {
    let stream = plimsoll_names::host::connect(host, port).await;
    let stream = stream.map_err(|error| error.to_string())?;
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
    let name = name.map_err(|error| error.to_string())?;
    let stream = connector.connect(name, stream).await;
    stream.map_err(|error| error.to_string())
}

/// Sends a request to the host of its URL, over TLS.
///
/// # Errors
/// A message, when there is no response in time or it is too long.
pub async fn send(
    mut request: Request<Full<Bytes>>,
    connector: &TlsConnector,
    len_max: usize,
    timeout: Duration,
) -> Result<OutboundResponse, String> {
    let url = request.uri().clone();
    let authority = url.authority().ok_or("the URL has no host")?;
    let target = url.path_and_query().map_or("/", |target| target.as_str());
    *request.uri_mut() = target.parse().map_err(|error| format!("{error}"))?;
    let host = HeaderValue::from_str(authority.as_str()).map_err(|error| error.to_string())?;
    request.headers_mut().insert(HOST, host);
    let port = authority.port_u16().unwrap_or(443);
    let exchange = async {
        let stream = connect_secured(authority.host(), port, connector).await?;
        exchange(stream, request, len_max).await
    };
    let answer = tokio::time::timeout(timeout, exchange).await;
    answer.map_err(|_| format!("no answer within {timeout:?}"))?
}

/// Fetches a page from a server of the origin.
///
/// # Errors
/// A message, when there is no response in time or it is too long.
pub async fn get(page: OriginRequest<'_>, timeout: Duration) -> Result<OutboundResponse, String> {
    let request = Request::builder()
        .uri(page.target)
        .header(HOST, page.host)
        .header(USER_AGENT, "plimsoll-edge")
        .header(ACCEPT, "text/html, */*;q=0.1")
        .body(Full::new(Bytes::new()))
        .map_err(|error| error.to_string())?;
    let exchange = async {
        let stream = Upstream::connect(page.address, page.secure).await;
        let stream = stream.map_err(|error| error.to_string())?;
        exchange(stream, request, page.len_max).await
    };
    let answer = tokio::time::timeout(timeout, exchange).await;
    answer.map_err(|_| format!("no answer within {timeout:?}"))?
}

async fn exchange<T>(
    io: T,
    request: Request<Full<Bytes>>,
    len_max: usize,
) -> Result<OutboundResponse, String>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(io))
        .await
        .map_err(|error| error.to_string())?;
    let sending = async {
        let answer = sender.send_request(request).await;
        let (head, body) = answer.map_err(|error| error.to_string())?.into_parts();
        let body = Limited::new(body, len_max).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        Ok(OutboundResponse {
            status: head.status,
            headers: head.headers,
            body,
        })
    };
    tokio::pin!(sending, connection);
    // The connection runs as long as it is polled; a response may arrive together with its end.
    tokio::select! {
        biased;
        answer = &mut sending => answer,
        ended = &mut connection => match ended {
            Ok(()) => sending.await,
            Err(error) => Err(error.to_string()),
        },
    }
}

/// Host and path of a request.
pub fn host(endpoint: &Endpoint) -> String {
    let name = if endpoint.host.contains(':') {
        format!("[{}]", endpoint.host)
    } else {
        endpoint.host.clone()
    };
    match (endpoint.secure, endpoint.port) {
        (true, 443) | (false, 80) => name,
        (_, port) => format!("{name}:{port}"),
    }
}

/// A TLS client that trusts the authorities of this host.
pub fn connector() -> TlsConnector {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows the versions this crate is built with")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Arc::new(config)
    });
    TlsConnector::from(Arc::clone(config))
}
