//! `:path` is matched by the same routes as the target of a request line.

use plimsoll_config::edge::PathParameters;
use plimsoll_testkit::program::servlets::Servlets;

use super::{
    DATA, END_HEADERS, END_STREAM, FrameClient, GOAWAY, HEADERS, RST_STREAM, frame, literal,
};
use crate::spellings::{SPELLINGS, before, guard, route};

/// The response to a GET of this path on a stream; `None` when the stream or the connection ends without one.
fn get(client: &mut FrameClient, stream: u32, path: &str) -> Option<String> {
    let fields = [
        &[0x82, 0x86][..],
        &literal(":path", path),
        &literal(":authority", "a.example"),
    ];
    client.send(&frame(
        HEADERS,
        END_HEADERS | END_STREAM,
        stream,
        &fields.concat(),
    ));
    let mut body = Vec::new();
    loop {
        let received = client.receive()?;
        match received.kind {
            GOAWAY => return None,
            RST_STREAM if received.stream == stream => return None,
            DATA => body.extend_from_slice(&received.payload),
            _ => {}
        }
        let is_end = matches!(received.kind, HEADERS | DATA) && received.flags & END_STREAM != 0;
        if is_end && received.stream == stream {
            return Some(String::from_utf8_lossy(&body).into_owned());
        }
    }
}

#[test]
fn no_spelling_in_frames_reaches_what_is_guarded() {
    let servers = Servlets::start();
    for server in servers.addresses {
        let routes = vec![
            guard("/admin/*", None),
            route("/pub/*", Some(PathParameters::Kept)),
            route("/*", None),
        ];
        let edge = before(server, routes);
        let mut client = FrameClient::open(edge.address, &[]);
        let mut stream = 1;
        let mut answered = 0;
        for target in SPELLINGS {
            if let Some(response) = get(&mut client, stream, target) {
                answered += 1;
                assert!(
                    !response.contains("the admin is at"),
                    "{target}: {response}"
                );
                stream += 2;
            } else {
                // A path that is forbidden in HTTP/2 ends the stream, or the connection.
                client = FrameClient::open(edge.address, &[]);
                stream = 1;
            }
        }
        assert!(answered >= 85, "{answered} of {}", SPELLINGS.len());
        for target in ["/pub/x", "/pub/x;v=1", "/pub;jsessionid=1/x"] {
            let response = get(&mut client, stream, target);
            assert_eq!(
                response.as_deref(),
                Some("the page is at /pub/x\n"),
                "{target}"
            );
            stream += 2;
        }
    }
}
