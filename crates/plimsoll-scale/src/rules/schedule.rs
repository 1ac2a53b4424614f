//! Loads at known dates: replicas are ordered so early that they are ready in time.

use plimsoll_config::scale::{LinePolicy, ScalePolicy, ScheduleMoment, ScheduledLoad};

use crate::capacity::ReplicaLaw;
use crate::readings::ScaleReadings;
use crate::recommendation::Recommendation;
use crate::whole::{replicas, seconds, short, time};

const DAY_S: i64 = 86_400;

/// What a known date wants at a moment.
pub(crate) fn recommend(
    of: &ScalePolicy,
    load: &ScheduledLoad,
    readings: &ScaleReadings,
) -> Recommendation {
    let signal = format!("{} (schedule)", load.written);
    let Some(since) = since_s(load, readings) else {
        let because = format!(
            "{} is a date, and the readings have none; use a time of the day, or readings with dates",
            load.written
        );
        return Recommendation::refused(signal, readings, because);
    };
    let ahead_s = i64::from(seconds(of.replica.start)) + i64::from(seconds(load.margin));
    if since < -ahead_s || since >= i64::from(seconds(load.lasting)) {
        return Recommendation::new(
            signal,
            of.min,
            format!("nothing is due at {}", load.written),
        );
    }
    let (wanted, what) = wanted(of, load);
    let reason = if since < 0 {
        format!("{what} in {}", time(u32::try_from(-since).unwrap_or(0)))
    } else {
        format!("{what}, since {}", time(u32::try_from(since).unwrap_or(0)))
    };
    Recommendation::new(signal, wanted, reason)
}

fn wanted(of: &ScalePolicy, load: &ScheduledLoad) -> (u32, String) {
    if let Some(count) = load.replicas {
        return (count.clamp(of.min, of.max), replicas(count));
    }
    let rate = load.rate.unwrap_or(0.0);
    let line = of.line.clone().unwrap_or_default();
    let LinePolicy { utilisation, .. } = line;
    let count = ReplicaLaw::of(&of.replica).replicas_for(rate, utilisation, of.max);
    let what = format!("{}/s need {}", short(rate), replicas(count));
    (count.max(of.min), what)
}

/// Seconds since the load began; negative before it. Of every day, the nearest beginning counts.
fn since_s(load: &ScheduledLoad, readings: &ScaleReadings) -> Option<i64> {
    let at = i64::from(readings.at_s);
    match load.at {
        ScheduleMoment::Date(begins) => Some(readings.began_unix_s? + at - begins),
        ScheduleMoment::Daily(second) => {
            let began = readings.began_unix_s;
            let now = began.unwrap_or(readings.began_day_s.into()) + at;
            let since = (now - i64::from(second)).rem_euclid(DAY_S);
            let is_over = since >= i64::from(seconds(load.lasting));
            Some(if is_over { since - DAY_S } else { since })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_config::scale::ReplicaConfig;

    use super::*;

    fn load(at: ScheduleMoment) -> ScheduledLoad {
        ScheduledLoad {
            at,
            rate: Some(800.0),
            replicas: None,
            lasting: Duration::from_mins(3),
            margin: Duration::from_secs(30),
            written: "09:00".to_owned(),
        }
    }

    fn wanted_at(load: &ScheduledLoad, at_s: u32, began_unix_s: Option<i64>) -> Recommendation {
        let of = ScalePolicy::of_line("shop", ReplicaConfig::of_line(80.0), (2, 40));
        let readings = ScaleReadings {
            at_s,
            replicas: 3,
            ready: 3,
            began_unix_s,
            ..ScaleReadings::default()
        };
        recommend(&of, load, &readings)
    }

    #[test]
    fn replicas_are_ready_when_the_load_begins() {
        let daily = load(ScheduleMoment::Daily(9 * 3600));
        let nine = 9 * 3600;
        for (at, expected) in [
            (nine - 71, 2),
            (nine - 70, 14),
            (nine, 14),
            (nine + 179, 14),
            (nine + 180, 2),
            (nine + 86_400 - 70, 14),
        ] {
            assert_eq!(wanted_at(&daily, at, None).wanted, expected, "{at}");
        }
        let reason = wanted_at(&daily, nine - 60, None).reason;
        assert_eq!(reason, "800/s need 14 replicas in 1 min");
        // Eight hours later it is nine.
        assert_eq!(wanted_at(&daily, 3600, Some(8 * 3600)).wanted, 14);
    }

    #[test]
    fn a_date_needs_a_date() {
        let date = load(ScheduleMoment::Date(1_000_000));
        assert_eq!(wanted_at(&date, 100, Some(999_900)).wanted, 14);
        assert_eq!(wanted_at(&date, 400, Some(999_900)).wanted, 2);
        assert!(wanted_at(&date, 100, None).refused_by.is_some());
    }
}
