//! Messages from NATS: messages of a subject go to the hub.

pub(in crate::hub) mod protocol;

use std::convert::Infallible;
use std::fmt::Write as _;

use plimsoll_config::edge::{HubSource, ServerTls};
use serde_json::{Value, json};

use super::super::dial::within;
use super::{BufferedConnection, SourceSession};
use protocol::{MalformedNats, NatsOp};

pub(in crate::hub) const PING: &[u8] = b"PING\r\n";
pub(in crate::hub) const PONG: &[u8] = b"PONG\r\n";

/// One connection until it ends; returns why.
pub(super) async fn listen(
    session: &mut SourceSession,
    config: &HubSource,
) -> Result<Infallible, String> {
    let line = BufferedConnection::open(&config.host, config.port).await?;
    let (mut line, _) = greet(line, &config.host, config.tls.as_ref()).await?;
    line.send(&commands(config)).await?;
    let entering = async {
        while !take_all(session, &mut line).await? {
            line.must_have_more().await?;
        }
        Ok(())
    };
    within(entering).await?;
    session.arrive();
    let mut is_asked = false;
    loop {
        line.more_or_ping(&mut is_asked, PING).await?;
        take_all(session, &mut line).await?;
    }
}

/// Handles complete messages; whether a PONG arrived. The first ping is sent behind the subscriptions.
async fn take_all(
    session: &mut SourceSession,
    line: &mut BufferedConnection,
) -> Result<bool, String> {
    let (mut pings, mut is_answered) = (0, false);
    loop {
        let read = protocol::read(line.bytes()).map_err(not_understood)?;
        let Some((len, op)) = read else {
            break;
        };
        match op {
            NatsOp::Message { subject, data, .. } => {
                let subject = String::from_utf8_lossy(subject);
                session
                    .publish(&subject, &String::from_utf8_lossy(data))
                    .await;
            }
            NatsOp::Error(why) => return Err(String::from_utf8_lossy(why).into_owned()),
            NatsOp::Ping => pings += 1,
            NatsOp::Pong => is_answered = true,
            NatsOp::Info(_) | NatsOp::Ok => {}
        }
        line.advance(len);
    }
    for _ in 0..pings {
        line.send(PONG).await?;
    }
    Ok(is_answered)
}

/// Reads the server's INFO; upgrades to TLS where configured.
pub(in crate::hub) async fn greet(
    mut line: BufferedConnection,
    host: &str,
    tls: Option<&ServerTls>,
) -> Result<(BufferedConnection, Value), String> {
    let info = within(introduction(&mut line)).await?;
    let offers_tls = info["tls_required"] == true || info["tls_available"] == true;
    match tls {
        Some(_) if !offers_tls => Err("the server does not offer TLS; remove `tls`".to_owned()),
        Some(tls) => Ok((line.secure(host, tls).await?, info)),
        None if info["tls_required"] == true => {
            Err("the server requires TLS; set `tls: true`".to_owned())
        }
        None => Ok((line, info)),
    }
}

async fn introduction(line: &mut BufferedConnection) -> Result<Value, String> {
    loop {
        if let Some((len, op)) = protocol::read(line.bytes()).map_err(not_understood)? {
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

/// Credentials: user and password, or a token.
pub(in crate::hub) fn connect(
    user: Option<&str>,
    password: Option<&str>,
    is_secure: bool,
) -> String {
    let mut who = json!({
        "verbose": false, "pedantic": false, "tls_required": is_secure, "headers": false, "echo": false,
        "lang": "rust", "version": env!("CARGO_PKG_VERSION"), "name": "plimsoll", "protocol": 1,
    });
    match (user, password) {
        (Some(user), password) => {
            who["user"] = user.into();
            who["pass"] = password.unwrap_or_default().into();
        }
        (None, Some(token)) => who["auth_token"] = token.into(),
        (None, None) => {}
    }
    format!("CONNECT {who}\r\n")
}

/// CONNECT, the subscriptions, and a ping that confirms them.
fn commands(config: &HubSource) -> Vec<u8> {
    let mut commands = connect(
        config.user.as_deref(),
        config.password.as_deref(),
        config.tls.is_some(),
    );
    for (number, subject) in config.names.iter().enumerate() {
        let _ = write!(commands, "SUB {subject} {}\r\n", number + 1);
    }
    let mut commands = commands.into_bytes();
    commands.extend_from_slice(PING);
    commands
}

pub(in crate::hub) fn not_understood(_: MalformedNats) -> String {
    "malformed message".to_owned()
}
