//! Which server a request goes to, of those that can take one.
//!
//! Pure: a policy receives numbers and returns an index. Whether the picked server has a free slot is settled by taking
//! it; if another loop was faster, the pick is repeated without it.

use plimsoll_config::edge::BalancingPolicy;
use plimsoll_net::clock::Nanoseconds;

use super::PoolRequest;
use crate::hash::mix;

/// Properties of a server that a policy uses.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Index in the pool.
    pub(crate) index: usize,
    pub(crate) in_flight: u32,
    /// Weight relative to the others; reduced during slow start.
    pub weight: f64,
    /// Recent peak latency, ns.
    pub latency: Option<f64>,
    /// Hash of the server's name.
    pub(crate) hash: u64,
}

/// The index of the server that a policy picks; `arrival` is the number of the request at its pool.
pub(super) fn pick(
    policy: &BalancingPolicy,
    candidates: &[Candidate],
    request: &PoolRequest,
    arrival: u64,
) -> Option<usize> {
    match policy {
        BalancingPolicy::PeakEwma => cheaper_of_two(candidates, request.random),
        BalancingPolicy::RoundRobin => round_robin(candidates, arrival),
        BalancingPolicy::LeastInFlight => least_in_flight(candidates, request.random),
        BalancingPolicy::Hash(_) => by_hash(candidates, request.key),
        // Sticky sessions: the server that the cookie names, while it can take the request.
        BalancingPolicy::Cookie(_) => {
            let meant = candidates
                .iter()
                .find(|candidate| request.sticky == Some(candidate.hash))
                .map(|candidate| candidate.index);
            meant.or_else(|| cheaper_of_two(candidates, request.random))
        }
    }
}

