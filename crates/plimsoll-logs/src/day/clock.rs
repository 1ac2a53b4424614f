//! The clock of the log: whether its lines are in order.

use super::summary::{ClockJump, ClockSummary};

/// A line that is so much before an earlier one is late, ms. Servers write a request at its end, some with its beginning.
const LATE_MS: i64 = 60_000;
/// So many late lines in sequence are a clock that was set back.
const LATE_LINES: u32 = 50;
/// Jumps that are listed.
const JUMPS_MAX: usize = 10;

/// Follows the moments of the lines.
#[derive(Debug, Default)]
pub(super) struct LogClock {
    highest_ms: Option<i64>,
    late_in_sequence: u32,
    late: u64,
    jumps: Vec<ClockJump>,
    jump_count: u64,
}

impl LogClock {
    /// The next line has this moment.
    pub(super) fn observe(&mut self, at_ms: i64) {
        let Some(highest_ms) = self.highest_ms else {
            self.highest_ms = Some(at_ms);
            return;
        };
        if at_ms >= highest_ms.saturating_sub(LATE_MS) {
            self.highest_ms = Some(highest_ms.max(at_ms));
            self.late_in_sequence = 0;
            return;
        }
        self.late += 1;
        self.late_in_sequence += 1;
        if self.late_in_sequence == LATE_LINES {
            self.late -= u64::from(LATE_LINES);
            self.late_in_sequence = 0;
            self.highest_ms = Some(at_ms);
            self.jump_count += 1;
            if self.jumps.len() < JUMPS_MAX {
                self.jumps.push(ClockJump {
                    from: super::moment(highest_ms),
                    back_s: highest_ms.saturating_sub(at_ms) / 1000,
                });
            }
        }
    }

    pub(super) fn summary(self) -> ClockSummary {
        ClockSummary {
            late_lines: self.late,
            jumps_back: self.jump_count,
            jumps: self.jumps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_line_is_no_jump_and_many_are_one() {
        let mut clock = LogClock::default();
        for second in 0..10_000 {
            clock.observe(second * 1000);
            if second >= 1000 && second % 1000 == 500 {
                // Began a quarter of an hour before it was written.
                clock.observe((second - 900) * 1000);
            }
        }
        for second in 6_400..12_000 {
            clock.observe(second * 1000);
        }
        let summary = clock.summary();
        assert_eq!((summary.late_lines, summary.jumps_back), (9, 1));
        assert!((3500..=3600).contains(&summary.jumps[0].back_s));
    }
}
