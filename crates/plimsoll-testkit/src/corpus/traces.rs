//! Limits visible only in spans, of a shop with PostgreSQL and a rates service.

use super::{Planted, PlantedService};
use crate::port;
use crate::program::databases::Postgres;
use crate::program::traced::Traced;

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "spans: one statement sixty times in each request",
        rules: &["N+1"],
        start: repeated,
    },
    Planted {
        name: "spans: a service that answers four at once",
        rules: &["J9"],
        start: dependency,
    },
    Planted {
        name: "spans: a service that allows 40 requests a second",
        rules: &["J10"],
        start: quota,
    },
    Planted {
        name: "spans: 4 sessions, held during a call",
        rules: &["J7"],
        start: held,
    },
    Planted {
        name: "healthy: spans",
        rules: &[],
        start: healthy,
    },
];

/// The shop with a number of sessions and one query mode; the rates service has a delay in milliseconds, a concurrency
/// limit, and a limit per second.
fn shop(way: &str, sessions: u32, rates: [u32; 3], loads: [&'static str; 2]) -> PlantedService {
    let (database, otlp) = (Postgres::start(""), port::unused());
    let [wait_ms, at_once, per_second] = rates;
    let rates = Traced::rates(otlp, wait_ms, at_once, per_second);
    let shop = Traced::shop(otlp, &database, sessions, rates.address);
    PlantedService::new(shop.url(way), format!("otlp: {otlp}\n"), loads)
        .holding(shop)
        .holding(rates)
        .holding(database)
}

/// Rate limit of the rates service that no load here reaches.
const PLENTY: u32 = 1_000_000;

fn repeated() -> PlantedService {
    shop("list", 8, [1, 1000, PLENTY], ["2/s:4s", "400/s:8s"])
}

fn dependency() -> PlantedService {
    shop("prices", 8, [50, 4, PLENTY], ["20/s:4s", "160/s:8s"])
}

fn quota() -> PlantedService {
    shop("prices", 8, [10, 1000, 40], ["20/s:4s", "120/s:8s"])
}

fn held() -> PlantedService {
    shop("held", 4, [100, 1000, PLENTY], ["5/s:4s", "80/s:8s"])
}

fn healthy() -> PlantedService {
    shop("orders", 20, [10, 1000, PLENTY], ["5/s:4s", "10/s:8s"])
}
