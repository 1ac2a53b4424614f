//! One connection to a fault origin.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use socket2::Socket;

use super::{BODY_LEN, FaultOriginState, OriginFault, answer};
use crate::origin::request::{Front, REQUEST_SIZE_MAX, front};
use crate::origin::response::whole;

/// What follows an answer.
#[derive(PartialEq, Eq)]
enum AfterResponse {
    KeepAlive,
    Close,
}

pub(super) struct FaultSession {
    socket: Socket,
    id: u64,
    shared: Arc<FaultOriginState>,
}

impl FaultSession {
    pub(super) fn new(socket: Socket, id: u64, shared: Arc<FaultOriginState>) -> Self {
        Self { socket, id, shared }
    }

    pub(super) fn run(self) {
        let Self { socket, id, shared } = self;
        // A unix socket has no such delay.
        let _ = socket.set_tcp_nodelay(true);
        // The peer's end of the connection is data for the test, not a failure of the origin.
        let _ = match &shared.identity {
            Some(identity) => identity
                .accept(socket)
                .and_then(|mut stream| serve(&mut stream, &shared)),
            None if shared.fault == OriginFault::ClosesAtOnce => Ok(()),
            None if shared.fault == OriginFault::Resets => reset(&socket, &shared),
            None => serve(&mut &socket, &shared),
        };
        shared.forget(id);
    }
}

/// Resets the connection once a request has been read.
fn reset(socket: &Socket, shared: &FaultOriginState) -> io::Result<()> {
    read_request(&mut &*socket, &mut Vec::new(), shared)?;
    socket.set_linger(Some(Duration::ZERO))
}

fn serve(stream: &mut (impl Read + Write), shared: &FaultOriginState) -> io::Result<()> {
    let mut unread = Vec::new();
    let mut served = 0;
    while let Some(request) = read_request(stream, &mut unread, shared)? {
        let next = respond(stream, shared, &request, served)?;
        served += 1;
        if next == AfterResponse::Close || !request.keep_alive {
            break;
        }
    }
    Ok(())
}

struct FaultRequest {
    keep_alive: bool,
    path: String,
    /// Its number among all requests to this origin, from 0.
    seq: u64,
}

/// Reads until a request is complete; `None` at the end of the connection.
fn read_request(
    stream: &mut impl Read,
    unread: &mut Vec<u8>,
    shared: &FaultOriginState,
) -> io::Result<Option<FaultRequest>> {
    let mut scratch = [0; 4_096];
    loop {
        match front(unread) {
            Front::Request {
                size,
                keep_alive,
                path,
                ..
            } => {
                unread.drain(..size);
                return Ok(Some(FaultRequest {
                    keep_alive,
                    path,
                    seq: shared.requests.fetch_add(1, Ordering::AcqRel),
                }));
            }
            Front::Unreadable => return Ok(None),
            Front::Incomplete => {}
        }
        let size = stream.read(&mut scratch)?;
        if size == 0 || unread.len() + size > REQUEST_SIZE_MAX {
            return Ok(None);
        }
        unread.extend_from_slice(&scratch[..size]);
    }
}

fn respond(
    stream: &mut impl Write,
    shared: &FaultOriginState,
    request: &FaultRequest,
    served: u32,
) -> io::Result<AfterResponse> {
    let good = || whole(200, &[], &answer::body());
    let (bytes, next) = match &shared.fault {
        OriginFault::None | OriginFault::Tls(_) => (good(), AfterResponse::KeepAlive),
        OriginFault::Garbage => (
            b"\x16\x03\x01 not HTTP \xff\xfe\r\n\r\n".to_vec(),
            AfterResponse::Close,
        ),
        OriginFault::ClosesInBody => {
            let mut bytes = good();
            bytes.truncate(bytes.len() - BODY_LEN / 2);
            (bytes, AfterResponse::Close)
        }
        OriginFault::SlowBody(pause) => return slow_body(stream, shared, *pause),
        OriginFault::LateAnswer { first_byte, rest } => {
            return late_answer(stream, shared, *first_byte, *rest);
        }
        OriginFault::RedirectLoop => (answer::redirect(&request.path), AfterResponse::KeepAlive),
        OriginFault::RedirectTo(location) => (answer::redirect(location), AfterResponse::KeepAlive),
        OriginFault::Status(status) => (
            whole(*status, &[], &answer::body()),
            AfterResponse::KeepAlive,
        ),
        OriginFault::Alternating(statuses) => {
            let index = usize::try_from(request.seq)
                .expect("a test sends fewer than 2^64 requests")
                % statuses.len();
            (
                whole(statuses[index], &[], &answer::body()),
                AfterResponse::KeepAlive,
            )
        }
        OriginFault::Headers(count) => (answer::with_headers(*count), AfterResponse::KeepAlive),
        OriginFault::Chunked(chunk_size) => {
            (answer::chunked(*chunk_size), AfterResponse::KeepAlive)
        }
        OriginFault::Gzip => (answer::gzip(), AfterResponse::KeepAlive),
        OriginFault::Brotli => (answer::brotli(), AfterResponse::KeepAlive),
        OriginFault::Http10Close => (answer::until_close(), AfterResponse::Close),
        OriginFault::ClosesAfter(count) => (
            good(),
            if served + 1 < *count {
                AfterResponse::KeepAlive
            } else {
                AfterResponse::Close
            },
        ),
        OriginFault::NeverAnswers => return Ok(AfterResponse::KeepAlive),
        OriginFault::Refuses
        | OriginFault::FullBacklog
        | OriginFault::ClosesAtOnce
        | OriginFault::Resets => {
            unreachable!("these faults show before a request is answered")
        }
    };
    stream.write_all(&bytes)?;
    stream.flush()?;
    Ok(next)
}

fn late_answer(
    stream: &mut impl Write,
    shared: &FaultOriginState,
    first_byte: Duration,
    rest: Duration,
) -> io::Result<AfterResponse> {
    let bytes = whole(200, &[], &answer::body());
    let (first, second) = bytes.split_at(bytes.len() - BODY_LEN / 2);
    for (pause, bytes) in [(first_byte, first), (rest, second)] {
        if !shared.wait(pause) {
            return Ok(AfterResponse::Close);
        }
        stream.write_all(bytes)?;
    }
    Ok(AfterResponse::KeepAlive)
}

fn slow_body(
    stream: &mut impl Write,
    shared: &FaultOriginState,
    pause: Duration,
) -> io::Result<AfterResponse> {
    let bytes = whole(200, &[], &answer::body());
    let (head, body) = bytes.split_at(bytes.len() - BODY_LEN);
    stream.write_all(head)?;
    for byte in body {
        if !shared.wait(pause) {
            return Ok(AfterResponse::Close);
        }
        stream.write_all(&[*byte])?;
    }
    Ok(AfterResponse::KeepAlive)
}
