//! Strings that look like keys and tokens: a committed secret stays readable in the history.

use super::{SourceTree, Violation};

/// The beginning of a kind of token, and how many characters of its alphabet must follow.
struct TokenKind {
    prefix: &'static str,
    length: usize,
}

// Concatenated, so that this file does not match itself.
const KINDS: [TokenKind; 7] = [
    TokenKind {
        prefix: concat!("AK", "IA"),
        length: 16,
    },
    TokenKind {
        prefix: concat!("gh", "p_"),
        length: 36,
    },
    TokenKind {
        prefix: concat!("github", "_pat_"),
        length: 22,
    },
    TokenKind {
        prefix: concat!("gl", "pat-"),
        length: 20,
    },
    TokenKind {
        prefix: concat!("xox", "b-"),
        length: 20,
    },
    TokenKind {
        prefix: concat!("sk_", "live_"),
        length: 20,
    },
    TokenKind {
        prefix: concat!("AI", "za"),
        length: 35,
    },
];
const PRIVATE_KEY: [&str; 2] = [concat!("-----BE", "GIN "), concat!("PRIVATE", " KEY-----")];

pub(super) fn violations(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if resembles_secret(line) {
                violations.push(file.violation(
                    number,
                    "looks like a secret; revoke it, then remove it from the history",
                ));
            }
        }
    }
    violations
}

fn resembles_secret(line: &str) -> bool {
    if PRIVATE_KEY.iter().all(|fragment| line.contains(fragment)) {
        return true;
    }
    KINDS.iter().any(|kind| {
        line.match_indices(kind.prefix).any(|(start, _)| {
            let rest = &line[start + kind.prefix.len()..];
            let run = rest
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
                .count();
            let starts_a_word = !line[..start].ends_with(|c: char| c.is_alphanumeric());
            starts_a_word && run >= kind.length
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn finds_keys_and_tokens_but_not_words() {
        let text = format!(
            "{}ABCDEFGHIJKLMNOP\n{}{}\n{}RSA {}\nAKIA is a prefix\nKAKIAABCDEFGHIJKLMNOPQ\n",
            KINDS[0].prefix,
            KINDS[1].prefix,
            "a1".repeat(18),
            PRIVATE_KEY[0],
            PRIVATE_KEY[1],
        );
        assert_eq!(
            places(&violations(&SourceTree::of(&[("a.txt", &text)]))),
            ["a.txt:1", "a.txt:2", "a.txt:3"]
        );
    }
}
