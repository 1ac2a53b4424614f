//! `StatsD` over UDP.

use std::net::UdpSocket;

use crate::run::{GOOD, SECONDS, export};

#[test]
fn counters_and_timings_add_up_to_the_requests() {
    for (tags, name, shared) in [
        ("", "plimsoll.requests.ok:", ""),
        ("?tags", "plimsoll.requests:", "|#run:the-run,outcome:ok"),
    ] {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let destination = format!("statsd={}{tags}", socket.local_addr().unwrap());
        assert_eq!(export(&[&destination], &[]), [""; 0]);
        // All were sent before `export` returned: they wait in the socket.
        socket.set_nonblocking(true).unwrap();
        let mut lines = Vec::new();
        let mut buffer = [0; 2_000];
        while let Ok(len) = socket.recv(&mut buffer) {
            let text = String::from_utf8(buffer[..len].to_vec()).unwrap();
            lines.extend(text.lines().map(str::to_owned));
        }
        let counted: f64 = lines
            .iter()
            .filter_map(|line| {
                line.strip_prefix(name)?
                    .strip_suffix(&format!("|c{shared}"))
            })
            .map(|count| count.parse::<f64>().unwrap())
            .sum();
        let total = (GOOD * u64::from(SECONDS)) as f64;
        assert!((counted - total).abs() < 1e-9, "{lines:#?}");
        let timed: f64 = lines
            .iter()
            .filter(|line| line.starts_with("plimsoll.response:"))
            .map(|line| line.split_once("|@").unwrap().1)
            .map(|rest| 1.0 / rest.split('|').next().unwrap().parse::<f64>().unwrap())
            .sum();
        assert!((timed - total).abs() < 1e-6, "{lines:#?}");
    }
}
