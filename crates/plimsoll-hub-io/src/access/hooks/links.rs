//! Connections of one loop to the application, reused while they are young.

use std::sync::Mutex;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use plimsoll_config::edge::Endpoint;
use plimsoll_net::clock::{EdgeClock, Nanoseconds};
use plimsoll_net::lock::lock;
use plimsoll_net::outbound::connector;
use plimsoll_net::upstream::Upstream;
use rustls::pki_types::ServerName;

/// Longest response, bytes.
const ANSWER_LEN_MAX: usize = 64 * 1024;
/// Maximum number of idle connections.
const IDLE_MAX: usize = 64;
/// Idle time-out: shorter than that of servers, which would otherwise close a connection while a request is in flight.
const IDLE_TIMEOUT: Nanoseconds = 1_000_000_000;

/// A loop's connections.
#[derive(Debug)]
pub struct Links {
    clock: EdgeClock,
    idle: Mutex<Vec<IdleHookConnection>>,
}

/// An idle connection.
#[derive(Debug)]
struct IdleHookConnection {
    host: String,
    port: u16,
    secure: bool,
    sender: SendRequest<Full<Bytes>>,
    since: Nanoseconds,
}

impl Links {
    pub(crate) fn new(clock: EdgeClock) -> Self {
        Self {
            clock,
            idle: Mutex::default(),
        }
    }

    /// Sends a request and reads its response.
    ///
    /// # Errors
    /// A message, when there is none or it is too long.
    pub(super) async fn post(
        &self,
        to: &Endpoint,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, Bytes), String> {
        while let Some(mut sender) = self.take(to) {
            match sender.try_send_request(request).await {
                Ok(answer) => return self.read(to, sender, answer).await,
                Err(mut failed) => match failed.take_message() {
                    // It was closed before any request byte was sent.
                    Some(unsent) => request = unsent,
                    None => return Err(failed.into_error().to_string()),
                },
            }
        }
        let mut sender = connect(to).await?;
        let answer = sender.send_request(request).await;
        let answer = answer.map_err(|error| error.to_string())?;
        self.read(to, sender, answer).await
    }

    async fn read(
        &self,
        to: &Endpoint,
        sender: SendRequest<Full<Bytes>>,
        answer: Response<Incoming>,
    ) -> Result<(StatusCode, Bytes), String> {
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_LEN_MAX).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_MAX && !sender.is_closed() {
            idle.push(IdleHookConnection {
                host: to.host.clone(),
                port: to.port,
                secure: to.secure,
                sender,
                since: self.clock.now(),
            });
        }
        Ok((head.status, body))
    }

    fn take(&self, to: &Endpoint) -> Option<SendRequest<Full<Bytes>>> {
        let now = self.clock.now();
        let mut idle = lock(&self.idle);
        idle.retain(|connection| {
            now.saturating_sub(connection.since) < IDLE_TIMEOUT && !connection.sender.is_closed()
        });
        let is_of_use = |connection: &IdleHookConnection| {
            connection.host == to.host
                && connection.port == to.port
                && connection.secure == to.secure
                && connection.sender.is_ready()
        };
        let at = idle.iter().rposition(is_of_use)?;
        Some(idle.swap_remove(at).sender)
    }
}

/// A new connection.
async fn connect(to: &Endpoint) -> Result<SendRequest<Full<Bytes>>, String> {
    let in_words = |error: std::io::Error| error.to_string();
    let stream = plimsoll_names::host::connect(&to.host, to.port).await;
    let stream = stream.map_err(in_words)?;
    stream.set_nodelay(true).map_err(in_words)?;
    let stream = if to.secure {
        let name = ServerName::try_from(to.host.clone()).map_err(|error| error.to_string())?;
        let stream = connector().connect(name, stream).await.map_err(in_words)?;
        Upstream::Tls(Box::new(stream))
    } else {
        Upstream::Plain(stream)
    };
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    // Runs as its own task and ends with the sender.
    tokio::spawn(connection);
    Ok(sender)
}
