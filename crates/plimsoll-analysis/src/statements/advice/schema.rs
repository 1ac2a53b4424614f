//! Questions about the schema that accompany each insert: `SHOW TABLES`, `DESCRIBE`, and the catalogs.

use plimsoll_sql::clauses::{first_word, inserts_into};

use super::{Advice, OFTEN, SAME_RATE, StatementUse, with_round_trip_ms};

/// Tables of a database about itself, which mappers read to learn the columns of others.
const CATALOGS: [&str; 5] = [
    "pg_attribute",
    "pg_type",
    "pg_class",
    "pg_catalog",
    "information_schema",
];
/// First words of `SHOW` for parts of the schema.
const SHOWN: [&str; 9] = [
    "TABLES", "COLUMNS", "FIELDS", "FULL", "CREATE", "INDEX", "INDEXES", "KEYS", "TABLE",
];
/// Most questions of one form before one insert.
const TIMES_MAX: f64 = 8.0;

/// Whether a statement only asks for the schema, or creates what is there.
pub(super) fn is_question(statement: &str) -> bool {
    let words: Vec<&str> = statement.split([' ', ';', '(']).collect();
    let word = |index: usize, expected: &str| {
        let word = words.get(index).copied().unwrap_or_default();
        word.eq_ignore_ascii_case(expected)
    };
    let lower = statement.to_ascii_lowercase();
    match first_word(statement).to_ascii_uppercase().as_str() {
        "SHOW" => SHOWN.iter().any(|shown| word(1, shown)),
        "DESCRIBE" | "DESC" => true,
        "CREATE" => word(1, "TABLE") && word(2, "IF") && word(3, "NOT"),
        "SELECT" => CATALOGS.iter().any(|catalog| lower.contains(catalog)),
        _ => false,
    }
}

/// How often one is executed for each of the other; `None` where that is no constant whole number.
fn times(question: &StatementUse, insert: &StatementUse) -> Option<f64> {
    let times = question.calls / insert.calls;
    let whole = times.round();
    let is_whole = (1.0..=TIMES_MAX).contains(&whole) && (times - whole).abs() <= SAME_RATE * whole;
    (question.at == insert.at && insert.calls >= OFTEN && is_whole).then_some(whole)
}

/// Advice on each question that accompanies an insert, and these questions.
pub(super) fn advice(uses: &[StatementUse]) -> (Vec<Advice>, Vec<&str>) {
    let inserts: Vec<(&StatementUse, String)> = uses
        .iter()
        .filter_map(|usage| Some((usage, inserts_into(&usage.statement)?)))
        .collect();
    let questions = uses.iter().filter(|usage| is_question(&usage.statement));
    let found = questions.filter_map(|question| {
        let accompanied = inserts.iter().filter_map(|(insert, table)| {
            let difference = (question.calls - insert.calls).abs();
            Some((times(question, insert)?, difference, *insert, table))
        });
        let (times, _, insert, table) = accompanied.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let saves_ms = with_round_trip_ms(question);
        let advice = Advice {
            reason: format!(
                "`{}` is executed {times:.0} times for each `{}`, {:.0} times a second: the schema does not change between \
                 two inserts",
                question.statement, insert.statement, question.calls
            ),
            remedy: format!(
                "create and check {table} once, at the start of the application or in a migration, and insert without the \
                 question: this saves {:.2} ms of database time and {times:.0} round trips for each insert",
                question.each_ms * times
            ),
            sql: None,
            saves_ms,
        };
        Some((advice, question.statement.as_str()))
    });
    found.unzip()
}
