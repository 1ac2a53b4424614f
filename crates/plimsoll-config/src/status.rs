//! Sets of HTTP statuses: `2xx,3xx,404,500-503`.

use plimsoll_model::plan::GoodStatus;

use crate::Problem;
use crate::problem::split_trimmed;

const VALID: &str = "a list such as `2xx,3xx,404,410-415`, each from 100 to 599";

/// Reads a set of statuses.
///
/// # Errors
/// The first part that is not a status, a class or a range.
pub fn statuses(text: &str) -> Result<GoodStatus, Problem> {
    let mut ranges = Vec::new();
    for (offset, segment) in split_trimmed(text, ',') {
        match range(segment) {
            Some((low, high)) if (100..=599).contains(&low) && low <= high && high <= 599 => {
                ranges.push((low, high));
            }
            _ => {
                let span = offset..offset + segment.len();
                let message = format!("`{segment}` is not a status code, a class or a range");
                return Err(Problem::new(text, span, message, VALID));
            }
        }
    }
    Ok(GoodStatus { ranges })
}

fn range(segment: &str) -> Option<(u16, u16)> {
    if let Some(class) = segment.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some((class * 100, class * 100 + 99));
    }
    match segment.split_once('-') {
        Some((low, high)) => Some((low.trim().parse().ok()?, high.trim().parse().ok()?)),
        None => segment.parse().ok().map(|status| (status, status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_ranges_and_single_statuses() {
        let good = statuses("2xx, 301,404-410").unwrap();
        assert!(
            [200, 299, 301, 404, 410]
                .into_iter()
                .all(|status| good.contains(status))
        );
        assert!(
            [199, 300, 302, 411]
                .into_iter()
                .all(|status| !good.contains(status))
        );
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
        for (text, at) in [
            ("2xx,6xx", "6xx"),
            ("ok", "ok"),
            ("410-404", "410-404"),
            ("200,", ""),
        ] {
            let problem = statuses(text).unwrap_err();
            assert_eq!(&text[problem.span.clone()], at);
        }
    }
}
