//! Settings of Redis and Valkey, by `CONFIG`.

use plimsoll_model::component::{ComponentAddress, Tunable};

use crate::collectors::link::{ComponentLink, ScrapeError, shortly};
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
    let reply = ask(client, &["CONFIG", "GET", &client.tunable.setting])?;
    Ok(reply.get(1).cloned())
}

/// Changes it.
fn set(client: &mut TunableClient<'_>, value: &str) -> Result<(), TunableError> {
    ask(client, &["CONFIG", "SET", &client.tunable.setting, value])?;
    Ok(())
}

/// The manual command that sets it.
fn manual_command(tunable: &Tunable, value: &str) -> String {
    let way = match &tunable.place {
        ComponentAddress::Tcp { host, port } => format!("-h {host} -p {port}"),
        place => format!("-s {place}"),
    };
    format!("`redis-cli {way} CONFIG SET {} {value}`", tunable.setting)
}

fn ask(client: &mut TunableClient<'_>, words: &[&str]) -> Result<Vec<String>, TunableError> {
    if client.link.open()?
        && let Some(login) = client.login
    {
        let words: &[&str] = match login.user.as_str() {
            "" => &["AUTH", &login.password],
            user => &["AUTH", user, &login.password],
        };
        replies(&mut client.link, words)?;
    }
    replies(&mut client.link, words)
}

/// Sends a command to Redis and reads its response: one text, or several.
fn replies(link: &mut ComponentLink, command: &[&str]) -> Result<Vec<String>, TunableError> {
    let mut bytes = format!("*{}\r\n", command.len());
    for argument in command {
        bytes.extend(["$", &argument.len().to_string(), "\r\n", argument, "\r\n"]);
    }
    link.send(bytes.as_bytes())?;
    let mut answer = Vec::new();
    let mut at = 0;
    let head = line(link, &mut answer, &mut at)?;
    let count = match head.split_at_checked(1) {
        Some(("+", text)) => return Ok(vec![text.to_owned()]),
        Some(("-", refused)) => {
            return Err(TunableError::new(format!(
                "Redis refuses: {}",
                shortly(refused)
            )));
        }
        Some(("*", count)) => count.parse::<usize>().ok(),
        _ => None,
    };
    let strange = || {
        TunableError::new(format!(
            "unexpected response from Redis ({})",
            shortly(&head)
        ))
    };
    let count = count.filter(|&count| count <= 64).ok_or_else(strange)?;
    let mut texts = Vec::new();
    for _ in 0..count {
        let head = line(link, &mut answer, &mut at)?;
        let len = head.strip_prefix('$').and_then(|len| len.parse().ok());
        let len: usize = len.ok_or_else(strange)?;
        let end = at.saturating_add(len).saturating_add(2);
        while answer.len() < end {
            if link.fill(&mut answer)? == 0 {
                return Err(ScrapeError::Closed.into());
            }
        }
        texts.push(String::from_utf8_lossy(&answer[at..end - 2]).into_owned());
        at = end;
    }
    Ok(texts)
}

/// The next line of a response.
fn line(
    link: &mut ComponentLink,
    answer: &mut Vec<u8>,
    at: &mut usize,
) -> Result<String, TunableError> {
    loop {
        let rest = &answer[*at..];
        if let Some(len) = rest.windows(2).position(|two| two == b"\r\n") {
            let text = String::from_utf8_lossy(&rest[..len]).into_owned();
            *at += len + 2;
            return Ok(text);
        }
        if link.fill(answer)? == 0 {
            return Err(ScrapeError::Closed.into());
        }
    }
}
