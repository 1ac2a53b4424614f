//! Wald's sequential probability ratio test of a pass probability.

/// The result of the test so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The high probability is accepted.
    Accept,
    /// The low probability is accepted.
    Reject,
    /// More trials are needed.
    Continue,
}

/// Sequential test of H₀: trials pass with probability 0.5, against H₁: 0.9, with both errors 5 %.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sprt {
    /// Sum of the log likelihood ratios.
    pub log_ratio: f64,
    /// Trials so far.
    pub trials: u32,
    /// Of these, passed.
    pub passes: u32,
}

const PASS_LOW: f64 = 0.5;
const PASS_HIGH: f64 = 0.9;
const ERROR: f64 = 0.05;

impl Sprt {
    /// Takes one more trial in.
    pub fn record(&mut self, passed: bool) {
        self.trials += 1;
        self.passes += u32::from(passed);
        self.log_ratio += if passed {
            (PASS_HIGH / PASS_LOW).ln()
        } else {
            ((1.0 - PASS_HIGH) / (1.0 - PASS_LOW)).ln()
        };
    }

    /// The decision so far: accept at ln((1−β)/α) = ln 19, reject at its negative.
    pub fn decision(&self) -> Decision {
        let bound = ((1.0 - ERROR) / ERROR).ln();
        if self.log_ratio >= bound {
            Decision::Accept
        } else if self.log_ratio <= -bound {
            Decision::Reject
        } else {
            Decision::Continue
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(passes: u32, fails: u32) -> Sprt {
        let mut test = Sprt::default();
        for _ in 0..passes {
            test.record(true);
        }
        for _ in 0..fails {
            test.record(false);
        }
        test
    }

    #[test]
    fn steps_and_bounds_are_the_published_ones() {
        assert!((after(1, 0).log_ratio - 0.588).abs() < 5e-4);
        assert!((after(0, 1).log_ratio + 1.609).abs() < 5e-4);
        // Six passes are 3.527 and five 2.939, a hair below ln 19 = 2.944.
        assert_eq!(after(5, 0).decision(), Decision::Continue);
        assert_eq!(after(6, 0).decision(), Decision::Accept);
        assert_eq!(after(0, 1).decision(), Decision::Continue);
        assert_eq!(after(0, 2).decision(), Decision::Reject);
    }
}
