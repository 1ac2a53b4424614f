//! Small requests to a hub during its load.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result};

/// Longer than a hub needs that delivers 20,000 messages before it responds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A response.
pub struct HttpReply {
    /// Its status code.
    pub status: u16,
    /// What follows its head.
    pub body: String,
}

/// Posts JSON to a loopback port.
///
/// # Errors
///
/// If there is no complete response in time.
pub fn post(port: u16, path: &str, body: &str) -> Result<HttpReply> {
    exchange(port, "POST", path, body)
}

/// Gets a path from a loopback port.
///
/// # Errors
///
/// If there is no complete response in time.
pub fn get(port: u16, path: &str) -> Result<HttpReply> {
    exchange(port, "GET", path, "")
}

/// Sends a request on a new connection.
fn exchange(port: u16, method: &str, path: &str, body: &str) -> Result<HttpReply> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .with_context(|| format!("no whole answer to {method} {path}"))?;
    read(&answer).with_context(|| format!("no answer to {method} {path}: {answer}"))
}

fn read(answer: &str) -> Option<HttpReply> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some(HttpReply {
        status: head.split(' ').nth(1)?.parse().ok()?,
        body: body.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_status_and_what_follows() {
        let answer = read("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok").unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (202, "ok"));
        assert!(read("HTTP/1.1 202").is_none());
    }
}
