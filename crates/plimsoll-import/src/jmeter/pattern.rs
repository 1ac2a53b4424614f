//! Regular expressions of JMeter (Perl 5 and Java) as those of plans.

use regex::bytes::RegexBuilder;

/// Largest compiled expression that a plan takes, bytes.
const COMPILED_MAX: usize = 4 << 20;

/// A pattern as a plan has it, or why there is none.
pub(super) fn converted(pattern: &str) -> Result<String, String> {
    let text = translated(pattern);
    match RegexBuilder::new(&text).size_limit(COMPILED_MAX).build() {
        Ok(_) => Ok(text),
        Err(error) => Err(reason(pattern, &error)),
    }
}

/// Number of capturing groups of a valid pattern.
pub(super) fn groups(pattern: &str) -> usize {
    RegexBuilder::new(pattern)
        .size_limit(COMPILED_MAX)
        .build()
        .map_or(0, |regex| regex.captures_len() - 1)
}

fn reason(pattern: &str, error: &regex::Error) -> String {
    if ["(?=", "(?!", "(?<=", "(?<!"]
        .iter()
        .any(|sign| pattern.contains(sign))
    {
        return "look-around is not in regular expressions of plans".to_owned();
    }
    let has_reference = (1..=9).any(|number| pattern.contains(&format!("\\{number}")));
    if has_reference {
        return "references to groups are not in regular expressions of plans".to_owned();
    }
    let rendered = error.to_string();
    let last = rendered.lines().last().unwrap_or_default();
    format!(
        "it is not a regular expression of plans: {}",
        last.trim_start_matches("error: ")
    )
}

/// What is written differently: quoted sections, possessive quantifiers, escapes of harmless characters.
fn translated(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix("\\Q") {
            let (inside, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            text.push_str(&regex::escape(inside));
            rest = after;
            continue;
        }
        let next = rest[c.len_utf8()..].chars().next();
        let mut len = c.len_utf8();
        match (c, next) {
            ('\\', Some(escaped)) => {
                len += escaped.len_utf8();
                match escaped {
                    'Z' => text.push_str(r"\n?\z"),
                    '/' | '"' | '\'' | ':' | ';' | ',' | '=' | '!' | '@' | '%' | '_' | '<'
                    | '>' | '`' | ' ' => {
                        text.push(escaped);
                    }
                    _ => {
                        text.push('\\');
                        text.push(escaped);
                    }
                }
            }
            // In Java and Perl a bracket within a class stands for itself.
            ('[', _) if in_class => text.push_str("\\["),
            ('[', Some('^')) => {
                in_class = true;
                len += 1;
                text.push_str("[^");
                if rest[len..].starts_with(']') {
                    len += 1;
                    text.push_str("\\]");
                }
            }
            ('[', _) => {
                in_class = true;
                text.push('[');
                if next == Some(']') {
                    len += 1;
                    text.push_str("\\]");
                }
            }
            (']', _) => {
                in_class = false;
                text.push(']');
            }
            ('&' | '~' | '-', Some(same)) if in_class && same == c => {
                text.push('\\');
                text.push(c);
            }
            // `{` without a number stands for itself.
            ('{', _) if !in_class && !is_count(rest) => text.push_str("\\{"),
            ('}', _) if !in_class && !ends_count(&text) => text.push_str("\\}"),
            // A possessive quantifier matches the same texts, or fewer.
            ('+', _)
                if !in_class
                    && text.ends_with(['+', '*', '?'])
                    && !text.ends_with("\\+")
                    && !text.ends_with("\\*")
                    && !text.ends_with("\\?") => {}
            _ => text.push(c),
        }
        rest = &rest[len..];
    }
    text
}

/// Whether `{` begins a count such as `{2,5}`.
fn is_count(text: &str) -> bool {
    let inside = text[1..].split('}').next().unwrap_or_default();
    text.contains('}')
        && inside.starts_with(|c: char| c.is_ascii_digit())
        && inside.chars().all(|c| c.is_ascii_digit() || c == ',')
}

/// Whether a count is open at the end.
fn ends_count(text: &str) -> bool {
    let Some(open) = text.rfind('{') else {
        return false;
    };
    let is_escaped = text[..open].ends_with('\\');
    let is_group = text[..open].ends_with("\\p")
        || text[..open].ends_with("\\P")
        || text[..open].ends_with("\\x");
    is_group
        || (!is_escaped
            && text[open + 1..]
                .chars()
                .all(|c| c.is_ascii_digit() || c == ','))
}

/// Only one group may be captured: the one that is wanted.
pub(super) fn with_group(pattern: &str, wanted: usize) -> Option<String> {
    let mut text = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut number = 0;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let mut len = c.len_utf8();
        match c {
            '\\' => {
                let escaped = rest[1..].chars().next().map_or(0, char::len_utf8);
                len += escaped;
                text.push_str(&rest[..len]);
            }
            '[' => {
                in_class = true;
                text.push('[');
            }
            ']' => {
                in_class = false;
                text.push(']');
            }
            '(' if !in_class && !rest.starts_with("(?") => {
                number += 1;
                text.push_str(if number == wanted { "(" } else { "(?:" });
            }
            _ => text.push(c),
        }
        rest = &rest[len..];
    }
    (wanted <= number).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_java_writes_differently_is_translated() {
        let check = |pattern: &str, expected: &str| {
            assert_eq!(converted(pattern).as_deref(), Ok(expected), "{pattern}");
        };
        check(
            r#"name\=\"csrf\" value="(.+?)""#,
            r#"name="csrf" value="(.+?)""#,
        );
        check(r#"{"id":(\d+)}"#, r#"\{"id":(\d+)\}"#);
        check("a{2,3}", "a{2,3}");
        check(r"\Qa.b\E.", r"a\.b.");
        check("[^\"]*+x", "[^\"]*x");
        check("[[]", "[\\[]");
        check("[]a]", "[\\]a]");
        assert!(converted("a(?=b)").unwrap_err().contains("look-around"));
        assert!(converted(r"(a)\1").unwrap_err().contains("references"));
        assert!(
            converted("(")
                .unwrap_err()
                .contains("not a regular expression")
        );
        assert_eq!(
            with_group("(a)(?:b)(c)", 2).as_deref(),
            Some("(?:a)(?:b)(c)")
        );
        assert_eq!(with_group("(a)", 2), None);
        assert_eq!(with_group("(a)", 0).as_deref(), Some("(?:a)"));
    }
}
