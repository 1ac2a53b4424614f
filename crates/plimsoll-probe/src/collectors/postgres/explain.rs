//! PostgreSQL's plans, as `EXPLAIN` shows them.

use crate::collectors::statements::shapes::shape;

/// Detail lines of a step that explain its cost, and their wording.
const CONDITIONS: [(&str, &str); 5] = [
    ("Filter: ", "with filter"),
    ("Index Cond: ", "where"),
    ("Recheck Cond: ", "where"),
    ("Hash Cond: ", "on"),
    ("Sort Key: ", "by"),
];

/// The steps of a plan, the last one first, without values, and the cost that the planner estimates; `None` when
/// the text is not a plan.
pub(crate) fn plan(text: &str) -> Option<(String, f64)> {
    let mut steps: Vec<String> = Vec::new();
    let mut cost = None;
    for line in text.lines() {
        let line = line.trim_start().trim_start_matches("->").trim_start();
        if let Some((step, rest)) = line.split_once("  (cost=") {
            steps.push(step.to_owned());
            let end = rest
                .split_once("..")
                .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
            cost = cost.or(end);
            continue;
        }
        let condition = CONDITIONS
            .iter()
            .find_map(|(begin, label)| Some((line.strip_prefix(begin)?, label)));
        if let (Some((condition, label)), Some(step)) = (condition, steps.last_mut()) {
            *step = format!("{step} {label} {condition}");
        }
    }
    Some((shape(&steps.join(" ← ")), cost?))
}

/// The highest number of a parameter in a statement: `$2` is 2.
pub(crate) fn parameters(text: &str) -> usize {
    let numbers = text.split('$').skip(1).filter_map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    });
    numbers.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of PostgreSQL 15.
    const PLAN: &str = "Aggregate  (cost=5608.01..5608.02 rows=1 width=8)\n  ->  Seq Scan on orders  (cost=0.00..5608.00 rows=1 width=0)\n\
        \x20       Filter: (customer = $1)\n";

    #[test]
    fn steps_and_cost_are_read() {
        let right = "Aggregate ← Seq Scan on orders with filter (customer = ?)";
        assert_eq!(plan(PLAN), Some((right.to_owned(), 5608.02)));
        assert_eq!(plan("ERROR"), None);
        assert_eq!(parameters("SELECT $1 + $12, $x, '$3'"), 12);
        assert_eq!(parameters("SELECT"), 0);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,200}") {
            let _ = (plan(&text), parameters(&text));
            let _ = plan(&PLAN.replace("customer", &text));
        }
    }
}
