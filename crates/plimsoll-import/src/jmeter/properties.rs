//! Properties of `JMeter`: a file of Java properties, as `user.properties` is one.

use std::collections::BTreeMap;

/// The file that `JMeter` reads beside its own.
pub(super) const USER_PROPERTIES: &str = "user.properties";

/// Names and values of a file of properties, in the form of `java.util.Properties`.
pub(super) fn properties(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut logical = line.trim_start().to_owned();
        if logical.starts_with(['#', '!']) {
            continue;
        }
        while is_continued(&logical) {
            logical.pop();
            let Some(next) = lines.next() else { break };
            logical.push_str(next.trim_start());
        }
        let (name, value) = divided(&logical);
        if !name.is_empty() {
            found.insert(unescaped(name), unescaped(value));
        }
    }
    found
}

/// Whether an odd number of backslashes ends the line.
fn is_continued(line: &str) -> bool {
    let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
    backslashes % 2 == 1
}

/// The name ends at the first `=`, `:` or space that is not escaped.
fn divided(line: &str) -> (&str, &str) {
    let mut is_escaped = false;
    let end = line.find(|c: char| {
        let ends = !is_escaped && (matches!(c, '=' | ':') || c.is_whitespace());
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let Some((name, rest)) = end.map(|end| line.split_at(end)) else {
        return (line, "");
    };
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (name, value.trim_start())
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let digits: String = chars.clone().take(4).collect();
                let unit = u32::from_str_radix(&digits, 16).ok();
                out.push(unit.and_then(char::from_u32).unwrap_or('\u{fffd}'));
                chars.by_ref().take(4).for_each(drop);
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_java_reads_them() {
        // The examples of the documentation of java.util.Properties, and escapes.
        let text = "# a comment\n! another\nTruth = Beauty\n Truth2:Beauty\nTruth3\t\t\t:Beauty\n\
             fruits    apple, banana, pear, \\\n          cantaloupe, watermelon\ncheeses\n\
             a\\ b\\=c=d\\te\\u00e9\\\\\npath=C:\\\\tmp\n\n";
        let found = properties(text);
        let expected = [
            ("Truth", "Beauty"),
            ("Truth2", "Beauty"),
            ("Truth3", "Beauty"),
            ("a b=c", "d\te\u{e9}\\"),
            ("cheeses", ""),
            ("fruits", "apple, banana, pear, cantaloupe, watermelon"),
            ("path", "C:\\tmp"),
        ];
        let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(found, expected);
    }
}
