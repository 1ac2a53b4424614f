//! Small requests to a server of this machine, each on a new connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result};

/// Longer than a hub needs that delivers 20,000 messages before it responds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A response.
#[derive(Debug)]
pub struct HttpReply {
    /// Its status code.
    pub status: u16,
    head: String,
    /// What follows its head.
    pub body: String,
}

impl HttpReply {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Posts JSON to a loopback port.
///
/// # Errors
///
/// If there is no complete response in time.
pub fn post(port: u16, path: &str, body: &str) -> Result<HttpReply> {
    send(
        port,
        &format!("POST {path}"),
        "Content-Type: application/json\r\n",
        body,
    )
}

/// Gets a path from a loopback port.
///
/// # Errors
///
/// If there is no complete response in time.
pub fn get(port: u16, path: &str) -> Result<HttpReply> {
    send(port, &format!("GET {path}"), "", "")
}

/// Asks as a browser does, with a cookie; a form makes it a POST.
///
/// # Errors
///
/// If there is no complete response in time.
pub fn exchange(
    port: u16,
    path: &str,
    cookie: &str,
    form: Option<&[(&str, &str)]>,
) -> Result<HttpReply> {
    let method = if form.is_some() { "POST" } else { "GET" };
    let body = form.map(encode).unwrap_or_default();
    let headers =
        format!("Cookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n");
    send(port, &format!("{method} {path}"), &headers, &body)
}

fn send(port: u16, what: &str, headers: &str, body: &str) -> Result<HttpReply> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = format!(
        "{what} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .with_context(|| format!("no whole answer to {what}"))?;
    read(&answer).with_context(|| format!("no answer to {what}: {answer}"))
}

fn read(answer: &str) -> Option<HttpReply> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some(HttpReply {
        status: head.split(' ').nth(1)?.parse().ok()?,
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
    fn an_answer_is_its_status_its_headers_and_what_follows() {
        let answer = read("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok").unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (202, "ok"));
        assert_eq!(answer.header("content-length"), Some("2"));
        assert_eq!(answer.header("location"), None);
        assert!(read("HTTP/1.1 202").is_none());
    }

    #[test]
    fn forms_are_escaped() {
        assert_eq!(
            encode(&[("name", "a b"), ("code", "x=1;\n")]),
            "name=a%20b&code=x%3D1%3B%0A"
        );
    }
}
