//! Which index a statement would use, from its form without values.

use crate::token::{is_column, is_comma, is_equality, is_inequality, is_word, tokens};

/// Keywords that end a condition.
const ENDS: [&str; 9] = [
    "GROUP",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "FOR",
    "RETURNING",
    "HAVING",
    "UNION",
    "WINDOW",
];
/// Columns of an index that is advised.
const COLUMNS_MAX: usize = 4;

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The table, as the statement names it.
    pub table: String,
    /// Its columns: those compared for equality, then one compared by range, or those of the sort order.
    pub columns: Vec<String>,
}

impl Index {
    /// Its columns, with commas between.
    pub fn columns(&self) -> String {
        self.columns.join(", ")
    }
}

/// The table of a statement: its name, its alias, and whether it is the only one.
fn table(tokens: &[String]) -> Option<(String, String, bool)> {
    let is_before = |token: &String| is_word(token, "FROM") || is_word(token, "UPDATE");
    let at = tokens.iter().position(is_before)? + 1;
    let name = tokens.get(at)?;
    if !is_column(name) {
        return None;
    }
    let next = tokens
        .get(at + 1)
        .filter(|next| !is_word(next, "AS"))
        .or(tokens.get(at + 2));
    let known = [
        "WHERE", "SET", "JOIN", "LEFT", "INNER", "RIGHT", "CROSS", "ON", "USING",
    ];
    let is_alias = |token: &&String| {
        let is_known = known.iter().chain(&ENDS).any(|word| is_word(token, word));
        is_column(token) && !is_known
    };
    let alias = next.filter(is_alias).unwrap_or(name).clone();
    let rest = &tokens[at + 1..];
    let until = rest
        .iter()
        .position(|token| is_word(token, "WHERE") || ENDS.iter().any(|word| is_word(token, word)))
        .unwrap_or(rest.len());
    let is_only = !rest[..until]
        .iter()
        .any(|token| is_word(token, "JOIN") || is_comma(token))
        && !rest.iter().any(|token| is_word(token, "SELECT"));
    Some((name.clone(), alias, is_only))
}

/// Whether a statement selects some rows and not all: an index may save reading the others.
pub fn chooses(statement: &str) -> bool {
    // The truncated rest may hold a condition.
    let chooses = |token: &String| is_word(token, "WHERE") || is_word(token, "JOIN");
    statement.ends_with('…') || tokens(statement).iter().any(chooses)
}

/// The index that a statement would use; `None` where its form does not show it.
pub fn advised(statement: &str) -> Option<Index> {
    // The truncated rest may hold more of the condition.
    if statement.ends_with('…') {
        return None;
    }
    let tokens = tokens(statement);
    let (table, alias, is_only) = table(&tokens)?;
    let own = |token: &str| -> Option<String> {
        let (of, column) = match token.rsplit_once('.') {
            Some((of, column)) => (Some(of), column),
            None => (None, token),
        };
        let is_own = of.map_or(is_only, |of| of == alias || of == table);
        (is_column(token) && is_own).then(|| column.to_owned())
    };
    let begin = tokens
        .iter()
        .position(|token| is_word(token, "WHERE"))
        .map(|at| at + 1);
    let rest = begin.map_or(&[][..], |begin| &tokens[begin..]);
    let is_end = |token: &String| ENDS.iter().any(|word| is_word(token, word));
    let condition = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    if condition.iter().any(|token| is_word(token, "OR")) {
        return None;
    }
    let (mut columns, mut range) = (Vec::new(), None);
    for three in condition.windows(3) {
        let Some(column) = own(&three[0]) else {
            continue;
        };
        let is_value = three[2].starts_with('?');
        let is_equal =
            is_equality(&three[1]) && is_value || is_word(&three[1], "IN") && three[2] == "(";
        let is_range = is_inequality(&three[1]) && is_value || is_word(&three[1], "BETWEEN");
        if is_equal && !columns.contains(&column) {
            columns.push(column);
        } else if is_range && !columns.contains(&column) {
            range.get_or_insert(column);
        }
    }
    columns.truncate(COLUMNS_MAX);
    match range {
        Some(range) if !columns.contains(&range) => columns.push(range),
        Some(_) => {}
        None => {
            for column in order(&tokens).unwrap_or_default() {
                let Some(column) = own(&column) else { break };
                if !columns.contains(&column) && columns.len() < COLUMNS_MAX {
                    columns.push(column);
                }
            }
        }
    }
    (!columns.is_empty()).then_some(Index { table, columns })
}