/// Power of two choices: the cheaper of two random servers by latency times load over weight. `random` selects the two.
fn cheaper_of_two(candidates: &[Candidate], random: u64) -> Option<usize> {
    let count = candidates.len() as u64;
    match candidates {
        [] => None,
        [only] => Some(only.index),
        _ => {
            let first = random % count;
            let second = (first + 1 + (random >> 32) % (count - 1)) % count;
            let pair = (&candidates[index(first)], &candidates[index(second)]);
            Some(cheaper(pair.0, pair.1).index)
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "below the number of candidates"
)]
fn index(number: u64) -> usize {
    number as usize
}

fn cheaper<'a>(a: &'a Candidate, b: &'a Candidate) -> &'a Candidate {
    // An unknown latency counts as that of the other server.
    let known = a.latency.or(b.latency).unwrap_or(1.0);
    let cost = |candidate: &Candidate, or: f64| {
        candidate.latency.unwrap_or(or).max(1.0) * f64::from(candidate.in_flight + 1)
            / candidate.weight
    };
    let other = b.latency.unwrap_or(known);
    if cost(a, other) <= cost(b, known) {
        a
    } else {
        b
    }
}

/// Least requests by weight; `random` breaks ties.
fn least_in_flight(candidates: &[Candidate], random: u64) -> Option<usize> {
    let load = |candidate: &Candidate| f64::from(candidate.in_flight + 1) / candidate.weight;
    let least = candidates.iter().map(load).min_by(f64::total_cmp)?;
    let equal = || {
        candidates
            .iter()
            .filter(|candidate| load(candidate) <= least)
    };
    let count = equal().count() as u64;
    equal()
        .nth(index(random % count))
        .map(|candidate| candidate.index)
}

/// Weighted round robin: the position of `turn` in a round with evenly spread weights.
fn round_robin(candidates: &[Candidate], arrival: u64) -> Option<usize> {
    let whole: f64 = candidates.iter().map(|candidate| candidate.weight).sum();
    // The golden ratio spreads turns so that a heavy server's do not come in a row.
    let spread = (arrival as f64 * 0.618_033_988_749_895).fract();
    let equal = candidates
        .windows(2)
        .all(|pair| (pair[0].weight - pair[1].weight).abs() < f64::EPSILON);
    if equal {
        let count = candidates.len() as u64;
        return (count > 0).then(|| candidates[index(arrival % count)].index);
    }
    let mut place = spread * whole;
    for candidate in candidates {
        place -= candidate.weight;
        if place < 0.0 {
            return Some(candidate.index);
        }
    }
    candidates.last().map(|candidate| candidate.index)
}

/// Rendezvous hashing: the server with the highest score for a key; when one goes, only its keys move.
fn by_hash(candidates: &[Candidate], key: u64) -> Option<usize> {
    let score = |candidate: &Candidate| {
        // A number in (0, 1], so that weights count as shares.
        let unit = ((mix(candidate.hash ^ key) >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        -candidate.weight / unit.ln().min(-f64::MIN_POSITIVE)
    };
    candidates
        .iter()
        .max_by(|a, b| score(a).total_cmp(&score(b)))
        .map(|candidate| candidate.index)
}

/// Slow start: a server's share `since` it came back, from a tenth to all of it.
pub(crate) fn ramp(since: Nanoseconds, slow_start: Nanoseconds) -> f64 {
    if since >= slow_start {
        return 1.0;
    }
    (since as f64 / slow_start as f64).max(0.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::hash;

    fn servers(weights: &[f64]) -> Vec<Candidate> {
        let candidate = |(index, &weight): (usize, &f64)| Candidate {
            index,
            in_flight: 0,
            weight,
            latency: Some(1e6),
            hash: hash(format!("server {index}").as_bytes()),
        };
        weights.iter().enumerate().map(candidate).collect()
    }

    fn shares(count: usize, mut choose: impl FnMut(u64) -> usize) -> Vec<f64> {
        let mut got = vec![0.0; count];
        for number in 0..10_000 {
            got[choose(number)] += 1.0 / 10_000.0;
        }
        got
    }

    #[track_caller]
    fn near(got: &[f64], expected: &[f64]) {
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 0.03, "{got} is not {expected}");
        }
    }

    #[test]
    fn weights_are_shares() {
        let even = servers(&[1.0, 1.0, 1.0]);
        let uneven = servers(&[3.0, 1.0]);
        near(
            &shares(3, |arrival| round_robin(&even, arrival).unwrap()),
            &[1.0 / 3.0; 3],
        );
        near(
            &shares(2, |arrival| round_robin(&uneven, arrival).unwrap()),
            &[0.75, 0.25],
        );
        near(
            &shares(3, |key| by_hash(&even, mix(key)).unwrap()),
            &[1.0 / 3.0; 3],
        );
        near(
            &shares(2, |key| by_hash(&uneven, mix(key)).unwrap()),
            &[0.75, 0.25],
        );
        near(
            &shares(3, |key| cheaper_of_two(&even, mix(key)).unwrap()),
            &[1.0 / 3.0; 3],
        );
        near(
            &shares(3, |key| least_in_flight(&even, mix(key)).unwrap()),
            &[1.0 / 3.0; 3],
        );
        assert_eq!(cheaper_of_two(&[], 1), None);
        assert_eq!(least_in_flight(&[], 1), None);
        assert_eq!(round_robin(&[], 1), None);
        assert_eq!(by_hash(&[], 1), None);
    }

    #[test]
    fn only_the_keys_of_a_server_that_goes_move() {
        let all = servers(&[1.0; 5]);
        let fewer: Vec<Candidate> = all
            .iter()
            .filter(|candidate| candidate.index != 2)
            .copied()
            .collect();
        for key in (0..10_000).map(mix) {
            let before = by_hash(&all, key).unwrap();
            if before != 2 {
                assert_eq!(by_hash(&fewer, key), Some(before));
            }
        }
    }

    #[test]
    fn the_slow_and_the_busy_get_less() {
        let mut three = servers(&[1.0; 3]);
        three[1].latency = Some(10e6);
        let got = shares(3, |random| cheaper_of_two(&three, mix(random)).unwrap());
        near(&got, &[0.5, 0.0, 0.5]);
        three[0].in_flight = 100;
        let got = shares(3, |random| cheaper_of_two(&three, mix(random)).unwrap());
        near(&got, &[0.0, 1.0 / 3.0, 2.0 / 3.0]);
        three[2].latency = None;
        assert_eq!(cheaper(&three[1], &three[2]).index, 1);
    }

    #[test]
    fn a_server_comes_back_slowly() {
        for (since, expected) in [(0, 0.1), (15, 0.5), (30, 1.0), (99, 1.0)] {
            assert!((ramp(since, 30) - expected).abs() < 1e-9);
        }
        assert!((ramp(0, 0) - 1.0).abs() < 1e-9);
    }
}
