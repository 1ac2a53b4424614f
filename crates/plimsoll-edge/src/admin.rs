//! The admin address: metrics, health, the page of the edge, and commands.
//!
//! Any web site can make a local browser send requests to any address. So a request must name this address in `Host`
//! and must not come from a page of another origin, and a command must be JSON, which no HTML form can send. If the
//! address is reachable from other hosts, a token is required as well.

mod figures;
mod page;
mod servers;
mod viewers;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::{Service, service_fn};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use plimsoll_hub_io::hub::publish;
use plimsoll_model::redact;
use plimsoll_proxy::secret::is_same;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{Notify, Semaphore, oneshot};

use crate::control::AdminState;
use crate::metrics::{self, ExpositionFormat};
use plimsoll_page::events::EventBody;
use viewers::Viewers;

/// Size limit of a command, bytes.
const ORDER_LEN_MAX: usize = 64 * 1024;
/// Limit of concurrent connections.
const CONNECTIONS_MAX: usize = 64;
/// Time limit for a request head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for a request body.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// State that the admin handlers share.
pub(crate) struct AdminContext {
    state: AdminState,
    token: Option<String>,
    address: SocketAddr,
    viewers: Arc<Viewers>,
}

impl AdminContext {
    /// `address` is where the listener is bound; without a token, all commands are open to whoever reaches it.
    pub(crate) fn new(state: AdminState, token: Option<String>, address: SocketAddr) -> Self {
        Self {
            state,
            token,
            address,
            viewers: Arc::default(),
        }
    }
}

/// Serves until `end` is signalled or dropped.
pub(crate) fn serve(
    runtime: &Runtime,
    listener: TcpListener,
    context: AdminContext,
    end: oneshot::Receiver<()>,
) {
    let context = Arc::new(context);
    runtime.block_on(async move {
        let sampling = Arc::clone(&context.viewers).keep_sampling(context.state.clone());
        tokio::select! {
            () = sampling => {}
            () = accept(listener, context) => {}
            _ = end => {}
        }
    });
}

async fn accept(listener: TcpListener, context: Arc<AdminContext>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let context = Arc::clone(&context);
        tokio::spawn(async move {
            let hang_up = Arc::new(Notify::new());
            let stuck = Arc::clone(&hang_up);
            let service = service_fn(move |request| {
                let (context, hang_up) = (Arc::clone(&context), Arc::clone(&hang_up));
                async move { Ok::<_, Infallible>(answer(&context, request, hang_up).await) }
            });
            serve_connection(stream, service, &stuck).await;
            drop(place);
        });
    }
}

/// Serves one client until it leaves, or until `hang_up`, also while it is stuck in a write.
async fn serve_connection<S>(stream: TcpStream, service: S, hang_up: &Notify)
where
    S: Service<Request<Incoming>, Response = AdminResponse, Error = Infallible>,
{
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    // A broken connection concerns only its client.
    tokio::select! {
        _ = served => {}
        () = hang_up.notified() => {}
    }
}

type AdminResponse = Response<Either<Full<Bytes>, EventBody>>;

