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
    let count = speeches.len();
    let (collector, ended) = scripted_peer(speeches);
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
    for number in 0..count {
        let begun = std::time::Instant::now();
        assert_eq!(status_and_body(&get(edge.address, "/")), (200, "ok"));
        // No request waits for the export.
        assert!(begun.elapsed() < Duration::from_secs(20));
        received_to_end(&ended, number);
        wait_for(&edge, LOST, (number + 1) as f64);
    }
    assert_eq!(metric(&edge, "plimsoll_edge_spans_sent_total"), Some(0.0));
    decoy.nobody_came();
}
