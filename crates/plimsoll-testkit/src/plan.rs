//! A plan that tests and examples take as it is, or change in what they are about.

use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_model::plan::{
    CLASSES_MS_DEFAULT, GoodStatus, HEAD_LEN_MAX_DEFAULT, HEADERS_MAX_DEFAULT, Load, PathOrder,
    Plan, RequestPlan, Target, Transport,
};
use plimsoll_model::seed::Seed;

/// `GET /` from `address`, one request after the other on one connection for a second, without an objective.
pub fn get_root(address: SocketAddr) -> Plan {
    Plan {
        name: "test".to_owned(),
        target: Target::at(address),
        request: RequestPlan {
            method: "GET".to_owned(),
            paths: vec!["/".to_owned()],
            order: PathOrder::Circular,
            headers: vec![("Host".to_owned(), address.to_string())],
            body: Vec::new(),
            redirects_max: 0,
        },
        scenario: None,
        find: None,
        transport: Transport {
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            connections_max: 100,
            requests_per_connection: 0,
            sources: Vec::new(),
            ca_file: None,
            insecure: false,
            body_len_max: 1 << 20,
            head_len_max: HEAD_LEN_MAX_DEFAULT,
            headers_max: HEADERS_MAX_DEFAULT,
            http2: None,
        },
        load: Load::Closed {
            connections: 1,
            think: Duration::ZERO,
            lasting: Duration::from_secs(1),
        },
        objective: None,
        good: GoodStatus::default(),
        seed: Seed(1),
        cores: 1,
        tick: None,
        warmup: Duration::ZERO,
        classes_ms: CLASSES_MS_DEFAULT,
        patience: Vec::new(),
        price: None,
        required: None,
        browser: None,
    }
}
