//! How fast a rate rises, and whether it has jumped.
//!
//! A trend that is fitted to levels (Holt's, for one) takes a jump for a trend and wants far too much for minutes. Here a
//! rise is what goes on rising: every mean is above the one before it, and the second smallest step is its slope, so that
//! a jump, which makes one large step or two, is none.

use super::past::PastValues;

/// Lengths of the means that are compared, s, and how many of them.
const SCALES: [(u32, u32); 2] = [(3, 5), (10, 6)];
/// How many standard errors a rise is above the noise of independent arrivals.
const RISE_ERRORS: f64 = 6.0;
/// How many standard deviations a jump is above what was before.
const JUMP_DEVIATIONS: f64 = 5.0;
/// Seconds that may belong to the jump itself.
const JUMP_S: u32 = 3;

/// By how much a rate will have risen after `ahead_s` seconds, 1/s; 0 where it does not go on rising. A rise is followed no
/// further than it has lasted.
pub(super) fn growth(past: &PastValues, ahead_s: u32) -> f64 {
    let growths = SCALES.iter().filter_map(|(length, count)| {
        let rise = rise_of(past, *length, *count)?;
        Some(rise * f64::from(ahead_s.min(length * count)))
    });
    growths.fold(0.0, f64::max)
}

/// The rise over one scale, 1/s per s.
fn rise_of(past: &PastValues, length: u32, count: u32) -> Option<f64> {
    if past.len() < (length * count) as usize {
        return None;
    }
    let means = (0..count)
        .rev()
        .map(|back| past.mean_before(back * length, length));
    let means: Vec<f64> = means.collect::<Option<_>>()?;
    let mut steps: Vec<f64> = means.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if steps.iter().any(|step| *step <= 0.0) {
        return None;
    }
    let (first, last) = (*means.first()?, *means.last()?);
    let error = (first.max(1.0) / f64::from(length)).sqrt();
    if last - first < RISE_ERRORS * error {
        return None;
    }
    steps.sort_by(f64::total_cmp);
    Some(steps.get(1)? / f64::from(length))
}

/// The rate of the last second, if it is beyond what was before by more than noise.
pub(super) fn jump(past: &PastValues) -> Option<f64> {
    let now = past.last()?;
    let before = past.mean_before(JUMP_S, u32::MAX)?;
    let variance = past.variance_before(JUMP_S)?.max(before);
    (now - before > JUMP_DEVIATIONS * variance.sqrt()).then_some(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(values: impl IntoIterator<Item = f64>) -> PastValues {
        let mut past = PastValues::new(60);
        for (second, value) in (1..).zip(values) {
            past.push(second, value);
        }
        past
    }

    #[test]
    fn a_ramp_rises_and_a_step_does_not() {
        let ramp = past((0..60).map(|second| 200.0 + 5.0 * f64::from(second)));
        assert!(
            (growth(&ramp, 45) - 225.0).abs() < 1e-6,
            "{}",
            growth(&ramp, 45)
        );
        for behind in 0..60 {
            let step =
                past((0..60).map(|second| if second + behind >= 60 { 800.0 } else { 160.0 }));
            assert!(growth(&step, 45).abs() < 1e-9, "{behind} s behind a step");
        }
        // A ramp of a quarter of a minute is known already, and followed as far.
        let short = past((0..60).map(|second| 160.0 + 5.0 * f64::from((second - 44).max(0))));
        assert!(
            (growth(&short, 45) - 75.0).abs() < 1e-6,
            "{}",
            growth(&short, 45)
        );
    }

    #[test]
    fn a_jump_is_beyond_noise() {
        let steady = |last: f64| {
            past((0..60).map(move |second| match second {
                59 => last,
                second => 160.0 + f64::from(second % 5) * 6.0 - 12.0,
            }))
        };
        assert_eq!(jump(&steady(200.0)), None);
        assert_eq!(jump(&steady(300.0)), Some(300.0));
        assert_eq!(jump(&past([1.0, 500.0])), None, "nothing is known yet");
        // Bursts of the past are noise of today.
        let bursts = past((0..60).map(|second| if second % 10 == 9 { 400.0 } else { 100.0 }));
        assert_eq!(jump(&bursts), None);
    }
}
