//! Forwards one request to the site and its response back, and records both.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use plimsoll_import::har;
use plimsoll_import::recording::{Payload, RecordedExchange, kind_of, media_type_of};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use url::Url;

use super::proxy::{Proxy, ResponseBody, plain, whole};
use super::reach::DialError;

/// Time-out for a response of the site.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(2);
/// Longest body that is recorded, bytes.
const RECORDED_LEN_MAX: usize = 8 << 20;

/// Destination of a request.
pub(super) struct ForwardTarget {
    /// Host and port.
    pub(super) authority: String,
    pub(super) is_tls: bool,
    /// Whether the request is recorded.
    pub(super) is_recorded: bool,
}

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Sends a request to the site; a failure becomes a response that the browser shows.
pub(super) async fn forward(
    proxy: &Proxy,
    request: Request<Incoming>,
    site: &ForwardTarget,
) -> Response<ResponseBody> {
    match exchange(proxy, request, site).await {
        Ok(answer) => answer,
        Err(error) if error.downcast_ref::<DialError>().is_some_and(is_refused) => plain(
            StatusCode::FORBIDDEN,
            &format!("{} is refused: {error}\n", site.authority),
        ),
        Err(error) => plain(
            StatusCode::BAD_GATEWAY,
            &format!("{} cannot be reached: {error}\n", site.authority),
        ),
    }
}

fn is_refused(error: &DialError) -> bool {
    matches!(error, DialError::Refused(_))
}

async fn exchange(
    proxy: &Proxy,
    mut request: Request<Incoming>,
    site: &ForwardTarget,
) -> Result<Response<ResponseBody>, Error> {
    let started_ms = proxy.log.now_ms();
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str())
        .to_owned();
    let scheme = if site.is_tls { "https" } else { "http" };
    let url = Url::parse(&format!("{scheme}://{}{path}", site.authority))?;
    let is_upgrade = request.headers().contains_key(header::UPGRADE);
    let from_browser = is_upgrade.then(|| hyper::upgrade::on(&mut request));
    let (mut parts, body) = request.into_parts();
    parts.uri = path.parse::<Uri>()?;
    drop_hop_headers(&mut parts.headers, is_upgrade);
    // Recorded bodies must not be compressed.
    parts.headers.remove(header::ACCEPT_ENCODING);
    // The URL takes precedence over Host (RFC 9112, 3.2.2).
    parts.headers.insert(header::HOST, host_of(&url)?);
    let held = proxy.budget.collect(body).await?;
    let sent = held.bytes.clone();
    let mut exchange = begin_exchange(started_ms, url, &parts, &sent);
    let mut sender = connect(proxy, site).await?;
    let request = Request::from_parts(parts, Full::new(sent));
    let mut answer = timeout(ANSWER_TIMEOUT, sender.send_request(request))
        .await
        .map_err(|_| format!("no response within {} s", ANSWER_TIMEOUT.as_secs()))??;
    drop(held);
    put_answer(&mut exchange, &answer);
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        if let Some(from_browser) = from_browser {
            let place = Arc::clone(&proxy.upgrades).try_acquire_owned()?;
            join(from_browser, hyper::upgrade::on(&mut answer), place);
        }
        note(proxy, site, exchange);
        return Ok(answer.map(|_| whole(Bytes::new())));
    }
    drop_hop_headers(answer.headers_mut(), false);
    if exchange.media_type == "text/event-stream" {
        exchange.kind = plimsoll_import::recording::ResourceKind::Other;
        note(proxy, site, exchange);
        return Ok(answer.map(http_body_util::BodyExt::boxed));
    }
    let (parts, body) = answer.into_parts();
    let held = proxy.budget.collect(body).await?;
    exchange.lasted_ms = Some(proxy.log.now_ms() - started_ms);
    exchange.content = text(&exchange.media_type, &held.bytes);
    note(proxy, site, exchange);
    Ok(Response::from_parts(parts, held.boxed()))
}

