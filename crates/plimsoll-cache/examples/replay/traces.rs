//! Request traces, generated from a seed.

use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Number of requests of a trace.
pub(crate) const REQUESTS: usize = 4_000_000;

/// One request: the page and its size in bytes.
#[derive(Clone, Copy)]
pub(crate) struct PageRequest {
    pub(crate) hash: u64,
    pub(crate) bytes: u32,
}

/// A named sequence of requests.
pub(crate) struct CacheTrace {
    pub(crate) name: &'static str,
    pub(crate) requests: Vec<PageRequest>,
}

/// The traces of decision 0141.
pub(crate) fn all(seed: u64) -> Vec<CacheTrace> {
    vec![newspaper(seed), scan(seed), wonders(seed), feed(seed)]
}

/// A news site: a quarter of the requests are for the front and section pages, the rest for articles with Zipf
/// popularity over a list that a new article enters every 2,000 requests: near the top when it is breaking news, else
/// somewhere below.
fn newspaper(seed: u64) -> CacheTrace {
    const ARTICLES: usize = 200_000;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let sections = Zipf::new(200, 1.2);
    let by_rank = Zipf::new(ARTICLES, 0.9);
    let mut ranked: Vec<u64> = (1_000..).take(ARTICLES).collect();
    let mut next = 10_000_000;
    let page_at = |count: usize| {
        if count.is_multiple_of(2_000) {
            let breaking = random.random_range(0..20) == 0;
            let rank = if breaking {
                random.random_range(0..3)
            } else {
                random.random_range(20..5_000)
            };
            ranked.pop();
            ranked.insert(rank, next);
            next += 1;
        }
        if random.random_range(0..4) == 0 {
            sections.draw(&mut random) as u64
        } else {
            ranked[by_rank.draw(&mut random)]
        }
    };
    trace("newspaper", (0..REQUESTS).map(page_at))
}

/// A hot set, and a crawler that reads the archive from end to end in bursts, three requests of ten in all.
fn scan(seed: u64) -> CacheTrace {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 1);
    let hot = Zipf::new(20_000, 0.9);
    let mut crawled = 1_000_000;
    let page_at = |count: usize| {
        if count % 100_000 < 30_000 {
            crawled += 1;
            crawled
        } else {
            hot.draw(&mut random) as u64
        }
    };
    trace("scan", (0..REQUESTS).map(page_at))
}

/// Every second request is for a page that is never requested again: random queries, a flood of keys.
fn wonders(seed: u64) -> CacheTrace {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 2);
    let hot = Zipf::new(50_000, 0.8);
    let page_at = |count: usize| {
        if random.random_range(0..2) == 0 {
            1_000_000 + count as u64
        } else {
            hot.draw(&mut random) as u64
        }
    };
    trace("one-hit wonders", (0..REQUESTS).map(page_at))
}

/// The newspaper's own stress test: 10,000 articles in a loop, plus its readers.
pub(crate) fn feed(seed: u64) -> CacheTrace {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 3);
    let readers = Zipf::new(10_000, 0.9);
    let page_at = |count: usize| {
        if random.random_range(0..2) == 0 {
            (count as u64 / 2) % 10_000
        } else {
            20_000 + readers.draw(&mut random) as u64
        }
    };
    trace("circular feed", (0..REQUESTS).map(page_at))
}

fn trace(name: &'static str, pages: impl Iterator<Item = u64>) -> CacheTrace {
    let request = |page: u64| {
        let hash = mixed(page);
        PageRequest {
            hash,
            bytes: size(hash),
        }
    };
    CacheTrace {
        name,
        requests: pages.map(request).collect(),
    }
}

/// The page's size: log-normal with a median of 8 kB and sigma 1, of 300 B to 1 MB.
fn size(hash: u64) -> u32 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(hash);
    let mut uniform = || 1.0 - (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    // Box and Muller, 1958.
    let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 300..=1,000,000"
    )]
    let bytes = (8_000.0 * normal.exp()).clamp(300.0, 1_000_000.0) as u32;
    bytes
}

/// A hash as a keyed hash function would produce it (the finalizer of splitmix64).
pub(crate) fn mixed(page: u64) -> u64 {
    let mut mixed = page.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Ranks from 0 with a probability proportional to rank to the power of `-exponent`.
struct Zipf {
    cumulated: Vec<f64>,
}

impl Zipf {
    fn new(ranks: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let chance = |rank: usize| {
            sum += (rank as f64).powf(-exponent);
            sum
        };
        Self {
            cumulated: (1..=ranks).map(chance).collect(),
        }
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> usize {
        let sum = self.cumulated.last().copied().unwrap_or_default();
        let at = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 * sum;
        self.cumulated
            .partition_point(|chance| *chance <= at)
            .min(self.cumulated.len() - 1)
    }
}
