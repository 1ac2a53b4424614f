//! Limits of the application's own gauges.

use std::fmt;

use super::selector::Selector;

/// A gauge of the application, and the value at which what it measures is full.
#[derive(Clone, Debug, PartialEq)]
pub struct GaugeLimit {
    gauge: Selector,
    limit: f64,
}

// A limit is a finite number, so that it equals itself.
impl Eq for GaugeLimit {}

impl GaugeLimit {
    /// A gauge and its limit, in the unit of the gauge; `None` unless the limit is finite and above zero.
    pub fn new(gauge: Selector, limit: f64) -> Option<Self> {
        (limit.is_finite() && limit > 0.0).then_some(Self { gauge, limit })
    }

    /// Which gauges it is about.
    pub fn gauge(&self) -> &Selector {
        &self.gauge
    }

    /// The value at which they are full, in their unit; finite, above zero.
    pub fn limit(&self) -> f64 {
        self.limit
    }
}

impl fmt::Display for GaugeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.gauge, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_above_zero() {
        let gauge = Selector::of_meter("jobs.waiting{queue=mail}").unwrap();
        let limit = GaugeLimit::new(gauge.clone(), 0.5).unwrap();
        assert_eq!(limit.to_string(), "jobs.waiting{queue=\"mail\"} at 0.5");
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(GaugeLimit::new(gauge.clone(), wrong), None, "{wrong}");
        }
    }
}
