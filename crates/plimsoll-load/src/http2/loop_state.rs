//! HTTP/2 of one loop, beside its connections: requests that wait for a connection to open, connections with pending
//! work, and streams that have ended.

use std::collections::{BTreeMap, VecDeque};

use http::Request as Message;

use super::StreamEnd;

/// The state of HTTP/2 that no single connection has.
#[derive(Debug)]
pub(crate) struct Http2LoopState {
    /// Users' requests that wait for a connection, by connection.
    lined_up: BTreeMap<u32, VecDeque<u32>>,
    /// Origins that could have chosen HTTP/2 and chose HTTP/1.1.
    chose_http1: Vec<bool>,
    /// Connections of HTTP/2 with pending work, with their generations.
    woken: Vec<(u32, u32)>,
    /// Streams that have ended and are not counted yet.
    ends: Vec<StreamEnd>,
    /// The head of a path's request, cached because most loads have one path.
    last_head: Option<(u32, Message<()>)>,
}

impl Http2LoopState {
    /// For so many origins.
    pub(crate) fn new(origins: usize) -> Self {
        Self {
            lined_up: BTreeMap::new(),
            chose_http1: vec![false; origins],
            woken: Vec::new(),
            ends: Vec::new(),
            last_head: None,
        }
    }

    /// A request waits until this connection is open or has room.
    pub(crate) fn line_up(&mut self, connection: u32, request: u32) {
        self.lined_up
            .entry(connection)
            .or_default()
            .push_back(request);
    }

    /// The next request that waits for a connection.
    pub(crate) fn next_in_line(&mut self, connection: u32) -> Option<u32> {
        self.lined_up.get_mut(&connection)?.pop_front()
    }

    /// A request no longer waits for a connection.
    pub(crate) fn leave_line(&mut self, connection: u32, request: u32) {
        if let Some(lined_up) = self.lined_up.get_mut(&connection) {
            lined_up.retain(|other| *other != request);
        }
    }

    /// All requests that wait for a connection: it will not carry them.
    pub(crate) fn take_line(&mut self, connection: u32) -> VecDeque<u32> {
        self.lined_up.remove(&connection).unwrap_or_default()
    }

    /// An origin chose HTTP/1.1: from now on users open several connections to it, as browsers do.
    pub(crate) fn set_http1(&mut self, origin: u16) {
        self.chose_http1[usize::from(origin)] = true;
    }

    /// Whether an origin could have chosen HTTP/2 and chose HTTP/1.1.
    pub(crate) fn is_http1(&self, origin: u16) -> bool {
        self.chose_http1[usize::from(origin)]
    }

    /// A connection of this generation has pending work.
    pub(crate) fn wake(&mut self, connection: u32, generation: u32) {
        self.woken.push((connection, generation));
    }

    /// Whether a connection has pending work.
    #[inline]
    pub(crate) fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }

    /// A connection with pending work, and its generation.
    pub(crate) fn next_woken(&mut self) -> Option<(u32, u32)> {
        self.woken.pop()
    }

    /// An empty list for streams that end; it is given back by [`Http2LoopState::return_ends`] for its memory.
    pub(crate) fn take_ends(&mut self) -> Vec<StreamEnd> {
        std::mem::take(&mut self.ends)
    }

    /// The streams of this list are counted.
    pub(crate) fn return_ends(&mut self, ends: Vec<StreamEnd>) {
        debug_assert!(ends.is_empty(), "all of them are counted");
        self.ends = ends;
    }

    /// The head of a path's request, made by `make` unless the path is that of the last one.
    pub(crate) fn head_of_path(
        &mut self,
        path: u32,
        make: impl FnOnce() -> Option<Message<()>>,
    ) -> Option<Message<()>> {
        if let Some((last, head)) = &self.last_head
            && *last == path
        {
            return Some(head.clone());
        }
        let head = make()?;
        self.last_head = Some((path, head.clone()));
        Some(head)
    }
}
