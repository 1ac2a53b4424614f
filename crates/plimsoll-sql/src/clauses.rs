//! The clauses of statements that read and change rows.

use crate::token::{is_column, is_comma, is_equality, is_word, tokens};

/// Keywords that begin a clause.
const KEYWORDS: [&str; 14] = [
    "SELECT",
    "UPDATE",
    "SET",
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "WINDOW",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "FOR",
    "RETURNING",
];
/// Words of statements that hold another one, or whose rows are those of several.
const COMPOUND: [&str; 6] = ["UNION", "INTERSECT", "EXCEPT", "INTO", "OVER", "WITH"];
/// First words of statements that only frame transactions, or set or show something.
const FRAMING: [&str; 13] = [
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "SET",
    "RESET",
    "SHOW",
    "DISCARD",
    "DEALLOCATE",
    "PREPARE",
    "USE",
];
/// First words of other statements that change no table.
const READING: [&str; 7] = [
    "SELECT", "DESCRIBE", "DESC", "EXPLAIN", "LISTEN", "NOTIFY", "ANALYZE",
];
/// First words of statements that may change anything.
const OPAQUE: [&str; 5] = ["CALL", "DO", "EXECUTE", "WITH", "MERGE"];
/// Words between the verb of a statement and its table.
const MODIFIERS: [&str; 8] = [
    "INTO",
    "FROM",
    "ONLY",
    "IGNORE",
    "LOW_PRIORITY",
    "HIGH_PRIORITY",
    "DELAYED",
    "TABLE",
];

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    /// What it holds.
    pub value: ColumnValue,
    /// Its name, where the statement gives one.
    pub name: Option<String>,
    /// The column as written.
    pub text: String,
}

/// What a column of a result holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnValue {
    /// A column of a table, without the table's name.
    Plain(String),
    /// The number of rows.
    Count,
    /// The sum of a column.
    Sum(String),
    /// A value that the statement gives.
    Given,
    /// Anything else.
    Other,
}

/// A statement that reads rows: one `SELECT`, without others in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// The columns of its result.
    pub columns: Vec<ResultColumn>,
    /// The tables that it reads, as named there.
    pub tables: Vec<String>,
    /// Columns that its condition compares with a value for equality, without the table's name.
    pub equal: Vec<String>,
    /// Whether its condition, if any, consists of nothing else.
    pub is_by_value: bool,
    /// Terms that it groups by.
    pub groups: Vec<ResultColumn>,
    /// Terms that it orders by, and ` DESC` where they descend.
    pub order: Vec<(ResultColumn, &'static str)>,
    /// Its limit, as written; empty without one.
    pub limit: String,
    /// The statement without its limit.
    pub whole: String,
    /// Whether it removes duplicates, or chooses among groups.
    pub is_distinct: bool,
    /// Whether it locks the rows that it reads.
    pub locks: bool,
}

/// A statement that changes rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The table, as named there.
    pub table: String,
    /// Columns that it sets to a value that it was given, and does not compute from the row.
    pub given: Vec<String>,
    /// Columns that its condition compares with a value for equality.
    pub equal: Vec<String>,
    /// Whether its condition consists of nothing else.
    pub is_by_value: bool,
}

/// The first word of a statement.
pub fn first_word(statement: &str) -> &str {
    let is_end = |character: char| character.is_whitespace() || [';', '('].contains(&character);
    statement.trim_start().split(is_end).next().unwrap_or("")
}

fn begins_with_any(statement: &str, words: &[&str]) -> bool {
    let first = first_word(statement);
    words.iter().any(|word| is_word(first, word))
}

/// Whether a statement only frames transactions, or sets or shows something: it reads and changes no table.
pub fn is_framing(statement: &str) -> bool {
    begins_with_any(statement, &FRAMING)
}

/// Whether a statement may change rows of a table; true in doubt.
pub fn may_change(statement: &str, table: &str) -> bool {
    if is_framing(statement) || begins_with_any(statement, &READING) {
        return false;
    }
    begins_with_any(statement, &OPAQUE)
        || tokens(statement)
            .iter()
            .any(|token| is_word(bare(token), bare(table)))
}

/// The table into which a statement inserts rows, as named there.
pub fn inserts_into(statement: &str) -> Option<String> {
    let tokens = tokens(statement);
    let first = tokens.first()?;
    let inserts = ["INSERT", "REPLACE"];
    if !inserts.iter().any(|word| is_word(first, word)) {
        return None;
    }
    table_after(&tokens[1..])
}

