//! Something that grows with every request.

use plimsoll_model::load_line::Remark;

use crate::stats::trend::theil_sen_points;

/// Anchors below which no slope is believed.
const POINTS_MIN: usize = 4;
/// A limit further away than this at the verified rate is no concern, seconds.
const CONCERN_S: f64 = 24.0 * 3600.0;

/// A leak of `what`, from (requests sent so far, value) pairs read at the anchors, where the load is equal.
///
/// The Theil–Sen slope must be positive with its whole confidence interval. With a `limit`, a leak that takes more
/// than a day at `rate` requests per second to reach it is not reported.
pub fn leak(what: &str, points: &[(f64, f64)], limit: Option<f64>, rate: f64) -> Option<Remark> {
    let &(_, now) = points.last()?;
    let line = theil_sen_points(points)?;
    if points.len() < POINTS_MIN || line.slope_low <= 0.0 {
        return None;
    }
    let seconds_to_limit = limit.map(|limit| ((limit - now) / (line.slope * rate)).max(0.0));
    if seconds_to_limit.is_some_and(|seconds| seconds > CONCERN_S) {
        return None;
    }
    Some(Remark::Leak {
        what: what.to_owned(),
        per_thousand_requests: 1000.0 * line.slope,
        seconds_to_limit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_growth_is_a_leak_and_noise_is_not() {
        let growing: Vec<(f64, f64)> = (0..6)
            .map(|index| (f64::from(index) * 10_000.0, 1e8 + f64::from(index) * 2e6))
            .collect();
        // 200 bytes a request, 1.9e8 bytes left, 100 requests a second: 9,450 seconds.
        let Some(Remark::Leak {
            per_thousand_requests,
            seconds_to_limit,
            ..
        }) = leak("memory", &growing, Some(2.99e8), 100.0)
        else {
            panic!("no leak found");
        };
        assert!((per_thousand_requests - 200_000.0).abs() < 1.0);
        assert!((seconds_to_limit.unwrap() - 9450.0).abs() < 1.0);
        let noisy = [
            (0.0, 5.0),
            (1.0, 7.0),
            (2.0, 4.0),
            (3.0, 6.0),
            (4.0, 5.0),
            (5.0, 5.5),
        ];
        assert_eq!(leak("threads", &noisy, None, 100.0), None);
        assert_eq!(leak("memory", &growing, Some(1e13), 100.0), None);
    }
}
