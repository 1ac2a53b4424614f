//! Memory held by HTTP/2 for slow clients and servers is counted: an edge at its limit accepts no new work.

use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_config::edge::{
    Action, Ceiling, EdgeLimits, PathMatch, PoolConfig, RouteConfig, RouteMatch,
};

use super::{
    ACK, DATA, END_HEADERS, END_STREAM, FrameClient, HEADERS, OK, PING, SETTINGS, WINDOW_UPDATE,
    frame, get_fields, literal,
};
use crate::support::{Afloat, Scripted, get, plain, pool, start, status_and_body};

/// An edge with this memory limit and a separate server for `/fast`.
fn edge(memory_max: u64, fast: SocketAddr, other: PoolConfig) -> Afloat {
    let mut edge = plain(other);
    edge.limits = EdgeLimits {
        memory_max,
        // Who takes nothing is to be cut off only when it leaves.
        write_timeout: Duration::from_mins(10),
        ..edge.limits
    };
    edge.pools.push(PoolConfig {
        name: "fast".to_owned(),
        ..pool(&[fast])
    });
    let route = RouteConfig {
        matches: RouteMatch {
            path: PathMatch::Exact("/fast".to_owned()),
            ..RouteMatch::default()
        },
        action: Action::Pool(1),
        ..edge.routes[0].clone()
    };
    edge.routes.insert(0, route);
    start(&edge)
}

/// Repeats the request until this is the response.
#[track_caller]
fn wait_until(edge: &Afloat, status: u16) {
    edge.wait_until("the status", || {
        let answer = get(edge.address, "/fast");
        let is_awaited = status_and_body(&answer).0 == status;
        let is_shed = answer.contains(": shed\r\n");
        assert!(!is_awaited || is_shed == (status == 503), "{answer}");
        is_awaited
    });
}

#[test]
fn what_clients_send_ahead_counts() {
    const STREAMS: [u32; 4] = [1, 3, 5, 7];
    let fast = Scripted::always(OK);
    // It never responds: one request occupies it, the others wait in the queue, and their bodies in the edge.
    let slow = Scripted::start(|mut connection| while connection.head().is_some() {});
    let serial_pool = PoolConfig {
        ceiling: Ceiling::Fixed(1),
        queue: Some(100),
        queue_timeout: Duration::from_mins(10),
        ..pool(&[slow.address])
    };
    let edge = edge(2 << 20, fast.address, serial_pool);
    wait_until(&edge, 200);
    let fields = [&[0x83, 0x84, 0x86][..], &literal(":authority", "a")].concat();
    let mut clients = Vec::new();
    for _ in 0..4 {
        let mut client = FrameClient::open(edge.address, &[]);
        // Its settings apply once they are acknowledged.
        client.wait_for(SETTINGS);
        assert!(client.send(&frame(SETTINGS, ACK, 0, &[])));
        for stream in STREAMS {
            assert!(client.send(&frame(HEADERS, END_HEADERS, stream, &fields)));
        }
        clients.push(client);
    }
    // All are accepted before the first body fills the memory: a request that is shed holds nothing.
    for client in &mut clients {
        assert!(client.send(&frame(PING, 0, 0, &[0; 8])));
        client.wait_for(PING);
    }
    for client in &mut clients {
        for stream in STREAMS {
            // Within the windows of a stream and of a connection.
            for _ in 0..15 {
                assert!(client.send(&frame(DATA, 0, stream, &[b'x'; 16_000])));
            }
        }
    }
    wait_until(&edge, 503);
    drop(clients);
    wait_until(&edge, 200);
}

#[test]
fn answers_that_nobody_takes_count() {
    // With room for the socket buffers of the kernel, which take some of it: 4 MiB to send by default.
    const STREAMS: u32 = 100;
    let fast = Scripted::always(OK);
    // HTTP/2 takes all of it at once, and holds it. An exchange with a client that leaves some of it with the server would
    // end a second after the memory has filled, and its memory would be free again before anybody asks.
    let large = Scripted::start(|mut connection| {
        let body = "x".repeat(120_000);
        while connection.head().is_some() {
            let len = body.len();
            connection.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n"));
            connection.send(&body);
        }
    });
    let edge = edge(2 << 20, fast.address, pool(&[large.address]));
    wait_until(&edge, 200);
    let initial_window = [0, 4, 0x7f, 0xff, 0xff, 0xff];
    let mut client = FrameClient::open(edge.address, &initial_window);
    let more = 0x7fff_ffff - 65_535_u32;
    assert!(client.send(&frame(WINDOW_UPDATE, 0, 0, &more.to_be_bytes())));
    for number in 0..STREAMS {
        let flags = END_HEADERS | END_STREAM;
        assert!(client.send(&frame(HEADERS, flags, 2 * number + 1, &get_fields())));
    }
    wait_until(&edge, 503);
    drop(client);
    wait_until(&edge, 200);
}
