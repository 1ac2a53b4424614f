//! A small HTTP server on a thread of its own: hyper on a current-thread runtime.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use plimsoll_page::events::EventBody;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, watch};

use crate::error::LiveError;
use crate::guard::{self, LiveAddress, Token};
use crate::site::{REPORT_PAGE, Site, SiteBody, SiteRequest, SiteResponse};

/// Connections at the same time; more wait in the backlog.
const CONNECTIONS_MAX: usize = 128;
/// Longest body of an act, bytes.
const BODY_LEN_MAX: usize = 16 << 10;
/// Time-out of the head of a request, and of the body of an act.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the work beside the requests may take to end: it has only its last message left.
const BACKGROUND_PATIENCE: Duration = Duration::from_secs(10);
/// How long responses may take to reach their browsers after that.
const END_PATIENCE: Duration = Duration::from_secs(1);
/// Parts in which that time is counted.
const END_PARTS: u32 = 10;

/// The policy of a page of the report, which is one file with its style and script.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts";

/// Where to serve.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerOptions {
    /// Address and port.
    pub address: LiveAddress,
}

/// Work beside the requests, on the thread of the server.
pub(crate) type Background = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A running server. It ends when it is stopped or dropped.
#[derive(Debug)]
pub struct Server {
    url: String,
    stopped: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Binds the address and serves the site.
    ///
    /// # Errors
    /// When the address cannot be bound, or the thread cannot be started.
    pub fn start(options: ServerOptions, site: Arc<dyn Site>) -> Result<Self, LiveError> {
        Self::start_with(options, site, Box::pin(std::future::ready(())))
    }

