//! How much of a day a cache of some size would answer, by the policy of the edge's own cache.
//!
//! Keys are sampled by hash when they are many, and the sizes scaled alike (Waldspurger and others, "Efficient MRC
//! construction with SHARDS", FAST 2015). What is estimated is the number of misses: requests in all are known.

use plimsoll_cache::store::{PolicyReplay, ReplayRequest};

use super::hash::is_sampled;
use super::kind::RequestKind;
use super::summary::CacheSize;

/// Responses held by the largest cache before the sample is halved.
const OBJECTS_MAX: usize = 16_000;
/// Share of a cache that one response may have, as in the edge.
const OBJECT_SHARE: usize = 8;
/// Bytes of a response's head, which a log does not count or only partly.
const HEAD_LEN: u64 = 400;
/// Minutes of the first pass that are kept.
const MINUTES_MAX: usize = 1440;
/// Minutes over which a hit share is taken.
const FILL_WINDOW: usize = 5;
/// Fewest requests of such a window.
const FILL_REQUESTS_MIN: u64 = 100;
/// Share of the steady hit share that a filled cache has.
const FILLED: f64 = 0.95;
/// Groups of keys by whose differences the error of a sample is estimated.
const GROUPS: usize = 16;

/// A request that a cache may answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cacheable {
    pub(super) hash: u64,
    pub(super) key_len: usize,
    /// Bytes of the body; `None` if this answer does not tell.
    pub(super) body_len: Option<u64>,
    pub(super) at_s: i64,
}

#[derive(Debug)]
struct SizeReplay {
    bytes: u64,
    policy: PolicyReplay,
    misses: u64,
    by_group: [u64; GROUPS],
    by_minute: Vec<u64>,
}

/// The same requests through several sizes.
#[derive(Debug)]
pub(super) struct CacheReplay {
    sizes: Vec<SizeReplay>,
    lifetime_s: u32,
    sample_bits: u32,
    from_s: Option<i64>,
    requests: u64,
    by_minute: Vec<u64>,
    /// Bodies of each kind and their bytes, for the size of one that is not known.
    bodies: [(u64, u64); RequestKind::ALL.len()],
}

impl CacheReplay {
    /// Caches of these bytes, whose responses are fresh for `lifetime_s`.
    pub(super) fn new(sizes: &[u64], lifetime_s: u32) -> Self {
        let sizes = sizes.iter().map(|&bytes| SizeReplay {
            bytes,
            policy: PolicyReplay::new(clamped(bytes), clamped(bytes) / OBJECT_SHARE),
            misses: 0,
            by_group: [0; GROUPS],
            by_minute: Vec::new(),
        });
        Self {
            sizes: sizes.collect(),
            lifetime_s,
            sample_bits: 0,
            from_s: None,
            requests: 0,
            by_minute: Vec::new(),
            bodies: [(0, 0); RequestKind::ALL.len()],
        }
    }

    /// Requests that a cache may answer.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// The bytes of a body; if they are not known, the mean of its kind.
    fn body_len(&mut self, request: &Cacheable, kind: RequestKind) -> u64 {
        let (bodies, bytes) = &mut self.bodies[kind as usize];
        match request.body_len {
            Some(len) => {
                *bodies += 1;
                *bytes = bytes.saturating_add(len);
                len
            }
            None => *bytes / (*bodies).max(1),
        }
    }

