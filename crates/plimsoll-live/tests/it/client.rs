//! A browser without a screen: one request on a socket, as bytes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use plimsoll_live::LivePage;
use serde_json::Value;

/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_mins(1);

/// Address and path of a page.
pub(crate) fn place(page: &LivePage) -> (SocketAddr, String) {
    let rest = page.url().strip_prefix("http://").unwrap();
    let (address, token) = rest.split_once('/').unwrap();
    (address.parse().unwrap(), format!("/{token}"))
}

/// Sends a head and a body; returns the open connection.
pub(crate) fn send(address: SocketAddr, head: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let len = body.len();
    write!(stream, "{head}\r\nContent-Length: {len}\r\n\r\n{body}").unwrap();
    stream
}

/// Status and the whole response of a request on a connection of its own.
pub(crate) fn fetch(address: SocketAddr, head: &str, body: &str) -> (u16, String) {
    let head = format!("{head}\r\nConnection: close");
    let mut text = String::new();
    send(address, &head, body)
        .read_to_string(&mut text)
        .unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    (status, text)
}

/// Documents as they come.
pub(crate) struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    pub(crate) fn open(page: &LivePage) -> Self {
        let (address, path) = place(page);
        let head = format!("GET {path}events HTTP/1.1\r\nHost: {address}");
        Self {
            lines: BufReader::new(send(address, &head, "")),
        }
    }

    /// The next document; `None` at the end. Chunks of HTTP are lines of their own.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(json) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(json).unwrap());
            }
        }
    }
}
