//! A forward proxy (RFC 9110, 7.3 and 9.3.6): it terminates tunnels to the site and forwards all others unread.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use url::Url;

use super::budget::BodyBudget;
use super::certificate::Authority;
use super::forward::{self, ForwardTarget};
use super::log::ExchangeLog;
use super::reach::{DialRefusal, RestrictedDialer};
use crate::explain::CliError;
use crate::screen::eprint;

/// Connections at once, tunnels included: a browser opens six for each host.
const CONNECTIONS_MAX: usize = 256;
/// Time for the head of a request, and for a TLS handshake.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest head of a request, bytes.
const HEAD_LEN_MAX: usize = 64 << 10;
/// Characters of a host that messages show.
const SHOWN_MAX: usize = 100;

/// Body of a response to the browser.
pub(super) type ResponseBody = BoxBody<Bytes, hyper::Error>;

/// State shared by all connections.
#[derive(Clone)]
pub(super) struct Proxy {
    /// Host and port of the site.
    authority: Arc<str>,
    is_tls: bool,
    /// Further hosts whose plain requests are recorded.
    hosts: Arc<[String]>,
    acceptor: TlsAcceptor,
    pub(super) connector: TlsConnector,
    pub(super) log: Arc<ExchangeLog>,
    pub(super) reach: Arc<RestrictedDialer>,
    pub(super) budget: BodyBudget,
    /// Permits for tunnels and upgraded connections.
    pub(super) upgrades: Arc<Semaphore>,
}

impl Proxy {
    pub(super) fn new(
        url: &Url,
        authority: &Authority,
        ca_file: Option<&Path>,
        hosts: &[String],
        reach: RestrictedDialer,
        log: Arc<ExchangeLog>,
    ) -> Result<Self, CliError> {
        let config: Arc<ServerConfig> = authority.config();
        Ok(Self {
            authority: host_and_port(url).into(),
            is_tls: url.scheme() == "https",
            hosts: hosts.into(),
            acceptor: TlsAcceptor::from(config),
            connector: TlsConnector::from(Arc::new(client_config(ca_file)?)),
            log,
            reach: Arc::new(reach),
            budget: BodyBudget::new(),
            upgrades: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        })
    }

    /// Serves browsers until it is dropped.
    pub(super) async fn serve(self, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(self.clone().connection(stream, Arc::new(place)));
                }
                // Too many open files, for instance: continue when other connections have ended.
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    /// `place` is released with the last task of the connection: a tunnel outlives its request.
    async fn connection(self, stream: TcpStream, place: Arc<OwnedSemaphorePermit>) {
        let service = service_fn(move |request| {
            let (proxy, place) = (self.clone(), Arc::clone(&place));
            async move { Ok::<_, Infallible>(proxy.answer(request, place).await) }
        });
        serve_http(stream, service).await;
    }

