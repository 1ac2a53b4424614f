//! One request and its response, to check a server without load.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result};

/// No answer of a healthy server takes this long.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What a server of this machine answered.
#[derive(Debug)]
pub(crate) struct CaseResponse {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl CaseResponse {
    /// The first header of this name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Sends a request on a new connection; a form makes it a POST.
pub(crate) fn exchange(
    port: u16,
    path: &str,
    cookie: &str,
    form: Option<&[(&str, &str)]>,
) -> Result<CaseResponse> {
    let method = if form.is_some() { "POST" } else { "GET" };
    let body = form.map(encode).unwrap_or_default();
    let mut stream =
        TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nCookie: {cookie}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .with_context(|| format!("no whole answer to {method} {path}"))?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .with_context(|| format!("no head in the answer to {method} {path}"))?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .with_context(|| format!("no status in the answer to {method} {path}"))?;
    Ok(CaseResponse {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

/// `application/x-www-form-urlencoded`.
fn encode(fields: &[(&str, &str)]) -> String {
    let escape = |text: &str| -> String {
        text.bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                    char::from(byte).to_string()
                }
                _ => format!("%{byte:02X}"),
            })
            .collect()
    };
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", escape(name), escape(value)))
        .collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_escaped() {
        assert_eq!(
            encode(&[("name", "a b"), ("code", "x=1;\n")]),
            "name=a%20b&code=x%3D1%3B%0A"
        );
    }
}
