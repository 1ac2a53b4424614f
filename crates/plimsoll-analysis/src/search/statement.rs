//! The answer in words.

use plimsoll_model::load_line::LoadLine;
use plimsoll_model::objective::Objective;
use plimsoll_model::plan::LoadUnit;

/// The text to print: a plain sentence, then the statement with all its numbers.
pub fn statement(line: &LoadLine, objective: &Objective) -> String {
    let mut text = format!(
        "This service carries {} {} while {objective} holds. Load line {} {} (half of \
         {}-second trials would break the objective); 90 % credible interval [{}, {}]; verified {}: {} of {} fresh \
         trials passed, so with 95 % confidence a trial at {} passes with probability ≥ {:.3}",
        rate(line.verified),
        match line.unit {
            LoadUnit::RequestsPerSecond => "requests per second",
            LoadUnit::Users => "users at once",
            LoadUnit::SessionsPerSecond => "new users per second",
        },
        rate(line.median),
        line.unit.symbol(),
        line.trial_s,
        rate(line.low),
        rate(line.high),
        rate(line.verified),
        line.confirmed_passes,
        line.confirmed_trials,
        rate(line.verified),
        line.pass_probability_low,
    );
    if let Some((broken, failed, trials)) = line.broken {
        let broken = rate(broken);
        text.push_str("; broken at ");
        let failures = format!("{broken}: {failed} of {trials} trials failed");
        text.push_str(&failures);
    }
    text.push('.');
    text
}

/// A rate with as many digits as mean something: whole numbers from 100/s on, three digits below.
pub(super) fn rate(value: f64) -> String {
    let digits = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::objective::LatencyBound;

    #[test]
    fn says_it_in_the_agreed_words() {
        let line = LoadLine {
            unit: LoadUnit::RequestsPerSecond,
            median: 312.4,
            low: 301.2,
            high: 322.0,
            verified: 301.2,
            confirmed_trials: 5,
            confirmed_passes: 5,
            pass_probability_low: 0.549_28,
            broken: Some((330.1, 3, 4)),
            trial_s: 20,
        };
        let objective = Objective {
            latency: vec![LatencyBound {
                quantile: 0.95,
                within_us: 500_000,
            }],
            errors_max: Some(0.01),
            ..Objective::default()
        };
        assert_eq!(
            statement(&line, &objective),
            "This service carries 301 requests per second while p95 < 500ms, errors < 1% holds. Load line 312 \
             req/s (half of 20-second trials would break the objective); 90 % credible interval [301, 322]; \
             verified 301: 5 of 5 fresh trials passed, so with 95 % confidence a trial at 301 passes with \
             probability ≥ 0.549; broken at 330: 3 of 4 trials failed."
        );
    }
}
