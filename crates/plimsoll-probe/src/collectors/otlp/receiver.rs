//! The listener for spans and metrics: `POST /v1/traces` and `/v1/metrics` over HTTP, each connection on a thread of its
//! own.

mod answer;

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use plimsoll_model::lock::lock;
use plimsoll_wire::framing::BodyReader;
use plimsoll_wire::head::BodyLength;
use plimsoll_wire::request_head::{self, RequestHead, header_buffer};
use rustix::net::Shutdown;

use super::gather::Gather;
use super::meters::OtlpMeters;
use super::parse::{OtlpDecodeError, from_json, from_protobuf, metrics};
use crate::clock;
use answer::{OtlpResponse, Packing};

/// Concurrent connections at most; further ones are rejected.
const CONNECTIONS_MAX: usize = 64;
/// Longest head of a request, bytes.
const HEAD_LEN_MAX: usize = 16 << 10;
/// Longest body, compressed and decompressed, bytes.
const BODY_LEN_MAX: usize = 4 << 20;
/// Bytes of bodies in memory, of all connections together, at most.
const HELD_MAX: usize = 32 << 20;
/// Bytes of one read.
const CHUNK_LEN: usize = 16 << 10;
/// How soon a connection notices that the receiver has been closed.
const GLANCE: Duration = Duration::from_millis(250);
/// Time-out of a request from its first byte to its last, and of a response.
const PATIENCE_NS: u64 = 10_000_000_000;
const PATIENCE: Duration = Duration::from_secs(10);

/// State shared by connections.
#[derive(Debug, Default)]
struct ReceiverState {
    is_over: AtomicBool,
    connections: AtomicUsize,
    held: AtomicUsize,
    gather: Mutex<Gather>,
    meters: Mutex<OtlpMeters>,
    /// The first message refused since the last call, and why.
    refusal: Mutex<Option<String>>,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(super) struct Receiver {
    listener: Arc<TcpListener>,
    shared: Arc<ReceiverState>,
}

impl Receiver {
    /// Begins to listen.
    pub(super) fn open(host: &str, port: u16) -> io::Result<Self> {
        let listener = Arc::new(TcpListener::bind(&*plimsoll_names::host::resolve(
            host, port,
        )?)?);
        let shared = Arc::new(ReceiverState::default());
        let (acceptor, theirs) = (Arc::clone(&listener), Arc::clone(&shared));
        std::thread::Builder::new()
            .name("spans".to_owned())
            .spawn(move || accept(&acceptor, &theirs))?;
        Ok(Self { listener, shared })
    }

    /// Messages received so far.
    pub(super) fn gather(&self) -> MutexGuard<'_, Gather> {
        lock(&self.shared.gather)
    }

    /// Metrics received so far.
    pub(super) fn meters(&self) -> MutexGuard<'_, OtlpMeters> {
        lock(&self.shared.meters)
    }

    /// The first message refused since the last call, and why.
    pub(super) fn take_refusal(&self) -> Option<String> {
        lock(&self.shared.refusal).take()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits there, which then closes the listener.
        let _ = rustix::net::shutdown(&*self.listener, Shutdown::Both);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<ReceiverState>) {
    while !shared.is_over.load(Ordering::Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            if !shared.is_over.load(Ordering::Relaxed) {
                // Possibly out of descriptors: an immediate retry would fail again.
                std::thread::park_timeout(GLANCE);
            }
            continue;
        };
        let place = ConnectionPermit::take(shared);
        if place.is_none() {
            let busy = OtlpResponse::busy("the maximum number of connections is open");
            let mut stream = stream;
            let _ = stream.set_write_timeout(Some(GLANCE));
            let _ = stream.write_all(&busy.bytes(false));
            continue;
        }
        let theirs = Arc::clone(shared);
        // Without a thread the connection is closed, and its sender tries again.
        let _ = std::thread::Builder::new()
            .name("spans".to_owned())
            .spawn(move || {
                let _place = place;
                // A connection that breaks is its sender's to open again.
                let _ = serve(stream, &theirs);
            });
    }
}

/// A slot of the connection limit.
struct ConnectionPermit(Arc<ReceiverState>);

impl ConnectionPermit {
    fn take(shared: &Arc<ReceiverState>) -> Option<Self> {
        let place = Self(Arc::clone(shared));
        let before = shared.connections.fetch_add(1, Ordering::Relaxed);
        (before < CONNECTIONS_MAX).then_some(place)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes of a body that are held.
struct BodyReservation<'a> {
    shared: &'a ReceiverState,
    len: usize,
}

impl BodyReservation<'_> {
    /// Whether there is room for so many more.
    fn grow(&mut self, by: usize) -> bool {
        self.len += by;
        self.shared.held.fetch_add(by, Ordering::Relaxed) + by <= HELD_MAX
    }
}

impl Drop for BodyReservation<'_> {
    fn drop(&mut self) {
        self.shared.held.fetch_sub(self.len, Ordering::Relaxed);
    }
}

