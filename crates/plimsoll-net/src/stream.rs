//! One HTTP/2 stream: read as the bytes of a request, written to as the bytes of a response.

mod held;
mod meter;
mod resets;

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Request, Response, StatusCode};
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::{self, BodyLength, Head, Header};

use self::held::StreamBody;
pub use self::held::{Inbound, Outbound};
pub use self::meter::{ConnectionMeter, Metered};
use crate::chunk_writer;
use crate::memory::Memory;

/// One stream of a client.
pub struct Http2Stream {
    /// The next part of the request to read.
    pending: Vec<u8>,
    at: usize,
    body: StreamBody,
    /// A body of unknown length, forwarded in chunks.
    in_chunks: bool,
    body_ended: bool,
    respond: SendResponse<Outbound>,
    is_head: bool,
    answer: StreamResponse,
    meter: Rc<ConnectionMeter>,
    memory: Rc<Memory>,
}

impl fmt::Debug for Http2Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("answer", &self.answer)
            .finish_non_exhaustive()
    }
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        if matches!(self.answer, StreamResponse::Complete) {
            self.meter.count_answer();
        } else if self.is_reset() {
            self.meter.count_reset();
        }
    }
}

#[derive(Debug)]
enum StreamResponse {
    /// Its head is not read yet.
    Head,
    Body(SendStream<Outbound>, BodyReader),
    Complete,
}

impl Http2Stream {
    /// A stream with its request, read as HTTP/1.1, and the place of its response.
    pub fn new(
        request: Request<RecvStream>,
        respond: SendResponse<Outbound>,
        meter: Rc<ConnectionMeter>,
        memory: &Rc<Memory>,
    ) -> Self {
        let (parts, body) = request.into_parts();
        let has_body = !body.is_end_stream();
        let in_chunks = has_body && !parts.headers.contains_key("content-length");
        let pending = request_head(&parts, in_chunks);
        meter.useful(pending.len());
        Self {
            pending,
            at: 0,
            body: Rc::new(RefCell::new(body)),
            in_chunks,
            body_ended: !has_body,
            respond,
            is_head: parts.method == hyper::Method::HEAD,
            answer: StreamResponse::Head,
            meter,
            memory: Rc::clone(memory),
        }
    }

    /// The remaining body, if there is one.
    pub fn awaited(&self) -> Option<&StreamBody> {
        (!self.body_ended).then_some(&self.body)
    }

    /// Memory held for received data.
    pub fn memory(&self) -> usize {
        self.pending.capacity()
    }

    /// Reads received data of the request; 0 after the response.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let left = &self.pending[self.at..];
            if !left.is_empty() {
                let count = left.len().min(buffer.len());
                buffer[..count].copy_from_slice(&left[..count]);
                self.at += count;
                return Poll::Ready(Ok(count));
            }
            self.pending.clear();
            self.at = 0;
            if matches!(self.answer, StreamResponse::Complete) {
                return Poll::Ready(Ok(0));
            }
            if self.body_ended {
                return match self.poll_reset(cx) {
                    Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                    Poll::Pending => Poll::Pending,
                };
            }
            let polled = self.body.borrow_mut().poll_data(cx);
            match ready!(polled) {
                Some(Ok(data)) => {
                    self.meter.useful(data.len());
                    let mut body = self.body.borrow_mut();
                    let _ = body.flow_control().release_capacity(data.len());
                    if self.in_chunks && !data.is_empty() {
                        chunk_writer::write(&mut self.pending, &data);
                    } else {
                        self.pending.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                None => {
                    self.body_ended = true;
                    if self.in_chunks {
                        self.pending.extend_from_slice(chunk_writer::LAST_CHUNK);
                    }
                }
            }
        }
    }

    /// Whether its client has reset or broken it before the response.
    pub fn is_reset(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        self.poll_reset(&mut cx).is_ready()
    }

    fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let reset = match &mut self.answer {
            StreamResponse::Head => self.respond.poll_reset(cx),
            StreamResponse::Body(stream, _) => stream.poll_reset(cx),
            StreamResponse::Complete => return Poll::Pending,
        };
        reset.map(drop)
    }

    /// Accepts bytes of the response: a whole head, or as much of the body as the client's window allows.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.answer {
            StreamResponse::Head => Poll::Ready(self.write_head(bytes)),
            StreamResponse::Complete => Poll::Ready(Ok(0)),
            StreamResponse::Body(stream, reader) => {
                let room = ready!(poll_capacity(stream, cx, bytes.len()))?;
                let mut content = Vec::with_capacity(room);
                let taken = reader
                    .take(&bytes[..room], |piece| content.extend_from_slice(piece))
                    .map_err(io::Error::other)?;
                self.meter.useful(taken);
                let is_complete = reader.is_complete();
                if is_complete || !content.is_empty() {
                    let piece = Outbound::new(content, &self.memory);
                    stream
                        .send_data(piece, is_complete)
                        .map_err(io::Error::other)?;
                }
                if is_complete {
                    self.answer = StreamResponse::Complete;
                }
                Poll::Ready(Ok(taken))
            }
        }
    }

    /// Ends a response that is delimited by the end of its connection.
    pub fn end(&mut self) {
        if let StreamResponse::Body(stream, _) = &mut self.answer {
            // A client that is gone needs no end.
            let nothing = Outbound::new(Vec::new(), &self.memory);
            let _ = stream.send_data(nothing, true);
            self.answer = StreamResponse::Complete;
        }
    }

    fn write_head(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let wrong = || io::Error::other("incomplete response head");
        // The edge's own: a head within its limits, and what the edge adds to it.
        let end = head::find_end_within(bytes, 0, usize::MAX).ok().flatten();
        let end = end.ok_or_else(wrong)?;
        let parsed = head::parse_within(&bytes[..end], usize::MAX, |head, headers| {
            (*head, response(head, headers))
        });
        let (head, response) = parsed.map_err(io::Error::other)?;
        let response = response.ok_or_else(wrong)?;
        if head.status < 200 {
            let _ = self.respond.send_informational(response);
            return Ok(end);
        }
        let has_none = self.is_head || matches!(head.status, 204 | 304);
        let is_empty = has_none || head.length == BodyLength::Sized(0);
        let stream = self
            .respond
            .send_response(response, is_empty)
            .map_err(io::Error::other)?;
        self.answer = if is_empty {
            StreamResponse::Complete
        } else {
            StreamResponse::Body(stream, BodyReader::new(head.length, u64::MAX))
        };
        Ok(end)
    }
}

/// How many of these bytes the client's window allows; at least one.
fn poll_capacity(
    stream: &mut SendStream<Outbound>,
    cx: &mut Context<'_>,
    wanted: usize,
) -> Poll<io::Result<usize>> {
    stream.reserve_capacity(wanted);
    while stream.capacity() == 0 {
        match ready!(stream.poll_capacity(cx)) {
            Some(Ok(_)) => {}
            Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
            None => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
        }
    }
    Poll::Ready(Ok(stream.capacity().min(wanted)))
}

/// The request's head in HTTP/1.1.
fn request_head(parts: &hyper::http::request::Parts, in_chunks: bool) -> Vec<u8> {
    let mut head = Vec::with_capacity(512);
    let target = parts
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str());
    for chunk in [parts.method.as_str(), " ", target, " HTTP/1.1\r\n"] {
        head.extend_from_slice(chunk.as_bytes());
    }
    let authority = parts.uri.authority().map(Authority::as_str);
    if let Some(authority) = authority {
        put(&mut head, "host", authority.as_bytes());
    }
    for (name, value) in &parts.headers {
        let is_repeated =
            name == "host" && authority.is_some_and(|host| host.as_bytes() == value.as_bytes());
        if !is_repeated && name != "cookie" {
            put(&mut head, name.as_str(), value.as_bytes());
        }
    }
    // Split cookie fields are joined again (RFC 9113, 8.2.3).
    let crumbs: Vec<&[u8]> = parts
        .headers
        .get_all("cookie")
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if !crumbs.is_empty() {
        put(&mut head, "cookie", &crumbs.join(&b"; "[..]));
    }
    if in_chunks {
        put(&mut head, "transfer-encoding", b"chunked");
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn put(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    for chunk in [name.as_bytes(), b": ", value, b"\r\n"] {
        head.extend_from_slice(chunk);
    }
}

/// The response's head in HTTP/2: without connection-specific fields.
fn response(head: &Head, headers: &[Header<'_>]) -> Option<Response<()>> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(head.status).ok()?;
    for header in headers {
        let is_hop = ["connection", "transfer-encoding", "keep-alive", "upgrade"]
            .iter()
            .any(|hop| header.name.eq_ignore_ascii_case(hop));
        if is_hop {
            continue;
        }
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        let value = HeaderValue::from_bytes(header.value.trim_ascii()).ok()?;
        response.headers_mut().append(name, value);
    }
    Some(response)
}
