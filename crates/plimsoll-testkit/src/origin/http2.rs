//! An HTTP/2 server whose paths respond, or misbehave, in one named way each.
//!
//! | path | answer |
//! |---|---|
//! | `/body/N` | `200` with N bytes |
//! | `/echo` | the request as text: method, URI, one header a line, an empty line, the body |
//! | `/slow/MS` | `200`, so late |
//! | `/status/N` | that status |
//! | `/moved` | `302` to `/echo` |
//! | `/gzip` | `200`, said to be coded with gzip |
//! | `/headers/N` | `200` with N headers |
//! | `/login` | `302` to `/home` with a cookie |
//! | `/home` | `Hello`, or `403` without the cookie |
//! | `/page` | a page that names 12 images, `/image/1` to `/image/12` |
//! | `/image/N` | 100 bytes, after 20 ms |
//! | `/never` | none |
//! | `/reset/CODE` | `RST_STREAM` with that code |
//! | `/cut/CODE` | a head and some of the body, then `RST_STREAM` with that code |
//! | `/early` | `413` before the request's body is read, then `RST_STREAM` without an error |
//! | `/refused` | every other request is refused as not begun with |
//! | `/leave` | `GOAWAY` for the connection, gracefully, and `200` |
//! | `/gone` | the connection is closed at once |
//!
//! One thread serves all connections.

use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Connection, SendResponse};
use h2::{Reason, RecvStream};
use http::{Request, Response};
use plimsoll_model::lock::lock;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio_rustls::TlsAcceptor;

use super::fault::Identity;

/// Settings of the server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    /// Concurrent requests per connection; `None` omits the setting.
    pub streams_max: Option<u32>,
    /// TLS for `localhost` with HTTP/2 by ALPN.
    pub tls: bool,
}

/// Counters.
#[derive(Debug, Default)]
struct Http2Counters {
    accepted: AtomicU64,
    /// Connections that are open.
    open: AtomicU64,
    requests: AtomicU64,
    under_way: AtomicU64,
    under_way_max: AtomicU64,
    reset: AtomicU64,
    /// Notified of each request and each connection that ends.
    ending: Mutex<()>,
    ended: Condvar,
}

/// Time for requests to end after their client is gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; stops when dropped.
pub struct Http2Origin {
    address: SocketAddr,
    pem: Option<String>,
    counts: Arc<Http2Counters>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a server on a free port of 127.0.0.1.
///
/// # Errors
/// When a socket, certificate or thread is not available.
pub fn start(setup: Setup) -> io::Result<Http2Origin> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let identity = if setup.tls {
        Some(Identity::for_protocols(
            &["localhost".to_owned()],
            &[b"h2"],
        )?)
    } else {
        None
    };
    let pem = identity.as_ref().map(|identity| identity.pem.clone());
    let counts = Arc::new(Http2Counters::default());
    let (stop, stopped) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let served = Arc::clone(&counts);
    let acceptor = identity.map(|identity| TlsAcceptor::from(identity.config()));
    let thread = std::thread::Builder::new()
        .name("http2".to_owned())
        .spawn(move || {
            let local = LocalSet::new();
            local.spawn_local(accept(listener, acceptor, setup, served));
            // Remaining tasks are dropped with the runtime.
            let _ = runtime.block_on(local.run_until(stopped));
        })?;
    Ok(Http2Origin {
        address,
        pem,
        counts,
        stop: Some(stop),
        thread: Some(thread),
    })
}