/// Serves requests until the connection ends.
fn serve(mut stream: TcpStream, shared: &ReceiverState) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GLANCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut input = RequestInput {
        stream: stream.try_clone()?,
        bytes: Vec::new(),
        shared,
        begun_ns: None,
    };
    loop {
        let (answer, goes_on) = match exchange(&mut input, &mut stream) {
            Ok(done) => done,
            Err(ReadError::By(answer)) => (answer, false),
            Err(ReadError::Connection) => return Ok(()),
        };
        if answer.status != 200 {
            lock(&shared.refusal).get_or_insert_with(|| {
                format!(
                    "a message was refused ({}): {}",
                    answer.status, answer.reason
                )
            });
        }
        stream.write_all(&answer.bytes(goes_on))?;
        if !goes_on {
            return linger(&mut stream);
        }
    }
}

/// Discards remaining input: a connection that is closed with unread bytes may lose its response.
fn linger(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut chunk = [0; CHUNK_LEN];
    let mut left = 4 * BODY_LEN_MAX;
    loop {
        match stream.read(&mut chunk)? {
            0 => return Ok(()),
            count => left = left.saturating_sub(count),
        }
        if left == 0 {
            return Ok(());
        }
    }
}

/// Why nothing more is read.
enum ReadError {
    /// The connection ended, or the receiver has been closed.
    Connection,
    /// The input cannot be resynchronized.
    By(OtlpResponse),
}

/// Input of a connection.
struct RequestInput<'a> {
    stream: TcpStream,
    bytes: Vec<u8>,
    shared: &'a ReceiverState,
    /// When the first byte of the request arrived.
    begun_ns: Option<u64>,
}

impl RequestInput<'_> {
    /// Waits for more bytes.
    fn fill(&mut self) -> Result<(), ReadError> {
        let mut chunk = [0; CHUNK_LEN];
        loop {
            if self.shared.is_over.load(Ordering::Relaxed) {
                return Err(ReadError::Connection);
            }
            let is_late = self
                .begun_ns
                .is_some_and(|begun_ns| clock::now_ns().saturating_sub(begun_ns) > PATIENCE_NS);
            if is_late {
                let late = OtlpResponse::refuse(408, "the message did not arrive within 10 s");
                return Err(ReadError::By(late));
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ReadError::Connection),
                Ok(count) => {
                    self.begun_ns.get_or_insert_with(clock::now_ns);
                    self.bytes.extend_from_slice(&chunk[..count]);
                    return Ok(());
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(_) => return Err(ReadError::Connection),
            }
        }
    }
}

/// The relevant fields of a request head.
struct RequestFraming {
    refusal: Option<OtlpResponse>,
    has_metrics: bool,
    packing: Packing,
    length: BodyLength,
    expects_continue: bool,
    keep_alive: bool,
}

/// Handles one request; returns its response, and whether another may follow.
fn exchange(
    input: &mut RequestInput<'_>,
    stream: &mut TcpStream,
) -> Result<(OtlpResponse, bool), ReadError> {
    let wanted = head(input)?;
    if wanted.expects_continue && input.bytes.is_empty() {
        let go_on = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
        go_on.map_err(|_| ReadError::Connection)?;
    }
    let mut held = BodyReservation {
        shared: input.shared,
        len: 0,
    };
    let body = body(input, wanted.length, &mut held)?;
    input.begun_ns = None;
    let keep_alive = wanted.keep_alive;
    // A body that is not read would break the connection before its sender has read why.
    let answer = match wanted.refusal {
        Some(refusal) => refusal,
        None => take(&body, wanted.has_metrics, wanted.packing, input.shared),
    };
    Ok((answer, keep_alive))
}

/// Reads a head and removes it from the input.
fn head(input: &mut RequestInput<'_>) -> Result<RequestFraming, ReadError> {
    let refuse = |error: request_head::RequestError| {
        ReadError::By(OtlpResponse::refuse(error.status(), &error.to_string()))
    };
    let mut scanned = 0;
    let len = loop {
        let skipped = request_head::skip_empty_lines(&input.bytes).map_err(refuse)?;
        input.bytes.drain(..skipped);
        if let Some(len) =
            request_head::find_end(&input.bytes, scanned, HEAD_LEN_MAX).map_err(refuse)?
        {
            break len;
        }
        scanned = input.bytes.len();
        input.fill()?;
    };
    let rest = input.bytes.split_off(len);
    let bytes = std::mem::replace(&mut input.bytes, rest);
    let mut room = header_buffer();
    let head = request_head::parse(&bytes, &mut room).map_err(refuse)?;
    Ok(framing(&head))
}

