//! The HTTP thread: hyper on one current-thread runtime, which passes pages to the workers.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{Domain, Socket, Type};
use tokio::sync::{Semaphore, watch};

use crate::pages::RenderedPage;
use crate::workers::RenderQueue;

/// Connections served at the same time; more wait in the backlog.
const CONNECTION_COUNT_MAX: usize = 8_192;

/// Backlog of the listener, as in Node.js.
const BACKLOG: i32 = 511;

/// Time-out for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Serves on its own thread until `stopped` changes.
pub(crate) fn start(
    listener: TcpListener,
    queue: RenderQueue,
    stopped: watch::Receiver<bool>,
) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let listener = {
        let _context = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    std::thread::Builder::new()
        .name("http".to_owned())
        .spawn(move || runtime.block_on(serve(listener, queue, stopped)))
}

async fn serve(
    listener: tokio::net::TcpListener,
    queue: RenderQueue,
    mut stopped: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(CONNECTION_COUNT_MAX));
    loop {
        let place = Arc::clone(&places)
            .acquire_owned()
            .await
            .expect("the semaphore is never closed");
        let accepted = tokio::select! {
            _ = stopped.changed() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Usually out of descriptors: the backlog holds the rest until some are free.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        // Without it a response may wait for the client's delayed acknowledgement.
        let _ = stream.set_nodelay(true);
        let queue = queue.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, &queue));
            // A broken connection is the client's business.
            let _ = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            drop(place);
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    queue: &RenderQueue,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET and HEAD are served here\n",
        ));
    }
    if request.uri().path() == "/health" {
        return Ok(plain(StatusCode::OK, "ok\n"));
    }
    let Some(page) = queue.put(request.uri().path().to_owned()) else {
        return Ok(plain(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many visitors at this moment\n",
        ));
    };
    Ok(match page.await {
        Ok(Ok(page)) => html(page),
        Ok(Err(_)) | Err(_) => plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the page could not be rendered\n",
        ),
    })
}

fn html(page: RenderedPage) -> Response<Full<Bytes>> {
    Response::builder()
        .status(page.status)
        .header("content-type", "text/html; charset=utf-8")
        .header("x-dom-nodes", page.nodes)
        .body(Full::from(page.html))
        .expect("the status and the headers are valid")
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header("content-type", "text/plain; charset=utf-8")
        .body(Full::from(text))
        .expect("the status and the headers are valid")
}
