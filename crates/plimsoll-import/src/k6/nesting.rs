//! How deeply a text is nested, before a parser that recurses sees it.

/// Deepest nesting that is parsed.
const DEPTH_MAX: usize = 1_500;
/// Words that a statement or an expression may follow without a bracket.
const WORDS: [&str; 13] = [
    "if", "else", "for", "while", "do", "new", "typeof", "void", "delete", "await", "yield",
    "extends", "keyof",
];

/// Refuses a text that may be nested more deeply than a parser's stack holds: the byte where it becomes so.
///
/// Strings and comments count like code: what looks like a string here may be a part of a regular expression there, and
/// must not hide brackets.
pub(super) fn check(text: &str) -> Result<(), usize> {
    // Openings since the beginning of a statement, for each bracket that is open.
    let mut levels = vec![0_usize];
    let mut depth = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => {
                levels.push(0);
                depth += 1;
            }
            b')' | b']' | b'}' if levels.len() > 1 => {
                depth -= 1 + levels.pop().unwrap_or(0);
            }
            b'!' | b'~' | b'-' | b'+' | b'?' | b'=' | b'<' | b'*' | b'@' | b':' => {
                depth += 1;
                *last(&mut levels) += 1;
            }
            b';' | b',' => depth -= std::mem::take(last(&mut levels)),
            byte if byte.is_ascii_alphabetic() => {
                let len = bytes[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                    .count();
                if text
                    .get(at..at + len)
                    .is_some_and(|word| WORDS.contains(&word))
                {
                    depth += 1;
                    *last(&mut levels) += 1;
                }
                at += len;
                continue;
            }
            // An empty line ends a statement as people write them.
            b'\n' if bytes.get(at + 1) == Some(&b'\n') => {
                depth -= std::mem::take(last(&mut levels));
            }
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(at);
        }
        at += 1;
    }
    Ok(())
}

fn last(levels: &mut [usize]) -> &mut usize {
    let index = levels.len() - 1;
    &mut levels[index]
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn deep_texts_are_refused_and_long_ones_are_not() {
        assert!(check("a(b, [c, { d: 1 }]);\n").is_ok());
        assert!(check(&"f(1);\n".repeat(100_000)).is_ok());
        for deep in ["(", "[", "!", "a=>", "if(a)", "a?b:", "new ", "typeof "] {
            assert!(check(&deep.repeat(100_000)).is_err(), "{deep}");
        }
    }
}