async fn answer(
    context: &AdminContext,
    request: Request<Incoming>,
    hang_up: Arc<Notify>,
) -> AdminResponse {
    let path = request.uri().path().to_owned();
    let asset = page::asset(&path).filter(|_| is_read(request.method()));
    if let Err((status, why)) = authorize(context, request.headers(), &path, asset.is_some()) {
        return text(status, "text/plain; charset=utf-8", why);
    }
    if let Some(asset) = asset {
        return text(StatusCode::OK, asset.media_type, page::content(asset));
    }
    if is_read(request.method())
        && let Some(response) = reading(context, &path, request.headers(), hang_up)
    {
        return response;
    }
    match (request.method(), path.as_str()) {
        (&Method::POST, "/reload") => match order(request).await {
            Ok(_) => order_response(context.state.reload()),
            Err((status, why)) => text(status, "text/plain; charset=utf-8", why),
        },
        (&Method::POST, "/servers") => match order(request).await {
            Ok(body) => {
                let order = servers::read(&body, &context.state.resolvers());
                order_response(order.and_then(|(pool, order)| context.state.order(&pool, order)))
            }
            Err((status, why)) => text(status, "text/plain; charset=utf-8", why),
        },
        (&Method::POST, "/purge") => match order(request).await {
            Ok(body) => order_response(context.state.purge(&body)),
            Err((status, why)) => text(status, "text/plain; charset=utf-8", why),
        },
        (&Method::POST, "/publish") => match json(request, publish::ORDER_LEN_MAX).await {
            Ok(body) => publish(context, &body).await,
            Err((status, why)) => text(status, "text/plain; charset=utf-8", why),
        },
        (&Method::POST, "/why") => match order(request).await {
            Ok(body) => shown(context.state.why(&body).map(redacted)),
            Err((status, why)) => text(status, "text/plain; charset=utf-8", why),
        },
        (_, "/metrics" | "/healthz" | "/figures" | "/status" | "/events" | "/cache" | "/") => text(
            StatusCode::METHOD_NOT_ALLOWED,
            "text/plain; charset=utf-8",
            "method not allowed; use GET\n",
        ),
        (_, "/reload" | "/servers" | "/purge" | "/publish" | "/why") => text(
            StatusCode::METHOD_NOT_ALLOWED,
            "text/plain; charset=utf-8",
            "method not allowed; use POST with JSON\n",
        ),
        _ => text(
            StatusCode::NOT_FOUND,
            "text/plain; charset=utf-8",
            "not found; valid: GET /, /status, /events, /metrics, /healthz, /figures, /cache, /servers; \
             POST /reload, /servers, /purge, /publish, /why\n",
        ),
    }
}

/// What is read at a path; `None` if nothing is.
fn reading(
    context: &AdminContext,
    path: &str,
    headers: &HeaderMap,
    hang_up: Arc<Notify>,
) -> Option<AdminResponse> {
    Some(match path {
        "/metrics" => {
            let format = negotiate_format(headers);
            let body = metrics::render(&context.state.overview(), format);
            text(StatusCode::OK, format.media_type(), body)
        }
        "/healthz" => text(StatusCode::OK, "text/plain; charset=utf-8", "ok\n"),
        "/figures" => {
            let body = figures::render_metrics(&context.state.overview());
            text(StatusCode::OK, "application/json", body)
        }
        "/events" => events(context, hang_up),
        "/status" => match context.viewers.status() {
            Some(status) => text(StatusCode::OK, "application/json", status),
            None => text(
                StatusCode::SERVICE_UNAVAILABLE,
                "text/plain; charset=utf-8",
                "the edge has just started; ask again in a second\n",
            ),
        },
        "/servers" => {
            let body = context.state.servers().to_string();
            text(StatusCode::OK, "application/json", body)
        }
        "/cache" => shown(context.state.held()),
        _ => return None,
    })
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// The page's stream of documents.
fn events(context: &AdminContext, hang_up: Arc<Notify>) -> AdminResponse {
    let Some(events) = context.viewers.watch(hang_up) else {
        return text(
            StatusCode::SERVICE_UNAVAILABLE,
            "text/plain; charset=utf-8",
            "too many viewers; close other pages of this edge\n",
        );
    };
    let (head, _) = text(StatusCode::OK, "text/event-stream", "").into_parts();
    Response::from_parts(head, Either::Right(events))
}

/// The response to a command.
fn order_response(done: Result<String, String>) -> AdminResponse {
    let (status, body) = match done {
        Ok(done) => (StatusCode::OK, json_message("done", &done)),
        Err(why) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            json_message("fault", &why),
        ),
    };
    text(status, "application/json", body)
}

/// Publishes a message to the hub.
async fn publish(context: &AdminContext, body: &[u8]) -> AdminResponse {
    let Some(hub) = context.state.hub() else {
        return order_response(Err("the hub is off; start with --hub /live".to_owned()));
    };
    let (status, reply) = publish::order(&hub, body).await;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    text(status, "application/json", reply.to_string())
}

/// Cache keys contain URLs, which may contain secrets. Whoever may query cache decisions need not see them.
fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact::text(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(redacted).collect(),
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| match &*key {
                // The header line that decided; of a cookie only its name.
                "header" => (key, value),
                _ => (key, redacted(value)),
            });
            Value::Object(members.collect())
        }
        value => value,
    }
}