impl Http2Origin {
    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its certificate as PEM, to be used as its own authority.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.pem.as_deref()
    }

    /// Connections accepted so far.
    pub fn accepted(&self) -> u64 {
        self.counts.accepted.load(Ordering::Acquire)
    }

    /// Requests whose heads were read so far.
    pub fn requests(&self) -> u64 {
        self.counts.requests.load(Ordering::Acquire)
    }

    /// The most concurrent requests, over all connections.
    pub fn under_way_max(&self) -> u64 {
        self.counts.under_way_max.load(Ordering::Acquire)
    }

    /// Requests that the client reset before their response. It waits until all that the client sent has been read: to the
    /// end of its connections, which it must have closed.
    ///
    /// # Panics
    /// When one of the requests or connections does not end.
    pub fn reset(&self) -> u64 {
        let counts = &self.counts;
        let ending = lock(&counts.ending);
        let is_busy = |(): &mut ()| {
            let open = counts.open.load(Ordering::Acquire);
            open > 0 || counts.under_way.load(Ordering::Acquire) > 0
        };
        let waited = counts.ended.wait_timeout_while(ending, PATIENCE, is_busy);
        let (_ending, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(
            !waited.timed_out(),
            "a request or a connection does not end"
        );
        counts.reset.load(Ordering::Acquire)
    }
}

impl Drop for Http2Origin {
    fn drop(&mut self) {
        // A thread that has ended does not listen.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join();
            if !std::thread::panicking() {
                outcome.expect("the server does not panic");
            }
        }
    }
}

async fn accept(
    listener: std::net::TcpListener,
    tls: Option<TlsAcceptor>,
    setup: Setup,
    counts: Arc<Http2Counters>,
) {
    let listener = TcpListener::from_std(listener).expect("a listener that does not block");
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            continue;
        };
        // Responses are sent in small pieces; without the option a socket is only slower.
        let _ = socket.set_nodelay(true);
        counts.open.fetch_add(1, Ordering::AcqRel);
        counts.accepted.fetch_add(1, Ordering::Release);
        let (tls, counts) = (tls.clone(), Arc::clone(&counts));
        tokio::task::spawn_local(async move {
            secure(socket, tls, setup, Arc::clone(&counts)).await;
            let _ending = lock(&counts.ending);
            counts.open.fetch_sub(1, Ordering::AcqRel);
            counts.ended.notify_all();
        });
    }
}

/// A broken connection is for its client to report.
async fn secure(
    socket: TcpStream,
    tls: Option<TlsAcceptor>,
    setup: Setup,
    counts: Arc<Http2Counters>,
) {
    match tls {
        None => serve(socket, setup, counts).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(socket).await {
                serve(stream, setup, counts).await;
            }
        }
    }
}

async fn serve<T: AsyncRead + AsyncWrite + Unpin>(
    socket: T,
    setup: Setup,
    counts: Arc<Http2Counters>,
) {
    let mut builder = h2::server::Builder::new();
    if let Some(max) = setup.streams_max {
        builder.max_concurrent_streams(max);
    }
    let Ok(mut connection): Result<Connection<T, Bytes>, _> = builder.handshake(socket).await
    else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let number = counts.requests.fetch_add(1, Ordering::AcqRel) + 1;
        match request.uri().path() {
            "/gone" => return,
            "/leave" => connection.graceful_shutdown(),
            _ => {}
        }
        let under_way = counts.under_way.fetch_add(1, Ordering::AcqRel) + 1;
        counts.under_way_max.fetch_max(under_way, Ordering::AcqRel);
        let counts = Arc::clone(&counts);
        tokio::task::spawn_local(async move {
            // The client may be gone.
            let _ = answer(request, &mut respond, number, &counts).await;
            let _ending = lock(&counts.ending);
            counts.under_way.fetch_sub(1, Ordering::AcqRel);
            counts.ended.notify_all();
        });
    }
}

/// Waits this long, or until the client resets the request.
async fn wait(respond: &mut SendResponse<Bytes>, time: Duration, counts: &Http2Counters) -> bool {
    let reset = poll_fn(|context| respond.poll_reset(context));
    let goes_on = tokio::time::timeout(time, reset).await.is_err();
    if !goes_on {
        counts.reset.fetch_add(1, Ordering::AcqRel);
    }
    goes_on
}

/// Longest wait.
const FOR_EVER: Duration = Duration::from_hours(1);

