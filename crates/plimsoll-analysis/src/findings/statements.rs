//! What databases do, by the statements that their sessions carry out.

use plimsoll_model::reading::label;

use super::proxy::place;
use super::stretch::View;

/// The value of a label and how many sessions had it, on average over all seconds of the stretch; the most first.
pub(super) fn most<'a>(
    view: &View<'a>,
    metric: &'a str,
    at: &str,
    name: &str,
) -> Vec<(&'a str, f64)> {
    let seconds = view.rows().count().max(1) as f64;
    let series = view.series_of(metric).filter(|series| place(series) == at);
    let series: Vec<&'a str> = series.collect();
    let found = series.into_iter().filter_map(|series| {
        let sum: f64 = view.rows().filter_map(|row| row.get(series)).sum();
        (sum > 0.0).then_some((label(series, name)?, sum / seconds))
    });
    let mut found: Vec<(&'a str, f64)> = found.collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

/// Columns that a statement compares with a value, in its order: what an index would be made over.
pub(super) fn compared(statement: &str) -> Vec<&str> {
    let words: Vec<&str> = statement.split(' ').collect();
    let condition = words
        .iter()
        .position(|word| word.eq_ignore_ascii_case("where"));
    let words = condition.map_or(&[][..], |at| &words[at + 1..]);
    let mut columns = Vec::new();
    for three in words.windows(3) {
        let column = three[0].trim_start_matches('(');
        let column = column.rsplit('.').next().unwrap_or(column);
        let is_name = !column.is_empty()
            && column
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_');
        if three[1] == "is" && three[2].starts_with('?') && is_name && !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_condition() {
        for (statement, right) in [
            (
                "SELECT a FROM t WHERE t.login is ? AND (n is ?) AND n < ?",
                vec!["login", "n"],
            ),
            ("UPDATE t SET n is ? WHERE id is ?", vec!["id"]),
            ("SELECT ? is ?", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(compared(statement), right, "{statement}");
        }
    }
}
