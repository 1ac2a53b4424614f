//! A server with a constant response, to measure the limits of the generator itself.

mod frames;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::thread::JoinHandle;

use plimsoll_model::plan::{Http2, Plan, Target};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept_with, bind, getsockname,
    listen, recv, send, socket_with, sockopt,
};
use slab::Slab;

use self::frames::{Http2Responder, PREFACE};
use crate::error::LoadError;

/// The response to every request.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";

/// End of a request without a body, the only kind that is supported.
const END: &[u8] = b"\r\n\r\n";

const LISTENER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;

/// A server on the loopback interface, on a thread of its own; it stops when dropped.
#[derive(Debug)]
pub struct NullServer {
    address: SocketAddr,
    waker: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl NullServer {
    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A plan with this server instead of its target.
    pub fn in_place_of_target(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        plan.target = Target::at(self.address);
        // The server knows no journeys.
        plan.scenario = None;
        plan.transport.sources.clear();
        // It has no TLS in which HTTP/2 could be chosen.
        plan.transport.http2 = plan.transport.http2.map(|http2| Http2 {
            prior_knowledge: true,
            ..http2
        });
        plan
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // A full counter wakes it as well.
        let _ = rustix::io::write(&self.waker, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // A panic has been printed.
            let _ = thread.join();
        }
    }
}

/// Starts a server on an ephemeral port that responds to each request without a body with a fixed 200, by HTTP/1.1, or
/// by HTTP/2 to clients with prior knowledge.
///
/// # Errors
/// When the system refuses a socket or a thread.
pub fn null_server() -> Result<NullServer, LoadError> {
    fixed_server(ANSWER)
}

/// Starts a server on an ephemeral port that responds to each request with `answer`, head and body as they are sent. A
/// request may have a body, but no empty line in it.
///
/// # Errors
/// When the system refuses a socket or a thread.
pub fn fixed_server(answer: &[u8]) -> Result<NullServer, LoadError> {
    let system = |error: Errno| LoadError::System {
        action: "start the null server",
        source: error.into(),
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let listener =
        socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).map_err(system)?;
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).map_err(system)?;
    listen(&listener, 4096).map_err(system)?;
    let address = getsockname(&listener).map_err(system)?;
    let address = SocketAddr::try_from(address).map_err(system)?;
    let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(system)?;
    let waker = Arc::new(waker);
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system)?;
    epoll::add(
        &epoll,
        &listener,
        EventData::new_u64(LISTENER),
        EventFlags::IN,
    )
    .map_err(system)?;
    epoll::add(&epoll, &waker, EventData::new_u64(WAKER), EventFlags::IN).map_err(system)?;
    let answer: Box<[u8]> = answer.into();
    let thread = std::thread::Builder::new()
        .name("null-server".to_owned())
        .spawn(move || serve(&epoll, &listener, &answer))
        .map_err(|source| LoadError::System {
            action: "start the null server",
            source,
        })?;
    Ok(NullServer {
        address,
        waker,
        thread: Some(thread),
    })
}

/// A connection, and how many bytes of [`END`] its last bytes match.
struct NullClient {
    socket: OwnedFd,
    matched: usize,
    /// It speaks HTTP/2.
    frames: Option<Box<Http2Responder>>,
    has_sent: bool,
}

fn serve(epoll: &OwnedFd, listener: &OwnedFd, fixed: &[u8]) {
    let mut clients: Slab<NullClient> = Slab::new();
    let mut events = Vec::with_capacity(256);
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match epoll::wait(epoll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        for event in events.drain(..) {
            match event.data.u64() {
                WAKER => return,
                LISTENER => accept_all(epoll, listener, &mut clients),
                data => {
                    let id = usize::try_from(data).expect("a slab index");
                    if !answer(&mut clients[id], &mut buffer, fixed) {
                        clients.remove(id);
                    }
                }
            }
        }
    }
}

fn accept_all(epoll: &OwnedFd, listener: &OwnedFd, clients: &mut Slab<NullClient>) {
    while let Ok(socket) = accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
        let entry = clients.vacant_entry();
        let data = EventData::new_u64(entry.key() as u64);
        let ready = sockopt::set_tcp_nodelay(&socket, true)
            .and_then(|()| epoll::add(epoll, &socket, data, EventFlags::IN));
        if ready.is_ok() {
            entry.insert(NullClient {
                socket,
                matched: 0,
                frames: None,
                has_sent: false,
            });
        }
    }
}

/// Responds to received requests. Returns whether the connection continues.
fn answer(client: &mut NullClient, buffer: &mut [u8], fixed: &[u8]) -> bool {
    let count = match recv(&client.socket, &mut *buffer, RecvFlags::empty()) {
        Ok((0, _)) => return false,
        Ok((count, _)) => count,
        Err(Errno::AGAIN | Errno::INTR) => return true,
        Err(_) => return false,
    };
    let mut bytes = &buffer[..count];
    // A preface arrives in one piece together with what follows it.
    if !std::mem::replace(&mut client.has_sent, true)
        && let Some(after) = bytes.strip_prefix(PREFACE)
    {
        client.frames = Some(Box::new(Http2Responder::new()));
        bytes = after;
    }
    if let Some(frames) = &mut client.frames {
        let answer = frames.take(bytes);
        return answer.is_some_and(|answer| is_sent(&client.socket, &answer));
    }
    let mut requests = 0;
    for &byte in bytes {
        client.matched = match (byte == END[client.matched], byte) {
            (true, _) => client.matched + 1,
            (false, b'\r') => 1,
            (false, _) => 0,
        };
        if client.matched == END.len() {
            requests += 1;
            client.matched = 0;
        }
    }
    (0..requests).all(|_| is_sent(&client.socket, fixed))
}

/// Whether a response was sent in full. If it does not fit the socket's buffer, the client does not read, and is
/// disconnected.
fn is_sent(socket: &OwnedFd, answer: &[u8]) -> bool {
    answer.is_empty() || send(socket, answer, SendFlags::NOSIGNAL) == Ok(answer.len())
}
