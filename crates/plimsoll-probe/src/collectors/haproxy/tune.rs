//! `maxconn` of `HAProxy`, by its stats socket.

use plimsoll_model::component::{ComponentAddress, Tunable};

use super::parse::{self, rows, split};
use crate::collectors::link::shortly;
use crate::collectors::tunables::{TunableAccess, TunableClient, TunableError, whole_number};

/// How its settings are changed.
pub(super) const ACCESS: TunableAccess = TunableAccess {
    value,
    set,
    manual_command,
    format_value: whole_number,
    has_default: false,
};

/// The current value.
fn value(client: &mut TunableClient<'_>) -> Result<Option<String>, TunableError> {
    let reply = ask(client, "show info;show stat")?;
    Ok(maxconn(&reply, &client.tunable.of))
}

/// Changes it.
fn set(client: &mut TunableClient<'_>, value: &str) -> Result<(), TunableError> {
    let reply = ask(client, &change(client.tunable, value))?;
    if reply.starts_with("Permission denied") {
        return Err(TunableError::new(
            "HAProxy's socket is read-only; set in its `global`: `stats socket PATH mode 600 level admin`, \
             then reload it"
                .to_owned(),
        ));
    }
    if !reply.is_empty() {
        return Err(TunableError::new(format!(
            "HAProxy refuses: {}",
            shortly(&reply)
        )));
    }
    Ok(())
}

/// The manual command that sets it.
fn manual_command(tunable: &Tunable, value: &str) -> String {
    format!(
        "`echo '{}' | socat - {}`",
        change(tunable, value),
        tunable.place
    )
}

/// `maxconn` in HAProxy's output.
fn maxconn(output: &str, of: &str) -> Option<String> {
    let (info, csv) = split(output)?;
    if of.is_empty() {
        return parse::value(info, "Maxconn").map(str::to_owned);
    }
    let (proxy, server) = of.split_once('/').unwrap_or((of, "FRONTEND"));
    let own = rows(csv)
        .into_iter()
        .find(|row| row.proxy == proxy && row.server == server)?;
    // A server without a limit has 0.
    Some(own.limit.unwrap_or(0).to_string())
}

fn change(tunable: &Tunable, value: &str) -> String {
    match tunable.of.as_str() {
        "" => format!("set maxconn global {value}"),
        of if of.contains('/') => format!("set maxconn server {of} {value}"),
        of => format!("set maxconn frontend {of} {value}"),
    }
}

fn ask(client: &mut TunableClient<'_>, command: &str) -> Result<String, TunableError> {
    if !matches!(
        client.tunable.place,
        ComponentAddress::Socket(_) | ComponentAddress::Tcp { .. }
    ) {
        return Err(TunableError::new(
            "HAProxy is changed through its stats socket, not through its stats page: watch the socket"
                .to_owned(),
        ));
    }
    client.link.open()?;
    client.link.send(format!("{command}\n").as_bytes())?;
    let mut answer = Vec::new();
    client.link.rest(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).trim().to_owned())
}