    /// Replays a request.
    pub(super) fn take(&mut self, request: &Cacheable, kind: RequestKind) {
        self.requests += 1;
        let body_len = self.body_len(request, kind);
        let from_s = *self.from_s.get_or_insert(request.at_s);
        let now_s = request.at_s.saturating_sub(from_s);
        let minute = usize::try_from(now_s / 60)
            .ok()
            .filter(|minute| *minute < MINUTES_MAX);
        if let Some(minute) = minute {
            add_at(&mut self.by_minute, minute, 1);
        }
        if !is_sampled(request.hash, self.sample_bits) {
            return;
        }
        let replayed = ReplayRequest {
            hash: request.hash,
            key_len: request.key_len,
            response_len: clamped(body_len.saturating_add(HEAD_LEN)),
            now_s: u32::try_from(now_s.max(0)).unwrap_or(u32::MAX),
        };
        let weight = 1 << self.sample_bits;
        let mut objects = 0;
        for size in &mut self.sizes {
            if !size.policy.request(&replayed, self.lifetime_s) {
                size.misses += weight;
                size.by_group[group(request.hash)] += weight;
                if let Some(minute) = minute {
                    add_at(&mut size.by_minute, minute, weight);
                }
            }
            objects = objects.max(size.policy.len());
        }
        if objects > OBJECTS_MAX {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.sample_bits += 1;
        let bits = self.sample_bits;
        for size in &mut self.sizes {
            let bytes = clamped(size.bytes >> bits);
            size.policy.narrow(bytes, |hash| is_sampled(hash, bits));
        }
    }

    /// What each size would have answered of `requests` in all; empty if nothing could be cached.
    pub(super) fn finish(self, requests: u64) -> Vec<CacheSize> {
        if self.requests == 0 {
            return Vec::new();
        }
        let sizes = self.sizes.iter().map(|size| {
            let misses = size.misses.min(self.requests);
            let share = (self.requests - misses) as f64 / requests.max(1) as f64;
            CacheSize {
                bytes: size.bytes,
                hit_share: share,
                hit_share_error: self.error(size) / requests.max(1) as f64,
                cold_fill_minutes: self.cold_fill(size),
            }
        });
        sizes.collect()
    }

    /// 95 % bound of the error of the misses that sampling causes.
    fn error(&self, size: &SizeReplay) -> f64 {
        if self.sample_bits == 0 {
            return 0.0;
        }
        let groups = GROUPS as f64;
        let mean = size.misses as f64 / groups;
        let squares: f64 = size
            .by_group
            .iter()
            .map(|misses| (*misses as f64 - mean).powi(2))
            .sum();
        // Student's t with 15 degrees of freedom.
        2.13 * (squares / (groups - 1.0) * groups).sqrt()
    }

    /// Minutes until the hit share is within 5 % of that of the second half of the kept minutes; `None` if it never is.
    fn cold_fill(&self, size: &SizeReplay) -> Option<u32> {
        let misses = |minute: usize| size.by_minute.get(minute).copied().unwrap_or(0);
        let share = |from: usize, to: usize| {
            let requests: u64 = self.by_minute[from..to].iter().sum();
            let lost: u64 = (from..to).map(misses).sum();
            (requests, 1.0 - lost as f64 / requests.max(1) as f64)
        };
        let minutes = self.by_minute.len();
        let (requests, steady) = share(minutes / 2, minutes);
        if minutes < 2 * FILL_WINDOW || requests < FILL_REQUESTS_MIN || steady <= 0.0 {
            return None;
        }
        let filled = (0..minutes - FILL_WINDOW).find(|from| {
            let (requests, hits) = share(*from, from + FILL_WINDOW);
            requests >= FILL_REQUESTS_MIN && hits >= FILLED * steady
        });
        filled.and_then(|minute| u32::try_from(minute).ok())
    }
}

fn group(hash: u64) -> usize {
    usize::try_from((hash >> 16) & 0xf).unwrap_or(0)
}

fn clamped(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn add_at(counts: &mut Vec<u64>, index: usize, count: u64) {
    if counts.len() <= index {
        counts.resize(index + 1, 0);
    }
    counts[index] += count;
}

#[cfg(test)]
mod tests {
    use super::super::hash::{hash, join};
    use super::*;

    fn request(number: u64, at_s: i64) -> Cacheable {
        Cacheable {
            hash: hash(&number.to_le_bytes()),
            key_len: 30,
            body_len: Some(10_000),
            at_s,
        }
    }

    #[test]
    fn a_cache_that_holds_everything_misses_each_key_once() {
        let mut replay = CacheReplay::new(&[1 << 30], u32::MAX);
        for second in 0..3600_u32 {
            for number in 0..10 {
                let request = request(u64::from(second * 7 + number) % 500, i64::from(second));
                replay.take(&request, RequestKind::Page);
            }
        }
        let sizes = replay.finish(40_000);
        assert!((sizes[0].hit_share - 35_500.0 / 40_000.0).abs() < 1e-9);
        assert!(sizes[0].hit_share_error.abs() < 1e-9);
        assert!(sizes[0].cold_fill_minutes.unwrap() <= 2, "{sizes:?}");
    }

    #[test]
    fn a_lifetime_makes_a_miss_of_every_fresh_copy() {
        let mut replay = CacheReplay::new(&[1 << 24], 9);
        for second in 0..1000 {
            replay.take(&request(1, second), RequestKind::Page);
        }
        // One in ten: at 0, 10, 20 …
        assert!((replay.finish(1000)[0].hit_share - 0.9).abs() < 1e-9);
    }

    /// Keys by a power law, many more than are replayed: compared with the replay of all of them.
    #[test]
    fn a_sample_is_within_its_error() {
        let bytes = 64 << 20;
        let mut sampled = CacheReplay::new(&[bytes, bytes * 8], u32::MAX);
        let mut exact = PolicyReplay::new(clamped(bytes), clamped(bytes) / OBJECT_SHARE);
        let (mut state, mut misses) = (7, 0_u32);
        let requests = 600_000_u32;
        for number in 0..requests {
            state = join(state, 1);
            let share = (state >> 11) as f64 / (1_u64 << 53) as f64;
            let key = super::super::whole(300_000_f64.powf(share));
            let request = request(key, i64::from(number / 100));
            sampled.take(&request, RequestKind::Page);
            let all = ReplayRequest {
                hash: request.hash,
                key_len: request.key_len,
                response_len: clamped(10_000 + HEAD_LEN),
                now_s: number / 100,
            };
            misses += u32::from(!exact.request(&all, u32::MAX));
        }
        assert!(sampled.sample_bits >= 1);
        let expected = 1.0 - f64::from(misses) / f64::from(requests);
        let sizes = sampled.finish(u64::from(requests));
        let size = &sizes[0];
        let off = (size.hit_share - expected).abs();
        assert!(
            off <= size.hit_share_error && size.hit_share_error < 0.05,
            "{size:?} {expected}"
        );
        assert!(sizes[1].hit_share >= size.hit_share);
    }
}