async fn answer(
    request: Request<RecvStream>,
    respond: &mut SendResponse<Bytes>,
    number: u64,
    counts: &Http2Counters,
) -> Result<(), h2::Error> {
    let path = request.uri().path().to_owned();
    let (name, argument) = match path[1..].split_once('/') {
        Some((name, argument)) => (name, argument.parse().unwrap_or(0)),
        None => (&path[1..], 0),
    };
    match name {
        "never" => {
            wait(respond, FOR_EVER, counts).await;
            return Ok(());
        }
        "slow" | "image" => {
            let ms = if name == "image" { 20 } else { argument };
            if !wait(respond, Duration::from_millis(ms), counts).await {
                return Ok(());
            }
        }
        "reset" => {
            respond.send_reset(code(argument));
            return Ok(());
        }
        "refused" if number % 2 == 1 => {
            respond.send_reset(Reason::REFUSED_STREAM);
            return Ok(());
        }
        "cut" => {
            let head = Response::new(());
            let mut body = respond.send_response(head, false)?;
            body.send_data(Bytes::from(vec![b'x'; 500]), false)?;
            // Both frames are out before the reset takes them back.
            wait(respond, Duration::from_millis(5), counts).await;
            body.send_reset(code(argument));
            return Ok(());
        }
        "early" => {
            // The rest of the request is unread, which h2 reports when it is dropped.
            return send(
                respond,
                Response::builder().status(413),
                b"too long".to_vec(),
            );
        }
        _ => {}
    }
    let (head, body) = build_response(request, name, argument).await?;
    send(respond, head, body)
}

fn code(code: u64) -> Reason {
    Reason::from(u32::try_from(code).unwrap_or(0))
}

fn send(
    respond: &mut SendResponse<Bytes>,
    head: http::response::Builder,
    body: Vec<u8>,
) -> Result<(), h2::Error> {
    let head = head.header("content-length", body.len()).body(());
    let head = head.expect("a head of this file is valid");
    let mut stream = respond.send_response(head, body.is_empty())?;
    if !body.is_empty() {
        stream.send_data(body.into(), true)?;
    }
    Ok(())
}

/// Head and body of the complete responses.
async fn build_response(
    request: Request<RecvStream>,
    name: &str,
    argument: u64,
) -> Result<(http::response::Builder, Vec<u8>), h2::Error> {
    let head = Response::builder();
    let len = usize::try_from(argument).unwrap_or(0);
    let cookie = request
        .headers()
        .get("cookie")
        .map(|cookie| cookie.as_bytes().to_vec());
    Ok(match name {
        "body" => (head, vec![b'x'; len]),
        "echo" => (head, echo(request).await?),
        "status" => (
            head.status(u16::try_from(argument).unwrap_or(500)),
            Vec::new(),
        ),
        "moved" => (head.status(302).header("location", "/echo"), Vec::new()),
        "gzip" => (
            head.header("content-encoding", "gzip"),
            b"not really".to_vec(),
        ),
        "headers" => {
            let all = (0..argument).map(|number| format!("x-{number}"));
            (
                all.fold(head, |head, name| head.header(name, "value")),
                Vec::new(),
            )
        }
        "login" => {
            let head = head.status(302).header("location", "/home");
            (
                head.header("set-cookie", "sid=7; Path=/; HttpOnly"),
                Vec::new(),
            )
        }
        "home" if cookie.as_deref() == Some(b"sid=7") => (head, b"Hello".to_vec()),
        "home" => (head.status(403), Vec::new()),
        "page" => {
            let image = |number| format!("<img src=\"/image/{number}\">");
            let images: String = (1..=12).map(image).collect();
            let head = head.header("content-type", "text/html");
            (
                head,
                format!("<html><body>{images}</body></html>").into_bytes(),
            )
        }
        _ => (head, vec![b'x'; 100]),
    })
}

async fn echo(request: Request<RecvStream>) -> Result<Vec<u8>, h2::Error> {
    let mut text = format!("{} {}\n", request.method(), request.uri()).into_bytes();
    for (name, value) in request.headers() {
        for segment in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\n"] {
            text.extend_from_slice(segment);
        }
    }
    text.push(b'\n');
    let mut body = request.into_body();
    while let Some(bytes) = body.data().await {
        let bytes = bytes?;
        text.extend_from_slice(&bytes);
        body.flow_control().release_capacity(bytes.len())?;
    }
    Ok(text)
}
