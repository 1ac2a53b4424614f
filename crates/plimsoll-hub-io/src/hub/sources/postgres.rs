//! Messages from PostgreSQL: notifications of a channel (`NOTIFY`) go to the hub.

use std::convert::Infallible;

use plimsoll_config::edge::{HubSource, ServerTls};
use plimsoll_wire::postgres::{
    self, AuthError, AuthStep, Authentication, BackendMessage, error_field, notification,
};

use super::SourceSession;
use crate::hub::dial::{BufferedConnection, within};

/// Longest message of the server, bytes: a notification has at most 8,000.
const MESSAGE_LEN_MAX: usize = 1 << 20;

/// One connection until it ends; returns why.
pub(super) async fn listen(
    session: &mut SourceSession,
    config: &HubSource,
    database: &str,
) -> Result<Infallible, String> {
    let mut line = BufferedConnection::open(&config.host, config.port).await?;
    let is_near = line.is_near();
    if let Some(tls) = &config.tls {
        line = secure(line, &config.host, tls).await?;
    }
    // A clear-text password is sent only within this host, or to a server with a verified certificate.
    let is_known = config.tls.as_ref().is_some_and(|tls| !tls.insecure);
    within(enter(&mut line, config, database, is_near || is_known)).await?;
    let listening: String = config.names.iter().map(|name| listening(name)).collect();
    line.send(&postgres::question(&listening)).await?;
    let question = postgres::question("");
    let listens = async {
        while !take_all(session, &mut line).await? {
            line.must_have_more().await?;
        }
        Ok(())
    };
    within(listens).await?;
    session.arrive();
    let mut is_asked = false;
    loop {
        line.more_or_ping(&mut is_asked, &question).await?;
        take_all(session, &mut line).await?;
    }
}

/// Handles complete messages; whether the server is ready for a query, so that all earlier ones are done.
async fn take_all(
    session: &mut SourceSession,
    line: &mut BufferedConnection,
) -> Result<bool, String> {
    let mut is_ready = false;
    while let Some((len, message)) = read(line)? {
        match message.kind {
            b'A' => {
                let (channel, data) = notification(message.body).ok_or_else(not_understood)?;
                let channel = String::from_utf8_lossy(channel);
                session
                    .publish(&channel, &String::from_utf8_lossy(data))
                    .await;
            }
            b'E' => return Err(error_message(message.body)),
            b'Z' => is_ready = true,
            _ => {}
        }
        line.advance(len);
    }
    Ok(is_ready)
}

/// Requests TLS and upgrades.
async fn secure(
    mut line: BufferedConnection,
    host: &str,
    tls: &ServerTls,
) -> Result<BufferedConnection, String> {
    line.send(&postgres::SSL_REQUEST).await?;
    loop {
        match line.bytes() {
            [] => {}
            [b'S', ..] => {
                line.advance(1);
                return line.secure(host, tls).await;
            }
            [b'N', ..] => {
                return Err(
                    "the server does not offer TLS; set `ssl = on` in postgresql.conf".to_owned(),
                );
            }
            _ => return Err(not_understood()),
        }
        line.must_have_more().await?;
    }
}

/// Authenticates.
async fn enter(
    line: &mut BufferedConnection,
    config: &HubSource,
    database: &str,
    may_send_password: bool,
) -> Result<(), String> {
    let user = config.user.as_deref().unwrap_or("postgres");
    let password = config.password.as_deref().unwrap_or_default();
    let mut entrance = Authentication::new(password, may_send_password);
    line.send(&postgres::entry(user, database)).await?;
    loop {
        while let Some((len, message)) = read(line)? {
            let answer = match message.kind {
                b'R' => match entrance.answer(message.body) {
                    Ok(AuthStep::Send(answer)) => Some(answer),
                    Ok(AuthStep::Wait) => None,
                    Err(AuthError::Denied(why) | AuthError::Strange(why)) => {
                        return Err(why.to_owned());
                    }
                    Err(AuthError::Malformed) => return Err(not_understood()),
                },
                b'E' => return Err(error_message(message.body)),
                b'Z' => {
                    line.advance(len);
                    return Ok(());
                }
                _ => None,
            };
            line.advance(len);
            if let Some(answer) = answer {
                line.send(&answer).await?;
            }
        }
        line.must_have_more().await?;
    }
}

fn read(line: &BufferedConnection) -> Result<Option<(usize, BackendMessage<'_>)>, String> {
    postgres::read(line.bytes(), MESSAGE_LEN_MAX).map_err(|_| not_understood())
}

/// The LISTEN command; the name is quoted verbatim.
fn listening(name: &str) -> String {
    format!("LISTEN \"{}\";", name.replace('"', "\"\""))
}

fn error_message(error: &[u8]) -> String {
    error_field(error, b'M').unwrap_or_else(not_understood)
}

fn not_understood() -> String {
    "malformed message".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_order() {
        assert_eq!(listening("odds"), "LISTEN \"odds\";");
        assert_eq!(listening("a\"; DROP"), "LISTEN \"a\"\"; DROP\";");
    }
}
