//! A malicious span collector: requests continue, and only spans are lost.

use std::time::Duration;

use plimsoll_config::edge::{Parents, Traces};

use super::peers::{Decoy, Speech, received_to_end, scripted_peer};
use crate::support::{
    Scripted, endpoint, get, metric, open_admin, plain, pool, start, status_and_body, wait_for,
};

const LOST: &str = "plimsoll_edge_spans_lost_total";

#[test]
fn a_collector_without_sense_or_end_costs_spans_only() {
    let decoy = Decoy::open();
    let elsewhere = format!(
        "HTTP/1.1 308 Permanent Redirect\r\nLocation: http://{}/\r\nContent-Length: 0\r\n\r\n",
        decoy.address()
    );
    let elsewhere: &'static [u8] = Box::leak(elsewhere.into_bytes().into_boxed_slice());
    let speeches: Vec<Speech> = vec![
        (elsewhere, b""),
        (b"HTTP/1.1 200 OK\r\nX: ", &[b'x'; 4096]),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\n1\r\n",
        ),
        (b"SSH-2.0-OpenSSH_9\r\n", b""),
    ];
    // Each waits for the edge's own deadline: all at once.
    std::thread::scope(|scope| {
        for speech in speeches {
            scope.spawn(move || lose_spans_to(speech));
        }
    });
    decoy.nobody_came();
}

/// One request before a collector that speaks like this: it is answered at once, and its span is lost.
fn lose_spans_to(speech: Speech) {
    let (collector, ended) = scripted_peer(vec![speech]);
    let server = Scripted::always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let mut edge = plain(pool(&[server.address]));
    edge.traces = Some(Traces {
        to: endpoint(collector, "/v1/traces"),
        share: 1.0,
        parents: Parents::All,
        service: "shop".to_owned(),
    });
    edge.admin = Some(open_admin());
    let edge = start(&edge);
    let begun = std::time::Instant::now();
    assert_eq!(status_and_body(&get(edge.address, "/")), (200, "ok"));
    // No request waits for the export.
    assert!(begun.elapsed() < Duration::from_secs(20));
    received_to_end(&ended, 1);
    wait_for(&edge, LOST, 1.0);
    assert_eq!(metric(&edge, "plimsoll_edge_spans_sent_total"), Some(0.0));
}
