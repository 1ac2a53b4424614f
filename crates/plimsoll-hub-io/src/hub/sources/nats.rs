//! Messages from NATS: messages of a subject go to the hub.

pub(in crate::hub) mod protocol;

use std::convert::Infallible;
use std::fmt::Write as _;

use plimsoll_config::edge::{HubSource, ServerTls};
use serde_json::{Value, json};

use super::SourceSession;
use crate::hub::dial::{BufferedConnection, within};
use protocol::NatsOp;

/// One connection until it ends; returns why.
pub(super) async fn listen(
    session: &mut SourceSession,
    config: &HubSource,
) -> Result<Infallible, String> {
    let credentials = (config.user.as_deref(), config.password.as_deref());
    let (mut nats, _) =
        NatsLine::open(&config.host, config.port, credentials, config.tls.as_ref()).await?;
    let mut commands = String::new();
    for (number, subject) in (1..).zip(&config.names) {
        let _ = write!(commands, "SUB {subject} {number}\r\n");
    }
    nats.line.send((commands + PING).as_bytes()).await?;
    let entering = async {
        while !take_all(session, &mut nats).await? {
            nats.line.must_have_more().await?;
        }
        Ok(())
    };
    within(entering).await?;
    session.arrive();
    let mut is_asked = false;
    loop {
        nats.line
            .more_or_ping(&mut is_asked, PING.as_bytes())
            .await?;
        take_all(session, &mut nats).await?;
    }
}

/// Handles complete messages; whether a PONG arrived. The first ping is sent behind the subscriptions.
async fn take_all(session: &mut SourceSession, nats: &mut NatsLine) -> Result<bool, String> {
    let mut is_answered = false;
    while let Some(op) = nats.received().await? {
        match op {
            NatsOp::Message { subject, data, .. } => {
                let subject = String::from_utf8_lossy(subject);
                session
                    .publish(&subject, &String::from_utf8_lossy(data))
                    .await;
            }
            _ => is_answered = true,
        }
    }
    Ok(is_answered)
}

/// A connection to NATS that replies to pings, and ends when the server reports an error.
pub(in crate::hub) struct NatsLine {
    pub(in crate::hub) line: BufferedConnection,
    /// Length of the message that was returned last.
    len: usize,
}

/// A ping, which confirms everything sent before.
pub(in crate::hub) const PING: &str = "PING\r\n";

impl NatsLine {
    /// Connects, by TLS where configured, and sends the credentials: user and password, or a token. Returns the
    /// server's INFO too.
    ///
    /// # Errors
    /// A message.
    pub(in crate::hub) async fn open(
        host: &str,
        port: u16,
        credentials: (Option<&str>, Option<&str>),
        tls: Option<&ServerTls>,
    ) -> Result<(Self, Value), String> {
        let mut line = BufferedConnection::open(host, port).await?;
        let info = within(introduction(&mut line)).await?;
        let offers_tls = info["tls_required"] == true || info["tls_available"] == true;
        match tls {
            Some(_) if !offers_tls => {
                return Err("the server does not offer TLS; remove `tls`".to_owned());
            }
            Some(tls) => line = line.secure(host, tls).await?,
            None if info["tls_required"] == true => {
                return Err("the server requires TLS; set `tls: true`".to_owned());
            }
            None => {}
        }
        line.send(connect(credentials, tls.is_some()).as_bytes())
            .await?;
        Ok((Self { line, len: 0 }, info))
    }

    /// The next received message or PONG; `None` when more data is needed.
    ///
    /// # Errors
    /// A message, also when the server reports an error.
    pub(in crate::hub) async fn received(&mut self) -> Result<Option<NatsOp<'_>>, String> {
        self.line.advance(std::mem::take(&mut self.len));
        loop {
            let (len, is_ping) = match read(&self.line)? {
                None => return Ok(None),
                Some((_, NatsOp::Error(why))) => {
                    return Err(String::from_utf8_lossy(why).into_owned());
                }
                Some((len, NatsOp::Message { .. } | NatsOp::Pong)) => {
                    self.len = len;
                    break;
                }
                Some((len, op)) => (len, op == NatsOp::Ping),
            };
            self.line.advance(len);
            if is_ping {
                self.line.send(b"PONG\r\n").await?;
            }
        }
        // Read again: a message cannot be returned out of the loop that goes on without one.
        Ok(read(&self.line)?.map(|(_, op)| op))
    }
}

fn read(line: &BufferedConnection) -> Result<Option<(usize, NatsOp<'_>)>, String> {
    protocol::read(line.bytes()).map_err(|_| "malformed message".to_owned())
}

/// Waits for the server's INFO.
async fn introduction(line: &mut BufferedConnection) -> Result<Value, String> {
    loop {
        if let Some((len, op)) = read(line)? {
            let NatsOp::Info(info) = op else {
                return Err("no INFO from the server".to_owned());
            };
            let info = serde_json::from_slice(info).unwrap_or_default();
            line.advance(len);
            return Ok(info);
        }
        line.must_have_more().await?;
    }
}

fn connect(credentials: (Option<&str>, Option<&str>), is_secure: bool) -> String {
    let mut who = json!({
        "verbose": false, "pedantic": false, "tls_required": is_secure, "headers": false, "echo": false,
        "lang": "rust", "version": env!("CARGO_PKG_VERSION"), "name": "plimsoll", "protocol": 1,
    });
    match credentials {
        (Some(user), password) => {
            who["user"] = user.into();
            who["pass"] = password.unwrap_or_default().into();
        }
        (None, Some(token)) => who["auth_token"] = token.into(),
        (None, None) => {}
    }
    format!("CONNECT {who}\r\n")
}
