//! What capacity costs, with the interval of the load line carried through.
//!
//! Cost per million good requests = price per hour · 10⁶ / (3600 · L). A cost falls as the line rises, so the upper end of
//! the line is the lower end of the cost. Currency is the caller's text; no price is looked up.

pub mod demand;

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// With a certain addend: what each request costs beside the resources that are held.
    #[must_use]
    pub fn plus(self, addend: f64) -> Self {
        Self {
            value: self.value + addend,
            low: self.low + addend,
            high: self.high + addend,
        }
    }

    fn inverted(self, factor: f64) -> Option<Self> {
        let is_line = self.low > 0.0 && self.low <= self.value && self.value <= self.high;
        let is_price = factor >= 0.0 && factor.is_finite() && self.high.is_finite();
        (is_line && is_price).then(|| Self {
            value: factor / self.value,
            low: factor / self.high,
            high: factor / self.low,
        })
    }
}

/// Cost per million requests at a load line in requests per second; `None` when the line is not positive or the price is
/// negative.
pub fn per_million(line: Estimate, price_per_hour: f64) -> Option<Estimate> {
    line.inverted(price_per_hour * 1e6 / 3600.0)
}

/// Cost per hour of a thousand users at a load line in users.
pub fn per_thousand_users(line: Estimate, price_per_hour: f64) -> Option<Estimate> {
    line.inverted(price_per_hour * 1000.0)
}

/// Productivity F = λ · f / C of Jogalekar and Woodside (IEEE Transactions on Parallel and Distributed Systems 11, 2000):
/// λ throughput per second, f = 1/(1 + T/T₀) the value of an answer after T seconds at an objective of T₀, C cost per
/// second. `None` without a cost or an objective.
pub fn productivity(
    throughput: f64,
    response_s: f64,
    objective_s: f64,
    cost_per_s: f64,
) -> Option<f64> {
    (objective_s > 0.0 && cost_per_s > 0.0)
        .then(|| throughput / (1.0 + response_s / objective_s) / cost_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_thousand_at_a_price_of_3_60() {
        let line = Estimate {
            value: 1000.0,
            low: 800.0,
            high: 1250.0,
        };
        let cost = per_million(line, 3.6).unwrap();
        for (found, expected) in [(cost.value, 1.0), (cost.low, 0.8), (cost.high, 1.25)] {
            assert!((found - expected).abs() < 1e-12, "{found}, {expected}");
        }
        let with_requests = cost.plus(0.25);
        assert!(
            (with_requests.low - 1.05).abs() < 1e-12 && (with_requests.high - 1.5).abs() < 1e-12
        );
        let users = per_thousand_users(line, 2.0).unwrap();
        assert!((users.value - 2.0).abs() < 1e-12 && users.low < users.value);
    }

    #[test]
    fn without_a_line_there_is_no_cost() {
        let line = |low| Estimate {
            value: 10.0,
            low,
            high: 20.0,
        };
        assert_eq!(per_million(line(0.0), 1.0), None);
        assert_eq!(per_million(line(5.0), -1.0), None);
        assert_eq!(per_million(line(5.0), f64::NAN), None);
        assert_eq!(productivity(1.0, 1.0, 1.0, 0.0), None);
    }

    #[test]
    fn an_answer_at_the_objective_is_worth_a_half() {
        let found = productivity(100.0, 0.2, 0.2, 0.01).unwrap();
        assert!((found - 5000.0).abs() < 1e-9, "{found}");
    }
}
