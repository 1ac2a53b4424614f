//! By how much the clock of another machine is ahead of the own one.

/// As many round trips are made for a measurement: the shortest of them is the least disturbed.
pub const ROUND_TRIPS: usize = 16;

/// A message and its answer, which carries the other side's clock. All in nanoseconds; each side counts from a moment of its
/// own, as long as it is the same one in every round trip.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    sent: i64,
    answered: i64,
    received: i64,
}

impl RoundTrip {
    /// Sent at `sent` and its answer received at `received` by the own clock, answered at `answered` by the other's.
    /// `received` is not before `sent`: take both from a clock that is not set, or from one reading of the wall clock and the
    /// time since.
    pub fn new(sent: i64, answered: i64, received: i64) -> Self {
        Self {
            sent,
            answered,
            received: received.max(sent),
        }
    }

    fn length(self) -> i64 {
        self.received.saturating_sub(self.sent)
    }

    /// The answer left in the middle of the round trip if both directions take as long; the error is half of it at most,
    /// whatever they take.
    fn offset(self) -> ClockOffset {
        let half = self.length() / 2;
        let middle = self.sent.saturating_add(half);
        ClockOffset {
            ahead_ns: self.answered.saturating_sub(middle),
            error_ns: self.length().unsigned_abs().div_ceil(2),
        }
    }
}

/// How far the other clock is ahead.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ClockOffset {
    ahead_ns: i64,
    error_ns: u64,
}

impl ClockOffset {
    /// From the shortest of several round trips; none without any.
    pub fn best(trips: &[RoundTrip]) -> Option<Self> {
        let shortest = trips.iter().copied().min_by_key(|trip| trip.length())?;
        Some(shortest.offset())
    }

    /// Nanoseconds by which the other clock is ahead of the own one; negative if it is behind.
    pub fn ahead_ns(self) -> i64 {
        self.ahead_ns
    }

    /// Nanoseconds by which the offset may be wrong: half of the shortest round trip.
    pub fn error_ns(self) -> u64 {
        self.error_ns
    }

    /// A moment of the other clock by the own one, in nanoseconds.
    pub fn to_own(self, other_ns: i64) -> i64 {
        other_ns.saturating_sub(self.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_known_without_a_round_trip() {
        assert_eq!(ClockOffset::best(&[]), None);
    }

    #[test]
    fn the_shortest_round_trip_counts() {
        // The other clock is 1,000 ahead; the long trip lost 80 on its way back.
        let long = RoundTrip::new(0, 1_010, 100);
        let short = RoundTrip::new(200, 1_205, 210);
        let offset = ClockOffset::best(&[long, short]).unwrap();
        assert_eq!((offset.ahead_ns(), offset.error_ns()), (1_000, 5));
        assert_eq!(offset.to_own(1_700), 700);
    }

    proptest! {
        #[test]
        fn the_error_is_never_larger_than_it_claims(
            ahead in -500_000_000_i64..500_000_000,
            ways in prop::collection::vec((0_i64..50_000_000, 0_i64..50_000_000), 1..=ROUND_TRIPS),
        ) {
            let trips: Vec<_> = ways
                .iter()
                .map(|(out, back)| RoundTrip::new(0, out + ahead, out + back))
                .collect();
            let offset = ClockOffset::best(&trips).unwrap();
            prop_assert!((offset.ahead_ns() - ahead).unsigned_abs() <= offset.error_ns());
        }
    }
}
