//! Memory and time of a million channels and subscriptions: `cargo run --release -p plimsoll-hub --example million`.
//!
//! 10,000 clients subscribe to 100 channels each, once to distinct channels and once all to the same hundred. Then
//! messages are published to channels in a fixed pattern, and delivered to sockets that accept everything.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "an example measures and prints"
)]

use std::time::Instant;

use plimsoll_hub::audience::{Audience, AudienceLimits, Slow};
use plimsoll_hub::channels::{ChannelLimits, Channels, Published, Subscriber};
use plimsoll_hub::rate::Rate;
use plimsoll_hub::rules::{ChannelRule, HistoryLimits, Rules};
use plimsoll_hub::{ClientFormat, ClientId, Outlet};

const CLIENTS: usize = 10_000;
const EACH: usize = 100;
const PUBLISHED: usize = 100_000;

struct Everything(usize);

impl Outlet for Everything {
    fn write(&mut self, _client: ClientId, bytes: &[u8]) -> usize {
        self.0 += bytes.len();
        bytes.len()
    }
}

/// Resident memory of this process, bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kib: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

fn measure(what: &str, channel_count: usize, history: usize) {
    let rule = ChannelRule {
        history: HistoryLimits {
            messages_max: history,
            ..ChannelRule::default().history
        },
        ..ChannelRule::default()
    };
    let limits = ChannelLimits {
        channels_max: 2_000_000,
        history_bytes_max: 1 << 30,
    };
    let before = resident();
    let mut channels = Channels::new(Rules::new(Vec::new(), rule), limits, (1, 2), 1, (0, 1));
    let mut audience = Audience::new(AudienceLimits {
        waiting_max: 64,
        waiting_bytes_max: 256 * 1024,
        missed_bytes_max: 64 << 20,
        slow: Slow::NewestWins,
        subscriptions_max: 100,
        commands: Rate {
            per_second: 10.0,
            burst: 100.0,
        },
    });
    let mut sockets = Everything(0);
    let subscriber = Subscriber {
        event_loop: 0,
        user: None,
    };
    let begin = Instant::now();
    for client in 0..CLIENTS {
        let id = audience.enter(0, ClientFormat::WebSocket);
        for number in 0..EACH {
            let name = format!("game-{}", (client * EACH + number) % channel_count);
            let subscription = channels.subscribe(0, &name, None, subscriber).unwrap();
            audience.subscribe(id, &subscription, &mut sockets).unwrap();
        }
    }
    let joined_in = begin.elapsed();
    let bytes = resident() - before;
    let begin = Instant::now();
    let mut delivered = 0;
    let mut published = 0;
    while published < PUBLISHED && delivered < 10 * PUBLISHED {
        // 7,919 is prime: every channel is used.
        let name = format!("game-{}", published * 7919 % channel_count);
        let sent = channels
            .publish(1, &name, "{\"odds\":[1.85,2.05],\"open\":true}")
            .unwrap();
        let Published::Sent(message, _) = sent else {
            panic!("nothing is conflated here");
        };
        delivered += audience.deliver(&message, &mut sockets);
        published += 1;
    }
    let sent = begin.elapsed();
    println!(
        "{what}: {channel_count} channels, {} subscriptions, history of {history}\n  \
         {} bytes per subscription with its channel, {:.2} µs to subscribe, {:.2} µs to publish, {:.3} µs per delivery",
        CLIENTS * EACH,
        bytes / (CLIENTS * EACH),
        joined_in.as_secs_f64() * 1e6 / (CLIENTS * EACH) as f64,
        sent.as_secs_f64() * 1e6 / published as f64,
        sent.as_secs_f64() * 1e6 / delivered as f64,
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    // One case per process: an allocator does not return everything.
    match arguments.next().as_deref() {
        Some("shared") => measure("shared", EACH, 100),
        _ => measure("own", CLIENTS * EACH, 100),
    }
}