/// The first name that is no modifier.
fn table_after(tokens: &[String]) -> Option<String> {
    let is_modifier = |token: &&String| MODIFIERS.iter().any(|word| is_word(token, word));
    let table = tokens.iter().find(|token| !is_modifier(token))?;
    is_column(table).then(|| table.clone())
}

/// A name without its qualifier.
pub fn bare(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, name)| name)
}

/// Places of the tokens that stand in no parentheses.
fn outside(tokens: &[String]) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut places = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ if depth == 0 => places.push(place),
            _ => {}
        }
    }
    places
}

/// Where a clause begins: at its keyword.
fn clause_at(tokens: &[String], keyword: &str) -> Option<usize> {
    let mut places = outside(tokens).into_iter();
    places.find(|&place| is_word(&tokens[place], keyword))
}

/// The tokens of a clause, without its keyword; empty where there is none.
fn clause<'a>(tokens: &'a [String], keyword: &str) -> &'a [String] {
    let Some(at) = clause_at(tokens, keyword) else {
        return &[];
    };
    let rest = &tokens[at + 1..];
    let is_keyword = |&place: &usize| KEYWORDS.iter().any(|word| is_word(&rest[place], word));
    let end = outside(rest).into_iter().find(is_keyword);
    let clause = &rest[..end.unwrap_or(rest.len())];
    match clause {
        [by, rest @ ..] if is_word(by, "BY") => rest,
        _ => clause,
    }
}

