//! A connection to Redis with request and reply in order.

use std::time::Duration;

use plimsoll_config::edge::ServerTls;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::resp;
use super::value::{self, RespValue, Scan};
use crate::hub::dial::{self, PATIENCE};
use crate::upstream::Upstream;

/// Size of one read.
const READ_LEN: usize = 64 * 1024;
/// Longest reply, bytes.
const ANSWER_LEN_MAX: usize = 256 << 20;

/// Address of Redis and the credentials.
#[derive(Clone, Copy, Debug)]
pub(in crate::hub) struct RedisEndpoint<'a> {
    pub(in crate::hub) host: &'a str,
    pub(in crate::hub) port: u16,
    pub(in crate::hub) user: Option<&'a str>,
    pub(in crate::hub) password: Option<&'a str>,
    pub(in crate::hub) tls: Option<&'a ServerTls>,
}

/// Connects, by TLS where configured.
///
/// # Errors
/// A message.
pub(super) async fn open(place: &RedisEndpoint<'_>) -> Result<Upstream, String> {
    let stream = dial::connect(place.host, place.port).await?;
    match place.tls {
        Some(tls) => dial::secure(stream, place.host, tls).await,
        None => Ok(Upstream::Plain(stream)),
    }
}

/// Writes all of it, within [`PATIENCE`].
///
/// # Errors
/// A message.
pub(in crate::hub) async fn send(stream: &mut Upstream, bytes: &[u8]) -> Result<(), String> {
    let sending = async {
        stream.write_all(bytes).await?;
        stream.flush().await
    };
    let sent = tokio::time::timeout(PATIENCE, sending).await;
    sent.map_err(|_| format!("it accepted no data for {PATIENCE:?}"))?
        .map_err(|error| error.to_string())
}

/// The AUTH command, if credentials are configured.
pub(super) fn authentication(place: &RedisEndpoint<'_>) -> Option<Vec<u8>> {
    let password = place.password?;
    let words = ["AUTH"].into_iter().chain(place.user).chain([password]);
    Some(resp::command(&words.collect::<Vec<_>>()))
}

/// The connection.
#[derive(Debug)]
pub(in crate::hub) struct RedisConnection {
    stream: Upstream,
    held: Vec<u8>,
    /// Bytes of `held` that were consumed.
    taken: usize,
    /// Scan state of the next reply.
    scan: Scan,
}

impl RedisConnection {
    /// Connects and authenticates.
    ///
    /// # Errors
    /// A message, when there is no connection or authentication fails.
    pub(in crate::hub) async fn open(place: &RedisEndpoint<'_>) -> Result<Self, String> {
        let mut link = Self {
            stream: open(place).await?,
            held: Vec::new(),
            taken: 0,
            scan: Scan::default(),
        };
        if let Some(words) = authentication(place) {
            link.send(&words).await?;
            link.answer(PATIENCE).await?;
        }
        Ok(link)
    }

    /// Sends a command and waits for its reply.
    ///
    /// # Errors
    /// A message, when there is no reply in time or it is an error.
    pub(in crate::hub) async fn query(&mut self, words: &[&str]) -> Result<RespValue, String> {
        self.send(&resp::command(words)).await?;
        self.answer(PATIENCE).await
    }

    /// The next reply; an error reply is an error.
    ///
    /// # Errors
    /// A message.
    pub(in crate::hub) async fn answer(&mut self, patience: Duration) -> Result<RespValue, String> {
        match tokio::time::timeout(patience, self.next()).await {
            Err(_) => Err(format!("no answer within {patience:?}")),
            Ok(Ok(RespValue::Error(error))) => Err(error),
            Ok(answer) => answer,
        }
    }

    /// Sends commands.
    ///
    /// # Errors
    /// A message.
    pub(in crate::hub) async fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        send(&mut self.stream, bytes).await
    }

    /// The next reply. Cancel-safe.
    ///
    /// # Errors
    /// A message, when the connection is gone or the reply is malformed.
    pub(in crate::hub) async fn next(&mut self) -> Result<RespValue, String> {
        loop {
            let bytes = &self.held[self.taken..];
            let whole = match self.scan.go_on(bytes) {
                Ok(Some(len)) => value::read(&bytes[..len]),
                Ok(None) => Ok(None),
                Err(malformed) => Err(malformed),
            };
            match whole.map_err(|_| "malformed reply".to_owned())? {
                Some((len, value)) => {
                    self.taken += len;
                    self.scan = Scan::default();
                    return Ok(value);
                }
                None if bytes.len() > ANSWER_LEN_MAX => {
                    return Err("its reply is too long".to_owned());
                }
                None => {}
            }
            self.held.drain(..self.taken);
            self.taken = 0;
            if self.held.is_empty() {
                self.held.shrink_to(READ_LEN);
            }
            self.held.reserve(READ_LEN);
            match self.stream.read_buf(&mut self.held).await {
                Ok(0) => return Err("it closed the connection".to_owned()),
                Ok(_) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}