/// A recorded request, before its response.
fn begin_exchange(started_ms: f64, url: Url, parts: &Parts, sent: &Bytes) -> RecordedExchange {
    RecordedExchange {
        started_ms: Some(started_ms),
        lasted_ms: None,
        method: parts.method.to_string(),
        url,
        headers: pairs(&parts.headers),
        payload: payload(&parts.headers, sent),
        status: 0,
        answer_headers: Vec::new(),
        media_type: String::new(),
        content: None,
        page: None,
        kind: plimsoll_import::recording::ResourceKind::Other,
        from_cache: false,
        place: (0, 0),
    }
}

/// A recorded response without its body.
fn put_answer(exchange: &mut RecordedExchange, answer: &Response<Incoming>) {
    exchange.status = answer.status().as_u16();
    exchange.answer_headers = pairs(answer.headers());
    let media_type = answer
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    exchange.media_type = media_type_of(media_type);
    exchange.kind = kind_of(
        &exchange.method,
        &exchange.headers,
        exchange.status,
        &exchange.media_type,
    );
}

/// A URL's host and, unless it is the scheme's own, port.
fn host_of(url: &Url) -> Result<HeaderValue, Error> {
    let host = url.host_str().unwrap_or_default();
    let text = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    Ok(HeaderValue::try_from(text)?)
}

fn note(proxy: &Proxy, site: &ForwardTarget, exchange: RecordedExchange) {
    if site.is_recorded {
        proxy.log.add(exchange);
    }
}

/// A new connection for each request: sufficient for one person's visit.
async fn connect(proxy: &Proxy, site: &ForwardTarget) -> Result<SendRequest<Full<Bytes>>, Error> {
    let stream = proxy.reach.dial(&site.authority).await?;
    if !site.is_tls {
        return handshake(stream).await;
    }
    let host = site
        .authority
        .rsplit_once(':')
        .map_or(site.authority.as_str(), |(host, _)| host);
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
    handshake(proxy.connector.connect(name, stream).await?).await
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<Full<Bytes>>, Error> {
    let (sender, connection) = http1::Builder::new()
        .preserve_header_case(true)
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::spawn(async move {
        // Errors of the connection surface in the request.
        let _ = connection.with_upgrades().await;
    });
    Ok(sender)
}

/// Forwards bytes both ways after an upgrade.
fn join(
    from_browser: hyper::upgrade::OnUpgrade,
    from_site: hyper::upgrade::OnUpgrade,
    place: OwnedSemaphorePermit,
) {
    tokio::spawn(async move {
        if let (Ok(browser), Ok(site)) = (from_browser.await, from_site.await) {
            let _ = copy_bidirectional(&mut TokioIo::new(browser), &mut TokioIo::new(site)).await;
        }
        drop(place);
    });
}

/// Removes hop-by-hop headers (RFC 9110, 7.6.1).
fn drop_hop_headers(headers: &mut HeaderMap, keeps_upgrade: bool) {
    headers.remove(HeaderName::from_static("proxy-connection"));
    headers.remove(header::PROXY_AUTHORIZATION);
    headers.remove(header::TRANSFER_ENCODING);
    if !keeps_upgrade {
        headers.remove(header::CONNECTION);
        headers.remove(HeaderName::from_static("keep-alive"));
    }
}

fn pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect()
}

fn payload(headers: &HeaderMap, sent: &Bytes) -> Option<Payload> {
    if sent.is_empty() || sent.len() > RECORDED_LEN_MAX {
        return None;
    }
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    Some(har::payload(media_type, sent.to_vec()))
}

fn text(media_type: &str, received: &Bytes) -> Option<String> {
    let (group, _) = media_type.split_once('/').unwrap_or((media_type, ""));
    if received.len() > RECORDED_LEN_MAX || matches!(group, "image" | "font" | "video" | "audio") {
        return None;
    }
    String::from_utf8(received.to_vec()).ok()
}
