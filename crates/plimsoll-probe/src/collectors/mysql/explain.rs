//! Plans of MariaDB and MySQL, as `EXPLAIN` shows them: a line for each table, with tabs between its columns.

use std::collections::BTreeMap;

/// Columns of MariaDB: id, select type, table, access type, possible keys, key, key length, ref, rows, extra. MySQL
/// adds partitions after the table, and `filtered` after the rows.
const COLUMNS: usize = 10;
const COLUMNS_MYSQL: usize = 12;
/// Markers of a full table scan, and of a sort.
pub(crate) const WHOLE_TABLE: &str = "whole table";
/// The same of sorting.
pub(crate) const SORTED: &str = "sorted (filesort)";
/// Relevant values of `Extra`, and their wording.
const EXTRAS: [(&str, &str); 3] = [
    ("Using filesort", SORTED),
    ("Using temporary", "temporary table"),
    ("Using join buffer", "joined without an index"),
];

/// The steps of a plan, in order, and the planner's estimate of the examined rows; `None` when the text is not a
/// plan.
pub(crate) fn plan(lines: &str) -> Option<(String, f64)> {
    let mut steps = Vec::new();
    // Tables of one SELECT are joined: for each row of the first, rows of the second are examined.
    let mut rows = BTreeMap::<String, f64>::new();
    for line in lines.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let own = match columns.len() {
            COLUMNS => [2, 3, 5, 8, 9],
            COLUMNS_MYSQL => [2, 4, 6, 9, 11],
            _ => return None,
        };
        let [table, way, key, count, extra] = own.map(|index| columns[index]);
        if let Ok(count) = count.parse::<f64>() {
            *rows.entry(columns[0].to_owned()).or_insert(1.0) *= count.max(1.0);
        }
        steps.push(step(table, way, key, count, extra));
    }
    (!steps.is_empty()).then(|| (steps.join(" → "), rows.values().sum()))
}

fn step(table: &str, way: &str, key: &str, count: &str, extra: &str) -> String {
    if table.is_empty() {
        return extra.to_ascii_lowercase();
    }
    let mut text = match way {
        "ALL" => format!("{WHOLE_TABLE} {table}"),
        "index" => format!("whole index {key} of {table}"),
        "range" => format!("part of index {key} of {table}"),
        _ => format!("index {key} of {table}"),
    };
    if !count.is_empty() {
        text.push_str(": ");
        text.push_str(count);
        text.push_str(" rows");
    }
    for (word, label) in EXTRAS {
        if extra.contains(word) {
            text.push_str(" + ");
            text.push_str(label);
        }
    }
    text
}

/// Whether a statement is single, complete, only reads rows, and can be planned without execution.
pub(crate) fn can_be_planned(text: &str) -> bool {
    /// Tokens that end a statement, hide its rest, write, or have effects during planning: a row that a key names is read
    /// then, and a locking read waits for whoever has locked it.
    const BARRED: [&str; 13] = [
        ";",
        "--",
        "#",
        "/*",
        " INTO ",
        "SLEEP",
        "BENCHMARK",
        "_LOCK",
        "MASTER_",
        "NEXTVAL",
        " FOR UPDATE",
        " FOR SHARE",
        " LOCK IN SHARE ",
    ];
    let upper = text
        .trim()
        .trim_end_matches(';')
        .to_ascii_uppercase()
        .replace(['\n', '\t', '\r'], " ");
    let first = upper.split([' ', '(']).next().unwrap_or_default();
    ["SELECT", "WITH"].contains(&first) && !BARRED.iter().any(|barred| upper.contains(barred))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steps_and_rows_are_read() {
        for (lines, right, rows) in [
            // Of MariaDB 10.11.
            (
                "1\tSIMPLE\torders\tALL\t\t\t\t\t299000\tUsing where; Using filesort\n",
                "whole table orders: 299000 rows + sorted (filesort)",
                299_000.0,
            ),
            (
                "1\tSIMPLE\to\tref\tcustomer\tcustomer\t4\tconst\t12\t\n1\tSIMPLE\ti\teq_ref\tPRIMARY\tPRIMARY\t4\tshop.o.item\t1\t\n",
                "index customer of o: 12 rows → index PRIMARY of i: 1 rows",
                12.0,
            ),
            (
                "1\tPRIMARY\torders\trange\tplaced\tplaced\t4\t\t30\tUsing index condition; Using temporary; Using filesort\n\
                 2\tSUBQUERY\titems\tindex\t\tPRIMARY\t4\t\t100\tUsing index\n",
                "part of index placed of orders: 30 rows + sorted (filesort) + temporary table → whole index PRIMARY of items: 100 rows",
                130.0,
            ),
            // Of MySQL 8.0.
            (
                "1\tSIMPLE\torders\t\tALL\t\t\t\t\t1000\t10.00\tUsing where\n",
                "whole table orders: 1000 rows",
                1000.0,
            ),
            (
                "1\tSIMPLE\t\t\t\t\t\t\t\tImpossible WHERE\n",
                "impossible where",
                0.0,
            ),
        ] {
            assert_eq!(plan(lines), Some((right.to_owned(), rows)));
        }
        assert_eq!(plan(""), None);
        assert_eq!(plan("1\t2"), None);
    }

    #[test]
    fn only_what_reads_and_does_nothing_else_is_planned() {
        for (text, right) in [
            ("SELECT a FROM t WHERE b = 'x'", true),
            ("with x AS (SELECT 1) SELECT * FROM x;", true),
            ("select(1)", true),
            ("UPDATE t SET n = 1", false),
            ("SELECT 1; DROP TABLE t", false),
            ("SELECT a INTO OUTFILE '/tmp/x' FROM t", false),
            ("SELECT sleep(10)", false),
            ("SELECT get_lock('a', 1)", false),
            ("SELECT a FROM t WHERE id = 7 for update", false),
            ("SELECT a FROM t WHERE id = 7 FOR SHARE SKIP LOCKED", false),
            ("SELECT a FROM t WHERE id = 7\nLOCK IN SHARE MODE", false),
            ("SELECT a -- not b", false),
            ("SELECT a # not b", false),
            ("SELECT /*! 1 */ 2", false),
            ("", false),
        ] {
            assert_eq!(can_be_planned(text), right, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(.|\t|\n){0,200}") {
            let _ = (plan(&text), can_be_planned(&text));
        }
    }
}
