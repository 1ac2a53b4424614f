//! Bytes that the loop writes next: handshakes and frames, with random keys and masks.

use plimsoll_wire::websocket::Opcode;
use plimsoll_wire::websocket::deflate::Deflater;
use plimsoll_wire::websocket::frame::{self, Frame};
use plimsoll_wire::websocket::handshake;
use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::handshake::KEY;

/// Compression level of sent messages: that of browsers' libraries.
const DEFLATE_LEVEL: u32 = 6;

/// Prepared output for one connection.
pub(super) struct Output {
    bytes: Vec<u8>,
    /// Compression state, created with the first use.
    deflater: Option<Box<Deflater>>,
    deflated: Vec<u8>,
    random: Xoshiro256PlusPlus,
}

impl Output {
    pub(super) fn new(random: Xoshiro256PlusPlus) -> Self {
        Self {
            bytes: Vec::new(),
            deflater: None,
            deflated: Vec::new(),
            random,
        }
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The source of all random numbers of a loop's WebSockets.
    pub(super) fn random(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.random
    }

    /// Prepares a handshake: the template, with a fresh key at an offset if it has one. Returns the key.
    pub(super) fn handshake(&mut self, template: &[u8], at: Option<usize>) -> String {
        let mut nonce = [0; 16];
        for half in nonce.chunks_exact_mut(8) {
            half.copy_from_slice(&self.random.random::<u64>().to_ne_bytes());
        }
        let key = handshake::key(nonce);
        self.bytes.clear();
        self.bytes.extend_from_slice(template);
        let place = at.and_then(|at| self.bytes.get_mut(at..at + KEY.len()));
        if let Some(place) = place {
            place.copy_from_slice(key.as_bytes());
        }
        key
    }

    /// Prepares a frame.
    pub(super) fn frame(&mut self, opcode: Opcode, payload: &[u8]) {
        let mask = self.random.random::<u32>().to_ne_bytes();
        frame::write(&mut self.bytes, &Frame::plain(opcode, payload), Some(mask));
    }

    /// Prepares a message, compressed where that was negotiated.
    pub(super) fn message(&mut self, is_deflated: bool, opcode: Opcode, payload: &[u8]) {
        if !is_deflated {
            return self.frame(opcode, payload);
        }
        // Negotiated without context takeover, so one coder serves the loop.
        let coder = self
            .deflater
            .get_or_insert_with(|| Box::new(Deflater::new(DEFLATE_LEVEL, false)));
        self.deflated.clear();
        coder.deflate(payload, &mut self.deflated);
        let mask = self.random.random::<u32>().to_ne_bytes();
        let frame = Frame {
            opcode,
            is_deflated: true,
            payload: &self.deflated,
        };
        frame::write(&mut self.bytes, &frame, Some(mask));
    }
}
