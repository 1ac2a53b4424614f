//! Clients stay connected over reloads that change everything but the hub, until the edge stops or has no hub any more.

use std::time::{Duration, Instant};

use plimsoll_config::edge::{EdgeConfig, HubRule};
use serde_json::{Value, json};

use super::{HubClient, live, only_hub, publish, wait_for_clients, with};
use crate::support::{ObservedEdge, PATIENCE, start};

/// Number of clients.
const CLIENTS: usize = 300;

#[test]
fn reloads_cut_nobody() {
    let first = only_hub(live());
    let observed = ObservedEdge::start(&first);
    observed.wait_for_message("the hub at /live allows everybody to read every channel");
    let mut clients: Vec<HubClient> = (0..CLIENTS)
        .map(|_| HubClient::open(observed.edge.address))
        .collect();
    for client in &mut clients {
        client.subscribe("a");
    }
    let mut offset = 0;
    for round in 0..5_u32 {
        let mut next = first.clone();
        next.hub = Some(with(HubRule {
            history_max: 10 * round,
            ..HubRule::of("a")
        }));
        publish(&observed.edge, "a", &json!("before"));
        observed.reload(&next).unwrap();
        publish(&observed.edge, "a", &json!("after"));
        offset += 2;
    }
    for client in &mut clients {
        let mut received: Vec<Value> = (0..offset).map(|_| client.receive()).collect();
        assert_eq!(received.pop().unwrap()["offset"], offset);
        assert!(received.is_sorted_by_key(|message| message["offset"].as_u64()));
    }
    wait_for_clients(&observed.edge, CLIENTS as f64);
    // Rules apply from the reload on.
    let mut limited = first.clone();
    limited.hub = Some(with(HubRule {
        data_len_max: 5,
        ..HubRule::of("a")
    }));
    observed.reload(&limited).unwrap();
    let long = json!({ "channel": "a", "data": "too long" }).to_string();
    assert_eq!(super::publish_as(&observed.edge, None, &long).0, 413);
    // Without a hub clients are disconnected.
    let server = crate::support::Scripted::always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let without = EdgeConfig {
        hub: None,
        cores: first.cores,
        listen: first.listen.clone(),
        admin: first.admin.clone(),
        ..crate::support::plain(crate::support::pool(&[server.address]))
    };
    observed.reload(&without).unwrap();
    for client in &mut clients {
        assert_eq!(
            client.receive_close(),
            (1001, "the hub is closed".to_owned())
        );
    }
}

#[test]
fn who_stays_at_the_end_is_sent_away_in_time() {
    let edge = start(&only_hub(live()));
    let mut clients: Vec<HubClient> = (0..20).map(|_| HubClient::open(edge.address)).collect();
    for client in &mut clients {
        client.subscribe("a");
    }
    let begun = Instant::now();
    // One of them is silent; it delays the shutdown only briefly.
    let ending = edge.drain(PATIENCE);
    for client in &mut clients[1..] {
        assert_eq!(
            client.receive_close(),
            (1001, "the server is shutting down".to_owned())
        );
        // Further reads answer the close frame.
        assert!(client.socket.read().is_err());
    }
    ending.join().unwrap();
    assert!(
        begun.elapsed() + Duration::from_secs(1) < PATIENCE,
        "it waited for the silent one"
    );
    assert_eq!(clients[0].receive_close().0, 1001);
}
