//! HTTP/2 by hand: frames as bytes, and a client that writes any of them, in any order, as often as it likes.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Kinds of frames (RFC 9113, section 6).
pub mod kind {
    /// A piece of a body.
    pub const DATA: u8 = 0;
    /// The head of a request or an answer.
    pub const HEADERS: u8 = 1;
    /// Who goes first, which nobody heeds any more.
    pub const PRIORITY: u8 = 2;
    /// The end of a stream that is not finished.
    pub const RST_STREAM: u8 = 3;
    /// What one side says of itself.
    pub const SETTINGS: u8 = 4;
    /// A question whether anybody is there.
    pub const PING: u8 = 6;
    /// The announced end of the connection.
    pub const GOAWAY: u8 = 7;
    /// Room for more of a body.
    pub const WINDOW_UPDATE: u8 = 8;
    /// The rest of a head.
    pub const CONTINUATION: u8 = 9;
}

/// A flag of HEADERS and DATA: nothing follows on this stream.
pub const END_STREAM: u8 = 1;
/// A flag of SETTINGS and PING: an answer.
pub const ACK: u8 = 1;
/// A flag of HEADERS and CONTINUATION: the head is whole.
pub const END_HEADERS: u8 = 4;

/// The code by which a server says that it was too much (RFC 9113, section 7).
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// Longest time that is waited for a frame.
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

/// A header as it is written without any table.
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

/// The fields of a GET of a path from the host `a`, from the static table where it has them.
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

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub struct Http2Frame {
    /// One of [`kind`], or another.
    pub kind: u8,
    /// Flags.
    pub flags: u8,
    /// Number of the stream; 0 is the connection.
    pub stream: u32,
    /// The rest.
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

    /// Why the other side ends the connection, if this frame says so.
    #[must_use]
    pub fn goaway(&self) -> Option<u32> {
        let code = self.payload.get(4..8)?.try_into().ok()?;
        (self.kind == kind::GOAWAY).then(|| u32::from_be_bytes(code))
    }
}

/// What came of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flood {
    /// Pieces that were written before nobody listened any more.
    pub sent: u32,
    /// Why the other side ended the connection, if it said so.
    pub goaway: Option<u32>,
}

/// A client that has said the preface without encryption, and then says what it likes.
#[derive(Debug)]
pub struct RawHttp2Client {
    /// Its connection.
    pub stream: TcpStream,
}

impl RawHttp2Client {
    /// Connects, and says settings of its own (six bytes each).
    ///
    /// # Errors
    /// When nobody listens.
    pub fn open(address: SocketAddr, settings: &[u8]) -> io::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")?;
        stream.write_all(&frame(kind::SETTINGS, 0, 0, settings))?;
        Ok(Self { stream })
    }

    /// Whether it could be written: who floods may be cut off in the middle.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The next frame; `None` at the end of the connection.
    pub fn read_frame(&mut self) -> Option<Http2Frame> {
        Http2Frame::read(&mut self.stream)
    }

    /// Says piece after piece until nobody listens any more, and reads meanwhile what comes.
    ///
    /// # Errors
    /// When the connection cannot be shared with whoever reads.
    pub fn flood(&mut self, most: u32, mut piece: impl FnMut(u32) -> Vec<u8>) -> io::Result<Flood> {
        // What is not read would stop the other side from writing, and it would then stop reading.
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
