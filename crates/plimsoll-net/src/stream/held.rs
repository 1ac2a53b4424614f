//! Memory that HTTP/2 holds for slow clients and servers; counted into its loop's memory as for HTTP/1.

use std::cell::RefCell;
use std::fmt;
use std::rc::{Rc, Weak};

use h2::RecvStream;
use hyper::body::{Buf, Bytes};

use crate::memory::Memory;

/// A piece of a response; counted until the client has read its last byte.
pub struct Outbound {
    bytes: Bytes,
    /// Its size, constant while it is sent.
    counted: usize,
    memory: Rc<Memory>,
}

impl Outbound {
    /// Bytes to be sent, counted in `memory` until they are.
    pub(crate) fn new(bytes: Vec<u8>, memory: &Rc<Memory>) -> Self {
        let counted = bytes.capacity();
        memory.hold(0, counted);
        Self {
            bytes: bytes.into(),
            counted,
            memory: Rc::clone(memory),
        }
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outbound({})", self.bytes.len())
    }
}

impl Buf for Outbound {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

impl Drop for Outbound {
    fn drop(&mut self) {
        self.memory.hold(self.counted, 0);
    }
}

/// The body of a request; owned by its reader.
pub(crate) type StreamBody = Rc<RefCell<RecvStream>>;

/// Data that a client has sent ahead on one connection and nobody has read.
pub struct Inbound {
    bodies: Vec<Weak<RefCell<RecvStream>>>,
    counted: usize,
    memory: Rc<Memory>,
}

impl Inbound {
    /// Nothing received; `memory` counts what will be.
    pub fn new(memory: &Rc<Memory>) -> Self {
        Self {
            bodies: Vec::new(),
            counted: 0,
            memory: Rc::clone(memory),
        }
    }

    /// Registers an expected body.
    pub fn add(&mut self, body: &StreamBody) {
        self.bodies.push(Rc::downgrade(body));
    }

    /// Updates the count. Its cost grows with the number of bodies in flight, usually none.
    pub fn count(&mut self) {
        let mut sum = 0;
        self.bodies.retain(|body| {
            let Some(body) = body.upgrade() else {
                return false;
            };
            sum += body.borrow_mut().flow_control().used_capacity();
            true
        });
        self.memory.hold(self.counted, sum);
        self.counted = sum;
    }
}

impl Drop for Inbound {
    fn drop(&mut self) {
        self.memory.hold(self.counted, 0);
    }
}
