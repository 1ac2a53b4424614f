//! Whole numbers of replicas and seconds.

use std::time::Duration;

/// The whole number that is not below a value; 0 for one below 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and a float beyond u32 saturates"
)]
pub(crate) fn up(value: f64) -> u32 {
    value.max(0.0).ceil() as u32
}

/// The whole number that is not above a value; 0 for one below 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and a float beyond u32 saturates"
)]
pub(crate) fn down(value: f64) -> u32 {
    value.max(0.0).floor() as u32
}

/// Whole seconds that are not shorter than a duration.
pub(crate) fn seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(u32::MAX)
}

/// A number with as many digits as a reader needs: `81`, `7.25`, `0.333`.
pub(crate) fn short(value: f64) -> String {
    let text = match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    };
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// A count with its noun: `1 replica`, `3 replicas`.
pub(crate) fn replicas(count: u32) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} replica{ending}")
}

/// A time: `45 s`, `2 min`, `3 min 40 s`, `1 h 5 min`.
pub(crate) fn time(seconds: u32) -> String {
    let (minutes, rest) = (seconds / 60, seconds % 60);
    match (minutes, rest) {
        (0, _) => format!("{seconds} s"),
        (1..60, 0) => format!("{minutes} min"),
        (1..60, _) => format!("{minutes} min {rest} s"),
        _ if minutes % 60 == 0 => format!("{} h", minutes / 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(
            [81.0, 7.25, 0.333_3, 0.0].map(short),
            ["81", "7.25", "0.333", "0"]
        );
        assert_eq!(
            [45, 120, 220, 3900, 7200].map(time),
            ["45 s", "2 min", "3 min 40 s", "1 h 5 min", "2 h"]
        );
        assert_eq!(
            (up(-1.0), up(2.1), down(2.9), up(1e99)),
            (0, 3, 2, u32::MAX)
        );
        assert_eq!(seconds(Duration::from_millis(1500)), 2);
    }
}
