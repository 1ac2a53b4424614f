//! Synthetic responses: what a client receives when no server answers. Designed to cost next to nothing.

use plimsoll_config::edge::{Compress, CompressCoding};
use plimsoll_hub_io::browser_client::File;
use plimsoll_net::reason::Reason;

use crate::message::compress;

/// A response for a waiting browser.
#[derive(Clone, Debug)]
pub(crate) struct WaitingPage {
    pub(crate) content: String,
    pub(crate) retry_s: u32,
    /// Whether the page itself determines when it polls again.
    pub(crate) retries_itself: bool,
    pub(crate) cookie: Option<String>,
}

/// A fallback with its head prepared at start, in all codings of its route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FallbackPage {
    media_type: String,
    plain: Form,
    packed: Vec<(CompressCoding, Form)>,
}

/// A page ready to send.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Form {
    /// Status line and headers except the date.
    head: Vec<u8>,
    content: Vec<u8>,
}

impl Form {
    fn new(media_type: &str, content: Vec<u8>, extra: &str) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             X-Plimsoll: fallback\r\n{extra}",
            content.len()
        );
        Self {
            head: head.into_bytes(),
            content,
        }
    }
}

impl FallbackPage {
    /// Uncompressed.
    pub(crate) fn new(media_type: &str, content: Vec<u8>) -> Self {
        Self {
            media_type: media_type.to_owned(),
            plain: Form::new(media_type, content, ""),
            packed: Vec::new(),
        }
    }

    /// Compressed too where worthwhile: once, however often it is requested.
    pub(crate) fn packed(&self, compress: &Compress) -> Self {
        let plain = &self.plain.content;
        let is_short = (plain.len() as u64) < compress.len_min;
        if is_short || !compress::matches_media_type(self.media_type.as_bytes(), &compress.types) {
            return self.clone();
        }
        let pack = |coding: &CompressCoding| {
            let packed = compress::pack(*coding, plain).ok()?;
            let coding_name = compress::name(*coding);
            let extra = format!("Content-Encoding: {coding_name}\r\nVary: Accept-Encoding\r\n");
            let is_shorter = packed.len() < plain.len();
            is_shorter.then(|| (*coding, Form::new(&self.media_type, packed, &extra)))
        };
        let packed: Vec<_> = compress.codings.iter().filter_map(pack).collect();
        let vary = if packed.is_empty() {
            ""
        } else {
            "Vary: Accept-Encoding\r\n"
        };
        Self {
            plain: Form::new(&self.media_type, plain.clone(), vary),
            packed,
            media_type: self.media_type.clone(),
        }
    }

    fn form(&self, coding: Option<CompressCoding>) -> &Form {
        let mut packed = self.packed.iter();
        let found = packed.find(|(candidate, _)| Some(*candidate) == coding);
        found.map_or(&self.plain, |(_, form)| form)
    }

    /// The uncompressed page.
    #[cfg(test)]
    pub(crate) fn content(&self) -> &[u8] {
        &self.plain.content
    }
}

/// How a response is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseOptions<'a> {
    /// Only its head (HEAD).
    pub(crate) head_only: bool,
    /// The `Connection` header line, or nothing.
    pub(crate) connection: &'a str,
    pub(crate) date: &'a str,
}

/// Writes the fallback in a coding, if it exists in that coding.
pub(crate) fn fallback(
    out: &mut Vec<u8>,
    page: &FallbackPage,
    coding: Option<CompressCoding>,
    manner: ResponseOptions<'_>,
) {
    let Form { head, content } = page.form(coding);
    out.extend_from_slice(head);
    end_head(out, manner);
    if !manner.head_only {
        out.extend_from_slice(content);
    }
}

/// Writes a rejection or another short response. `extra` are whole header lines.
pub(crate) fn words(
    out: &mut Vec<u8>,
    status: u16,
    reason: Reason,
    extra: &str,
    manner: ResponseOptions<'_>,
) {
    let phrase = phrase(status);
    let name = reason.name();
    // "503 Service Unavailable: queue-full\n"
    let len = 3 + 1 + phrase.len() + 2 + name.len() + 1;
    let status = status.to_string();
    let len = len.to_string();
    for chunk in [
        "HTTP/1.1 ",
        &status,
        " ",
        phrase,
        "\r\nContent-Type: text/plain\r\nContent-Length: ",
        &len,
        "\r\nCache-Control: no-store\r\nX-Plimsoll: ",
        name,
        "\r\n",
        extra,
    ] {
        out.extend_from_slice(chunk.as_bytes());
    }
    end_head(out, manner);
    if !manner.head_only {
        for chunk in [&status, " ", phrase, ": ", name, "\n"] {
            out.extend_from_slice(chunk.as_bytes());
        }
    }
}