/// Splits at tokens that stand in no parentheses.
fn split(tokens: &[String], is_separator: impl Fn(&str) -> bool) -> Vec<&[String]> {
    let mut pieces = Vec::new();
    let mut from = 0;
    for place in outside(tokens) {
        if is_separator(&tokens[place]) {
            pieces.push(&tokens[from..place]);
            from = place + 1;
        }
    }
    pieces.push(&tokens[from..]);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Tokens as text.
fn text(tokens: &[String]) -> String {
    let text = tokens.join(" ");
    let text = text.replace("( ", "(").replace(" )", ")");
    // Functions, and lists of values.
    text.replace(" (", "(").replace(" ,", ",")
}

fn result_column(tokens: &[String]) -> ResultColumn {
    let (value, name) = match tokens {
        [value @ .., word, name] if is_word(word, "AS") && is_column(name) => (value, Some(name)),
        [value @ .., end, name] if end == ")" && is_column(name) => {
            (&tokens[..=value.len()], Some(name))
        }
        [value, name] if is_column(value) && is_column(name) => (&tokens[..1], Some(name)),
        _ => (tokens, None),
    };
    ResultColumn {
        value: column_value(value),
        name: name.cloned(),
        text: text(value),
    }
}

fn column_value(tokens: &[String]) -> ColumnValue {
    match tokens {
        [value] if value.starts_with('?') || value == "1" => ColumnValue::Given,
        [column] if is_column(column) => ColumnValue::Plain(bare(column).to_owned()),
        [function, open, inner, close] if open == "(" && close == ")" => {
            let is_all = inner == "*" || inner == "1" || inner == "?";
            if is_word(function, "count") && is_all {
                ColumnValue::Count
            } else if is_word(function, "sum") && is_column(inner) {
                ColumnValue::Sum(bare(inner).to_owned())
            } else {
                ColumnValue::Other
            }
        }
        _ => ColumnValue::Other,
    }
}

/// Columns that a condition compares with a value for equality, and whether it consists of nothing else.
fn equal_to_values(condition: &[String]) -> (Vec<String>, bool) {
    let mut columns = Vec::new();
    let mut is_by_value = true;
    for mut term in split(condition, |token| is_word(token, "AND")) {
        while let [open, inner @ .., close] = term
            && open == "("
            && close == ")"
        {
            term = inner;
        }
        match term {
            [column, sign, value]
                if is_column(column) && is_equality(sign) && value.starts_with('?') =>
            {
                columns.push(bare(column).to_owned());
            }
            _ => is_by_value = false,
        }
    }
    columns.sort();
    columns.dedup();
    (columns, is_by_value)
}

impl Select {
    /// The clauses of a statement; `None` where it is truncated, or not one plain `SELECT` with tables.
    pub fn of(statement: &str) -> Option<Self> {
        let is_whole =
            !statement.ends_with('…') && !["/*", "--"].iter().any(|word| statement.contains(word));
        let tokens = tokens(statement.trim_end_matches(';'));
        let is_select = |token: &String| is_word(token, "SELECT");
        let is_compound = |token: &String| COMPOUND.iter().any(|word| is_word(token, word));
        let is_plain = is_select(tokens.first()?)
            && tokens.iter().filter(|token| is_select(token)).count() == 1
            && !tokens.iter().any(is_compound);
        if !is_whole || !is_plain {
            return None;
        }
        let (mut columns, mut is_distinct) = (clause(&tokens, "SELECT"), false);
        if let [word, rest @ ..] = columns
            && is_word(word, "DISTINCT")
        {
            (columns, is_distinct) = (rest, true);
        }
        let (equal, is_by_value) = equal_to_values(clause(&tokens, "WHERE"));
        let places = ["LIMIT", "OFFSET", "FETCH"].map(|word| clause_at(&tokens, word));
        let limit_at = places.into_iter().flatten().min().unwrap_or(tokens.len());
        let locks_at = clause_at(&tokens, "FOR").unwrap_or(tokens.len());
        let list = |tokens: &[String]| -> Vec<ResultColumn> {
            let terms = split(tokens, is_comma);
            terms.into_iter().map(result_column).collect()
        };
        let tables = tables(clause(&tokens, "FROM"));
        let whole = &tokens[..limit_at.min(locks_at)];
        Some(Self {
            columns: list(columns),
            equal,
            is_by_value,
            groups: list(clause(&tokens, "GROUP")),
            order: split(clause(&tokens, "ORDER"), is_comma)
                .into_iter()
                .map(order_term)
                .collect(),
            limit: text(&tokens[limit_at..locks_at.max(limit_at)]),
            whole: text(whole),
            is_distinct: is_distinct || clause_at(&tokens, "HAVING").is_some(),
            locks: locks_at < tokens.len() || tokens.iter().any(|token| is_word(token, "LOCK")),
            tables: Some(tables).filter(|tables| !tables.is_empty())?,
        })
    }

    /// Whether anything but its limit holds a value.
    pub fn has_values(&self) -> bool {
        self.whole.contains('?')
    }

    /// Whether it computes its result from groups of rows.
    pub fn is_aggregate(&self) -> bool {
        let is_of_many = |column: &ResultColumn| {
            let functions = ["count(", "sum(", "avg(", "min(", "max("];
            let lower = column.text.to_ascii_lowercase();
            functions.iter().any(|function| lower.contains(function))
        };
        !self.groups.is_empty() || self.is_distinct || self.columns.iter().any(is_of_many)
    }
}

/// A term of an order: its direction is not part of it.
fn order_term(tokens: &[String]) -> (ResultColumn, &'static str) {
    match tokens {
        [term @ .., word] if is_word(word, "DESC") => (result_column(term), " DESC"),
        [term @ .., word] if is_word(word, "ASC") => (result_column(term), ""),
        _ => (result_column(tokens), ""),
    }
}

/// The tables of a `FROM`.
fn tables(from: &[String]) -> Vec<String> {
    let is_before = |token: &str| is_word(token, "JOIN") || is_comma(token);
    let pieces = split(from, is_before);
    let names = pieces.into_iter().filter_map(|piece| piece.first());
    names.filter(|name| is_column(name)).cloned().collect()
}

impl Update {
    /// The clauses of a statement; `None` where it is truncated, or not one plain `UPDATE`.
    pub fn of(statement: &str) -> Option<Self> {
        let tokens = tokens(statement.trim_end_matches(';'));
        let is_compound = |token: &String| {
            let words = ["SELECT", "FROM", "JOIN", "RETURNING", "LIMIT"];
            words.iter().any(|word| is_word(token, word))
        };
        let is_plain = is_word(tokens.first()?, "UPDATE") && !tokens.iter().any(is_compound);
        if !is_plain || statement.ends_with('…') {
            return None;
        }
        let (equal, is_by_value) = equal_to_values(clause(&tokens, "WHERE"));
        let mut given = Vec::new();
        for term in split(clause(&tokens, "SET"), is_comma) {
            let [column, _, value @ ..] = term else {
                return None;
            };
            let is_computed = value.iter().any(|token| bare(token) == bare(column));
            if !is_computed {
                given.push(bare(column).to_owned());
            }
        }
        Some(Self {
            table: table_after(clause(&tokens, "UPDATE"))?,
            given,
            is_by_value: is_by_value && !equal.is_empty(),
            equal,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(select: &Select) -> Vec<ColumnValue> {
        let columns = select.columns.iter();
        columns.map(|column| column.value.clone()).collect()
    }

    #[test]
    fn the_clauses_of_a_statement() {
        let select = Select::of(
            "SELECT a.topic, count(*) AS n, SUM (a.size) total FROM shop.articles a WHERE (a.state = ?) AND a.author=? \
             GROUP BY a.topic ORDER BY n DESC, topic LIMIT ? OFFSET ?",
        )
        .unwrap();
        let plain = |name: &str| ColumnValue::Plain(name.to_owned());
        let right = [
            plain("topic"),
            ColumnValue::Count,
            ColumnValue::Sum("size".to_owned()),
        ];
        assert_eq!(values(&select), right);
        assert_eq!(select.columns[2].name.as_deref(), Some("total"));
        assert_eq!(select.tables, ["shop.articles"]);
        assert_eq!(
            (select.equal.as_slice(), select.is_by_value),
            (&["author".to_owned(), "state".to_owned()][..], true)
        );
        assert_eq!(select.groups[0].value, plain("topic"));
        let directions: Vec<_> = select.order.iter().map(|term| term.1).collect();
        assert_eq!(directions, [" DESC", ""]);
        assert_eq!(select.limit, "LIMIT ? OFFSET ?");
        assert!(
            select.is_aggregate() && !select.is_distinct && !select.locks && select.has_values()
        );
    }

    #[test]
    fn what_else_a_select_can_be() {
        let of = |text: &str| Select::of(text);
        let joined =
            of("SELECT u.name FROM orders o JOIN users u ON u.id = o.owner, stock s").unwrap();
        assert_eq!(joined.tables, ["orders", "users", "stock"]);
        assert!(!joined.has_values() && !joined.is_aggregate());
        let limited = of("select n from t order by n limit ?").unwrap();
        assert!(!limited.has_values() && limited.whole == "select n from t order by n");
        assert!(of("SELECT n FROM t WHERE id = ? FOR UPDATE").unwrap().locks);
        assert!(
            !of("SELECT n FROM t WHERE id = ? OR n > ?")
                .unwrap()
                .is_by_value
        );
        assert!(of("SELECT DISTINCT n FROM t").unwrap().is_distinct);
        assert_eq!(
            values(&of("SELECT ? FROM t").unwrap()),
            [ColumnValue::Given]
        );
        for text in [
            "SELECT n FROM t WHERE id IN (SELECT id FROM u)",
            "SELECT n FROM t UNION SELECT m FROM u",
            "SELECT n, m FROM t WHERE …",
            "SELECT rank() OVER (ORDER BY n) FROM t",
            "SELECT ?",
            "UPDATE t SET n = ?",
            "",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn what_a_statement_changes() {
        assert_eq!(
            inserts_into("INSERT IGNORE INTO shop.orders (a) VALUES (?)"),
            Some("shop.orders".to_owned())
        );
        assert_eq!(
            inserts_into("REPLACE orders VALUES (?)"),
            Some("orders".to_owned())
        );
        assert_eq!(inserts_into("SELECT n FROM orders"), None);
        for (statement, right) in [
            ("INSERT INTO shop.orders VALUES (?)", true),
            ("DELETE FROM orders WHERE id = ?", true),
            ("UPDATE stock SET n = ?", false),
            ("SELECT n FROM orders", false),
            ("CALL close_day(?)", true),
            ("COMMIT", false),
            ("TRUNCATE orders", true),
        ] {
            assert_eq!(may_change(statement, "orders"), right, "{statement}");
        }
        let update =
            Update::of("UPDATE posts SET views = views + ?, state=? WHERE id = ?").unwrap();
        assert_eq!(
            (update.table.as_str(), update.given.as_slice()),
            ("posts", &["state".to_owned()][..])
        );
        assert!(update.is_by_value && update.equal == ["id"]);
        assert!(!Update::of("UPDATE posts SET n = ?").unwrap().is_by_value);
        assert_eq!(
            Update::of("UPDATE a SET n = b.n FROM b WHERE a.id = b.id"),
            None
        );
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(SELECT|UPDATE|FROM|WHERE|GROUP BY|ORDER|SET|LIMIT|AND|=|,|\\?|a|count|\\(|\\)| |…){0,40}") {
            let _ = (Select::of(&text), Update::of(&text), inserts_into(&text), may_change(&text, "a"));
        }
    }
}
