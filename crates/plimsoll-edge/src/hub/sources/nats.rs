//! Messages from NATS: what is published to a subject goes to the hub.

mod said;

use std::convert::Infallible;
use std::fmt::Write as _;

use plimsoll_config::edge::HubSource;
use serde_json::{Value, json};

use super::super::redis::link::PATIENCE;
use super::{Ear, Line};
use said::{Malformed, Said};

const PING: &[u8] = b"PING\r\n";
const PONG: &[u8] = b"PONG\r\n";

/// One connection, until it ends; why it did.
pub(super) async fn listen(ear: &mut Ear, config: &HubSource) -> Result<Infallible, String> {
    let mut line = Line::open(config).await?;
    greet(&mut line).await?;
    line.send(&commands(config)).await?;
    let mut is_asked = true;
    loop {
        let mut pongs = 0;
        loop {
            let read = said::read(line.bytes()).map_err(not_understood)?;
            let Some((len, said)) = read else {
                break;
            };
            match said {
                Said::Message { subject, data } => {
                    let subject = String::from_utf8_lossy(subject);
                    ear.publish(&subject, &String::from_utf8_lossy(data)).await;
                }
                Said::Error(why) => return Err(String::from_utf8_lossy(why).into_owned()),
                Said::Ping => pongs += 1,
                // The first answers what was said behind the subscriptions.
                Said::Pong => ear.arrive(),
                Said::Info(_) | Said::Ok => {}
            }
            line.advance(len);
        }
        for _ in 0..pongs {
            line.send(PONG).await?;
        }
        line.more_or_ask(&mut is_asked, PING).await?;
    }
}

/// What a server says first.
async fn greet(line: &mut Line) -> Result<(), String> {
    loop {
        if let Some((len, said)) = said::read(line.bytes()).map_err(not_understood)? {
            let Said::Info(info) = said else {
                return Err("it does not say who it is".to_owned());
            };
            let info: Value = serde_json::from_slice(info).unwrap_or_default();
            if info["tls_required"] == true {
                return Err("it wants TLS, which is not spoken here".to_owned());
            }
            line.advance(len);
            return Ok(());
        }
        if !line.more(PATIENCE).await? {
            return Err(format!("no answer within {PATIENCE:?}"));
        }
    }
}

/// Who listens, to what, and whether that is understood.
fn commands(config: &HubSource) -> Vec<u8> {
    let mut who = json!({
        "verbose": false, "pedantic": false, "tls_required": false, "headers": false, "echo": false,
        "lang": "rust", "version": env!("CARGO_PKG_VERSION"), "name": "plimsoll", "protocol": 1,
    });
    match (&config.user, &config.password) {
        (Some(user), password) => {
            who["user"] = user.as_str().into();
            who["pass"] = password.as_deref().unwrap_or_default().into();
        }
        (None, Some(token)) => who["auth_token"] = token.as_str().into(),
        (None, None) => {}
    }
    let mut said = format!("CONNECT {who}\r\n");
    for (number, subject) in config.names.iter().enumerate() {
        let _ = write!(said, "SUB {subject} {}\r\n", number + 1);
    }
    let mut said = said.into_bytes();
    said.extend_from_slice(PING);
    said
}

fn not_understood(_: Malformed) -> String {
    "what it says is not understood".to_owned()
}
