//! What a profile of demand costs in a month, where units of capacity are added and taken away with the demand.
//!
//! A unit carries its load line. Each part of the month holds as many units as its rate needs, at least one. The ends of
//! the line's interval give the ends of the cost.

use super::Estimate;

/// Hours of a month: a twelfth of 365.25 days.
pub const MONTH_HOURS: f64 = 730.5;
/// Parts of a profile at most: a year of quarters of an hour.
pub const PARTS_MAX: usize = 40_000;
/// The share of all requests without the last percent.
const WITHOUT_LAST: f64 = 0.99;

/// A profile of demand: rates per second in equally long parts of a month.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    rates: Vec<f64>,
}

/// Prices of what carries the demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitPrice {
    /// Of a unit of capacity for an hour.
    pub hour: f64,
    /// Of a request.
    pub request: f64,
}

impl Demand {
    /// Of these rates; `None` without any, with more than [`PARTS_MAX`], or with one that is negative or not finite.
    pub fn new(rates: Vec<f64>) -> Option<Self> {
        let is_rate = |rate: &f64| rate.is_finite() && *rate >= 0.0;
        let is_valid = (1..=PARTS_MAX).contains(&rates.len()) && rates.iter().all(is_rate);
        is_valid.then_some(Self { rates })
    }

    /// Cost of a month at the load line of a unit; `None` when the line is not positive or a price is negative.
    pub fn month(&self, line: Estimate, price: UnitPrice) -> Option<Estimate> {
        is_valid(line, price).then(|| Estimate {
            value: cost(&self.rates, line.value, price),
            low: cost(&self.rates, line.high, price),
            high: cost(&self.rates, line.low, price),
        })
    }

    /// What the last percent of the requests costs in a month: all that is served, less what would be paid if the peaks were
    /// cut so that 99 % are. `None` as for [`Self::month`].
    pub fn last_percent(&self, line: Estimate, price: UnitPrice) -> Option<Estimate> {
        if !is_valid(line, price) {
            return None;
        }
        let cut = self.without_peaks();
        let [value, at_low, at_high] = [line.value, line.low, line.high]
            .map(|line| cost(&self.rates, line, price) - cost(&cut, line, price));
        // Units are whole, so the difference is not monotonic in the line.
        Some(Estimate {
            value,
            low: value.min(at_low).min(at_high),
            high: value.max(at_low).max(at_high),
        })
    }

    /// The rates, none above the level at which 99 % of all requests are served.
    fn without_peaks(&self) -> Vec<f64> {
        let mut ascending = self.rates.clone();
        ascending.sort_by(f64::total_cmp);
        let target = WITHOUT_LAST * ascending.iter().sum::<f64>();
        let mut below = 0.0;
        let mut level = ascending.last().copied().unwrap_or(0.0);
        for (index, rate) in ascending.iter().enumerate() {
            let above = (ascending.len() - index) as f64;
            if below + rate * above >= target {
                level = (target - below) / above;
                break;
            }
            below += rate;
        }
        self.rates.iter().map(|rate| rate.min(level)).collect()
    }
}

fn is_valid(line: Estimate, price: UnitPrice) -> bool {
    let is_line = line.low > 0.0 && line.low <= line.value && line.value <= line.high;
    let is_price = |price: f64| price.is_finite() && price >= 0.0;
    is_line && line.high.is_finite() && is_price(price.hour) && is_price(price.request)
}

fn cost(rates: &[f64], line: f64, price: UnitPrice) -> f64 {
    let hours = MONTH_HOURS / rates.len().max(1) as f64;
    let part = |rate: &f64| {
        // A rounding error must not cost a unit.
        let units = (rate / line - 1e-9).ceil().max(1.0);
        units * price.hour * hours + rate * 3600.0 * hours * price.request
    };
    rates.iter().map(part).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

    const LINE: Estimate = Estimate {
        value: 100.0,
        low: 80.0,
        high: 125.0,
    };
    const HOURLY: UnitPrice = UnitPrice {
        hour: 1.0,
        request: 0.0,
    };

    fn close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-6,
            "{found}, {expected} expected"
        );
    }

    #[test]
    fn whole_units_carry_each_part() {
        let demand = Demand::new(vec![50.0, 150.0, 250.0]).unwrap();
        let month = demand.month(LINE, HOURLY).unwrap();
        // 1, 2 and 3 units; at a line of 125: 1, 2, 2; of 80: 1, 2, 4.
        close(month.value, 2.0 * MONTH_HOURS);
        close(month.low, 5.0 / 3.0 * MONTH_HOURS);
        close(month.high, 7.0 / 3.0 * MONTH_HOURS);
        let per_request = UnitPrice {
            hour: 0.0,
            request: 1e-6,
        };
        let month = demand.month(LINE, per_request).unwrap();
        close(month.value, 150.0 * 3600.0 * MONTH_HOURS * 1e-6);
        // Nobody comes, and a unit waits.
        let idle = Demand::new(vec![0.0]).unwrap();
        close(idle.month(LINE, HOURLY).unwrap().value, MONTH_HOURS);
    }

    #[test]
    fn the_last_percent_is_the_unit_of_the_peak() {
        let mut rates = vec![100.0; 99];
        rates.push(200.0);
        let certain = Estimate {
            value: 100.0,
            low: 100.0,
            high: 100.0,
        };
        let demand = Demand::new(rates).unwrap();
        let last = demand.last_percent(certain, HOURLY).unwrap();
        close(last.value, MONTH_HOURS / 100.0);
        close(last.low, last.high);
        let served: f64 = demand.without_peaks().iter().sum();
        close(served, 0.99 * 10_100.0);
    }

    #[test]
    fn what_is_no_demand_or_no_line_has_no_cost() {
        for rates in [vec![], vec![-1.0], vec![f64::NAN], vec![1.0; PARTS_MAX + 1]] {
            assert_eq!(Demand::new(rates), None);
        }
        let demand = Demand::new(vec![1.0]).unwrap();
        assert_eq!(demand.month(Estimate { low: 0.0, ..LINE }, HOURLY), None);
        let negative = UnitPrice {
            hour: -1.0,
            request: 0.0,
        };
        assert_eq!(demand.last_percent(LINE, negative), None);
    }

    proptest! {
        #[test]
        fn cutting_peaks_serves_99_percent_and_never_costs_more(rates in proptest::collection::vec(0.0_f64..1e4, 1..50)) {
            let total: f64 = rates.iter().sum();
            let demand = Demand::new(rates).unwrap();
            let cut: f64 = demand.without_peaks().iter().sum();
            prop_assert!((cut - 0.99 * total).abs() <= 1e-6 * total.max(1.0));
            let last = demand.last_percent(LINE, HOURLY).unwrap();
            prop_assert!(last.low >= -1e-6 && last.low <= last.value && last.value <= last.high);
        }
    }
}
