//! SQL statements as they are shown: without their values, which may be personal data.

/// Longest form of a statement that is kept, bytes.
pub(crate) const SHAPE_LEN_MAX: usize = 320;

/// The form of a statement: values become `?`, whitespace one space. Everything else stays verbatim.
pub(crate) fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if shape.len() >= SHAPE_LEN_MAX {
            shape.push('…');
            break;
        }
        match character {
            '\'' => {
                skip_quoted(&mut characters);
                shape.push('?');
            }
            // A name: its quotes are dropped.
            '"' | '`' => {}
            '$' if characters.peek().is_some_and(char::is_ascii_digit) => {
                while characters.next_if(char::is_ascii_digit).is_some() {}
                shape.push('?');
            }
            digit if digit.is_ascii_digit() && !ends_in_name(&shape) => {
                while characters
                    .next_if(|next| next.is_ascii_alphanumeric() || *next == '.')
                    .is_some()
                {}
                shape.push('?');
            }
            other if other.is_whitespace() || other.is_control() => blank(&mut shape),
            other => shape.push(other),
        }
    }
    shape.truncate(shape.trim_end_matches([' ', ';', ',']).len());
    // The length of a value list does not change the form.
    for list in ["?, ?", "?,?"] {
        while let Some(at) = shape.find(list) {
            shape.replace_range(at..at + list.len(), "?");
        }
    }
    shape
}

/// Ends the current word, if any.
fn blank(shape: &mut String) {
    if !shape.is_empty() && !shape.ends_with(' ') {
        shape.push(' ');
    }
}

fn ends_in_name(shape: &str) -> bool {
    shape
        .chars()
        .last()
        .is_some_and(|last| last.is_alphanumeric() || last == '_')
}

/// To the end of a quoted text; a doubled quote is an escaped one.
fn skip_quoted(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(inner) = characters.next() {
        match inner {
            '\\' => {
                characters.next();
            }
            '\'' if characters.next_if_eq(&'\'').is_none() => return,
            _ => {}
        }
    }
}

/// Statements with their counts, by form: the most frequent first, up to a limit.
pub(crate) fn by_shape<'a>(
    statements: impl Iterator<Item = (&'a str, f64)>,
    count_max: usize,
) -> Vec<(String, f64)> {
    let mut shapes = std::collections::BTreeMap::<String, f64>::new();
    for (text, count) in statements.filter(|(_, count)| *count > 0.0) {
        *shapes.entry(shape(text)).or_default() += count;
    }
    let mut shapes: Vec<(String, f64)> = shapes.into_iter().collect();
    shapes.sort_by(|a, b| b.1.total_cmp(&a.1));
    shapes.truncate(count_max);
    shapes
}

#[cfg(test)]
mod tests {
    use plimsoll_model::labels::{label, series};
    use plimsoll_model::metric::STATEMENT_CALLS;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_left_out() {
        for (text, right) in [
            (
                "SELECT a, b FROM t1 WHERE login = 'o''hara' AND n>=12.5",
                "SELECT a, b FROM t1 WHERE login = ? AND n>=?",
            ),
            (
                "UPDATE \"Stock\" SET n=n - $1\n  WHERE id = $2",
                "UPDATE Stock SET n=n - ? WHERE id = ?",
            ),
            (
                "SELECT * FROM t WHERE id IN (1, 2, 3, 4)",
                "SELECT * FROM t WHERE id IN (?)",
            ),
            (
                "select '{1,2}'::int[], a{0} where b in (1,2,3);",
                "select ?::int[], a{?} where b in (?)",
            ),
            ("", ""),
        ] {
            assert_eq!(shape(text), right);
        }
        let long = shape(&"abc ".repeat(1000));
        assert!(
            long.len() < SHAPE_LEN_MAX + 8 && long.ends_with('…'),
            "{long}"
        );
    }

    #[test]
    fn statements_that_differ_in_values_are_one() {
        let statements = [("SELECT 1", 2.0), ("SELECT 2", 3.0), ("SELECT now()", 4.0)];
        let right = vec![("SELECT ?".to_owned(), 5.0)];
        assert_eq!(by_shape(statements.into_iter(), 1), right);
    }

    proptest! {
        #[test]
        fn any_text_has_a_form_that_a_label_gives_back(text in ".{0,400}") {
            let shape = shape(&text);
            prop_assert!(!shape.chars().any(char::is_control));
            let series = series(STATEMENT_CALLS, &[("at", "a"), ("statement", &shape)]);
            prop_assert_eq!(label(&series, "statement"), Some(shape.as_str()));
        }
    }
}
