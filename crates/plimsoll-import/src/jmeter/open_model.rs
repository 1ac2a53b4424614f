//! The schedule of an Open Model Thread Group: `rate(10/s) random_arrivals(1 min) pause(5 s)`.

use super::groups::timed;
use super::profile::{LoadUnit, Profile, Stretch};

/// Most calls of a schedule.
const CALLS_MAX: usize = 10_000;

/// The profile of a schedule; none if it cannot be read.
pub(super) fn profile(schedule: &str) -> Option<Profile> {
    let calls = calls(schedule)?;
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut level = 0.0;
    let mut is_even = !calls.is_empty();
    for (index, (name, argument)) in calls.iter().enumerate() {
        match name.as_str() {
            "rate" => level = rate(argument)?,
            "pause" => stretches.push(timed(0.0, 0.0, seconds(argument)?)?),
            "random_arrivals" | "even_arrivals" => {
                is_even &= name == "even_arrivals";
                // Arrivals between two rates change evenly from the one to the other.
                let to = match calls.get(index + 1) {
                    Some((next, argument)) if next == "rate" => rate(argument)?,
                    _ => level,
                };
                stretches.push(timed(level, to, seconds(argument)?)?);
            }
            _ => return None,
        }
    }
    Some(Profile {
        unit: LoadUnit::Arrivals,
        is_even,
        ..Profile::users(stretches, false)
    })
}

fn calls(schedule: &str) -> Option<Vec<(String, String)>> {
    let mut calls = Vec::new();
    let mut rest = schedule.trim_start();
    while !rest.is_empty() && calls.len() < CALLS_MAX {
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment
                .split_once('\n')
                .map_or("", |(_, after)| after)
                .trim_start();
            continue;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/")?.1.trim_start();
            continue;
        }
        let (name, after) = rest.split_once('(')?;
        let (argument, after) = after.split_once(')')?;
        calls.push((name.trim().to_owned(), argument.trim().to_owned()));
        rest = after.trim_start();
    }
    Some(calls)
}

/// `10/s`, `600 / min`: per second.
fn rate(text: &str) -> Option<f64> {
    let (number, unit) = match text.split_once('/') {
        Some((number, unit)) => (number, unit.trim()),
        None => (text, "s"),
    };
    let number: f64 = number.trim().parse().ok()?;
    Some(number / unit_seconds(unit)?)
}

/// `1 min`, `90 s`, `1 hour 30 min`.
fn seconds(text: &str) -> Option<f64> {
    let mut total = 0.0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().ok()?;
        let after = rest[end..].trim_start();
        let end = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        total += number * unit_seconds(if end == 0 { "s" } else { &after[..end] })?;
        rest = after[end..].trim_start();
    }
    Some(total)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 0.001,
        "s" | "sec" | "second" | "seconds" => 1.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read() {
        let check = |schedule: &str, expected: &[(f64, f64, u64)]| {
            let found = profile(schedule).unwrap();
            let found: Vec<(f64, f64, u64)> = found
                .stretches
                .iter()
                .map(|stretch| (stretch.from, stretch.to, stretch.lasting.as_secs()))
                .collect();
            assert_eq!(found, expected, "{schedule}");
        };
        check("rate(10/s) random_arrivals(1 min)", &[(10.0, 10.0, 60)]);
        check(
            "rate(0) random_arrivals(10 s) rate(60/min) /* hold */ random_arrivals(1 min 30 s) pause(5s) // end",
            &[(0.0, 1.0, 10), (1.0, 1.0, 90), (0.0, 0.0, 5)],
        );
        assert!(profile("rate(1/s) even_arrivals(1 s)").unwrap().is_even);
        assert_eq!(profile("rate(1/week) even_arrivals(1 s)"), None);
        assert_eq!(profile("nonsense"), None);
    }
}
