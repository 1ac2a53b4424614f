//! Pages over HTTP.

use plimsoll_model::component::ComponentAddress;
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::{self, BodyLength};

use super::{ComponentLink, ScrapeError, shortly};

/// Longest head of a response, bytes.
const HEAD_LEN_MAX: usize = 64 << 10;

/// The body of a page over HTTP. The connection is kept alive where the response has a known length.
pub(crate) fn page(link: &mut ComponentLink) -> Result<String, ScrapeError> {
    let Some(path) = link.place().path().map(str::to_owned) else {
        return Err(ScrapeError::Strange("no URL".to_owned()));
    };
    get(link, &path)
}

/// The same of any page there.
pub(crate) fn get(link: &mut ComponentLink, path: &str) -> Result<String, ScrapeError> {
    fetch(link, path, "keep-alive")
}

/// The same over a connection that is closed afterwards: for pages without a known length, and where a keep-alive
/// connection would occupy a worker.
pub(crate) fn get_once(link: &mut ComponentLink, path: &str) -> Result<String, ScrapeError> {
    link.close();
    let page = fetch(link, path, "close");
    link.close();
    page
}

fn fetch(link: &mut ComponentLink, path: &str, then: &str) -> Result<String, ScrapeError> {
    let host = match link.place() {
        ComponentAddress::Tcp { host, port }
        | ComponentAddress::Page { host, port, .. }
        | ComponentAddress::Figures { host, port, .. }
        | ComponentAddress::Machine { host, port, .. } => {
            let address = ComponentAddress::Tcp {
                host: host.clone(),
                port: *port,
            };
            // IPv6 in brackets.
            address.to_string()
        }
        ComponentAddress::Socket(_)
        | ComponentAddress::File(_)
        | ComponentAddress::Command(_)
        | ComponentAddress::SocketPage { .. } => "localhost".to_owned(),
    };
    let request = format!(
        "GET {path} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: plimsoll\r\nConnection: {then}\r\n\r\n"
    );
    link.open()?;
    link.send(request.as_bytes())?;
    let mut answer = Vec::new();
    let head_len = fill_head(link, &mut answer)?;
    let text = String::from_utf8_lossy(&answer[..head_len]).into_owned();
    let head = head::parse(&answer[..head_len]);
    let head = head.map_err(|_| ScrapeError::Strange(shortly(&text)))?;
    // `fill` limits the length. Some servers respond in chunks to any request, even one of HTTP/1.0.
    let mut reader = BodyReader::new(head.length, u64::MAX);
    let (mut body, mut at) = (Vec::new(), head_len);
    loop {
        let taken = reader.take(&answer[at..], |piece| body.extend_from_slice(piece));
        at += taken.map_err(|error| ScrapeError::Strange(error.to_string()))?;
        if reader.is_complete() {
            break;
        }
        if link.fill(&mut answer)? == 0 {
            if reader.ends_with_connection() {
                break;
            }
            return Err(ScrapeError::Closed);
        }
    }
    let is_sized = matches!(head.length, BodyLength::Sized(_));
    if !is_sized || !text.to_ascii_lowercase().contains("connection: keep-alive") {
        link.close();
    }
    match head.status {
        200 => Ok(String::from_utf8_lossy(&body).into_owned()),
        401 | 403 => Err(ScrapeError::Denied(shortly(&text))),
        _ => Err(ScrapeError::Strange(shortly(&text))),
    }
}

/// Reads until the head of a response is complete; returns its length.
fn fill_head(link: &mut ComponentLink, answer: &mut Vec<u8>) -> Result<usize, ScrapeError> {
    loop {
        if let Some(at) = answer.windows(4).position(|four| four == b"\r\n\r\n") {
            return Ok(at + 4);
        }
        if answer.len() > HEAD_LEN_MAX {
            let why = format!("a response head longer than {} KiB", HEAD_LEN_MAX >> 10);
            return Err(ScrapeError::Strange(why));
        }
        if link.fill(answer)? == 0 {
            return Err(if answer.is_empty() {
                ScrapeError::Closed
            } else {
                ScrapeError::Strange(shortly(&String::from_utf8_lossy(answer)))
            });
        }
    }
}
