//! HTTP/2 by hand: frames as bytes, and a client that can write any of them, in any order and number.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Frame types (RFC 9113, section 6).
pub mod kind {
    /// `DATA`.
    pub const DATA: u8 = 0;
    /// `HEADERS`.
    pub const HEADERS: u8 = 1;
    /// `PRIORITY`, obsolete.
    pub const PRIORITY: u8 = 2;
    /// `RST_STREAM`.
    pub const RST_STREAM: u8 = 3;
    /// `SETTINGS`.
    pub const SETTINGS: u8 = 4;
    /// `PING`.
    pub const PING: u8 = 6;
    /// `GOAWAY`.
    pub const GOAWAY: u8 = 7;
    /// `WINDOW_UPDATE`.
    pub const WINDOW_UPDATE: u8 = 8;
    /// `CONTINUATION`.
    pub const CONTINUATION: u8 = 9;
}

/// The flag `END_STREAM` of HEADERS and DATA.
pub const END_STREAM: u8 = 1;
/// The flag `ACK` of SETTINGS and PING.
pub const ACK: u8 = 1;
/// The flag `END_HEADERS` of HEADERS and CONTINUATION.
pub const END_HEADERS: u8 = 4;

/// The error code `ENHANCE_YOUR_CALM` (RFC 9113, section 7).
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// Longest wait for a frame.
const PATIENCE: Duration = Duration::from_mins(1);

/// One frame as bytes.
///
/// # Panics
/// When the payload has more than 24 bits of length.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len())
        .expect("short enough")
        .to_be_bytes();
    assert_eq!(len[0], 0, "longer than a frame can be");
    let mut bytes = vec![len[1], len[2], len[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A header field as a literal without indexing.
///
/// # Panics
/// When its name or value is longer than 126 bytes.
#[must_use]
pub fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for field in [name, value] {
        assert!(field.len() < 127, "longer than one byte can say");
        bytes.push(u8::try_from(field.len()).expect("just checked"));
        bytes.extend_from_slice(field.as_bytes());
    }
    bytes
}

/// The fields of a GET of a path from the host `a`, from the static table where possible.
#[must_use]
pub fn get_fields(path: &str) -> Vec<u8> {
    let path = literal(":path", path);
    [&[0x82, 0x86][..], &path, &literal(":authority", "a")].concat()
}

/// The fields of a POST to a path of the host `a`.
#[must_use]
pub fn post_fields(path: &str) -> Vec<u8> {
    let path = literal(":path", path);
    [&[0x83, 0x86][..], &path, &literal(":authority", "a")].concat()
}

/// A received frame.
#[derive(Debug, PartialEq, Eq)]
pub struct Http2Frame {
    /// Type: one of [`kind`], or another.
    pub kind: u8,
    /// Flags.
    pub flags: u8,
    /// Stream id; 0 is the connection.
    pub stream: u32,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Http2Frame {
    /// Reads the next; `None` at the end of the connection.
    pub fn read(from: &mut TcpStream) -> Option<Self> {
        let mut head = [0; 9];
        from.read_exact(&mut head).ok()?;
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; len as usize];
        from.read_exact(&mut payload).ok()?;
        Some(Self {
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
            payload,
        })
    }

    /// The error code, if this is a GOAWAY frame.
    #[must_use]
    pub fn goaway(&self) -> Option<u32> {
        let code = self.payload.get(4..8)?.try_into().ok()?;
        (self.kind == kind::GOAWAY).then(|| u32::from_be_bytes(code))
    }
}

/// The result of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flood {
    /// Pieces written before the connection ended.
    pub sent: u32,
    /// The error code of the GOAWAY frame, if any.
    pub goaway: Option<u32>,
}

/// A client that has sent the preface without encryption, and then sends arbitrary frames.
#[derive(Debug)]
pub struct RawHttp2Client {
    /// Its connection.
    pub stream: TcpStream,
}

impl RawHttp2Client {
    /// Connects, and sends its settings (six bytes each).
    ///
    /// # Errors
    /// When the connection is refused.
    pub fn open(address: SocketAddr, settings: &[u8]) -> io::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")?;
        stream.write_all(&frame(kind::SETTINGS, 0, 0, settings))?;
        Ok(Self { stream })
    }

    /// Whether it could be written: a flooding client may be disconnected at any point.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The next frame; `None` at the end of the connection.
    pub fn read_frame(&mut self) -> Option<Http2Frame> {
        Http2Frame::read(&mut self.stream)
    }

    /// Sends piece after piece until the connection ends, and reads incoming frames meanwhile.
    ///
    /// # Errors
    /// When the connection cannot be cloned for the reader.
    pub fn flood(&mut self, most: u32, mut piece: impl FnMut(u32) -> Vec<u8>) -> io::Result<Flood> {
        // Unread data would block the other side's writes, and thus its reads.
        let mut receiver = self.stream.try_clone()?;
        let reader = std::thread::spawn(move || {
            let mut goaway = None;
            while let Some(frame) = Http2Frame::read(&mut receiver) {
                goaway = frame.goaway().or(goaway);
            }
            goaway
        });
        let mut sent = 0;
        while sent < most && self.send(&piece(sent)) {
            sent += 1;
        }
        let _ = self.stream.shutdown(Shutdown::Write);
        let goaway = reader.join().unwrap_or_default();
        Ok(Flood { sent, goaway })
    }
}