    async fn answer(
        self,
        mut request: Request<Incoming>,
        place: Arc<OwnedSemaphorePermit>,
    ) -> Response<ResponseBody> {
        if request.method() == Method::CONNECT {
            let Some(authority) = request
                .uri()
                .authority()
                .map(|authority| authority.as_str().to_owned())
            else {
                return plain(StatusCode::BAD_REQUEST, "CONNECT without a host");
            };
            if let Err(refusal) = self.reach.allows(&authority) {
                return self.refused(&authority, refusal);
            }
            let upgrade = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                self.tunnel(authority, upgrade).await;
                drop(place);
            });
            return plain(StatusCode::OK, "");
        }
        let Ok(url) = Url::parse(&request.uri().to_string()) else {
            let text = "This is Plimsoll's recording proxy: set it as the browser's proxy.\n";
            return plain(StatusCode::BAD_REQUEST, text);
        };
        if url.scheme() != "http" {
            let text = "Use CONNECT for schemes other than http://.\n";
            return plain(StatusCode::BAD_REQUEST, text);
        }
        let authority = host_and_port(&url);
        if let Err(refusal) = self.reach.allows(&authority) {
            return self.refused(&authority, refusal);
        }
        let is_kept = !self.is_tls && *authority == *self.authority || self.keeps(&url);
        if !is_kept {
            self.log.pass(url.host_str().unwrap_or_default());
        }
        let site = ForwardTarget {
            authority,
            is_tls: false,
            is_recorded: is_kept,
        };
        forward::forward(&self, request, &site).await
    }

    /// Refuses a host: responds with the reason, and prints it once per host.
    fn refused(&self, authority: &str, refusal: DialRefusal) -> Response<ResponseBody> {
        let host = authority
            .rsplit_once(':')
            .map_or(authority, |(host, _)| host);
        if self.log.refuse(host) {
            eprint(&format!(
                "note: {} was refused: {refusal}",
                shown(authority)
            ));
        }
        let text = format!("{} is refused: {refusal}\n", shown(authority));
        plain(StatusCode::FORBIDDEN, &text)
    }

    fn keeps(&self, url: &Url) -> bool {
        self.hosts
            .iter()
            .any(|host| url.host_str() == Some(host) || *host == host_and_port(url))
    }

    /// Terminates a tunnel to the site; forwards any other unread.
    async fn tunnel(self, authority: String, upgrade: OnUpgrade) {
        let Ok(upgraded) = upgrade.await else {
            return;
        };
        let mut stream = TokioIo::new(upgraded);
        if !self.is_tls || *authority != *self.authority {
            let host = authority
                .rsplit_once(':')
                .map_or(authority.as_str(), |(host, _)| host);
            self.log.pass(host);
            if let Ok(mut upstream) = self.reach.dial(&authority).await {
                let _ = copy_bidirectional(&mut stream, &mut upstream).await;
            }
            return;
        }
        // A browser that does not trust the certificate closes here, and shows its own error.
        let accepting = timeout(HEAD_TIMEOUT, self.acceptor.clone().accept(stream));
        let Ok(Ok(secure)) = accepting.await else {
            return;
        };
        let service = service_fn(move |request| {
            let proxy = self.clone();
            let site = ForwardTarget {
                authority: proxy.authority.to_string(),
                is_tls: true,
                is_recorded: true,
            };
            async move { Ok::<_, Infallible>(forward::forward(&proxy, request, &site).await) }
        });
        serve_http(secure, service).await;
    }
}

async fn serve_http<S, F>(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, service: S)
where
    S: hyper::service::Service<
            Request<Incoming>,
            Response = Response<ResponseBody>,
            Error = Infallible,
            Future = F,
        > + Send,
    F: Future<Output = Result<Response<ResponseBody>, Infallible>> + Send,
{
    // The browser handles broken connections.
    let _ = hyper::server::conn::http1::Builder::new()
        .preserve_header_case(true)
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_LEN_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
}

/// A response generated by the proxy.
pub(super) fn plain(status: StatusCode, text: &str) -> Response<ResponseBody> {
    let mut answer = Response::new(whole(Bytes::copy_from_slice(text.as_bytes())));
    *answer.status_mut() = status;
    answer
}

pub(super) fn whole(bytes: Bytes) -> ResponseBody {
    Full::new(bytes).map_err(|never| match never {}).boxed()
}

/// A host for messages: one line of printable characters.
fn shown(authority: &str) -> String {
    let plain = authority.chars().filter(char::is_ascii_graphic);
    plain.take(SHOWN_MAX).collect()
}

pub(super) fn host_and_port(url: &Url) -> String {
    format!(
        "{}:{}",
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or(80)
    )
}

fn client_config(ca_file: Option<&Path>) -> Result<ClientConfig, CliError> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = ca_file {
        let ca_error = |error: String| {
            CliError::usage(format!(
                "cannot read certificates of {}: {error}",
                path.display()
            ))
        };
        for certificate in
            CertificateDer::pem_file_iter(path).map_err(|error| ca_error(error.to_string()))?
        {
            let certificate = certificate.map_err(|error| ca_error(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| ca_error(error.to_string()))?;
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| CliError::usage(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
