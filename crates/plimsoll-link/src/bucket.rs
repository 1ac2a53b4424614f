//! Bandwidth as a token bucket in virtual time.

use crate::conditions::Bandwidth;

/// Tokens of one direction of a link, shared by its connections: a byte costs one, they fill up at the bandwidth, and
/// at most a burst of them is there. Segments pass in the order in which they come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    ns_per_byte: f64,
    burst_ns: f64,
    /// When the bucket is full if nothing else passes. As a float: what a segment costs has fractions of nanoseconds on
    /// a fast link, and 2^53 ns are 104 days.
    full_at_ns: f64,
}

impl TokenBucket {
    pub(crate) fn new(bandwidth: Bandwidth) -> Self {
        let ns_per_byte = 1e9 / bandwidth.bytes_per_s();
        Self {
            ns_per_byte,
            burst_ns: bandwidth.burst_len() as f64 * ns_per_byte,
            full_at_ns: 0.0,
        }
    }

    /// When a segment of at most a burst has passed that came at `now_ns`.
    pub(crate) fn pass(&mut self, now_ns: u64, len: u64) -> u64 {
        let cost_ns = len as f64 * self.ns_per_byte;
        let has_tokens_ns = (self.full_at_ns + cost_ns - self.burst_ns).max(0.0);
        let passed_ns = now_ns.max(rounded_up(has_tokens_ns));
        self.full_at_ns = self.full_at_ns.max(passed_ns as f64) + cost_ns;
        passed_ns
    }

    /// How long what comes at `now_ns` waits for tokens, ns.
    pub(crate) fn backlog_ns(&self, now_ns: u64) -> u64 {
        rounded_up((self.full_at_ns - self.burst_ns).max(0.0)).saturating_sub(now_ns)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; a cast from a float saturates"
)]
fn rounded_up(ns: f64) -> u64 {
    ns.ceil() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What may be rounded up, bytes: each segment passes less than a nanosecond late, and the fastest link has a byte in
    /// it.
    const ROUNDED: f64 = 1.01;

    proptest! {
        #[test]
        fn no_interval_has_more_than_its_bytes_and_a_burst(
            bytes_per_s in 1e4..1e9_f64,
            coming in prop::collection::vec((0_u64..2_000_000, 1_u64..=1_460), 1..200),
        ) {
            let bandwidth = Bandwidth::new(bytes_per_s);
            let mut bucket = TokenBucket::new(bandwidth);
            let mut now_ns = 0;
            let mut passed = Vec::new();
            for (later, len) in coming {
                now_ns += later;
                let backlog_ns = bucket.backlog_ns(now_ns);
                let at = bucket.pass(now_ns, len);
                prop_assert!(at >= now_ns + backlog_ns.saturating_sub(1), "it overtakes");
                passed.push((at, len));
            }
            prop_assert!(passed.is_sorted_by_key(|(at, _)| *at));
            for (first, (begin, _)) in passed.iter().enumerate() {
                let mut len = 0;
                for (end, more) in &passed[first..] {
                    len += more;
                    let lasting_s = (end - begin) as f64 / 1e9;
                    let most = bandwidth.burst_len() as f64 + bytes_per_s * lasting_s;
                    prop_assert!(len as f64 <= most + ROUNDED, "{len} bytes in {lasting_s} s");
                }
            }
        }

        #[test]
        fn a_link_with_work_passes_its_bandwidth(bytes_per_s in 1e4..1e9_f64) {
            let bandwidth = Bandwidth::new(bytes_per_s);
            let mut bucket = TokenBucket::new(bandwidth);
            let (count, len) = (10_000_u64, 1_460);
            let last_ns = (0..count).fold(0, |_, _| bucket.pass(0, len));
            let behind_burst = (count * len - bandwidth.burst_len()) as f64;
            let expected_s = behind_burst.max(0.0) / bytes_per_s;
            prop_assert!((last_ns as f64 / 1e9 - expected_s).abs() < 1e-6 + expected_s * 1e-6);
        }
    }

    #[test]
    fn a_pause_fills_it_up_to_a_burst() {
        let mut bucket = TokenBucket::new(Bandwidth::new(1e6));
        let burst = [1_000; 5].map(|len| bucket.pass(0, len));
        assert_eq!(burst, [0; 5]);
        assert_eq!(bucket.pass(0, 1_000), 1_000_000);
        // Ten times as long as it takes to be full.
        let burst = [1_000; 6].map(|len| bucket.pass(60_000_000, len) - 60_000_000);
        assert_eq!(burst, [0, 0, 0, 0, 0, 1_000_000]);
    }
}
