//! Rate limit per client: a token bucket, refilled at a steady rate.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;

use plimsoll_config::edge::Rate;
use plimsoll_net::clock::Nanoseconds;
use plimsoll_net::lock::lock;

/// Shards of the table, so that loops seldom wait for each other.
const SHARDS: usize = 16;
/// Maximum number of clients remembered per shard.
const CLIENTS_MAX: usize = 8192;

/// Token buckets of all clients of a route.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    rate: Rate,
    shards: [Mutex<HashMap<IpAddr, TokenBucket>>; SHARDS],
}

#[derive(Clone, Copy, Debug)]
struct TokenBucket {
    tokens: f64,
    at: Nanoseconds,
}

impl TokenBucket {
    fn filled(self, now: Nanoseconds, rate: Rate) -> Self {
        let passed = now.saturating_sub(self.at) as f64 / 1e9;
        Self {
            tokens: (self.tokens + passed * rate.per_second).min(f64::from(rate.burst)),
            at: now.max(self.at),
        }
    }
}

impl RateLimiter {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            rate,
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// Takes a token for a client; `false` when none is left.
    pub(crate) fn take(&self, client: IpAddr, now: Nanoseconds) -> bool {
        let client = subscriber(client);
        let full = TokenBucket {
            tokens: f64::from(self.rate.burst),
            at: now,
        };
        let mut shard = lock(&self.shards[shard_of(client)]);
        if shard.len() >= CLIENTS_MAX && !shard.contains_key(&client) {
            // A full bucket equals no bucket. If none is full, the shard is cleared: memory has a bound.
            let rate = self.rate;
            shard.retain(|_, bucket| bucket.filled(now, rate).tokens < f64::from(rate.burst));
            if shard.len() >= CLIENTS_MAX {
                shard.clear();
            }
        }
        let bucket = shard.entry(client).or_insert(full);
        *bucket = bucket.filled(now, self.rate);
        let has_token = bucket.tokens >= 1.0;
        if has_token {
            bucket.tokens -= 1.0;
        }
        has_token
    }
}

/// A client with one IPv6 address usually has all 2^64 of its network.
fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()),
        address @ IpAddr::V4(_) => address,
    }
}

fn shard_of(address: IpAddr) -> usize {
    let hash = match address {
        IpAddr::V4(address) => crate::hash::hash(&address.octets()),
        IpAddr::V6(address) => crate::hash::hash(&address.octets()),
    };
    usize::try_from(hash % SHARDS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_client_gets_its_burst_and_then_its_rate() {
        let limiter = RateLimiter::new(Rate {
            per_second: 10.0,
            burst: 5,
        });
        let client = "192.0.2.7".parse().unwrap();
        let taken = |from: u64, seconds: u64, client: IpAddr| {
            (0..seconds * 1000)
                .filter(|ms| limiter.take(client, from + ms * 1_000_000))
                .count()
        };
        let got = taken(SECOND, 10, client);
        assert!((104..=105).contains(&got), "{got}");
        // Another client has its own bucket; a neighbor in the same IPv6 network shares it.
        assert!(limiter.take("192.0.2.8".parse().unwrap(), 11 * SECOND));
        let (first, other) = ("2001:db8::1", "2001:db8::2");
        assert_eq!(
            (0..5)
                .filter(|_| limiter.take(first.parse().unwrap(), SECOND))
                .count(),
            5
        );
        assert!(!limiter.take(other.parse().unwrap(), SECOND));
    }

    #[test]
    fn a_flood_of_clients_has_a_bound() {
        let limiter = RateLimiter::new(Rate {
            per_second: 0.001,
            burst: 2,
        });
        for number in 0..u32::try_from(SHARDS * CLIENTS_MAX * 2).unwrap() {
            limiter.take(IpAddr::V4(number.into()), SECOND);
        }
        let kept: usize = limiter.shards.iter().map(|shard| lock(shard).len()).sum();
        assert!(kept <= SHARDS * CLIENTS_MAX);
    }
}
