//! A connection to Redis on which is asked and answered in order.

use std::time::Duration;

use plimsoll_config::edge::ServerTls;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::resp;
use super::value::{self, RespValue, Scan};
use crate::hub::dial::{self, PATIENCE};
use crate::upstream::Upstream;

/// Room for what is read at once.
const READ_LEN: usize = 64 * 1024;
/// Longest answer, bytes.
const ANSWER_LEN_MAX: usize = 256 << 20;

/// Where Redis is, and who asks.
#[derive(Clone, Copy, Debug)]
pub(in crate::hub) struct RedisEndpoint<'a> {
    pub(in crate::hub) host: &'a str,
    pub(in crate::hub) port: u16,
    pub(in crate::hub) user: Option<&'a str>,
    pub(in crate::hub) password: Option<&'a str>,
    pub(in crate::hub) tls: Option<&'a ServerTls>,
}

/// Connects, by TLS where that is wanted.
///
/// # Errors
/// In words.
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
/// In words.
pub(in crate::hub) async fn send(stream: &mut Upstream, bytes: &[u8]) -> Result<(), String> {
    let sending = async {
        stream.write_all(bytes).await?;
        stream.flush().await
    };
    let sent = tokio::time::timeout(PATIENCE, sending).await;
    sent.map_err(|_| format!("it accepted no data for {PATIENCE:?}"))?
        .map_err(|error| error.to_string())
}

/// The command by which whoever asks is known, if Redis wants that.
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
    /// Bytes of `held` that are read.
    taken: usize,
    /// How much of the next answer has come.
    scan: Scan,
}

impl RedisConnection {
    /// Connects, and says who asks.
    ///
    /// # Errors
    /// In words, when nobody answers or the answer is no.
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

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// In words, when there is none in time or it is an error.
    pub(in crate::hub) async fn query(&mut self, words: &[&str]) -> Result<RespValue, String> {
        self.send(&resp::command(words)).await?;
        self.answer(PATIENCE).await
    }

    /// The next answer, which is none of errors.
    ///
    /// # Errors
    /// In words.
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
    /// In words.
    pub(in crate::hub) async fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        send(&mut self.stream, bytes).await
    }

    /// The next answer. Whoever gives up waiting loses nothing.
    ///
    /// # Errors
    /// In words, when the connection is gone or something else is said.
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
