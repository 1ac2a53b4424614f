//! Statements as words and signs.

/// Tokens: words and operators; `>=` and the like are one token.
pub(crate) fn tokens(statement: &str) -> Vec<String> {
    let is_operator = |character| "<>=!≤≥≠".contains(character);
    let mut text = String::with_capacity(statement.len() + 32);
    let mut was_operator = false;
    for character in statement.replace(" . ", ".").chars() {
        let is_alone = "();,".contains(character);
        if is_alone || is_operator(character) != was_operator {
            text.push(' ');
        }
        text.push(character);
        if is_alone {
            text.push(' ');
        }
        was_operator = is_operator(character);
    }
    text.split_whitespace().map(str::to_owned).collect()
}

/// Separator of columns and tables; `;` in old files, in which statements are stored without commas.
pub(crate) fn is_comma(token: &str) -> bool {
    [",", ";"].contains(&token)
}

/// Whether it is an equality operator; `is` in old files, in which statements are stored without `=`.
pub(crate) fn is_equality(token: &str) -> bool {
    ["=", "is"].contains(&token)
}

/// Whether it is a range comparison that an ordered index supports; the last two in such files.
pub(crate) fn is_inequality(token: &str) -> bool {
    ["<", ">", "<=", ">=", "≤", "≥"].contains(&token)
}

pub(crate) fn is_word(token: &str, word: &str) -> bool {
    token.eq_ignore_ascii_case(word)
}

/// A name, with or without its qualifier.
pub(crate) fn is_column(token: &str) -> bool {
    let is_name_char = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    token.chars().all(is_name_char) && token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