/// A JSON value, or the error.
fn shown(value: Result<Value, String>) -> AdminResponse {
    match value {
        Ok(value) => text(StatusCode::OK, "application/json", value.to_string()),
        Err(why) => order_response(Err(why)),
    }
}

fn json_message(word: &str, text: &str) -> String {
    serde_json::json!({ word: text }).to_string()
}

/// Reads the body of a command, which must be JSON.
async fn order(request: Request<Incoming>) -> Result<Bytes, (StatusCode, &'static str)> {
    let body = json(request, ORDER_LEN_MAX).await?;
    if !body.is_empty() && serde_json::from_slice::<Value>(&body).is_err() {
        return Err((StatusCode::BAD_REQUEST, "the body is not valid JSON\n"));
    }
    Ok(body)
}

/// Reads a body whose content type is JSON.
async fn json(
    request: Request<Incoming>,
    len_max: usize,
) -> Result<Bytes, (StatusCode, &'static str)> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err((
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported content type; send Content-Type: application/json\n",
        ));
    }
    let body = Limited::new(request.into_body(), len_max).collect();
    // Connections are few: a body that never ends would block all other clients.
    let Ok(body) = tokio::time::timeout(BODY_TIMEOUT, body).await else {
        return Err((
            StatusCode::REQUEST_TIMEOUT,
            "the body did not arrive within 5 s\n",
        ));
    };
    body.map(http_body_util::Collected::to_bytes).map_err(|_| {
        (
            StatusCode::PAYLOAD_TOO_LARGE,
            "the body is too large; valid: at most 64 KiB, for /publish at most 4 MiB\n",
        )
    })
}

fn authorize(
    context: &AdminContext,
    headers: &HeaderMap,
    path: &str,
    is_public: bool,
) -> Result<(), (StatusCode, &'static str)> {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| is_own_host(host, context)) {
        return Err((
            StatusCode::MISDIRECTED_REQUEST,
            "the Host header does not name this address; use the IP address or localhost\n",
        ));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or("");
        if origin.strip_prefix("http://") != host {
            return Err((
                StatusCode::FORBIDDEN,
                "cross-origin requests are not allowed\n",
            ));
        }
    }
    if is_public {
        return Ok(());
    }
    // The admin token permits everything; the publish token permits only publishing.
    let hub = context.state.hub().filter(|_| path == "/publish");
    let publishing = hub
        .as_ref()
        .and_then(|hub| hub.config.publish_token.as_deref());
    let mut tokens = context
        .token
        .as_deref()
        .into_iter()
        .chain(publishing)
        .peekable();
    if tokens.peek().is_none() {
        return Ok(());
    }
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|given| given.to_str().ok())
        .and_then(|given| given.strip_prefix("Bearer "))
        .unwrap_or_default();
    if tokens.any(|token| is_same(given.as_bytes(), token.as_bytes())) {
        return Ok(());
    }
    Err((
        StatusCode::UNAUTHORIZED,
        "the token is missing or wrong; send Authorization: Bearer TOKEN\n",
    ))
}

/// Whether a host cannot be rebound to by another site's DNS name: an IP address, or `localhost`.
fn is_own_host(host: &str, context: &AdminContext) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !host.ends_with(']') => (name, port.parse::<u16>().ok()),
        _ => (host, Some(80)),
    };
    let is_number = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    (is_number || name.eq_ignore_ascii_case("localhost")) && port == Some(context.address.port())
}

fn negotiate_format(headers: &HeaderMap) -> ExpositionFormat {
    let accepts = headers.get_all(header::ACCEPT).iter();
    let wants = accepts
        .filter_map(|accept| accept.to_str().ok())
        .any(|accept| accept.contains("application/openmetrics-text"));
    if wants {
        ExpositionFormat::OpenMetrics
    } else {
        ExpositionFormat::Prometheus
    }
}

fn text(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> AdminResponse {
    let mut answer = Response::new(Either::Left(Full::new(body.into())));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(plimsoll_page::POLICY),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    answer
}