    pub(crate) fn start_with(
        options: ServerOptions,
        site: Arc<dyn Site>,
        background: Background,
    ) -> Result<Self, LiveError> {
        let address = options.address.0;
        let to_error = |source| LiveError::Bind { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(to_error)?;
        listener.set_nonblocking(true).map_err(to_error)?;
        let bound = listener.local_addr().map_err(to_error)?;
        let token = Token::random()?;
        let url = url(bound, &token);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(4)
            .build()
            .map_err(LiveError::Thread)?;
        let listener = {
            let _context = runtime.enter();
            TcpListener::from_std(listener).map_err(LiveError::Thread)?
        };
        let (stopped, stopping) = watch::channel(false);
        let served = Served { token, site };
        let thread = std::thread::Builder::new()
            .name("live-page".to_owned())
            .spawn(move || {
                runtime.block_on(serve(listener, Arc::new(served), stopping, background));
                runtime.shutdown_background();
            })
            .map_err(LiveError::Thread)?;
        Ok(Self {
            url,
            stopped,
            thread: Some(thread),
        })
    }

    /// The URL with its token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends it: responses that are under way have a second to reach their browsers.
    pub fn stop(mut self) {
        let _ = self.stopped.send(true);
        if let Some(thread) = self.thread.take() {
            // It panicked, and has printed why.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stopped.send(true);
    }
}

/// An address that a browser of this machine can open.
fn url(bound: SocketAddr, token: &Token) -> String {
    let mut shown = bound;
    if shown.ip().is_unspecified() {
        shown.set_ip(match shown {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("http://{shown}/{}/", token.text())
}

struct Served {
    token: Token,
    site: Arc<dyn Site>,
}

async fn serve(
    listener: TcpListener,
    served: Arc<Served>,
    mut stopping: watch::Receiver<bool>,
    background: Background,
) {
    let background = tokio::spawn(background);
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            _ = stopping.changed() => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Usually out of descriptors: the backlog holds the rest until some are free.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (served, stopping) = (Arc::clone(&served), stopping.clone());
        tokio::spawn(async move {
            connection(stream, served, stopping).await;
            drop(place);
        });
    }
    drop(listener);
    let everyone = u32::try_from(CONNECTIONS_MAX).unwrap_or(u32::MAX);
    // Not within the second of the browsers: where this thread stands still, they would not get the last message.
    let _ = tokio::time::timeout(BACKGROUND_PATIENCE, background).await;
    let all_gone = async { drop(places.acquire_many(everyone).await) };
    wait_in_parts(all_gone, END_PATIENCE).await;
}

/// Waits for something for this long. Between two parts of that time this thread does all that is ready: where it stands still
/// for however long, one part has passed, and nothing has been missed.
async fn wait_in_parts(awaited: impl Future<Output = ()>, patience: Duration) {
    let mut awaited = pin!(awaited);
    for _ in 0..END_PARTS {
        let part = tokio::time::timeout(patience / END_PARTS, awaited.as_mut());
        if part.await.is_ok() {
            return;
        }
    }
}

async fn connection(stream: TcpStream, served: Arc<Served>, mut stopping: watch::Receiver<bool>) {
    // Without it a message may wait for the browser's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let hang_up = Arc::new(Notify::new());
    let service = service_fn(|request| {
        let (served, hang_up) = (Arc::clone(&served), Arc::clone(&hang_up));
        async move { Ok::<_, Infallible>(served.respond(request, hang_up).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(RECEIVE_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut is_stopping = false;
    loop {
        tokio::select! {
            // A broken connection is the browser's business.
            _ = connection.as_mut() => return,
            () = hang_up.notified() => return,
            _ = stopping.changed(), if !is_stopping => {
                is_stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

impl Served {
    async fn respond(
        &self,
        request: Request<Incoming>,
        hang_up: Arc<Notify>,
    ) -> Response<Either<Full<Bytes>, EventBody>> {
        response(match self.accept(request, hang_up).await {
            Ok(request) if self.site.is_slow(&request.path) => {
                let site = Arc::clone(&self.site);
                let task = tokio::task::spawn_blocking(move || site.respond(request));
                task.await
                    .unwrap_or_else(|_| SiteResponse::text(500, "The page could not be made.\n"))
            }
            Ok(request) => self.site.respond(request),
            Err(refusal) => refusal,
        })
    }

    /// What passes the guard.
    async fn accept(
        &self,
        request: Request<Incoming>,
        hang_up: Arc<Notify>,
    ) -> Result<SiteRequest, SiteResponse> {
        let (head, body) = request.into_parts();
        guard::check(&head.method, &head.headers)
            .map_err(|refusal| SiteResponse::text(refusal.0.as_u16(), refusal.1))?;
        let Some(path) = self.token.path(head.uri.path()) else {
            return Err(SiteResponse::text(
                403,
                "Open the URL that plimsoll printed: it has a token.\n",
            ));
        };
        let is_act = match head.method {
            Method::GET | Method::HEAD => false,
            Method::POST => true,
            _ => {
                return Err(SiteResponse::text(
                    405,
                    "Only GET and POST are served here.\n",
                ));
            }
        };
        let body = if is_act {
            let body = Limited::new(body, BODY_LEN_MAX).collect();
            match tokio::time::timeout(RECEIVE_TIMEOUT, body).await {
                Ok(Ok(body)) => body.to_bytes(),
                Ok(Err(_)) => {
                    return Err(SiteResponse::text(413, "The body is longer than 16 KiB.\n"));
                }
                Err(_) => return Err(SiteResponse::text(408, "The body did not arrive.\n")),
            }
        } else {
            Bytes::new()
        };
        Ok(SiteRequest {
            is_act,
            path: path.to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            body,
            hang_up,
        })
    }
}

fn response(response: SiteResponse) -> Response<Either<Full<Bytes>, EventBody>> {
    let is_report = response.content_type == REPORT_PAGE;
    let (policy, content_type) = if is_report {
        (REPORT_POLICY, "text/html; charset=utf-8")
    } else {
        (plimsoll_page::POLICY, response.content_type)
    };
    let is_stream = matches!(response.body, SiteBody::Events(_));
    let body = match response.body {
        SiteBody::Whole(bytes) => Either::Left(Full::new(bytes)),
        SiteBody::Events(events) => Either::Right(EventBody(events)),
    };
    let mut head = Response::builder()
        .status(StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
        .header("content-type", content_type)
        .header("content-security-policy", policy)
        .header("x-content-type-options", "nosniff")
        .header("referrer-policy", "no-referrer")
        .header("cross-origin-opener-policy", "same-origin")
        .header("cross-origin-resource-policy", "same-origin")
        .header("cache-control", "no-store");
    if is_stream {
        head = head.header("connection", "close");
    }
    match head.body(body) {
        Ok(response) => response,
        Err(error) => unreachable!("status and headers are valid: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[test]
    fn a_thread_that_stands_still_misses_nothing() {
        let patience = Duration::from_millis(20);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let was_reached = runtime.block_on(async {
            let (done, reached) = tokio::sync::oneshot::channel();
            tokio::spawn(async move {
                // As a connection: ready, and done after some more of this thread's time.
                let end = Instant::now() + 3 * patience;
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                let _ = done.send(());
            });
            let mut was_reached = false;
            wait_in_parts(async { was_reached = reached.await.is_ok() }, patience).await;
            was_reached
        });
        assert!(was_reached);
    }
}