fn framing(head: &RequestHead<'_, '_>) -> RequestFraming {
    let header = |name: &str| {
        let mut headers = head.headers.iter();
        let value = headers.find(|header| header.name.eq_ignore_ascii_case(name))?;
        str::from_utf8(value.value)
            .ok()
            .map(|value| value.trim().to_ascii_lowercase())
    };
    let kind = header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_owned();
    let packing = header("content-encoding").unwrap_or_default();
    let path = head.target.split('?').next();
    let refusal = match (head.method, path) {
        (_, Some("/v1/logs")) => Some(OtlpResponse::refuse(
            404,
            "only spans and metrics are accepted: set OTEL_LOGS_EXPORTER=none",
        )),
        (_, path) if path != Some("/v1/traces") && path != Some("/v1/metrics") => {
            let why = "spans are accepted at /v1/traces, metrics at /v1/metrics: give the SDK the address without a path";
            Some(OtlpResponse::refuse(404, why))
        }
        ("POST", _) if kind != "application/x-protobuf" && kind != "application/json" => {
            let why = "the Content-Type must be application/x-protobuf or application/json: use \
                OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf";
            Some(OtlpResponse::refuse(415, why))
        }
        ("POST", _) if !["", "identity", "gzip"].contains(&packing.as_str()) => Some(
            OtlpResponse::refuse(415, "the Content-Encoding must be gzip or none"),
        ),
        ("POST", _) => None,
        _ => Some(OtlpResponse::refuse(
            405,
            "spans and metrics must be sent by POST",
        )),
    };
    RequestFraming {
        refusal,
        has_metrics: path == Some("/v1/metrics"),
        packing: Packing {
            is_json: kind == "application/json",
            is_packed: packing == "gzip",
        },
        length: head.length,
        expects_continue: head.expects_continue,
        keep_alive: head.keep_alive,
    }
}

fn too_long() -> OtlpResponse {
    let why =
        "the message is longer than 4 MiB: send smaller ones (OTEL_BSP_MAX_EXPORT_BATCH_SIZE)";
    OtlpResponse::refuse(413, why)
}

/// Reads a body and removes it from the input.
fn body(
    input: &mut RequestInput<'_>,
    length: BodyLength,
    held: &mut BodyReservation<'_>,
) -> Result<Vec<u8>, ReadError> {
    let mut reader = match length {
        BodyLength::Unspecified => BodyReader::none(),
        length => BodyReader::new(length, BODY_LEN_MAX as u64),
    };
    let mut body = Vec::new();
    loop {
        let before = body.len();
        let taken = reader.take(&input.bytes, |bytes| body.extend_from_slice(bytes));
        let taken = taken.map_err(|error| match error {
            plimsoll_wire::error::Http1Error::BodyTooLong => ReadError::By(too_long()),
            other => ReadError::By(OtlpResponse::refuse(400, &other.to_string())),
        })?;
        input.bytes.drain(..taken);
        if !held.grow(body.len() - before) {
            let busy = OtlpResponse::busy("too many messages arrive at once");
            return Err(ReadError::By(busy));
        }
        if reader.is_complete() {
            return Ok(body);
        }
        input.fill()?;
    }
}

/// Handles a message.
fn take(body: &[u8], has_metrics: bool, packing: Packing, shared: &ReceiverState) -> OtlpResponse {
    // One at a time: decompressed messages are large.
    let mut gather = lock(&shared.gather);
    let unpacked;
    let message: &[u8] = if packing.is_packed {
        let mut bytes = Vec::new();
        let limit = BODY_LEN_MAX as u64 + 1;
        let read = MultiGzDecoder::new(body)
            .take(limit)
            .read_to_end(&mut bytes);
        if let Err(error) = read {
            let why = format!("the message cannot be decompressed: {error}");
            return OtlpResponse::of(packing, 400, &why);
        }
        if bytes.len() > BODY_LEN_MAX {
            return too_long();
        }
        unpacked = bytes;
        &unpacked
    } else {
        body
    };
    let dropped = if has_metrics {
        take_metrics(message, packing, shared)
    } else {
        take_spans(message, packing, &mut gather)
    };
    match dropped {
        Ok(dropped) => OtlpResponse::taken(packing, dropped),
        Err(error) => OtlpResponse::of(packing, 400, &error.to_string()),
    }
}

/// Takes spans; returns how many were dropped.
fn take_spans(
    message: &[u8],
    packing: Packing,
    gather: &mut Gather,
) -> Result<u64, OtlpDecodeError> {
    let spans = if packing.is_json {
        from_json(message)?
    } else {
        from_protobuf(message)?
    };
    gather.clocks.take(&spans, clock::wall_ns());
    Ok(gather.add(&spans, clock::now_ns()))
}

/// Takes metrics. What is left out of them is noted: their sender could not mend it by another attempt.
fn take_metrics(
    message: &[u8],
    packing: Packing,
    shared: &ReceiverState,
) -> Result<u64, OtlpDecodeError> {
    let points = if packing.is_json {
        metrics::from_json(message)?
    } else {
        metrics::from_protobuf(message)?
    };
    lock(&shared.meters).add(points, clock::now_ns());
    Ok(0)
}
