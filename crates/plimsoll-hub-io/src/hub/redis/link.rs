//! A connection to Redis with request and reply in order.

use std::time::Duration;

use plimsoll_config::edge::ServerTls;

use super::resp;
use super::value::{ReplyParser, RespValue};
use crate::hub::dial::{BufferedConnection, PATIENCE};

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

impl RedisEndpoint<'_> {
    /// The AUTH command, if credentials are configured.
    pub(super) fn authentication(&self) -> Option<Vec<u8>> {
        let password = self.password?;
        let words = ["AUTH"].into_iter().chain(self.user).chain([password]);
        Some(resp::command(&words.collect::<Vec<_>>()))
    }
}

/// The connection.
pub(in crate::hub) struct RedisConnection {
    pub(super) line: BufferedConnection,
    parser: ReplyParser,
    /// Bytes of the next reply that were parsed.
    parsed: usize,
}

impl RedisConnection {
    /// Connects, by TLS where configured.
    ///
    /// # Errors
    /// A message.
    pub(super) async fn connect(place: &RedisEndpoint<'_>) -> Result<Self, String> {
        let line = BufferedConnection::open(place.host, place.port).await?;
        Ok(Self {
            line: match place.tls {
                Some(tls) => line.secure(place.host, tls).await?,
                None => line,
            },
            parser: ReplyParser::default(),
            parsed: 0,
        })
    }

    /// Connects and authenticates.
    ///
    /// # Errors
    /// A message, when there is no connection or authentication fails.
    pub(in crate::hub) async fn open(place: &RedisEndpoint<'_>) -> Result<Self, String> {
        let mut link = Self::connect(place).await?;
        if let Some(words) = place.authentication() {
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
    async fn answer(&mut self, patience: Duration) -> Result<RespValue, String> {
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
        self.line.send(bytes).await
    }

    /// The next reply. Cancel-safe.
    ///
    /// # Errors
    /// A message, when the connection is gone or the reply is malformed.
    pub(in crate::hub) async fn next(&mut self) -> Result<RespValue, String> {
        loop {
            if let Some(reply) = self.received()? {
                return Ok(reply);
            }
            self.line.fill().await?;
        }
    }

    /// The next reply, if all of it was received.
    ///
    /// # Errors
    /// A message, when it is malformed or too long.
    pub(super) fn received(&mut self) -> Result<Option<RespValue>, String> {
        let continued = self.parser.go_on(self.line.bytes());
        let (len, reply) = continued.map_err(|_| "malformed reply".to_owned())?;
        self.line.advance(len);
        self.parsed = if reply.is_some() {
            0
        } else {
            self.parsed + len
        };
        if self.parsed + self.line.bytes().len() > ANSWER_LEN_MAX && reply.is_none() {
            return Err("its reply is too long".to_owned());
        }
        Ok(reply)
    }
}
