//! Loads in users, by Little's law.

/// Users who are in the system or think at a load of `rate` requests per second: N = λ·(R + Z), with the mean
/// response time R and the think time Z in seconds.
pub fn users(rate: f64, response_s: f64, think_s: f64) -> f64 {
    rate * (response_s + think_s)
}

/// Requests per second that `users` make: λ = N / (R + Z). `None` when they neither wait nor think.
pub fn rate(users: f64, response_s: f64, think_s: f64) -> Option<f64> {
    let cycle = response_s + think_s;
    (cycle > 0.0).then(|| users / cycle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        // 12,000 candidates who get an answer in 0.4 s and think for 39.6 s make 300 requests a second.
        assert!((rate(12_000.0, 0.4, 39.6).unwrap() - 300.0).abs() < 1e-9);
        assert!((users(300.0, 0.4, 39.6) - 12_000.0).abs() < 1e-9);
        assert_eq!(rate(5.0, 0.0, 0.0), None);
    }
}
