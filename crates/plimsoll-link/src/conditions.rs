//! What a link does to the bytes on it.

use std::time::Duration;

use plimsoll_model::distribution::DurationDistribution;

/// Most bytes of a segment: what an Ethernet frame carries over IPv4.
pub const SEGMENT_LEN: u64 = 1_460;
/// What the burst of a link takes at its bandwidth, s.
const BURST_S: f64 = 0.005;
/// The least burst, in segments.
const BURST_SEGMENTS_MIN: u64 = 2;
/// Most bytes of a connection on their way in one direction: the largest window of a TCP receiver on Linux is of this
/// size.
const WINDOW_MAX: u64 = 4 << 20;
/// The same with the narrowest bandwidth.
const WINDOW_MIN: u64 = 64 << 10;
/// The shortest queue before a narrow link, ns.
const QUEUE_NS_MIN: u64 = 10_000_000;

/// Delay, bandwidth and stalls of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConditions {
    /// Round trips; each direction takes half of one.
    pub round_trip: DurationDistribution,
    /// How many bytes pass in a second, in each direction, over all connections; without it as many as come.
    pub bandwidth: Option<Bandwidth>,
    /// Segments that wait as for a retransmission.
    pub stall: Option<Stall>,
}

/// A bandwidth, with the burst that passes at once after a pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    bytes_per_s: f64,
    burst_len: u64,
}

/// A share of segments that arrive late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// Their share, 0 to 1.
    pub share: f64,
    /// How much later such a segment arrives, and with it all bytes behind it.
    pub lasting: Duration,
}

impl Bandwidth {
    /// A bandwidth in bytes per second. Its burst is what passes in 5 ms, and at least two segments.
    pub fn new(bytes_per_s: f64) -> Self {
        let bytes_per_s = bytes_per_s.max(1.0);
        Self {
            bytes_per_s,
            burst_len: whole(bytes_per_s * BURST_S).max(BURST_SEGMENTS_MIN * SEGMENT_LEN),
        }
    }

    /// Bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes_per_s
    }

    /// Bytes that pass at once after a pause.
    pub fn burst_len(&self) -> u64 {
        self.burst_len
    }
}

impl LinkConditions {
    /// Whether bytes arrive as they would without the link.
    pub fn are_none(&self) -> bool {
        let has_delay = self.round_trip != DurationDistribution::Fixed(Duration::ZERO);
        !has_delay && self.bandwidth.is_none() && self.stall.is_none()
    }

    /// Most bytes of a connection on their way in one direction: twice what fills the link, as half of it may wait
    /// before the link.
    pub(crate) fn window(&self) -> u64 {
        let Some(bandwidth) = self.bandwidth else {
            return WINDOW_MAX;
        };
        let product = whole(bandwidth.bytes_per_s * self.round_trip.mean_s());
        (product + bandwidth.burst_len).clamp(WINDOW_MIN, WINDOW_MAX)
    }

    /// How long bytes wait before a narrow link until its connections take turns, ns.
    pub(crate) fn queue_ns_max(&self) -> u64 {
        whole(self.round_trip.mean_s() * 1e9).max(QUEUE_NS_MIN)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; a cast from a float saturates"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_the_bandwidth_delay_product() {
        let mut conditions = LinkConditions {
            round_trip: DurationDistribution::Fixed(Duration::from_millis(80)),
            bandwidth: None,
            stall: None,
        };
        assert_eq!(conditions.window(), 4 << 20);
        assert!(!conditions.are_none());
        // 10 Mbit/s: 100 kB on the link and before it, and a burst of 5 ms.
        conditions.bandwidth = Some(Bandwidth::new(1.25e6));
        assert_eq!(conditions.window(), 100_000 + 6_250);
        conditions.bandwidth = Some(Bandwidth::new(1_250.0));
        assert_eq!(conditions.window(), 64 << 10);
        assert_eq!(conditions.bandwidth.unwrap().burst_len(), 2_920);
        conditions.bandwidth = None;
        conditions.round_trip = DurationDistribution::Fixed(Duration::ZERO);
        assert!(conditions.are_none());
        assert_eq!(conditions.queue_ns_max(), 10_000_000);
    }
}
