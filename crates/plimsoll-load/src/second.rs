//! What one loop saw in one second, in the form the hot path writes.

use hdrhistogram::Histogram as Dense;
use plimsoll_model::histogram::{Histogram, SIGNIFICANT_DIGITS};
use plimsoll_model::window::Window;

use crate::clock::SECOND_NS;

/// Statuses that are counted one by one: 0 to 999.
const STATUSES: usize = 1000;

/// One second of one loop; everything here is added to, never searched.
#[derive(Debug)]
pub(crate) struct Second {
    /// The plain counts; its histograms and statuses stay empty until [`Second::close`].
    pub(crate) window: Window,
    pub(crate) status: Box<[u32]>,
    pub(crate) response: Dense<u32>,
    pub(crate) service: Dense<u32>,
    pub(crate) failed: Dense<u32>,
    pub(crate) lag: Dense<u32>,
    /// Σ moments of ending − Σ moments of being due, in ns from the start of the second: with the count at the
    /// end of the second it gives the time integral of the requests in flight, exactly.
    pub(crate) in_flight_ns: i64,
}

impl Second {
    /// An empty second whose histograms reach up to `highest_us`, and grow beyond it rather than clamp.
    pub(crate) fn new(highest_us: u64) -> Box<Self> {
        let dense = || {
            let mut dense = Dense::new_with_bounds(1, highest_us.max(2), SIGNIFICANT_DIGITS)
                .expect("1 to at least 2 with three digits are valid bounds");
            dense.auto(true);
            dense
        };
        Box::new(Self {
            window: Window::default(),
            status: vec![0; STATUSES].into_boxed_slice(),
            response: dense(),
            service: dense(),
            failed: dense(),
            lag: dense(),
            in_flight_ns: 0,
        })
    }

    /// Takes out all counts as a window, and leaves the second empty, to be used again.
    pub(crate) fn close(&mut self) -> Window {
        let mut window = std::mem::take(&mut self.window);
        let end_ns =
            i128::from(self.in_flight_ns) + i128::from(window.in_flight) * i128::from(SECOND_NS);
        window.in_flight_mean = end_ns as f64 / SECOND_NS as f64;
        self.in_flight_ns = 0;
        for (status, count) in (0_u16..).zip(&mut self.status) {
            if *count > 0 {
                window.status.insert(status, u64::from(*count));
                *count = 0;
            }
        }
        for (sparse, dense) in [
            (&mut window.response, &mut self.response),
            (&mut window.service, &mut self.service),
            (&mut window.failed, &mut self.failed),
            (&mut window.lag, &mut self.lag),
        ] {
            if !dense.is_empty() {
                *sparse = Histogram::from_dense(dense);
                dense.reset();
            }
        }
        window
    }
}