/// Writes a rejection with an explanation, and further header lines.
pub(crate) fn explained(
    out: &mut Vec<u8>,
    status: u16,
    reason: Reason,
    (why, extra): (&str, &str),
    manner: ResponseOptions<'_>,
) {
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nX-Plimsoll: {}\r\n{extra}",
        phrase(status),
        why.len() + 1,
        reason.name()
    );
    out.extend_from_slice(head.as_bytes());
    end_head(out, manner);
    if !manner.head_only {
        out.extend_from_slice(why.as_bytes());
        out.push(b'\n');
    }
}

/// Writes a text response of the hub.
pub(crate) fn text(out: &mut Vec<u8>, text: &str, extra: &str, manner: ResponseOptions<'_>) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nX-Plimsoll: {}\r\n{extra}",
        text.len(),
        Reason::Hub.name()
    );
    out.extend_from_slice(head.as_bytes());
    end_head(out, manner);
    if !manner.head_only {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Writes a public file, cacheable for an hour; only its head if the client already has it.
pub(crate) fn file(out: &mut Vec<u8>, file: &File, is_known: bool, manner: ResponseOptions<'_>) {
    let File {
        media_type,
        content,
        tag,
    } = file;
    let head = if is_known {
        "HTTP/1.1 304 Not Modified\r\n".to_owned()
    } else {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n",
            content.len()
        )
    };
    out.extend_from_slice(head.as_bytes());
    for chunk in [
        "ETag: ",
        tag,
        "\r\nCache-Control: public, max-age=3600\r\nAccess-Control-Allow-Origin: *\r\n\
         X-Content-Type-Options: nosniff\r\n",
    ] {
        out.extend_from_slice(chunk.as_bytes());
    }
    end_head(out, manner);
    if !manner.head_only && !is_known {
        out.extend_from_slice(content.as_bytes());
    }
}

/// Writes the waiting page. It is not the requested resource, so its status is that of a rejection.
pub(crate) fn waiting(out: &mut Vec<u8>, page: &WaitingPage, manner: ResponseOptions<'_>) {
    let retry = page.retry_s.to_string();
    let len = page.content.len().to_string();
    for chunk in [
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: ",
        &len,
        "\r\nCache-Control: no-store\r\nX-Plimsoll: waiting\r\nRetry-After: ",
        &retry,
        "\r\n",
    ] {
        out.extend_from_slice(chunk.as_bytes());
    }
    if !page.retries_itself {
        for chunk in ["Refresh: ", &retry, "\r\n"] {
            out.extend_from_slice(chunk.as_bytes());
        }
    }
    if let Some(cookie) = &page.cookie {
        for chunk in ["Set-Cookie: ", cookie, "\r\n"] {
            out.extend_from_slice(chunk.as_bytes());
        }
    }
    end_head(out, manner);
    if !manner.head_only {
        out.extend_from_slice(page.content.as_bytes());
    }
}

fn end_head(out: &mut Vec<u8>, manner: ResponseOptions<'_>) {
    for chunk in ["Date: ", manner.date, "\r\n", manner.connection, "\r\n"] {
        out.extend_from_slice(chunk.as_bytes());
    }
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        414 => "URI Too Long",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_wire::head::{BodyLength, find_end, parse};

    #[test]
    fn answers_are_as_long_as_they_say() {
        let page = FallbackPage::new("text/html", vec![b'x'; 2000]).packed(&Compress::default());
        for head_only in [false, true] {
            let manner = ResponseOptions {
                head_only,
                connection: "Connection: close\r\n",
                date: "Sun, 06 Nov 1994 08:49:37 GMT",
            };
            let mut answers = Vec::new();
            for coding in [
                None,
                Some(CompressCoding::Gzip),
                Some(CompressCoding::Brotli),
            ] {
                let mut out = Vec::new();
                fallback(&mut out, &page, coding, manner);
                answers.push(out);
            }
            for status in [301, 400, 404, 429, 503, 599] {
                let mut out = Vec::new();
                words(
                    &mut out,
                    status,
                    Reason::QueueFull,
                    "Retry-After: 1\r\n",
                    manner,
                );
                answers.push(out);
            }
            let mut out = Vec::new();
            let why = ("the Origin is another", "Allow: GET\r\n");
            explained(&mut out, 403, Reason::Hub, why, manner);
            answers.push(out);
            for out in answers {
                let end = find_end(&out, 0).unwrap().unwrap();
                let head = parse(&out[..end]).unwrap();
                let BodyLength::Sized(len) = head.length else {
                    panic!("no length");
                };
                let expected = if head_only { 0 } else { len };
                assert_eq!((out.len() - end) as u64, expected);
                assert!(!head.keep_alive && len > 0);
            }
        }
    }

    #[test]
    fn every_reason_has_its_own_place_and_name() {
        for (place, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
        }
    }
}
