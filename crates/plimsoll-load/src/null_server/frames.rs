//! The minimal HTTP/2 of a server with a constant response: it reads frame headers, and ignores the headers
//! of requests.

/// The preface of an HTTP/2 client (RFC 9113, 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Length of a frame header.
const HEAD_LEN: usize = 9;

/// Longest payload that a client may send by default.
const PAYLOAD_LEN_MAX: usize = 16 * 1024;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;

/// Of `DATA` and `HEADERS`.
const END_STREAM: u8 = 1;
/// Of `SETTINGS` and `PING`.
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// Status 200, from the static table (RFC 7541, appendix A).
const OK: &[u8] = &[0x88];

/// One client's connection.
#[derive(Debug, Default)]
pub(super) struct Http2Responder {
    /// Bytes of a frame that is not complete.
    partial: Vec<u8>,
    /// What is to be sent.
    out: Vec<u8>,
}

impl Http2Responder {
    /// A connection whose preface has arrived.
    pub(super) fn new() -> Self {
        let mut frames = Self::default();
        frames.write(SETTINGS, 0, 0, &[]);
        frames
    }

    /// Takes bytes, and returns the output; `None` for a frame that is longer than allowed.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.partial.extend_from_slice(bytes);
        let partial = std::mem::take(&mut self.partial);
        let mut rest = &partial[..];
        while let Some((head, after)) = rest.split_at_checked(HEAD_LEN) {
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            if len > PAYLOAD_LEN_MAX {
                return None;
            }
            let Some((payload, after)) = after.split_at_checked(len) else {
                break;
            };
            let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            self.answer(head[3], head[4], id, payload);
            rest = after;
        }
        self.partial = rest.to_vec();
        Some(std::mem::take(&mut self.out))
    }

    fn answer(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) {
        if kind == DATA && !payload.is_empty() {
            // Restores both flow-control windows at once.
            let len = u32::try_from(payload.len()).unwrap_or(0).to_be_bytes();
            self.write(WINDOW_UPDATE, 0, 0, &len);
            if flags & END_STREAM == 0 {
                self.write(WINDOW_UPDATE, 0, id, &len);
            }
        }
        match kind {
            DATA | HEADERS if flags & END_STREAM != 0 => {
                self.write(HEADERS, END_HEADERS, id, OK);
                self.write(DATA, END_STREAM, id, b"ok");
            }
            SETTINGS if flags & ACK == 0 => self.write(SETTINGS, ACK, 0, &[]),
            PING if flags & ACK == 0 => self.write(PING, ACK, 0, payload),
            _ => {}
        }
    }

    fn write(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) {
        let len = u32::try_from(payload.len()).unwrap_or(0).to_be_bytes();
        self.out.extend([len[1], len[2], len[3], kind, flags]);
        self.out.extend(id.to_be_bytes());
        self.out.extend(payload);
    }
}