/// Columns by which it is ordered, all in one direction; `None` where it is ordered by something else.
fn order(tokens: &[String]) -> Option<Vec<String>> {
    let at = tokens.iter().rposition(|token| is_word(token, "ORDER"))? + 2;
    let rest = tokens.get(at..)?;
    let is_end = |token: &String| ENDS.iter().any(|word| is_word(token, word));
    let rest = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    let (mut columns, mut directions) = (Vec::new(), Vec::new());
    for term in rest.split(|token| is_comma(token)) {
        match term {
            [column] if is_column(column) => directions.push(false),
            [column, way] if is_column(column) && is_word(way, "ASC") => directions.push(false),
            [column, way] if is_column(column) && is_word(way, "DESC") => directions.push(true),
            _ => return None,
        }
        columns.push(term[0].clone());
    }
    directions.dedup();
    (directions.len() == 1).then_some(columns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_statement_without_a_condition_wants_all_rows() {
        for statement in [
            "SELECT n FROM t WHERE a = ?",
            "select n from t join u using (id)",
            "SELECT a, b, c…",
        ] {
            assert!(chooses(statement), "{statement}");
        }
        assert!(!chooses(
            "SELECT note FROM orders ORDER BY customer % ? OFFSET ?"
        ));
    }

    #[test]
    fn an_index_over_what_is_compared_and_then_over_the_order() {
        for (statement, right) in [
            (
                "SELECT a, b FROM t WHERE t.login=? AND (n = ?) AND m < ?",
                Some("t(login, n, m)"),
            ),
            ("UPDATE stock SET n=n - ? WHERE id = ?", Some("stock(id)")),
            (
                "SELECT * FROM orders WHERE customer = ? ORDER BY placed DESC LIMIT ?",
                Some("orders(customer, placed)"),
            ),
            (
                "SELECT * FROM orders WHERE customer=? AND n>=? ORDER BY placed",
                Some("orders(customer, n)"),
            ),
            (
                "SELECT * FROM orders WHERE customer <> ? AND n != ? ORDER BY placed DESC, id DESC",
                Some("orders(placed, id)"),
            ),
            ("SELECT x FROM orders ORDER BY a, b", Some("orders(a, b)")),
            ("SELECT x FROM orders ORDER BY a DESC, b", None),
            ("SELECT x FROM orders, users WHERE a = ?", None),
            (
                "SELECT * FROM a.orders o WHERE o.customer = ? AND state IN (?)",
                Some("a.orders(customer, state)"),
            ),
            (
                "SELECT ( x ) FROM orders o JOIN users u ON u.id = o.customer WHERE o . state = ? AND name = ?",
                Some("orders(state)"),
            ),
            (
                "SELECT x FROM orders ORDER BY placed",
                Some("orders(placed)"),
            ),
            ("SELECT x FROM orders ORDER BY length(a)", None),
            ("SELECT x FROM orders WHERE a = ? OR b = ?", None),
            ("SELECT x FROM orders WHERE lower(a) = ?", None),
            ("SELECT x FROM orders WHERE a = ? AND …", None),
            ("SELECT ? = ?", None),
            ("", None),
            // Of old files, in which statements are stored without commas and equals signs.
            (
                "SELECT a; b FROM t WHERE t.login is ? AND n≥? ORDER BY a; b",
                Some("t(login, n)"),
            ),
            ("SELECT a FROM t ORDER BY a; b", Some("t(a, b)")),
        ] {
            let index = advised(statement);
            let shown = index.map(|index| format!("{}({})", index.table, index.columns()));
            assert_eq!(shown.as_deref(), right, "{statement}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(FROM|WHERE|ORDER BY|is|=|,|\\?|a|;|\\(|<| |…){0,30}") {
            let _ = advised(&text);
        }
    }
}
