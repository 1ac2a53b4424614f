//! Actions at intervals, spread evenly over one interval.

/// Messages at intervals are due at multiples of this fraction of the interval, and of at most this time, ns.
const GATHER_DIVISOR: u64 = 200;
const GATHER_MAX_NS: u64 = 500_000;

/// First send time of the n-th WebSocket that sends at this interval. Any number of them is spread evenly over the
/// interval; those within a [`GATHER_DIVISOR`] of it are due at the same moment, so that the loop wakes once for
/// them.
pub(crate) fn first_due(number: u64, now: u64, interval_ns: u64) -> u64 {
    let first = now.saturating_add(golden_offset(number, interval_ns));
    let grid_ns = (interval_ns / GATHER_DIVISOR).clamp(1, GATHER_MAX_NS);
    first.checked_next_multiple_of(grid_ns).unwrap_or(first)
}

/// The n-th point of the golden-ratio sequence, as a fraction of an interval.
pub(crate) fn golden_offset(number: u64, interval_ns: u64) -> u64 {
    // 2^64 divided by the golden ratio: the overflow keeps the fraction.
    let fraction = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let offset = (u128::from(fraction) * u128::from(interval_ns)) >> 64;
    u64::try_from(offset).unwrap_or(interval_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_at_intervals_gather() {
        let moments = |interval_ns| -> std::collections::BTreeSet<u64> {
            (0..2000)
                .map(|number| first_due(number, 7, interval_ns))
                .collect()
        };
        for (interval_ns, grid_ns) in [(40_000_000, 200_000), (400_000_000, GATHER_MAX_NS)] {
            let gathered = moments(interval_ns);
            assert_eq!(gathered.len() as u64, interval_ns / grid_ns);
            assert!(gathered.iter().all(|due| due % grid_ns == 0));
        }
        // Too short to be divided.
        assert!(moments(GATHER_DIVISOR - 1).len() > 100);
    }

    #[test]
    fn first_messages_lie_evenly_over_the_interval() {
        for count in [2_u64, 10, 1000] {
            let mut offsets: Vec<u64> = (0..count)
                .map(|number| golden_offset(number, 1 << 30))
                .collect();
            offsets.sort_unstable();
            let gaps = offsets.windows(2).map(|pair| pair[1] - pair[0]);
            let widest = gaps
                .max()
                .unwrap_or(0)
                .max((1 << 30) - offsets[offsets.len() - 1]);
            assert!(widest <= 2 * (1 << 30) / count * 2, "{count}: {widest}");
        }
    }
}
