//! The target's output, byte for byte.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Http2, Plan};

use crate::trial::{assert_all, even, ms, plan, run};

/// The client's first bytes (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const HEADERS: u8 = 1;

/// `END_STREAM` and `END_HEADERS`.
const WHOLE: u8 = 5;

/// A head of status 200, from the static table (RFC 7541, appendix A).
const OK: &[u8] = &[0x88];

fn http2_plan(listener: &TcpListener, streams: u32) -> Plan {
    let mut plan = plan(listener.local_addr().unwrap());
    plan.transport.connections_max = 1;
    plan.transport.http2 = Some(Http2 {
        prior_knowledge: true,
        streams,
    });
    plan
}

fn write(stream: &mut TcpStream, kind: u8, flags: u8, id: u32, payload: &[u8]) -> io::Result<()> {
    let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![len[1], len[2], len[3], kind, flags];
    frame.extend(id.to_be_bytes());
    frame.extend(payload);
    stream.write_all(&frame)
}

/// Accepts a connection, reads the preface, and sends its settings.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let (mut stream, _) = listener.accept()?;
    let mut preface = [0; PREFACE.len()];
    stream.read_exact(&mut preface)?;
    assert_eq!(preface, PREFACE);
    write(&mut stream, SETTINGS, 0, 0, &[])?;
    Ok(stream)
}

/// Reads up to the next request; returns its stream id.
fn next_request(stream: &mut TcpStream) -> io::Result<u32> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; len as usize])?;
        if head[3] == HEADERS {
            return Ok(u32::from_be_bytes([head[5], head[6], head[7], head[8]]));
        }
    }
}

fn spawn(
    listener: TcpListener,
    serve: impl FnOnce(&TcpListener) -> io::Result<()> + Send + 'static,
) -> JoinHandle<io::Result<()>> {
    std::thread::spawn(move || serve(&listener))
}

#[test]
fn what_stands_above_the_last_stream_is_sent_on_a_new_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut plan = http2_plan(&listener, 2);
    plan.request.method = "POST".to_owned();
    plan.transport.connections_max = 2;
    let server = spawn(listener, |listener| {
        let mut first = accept(listener)?;
        assert_eq!(next_request(&mut first)?, 1);
        assert_eq!(next_request(&mut first)?, 3);
        let last_is_1 = [0, 0, 0, 1, 0, 0, 0, 0];
        write(&mut first, GOAWAY, 0, 0, &last_is_1)?;
        let mut second = accept(listener)?;
        let id = next_request(&mut second)?;
        write(&mut second, HEADERS, WHOLE, id, OK)?;
        // Open streams get their response, however late.
        write(&mut first, HEADERS, WHOLE, 1, OK)
    });
    // The second is due when the first connection is surely there: it would have one of its own otherwise.
    let total = run(plan, even(1.0, ms(2000)));
    assert_all(&total, Outcome::Ok);
    assert_eq!((total.offered, total.retries, total.http2), (2, 1, 2));
    server.join().unwrap().unwrap();
}

#[test]
fn a_target_that_speaks_http1_breaks_the_protocol() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let plan = http2_plan(&listener, 4);
    let server = spawn(listener, |listener| {
        let (mut stream, _) = listener.accept()?;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?;
        // Until the client closes, in whatever way.
        let _ = stream.read_to_end(&mut Vec::new());
        Ok(())
    });
    let total = run(plan, even(10.0, ms(100)));
    assert_all(&total, Outcome::Protocol);
    server.join().unwrap().unwrap();
}

#[test]
fn a_connection_cut_in_the_midst_of_a_frame_has_ended() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let plan = http2_plan(&listener, 4);
    let server = spawn(listener, |listener| {
        let mut stream = accept(listener)?;
        let id = next_request(&mut stream)?;
        write(&mut stream, HEADERS, 4, id, OK)?;
        // A frame of DATA that announces ten bytes, and three of them.
        stream.write_all(&[0, 0, 10, 0, 0, 0, 0, 0, 1, b'a', b'b', b'c'])
    });
    let total = run(plan, even(10.0, ms(100)));
    assert_all(&total, Outcome::BodyCut);
    server.join().unwrap().unwrap();
}
