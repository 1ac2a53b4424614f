//! Strings that look like keys and tokens: what is committed once stays readable for ever.

use super::{Fault, Tree};

/// The beginning of a kind of token, and how many characters of its alphabet must follow.
struct Kind {
    prefix: &'static str,
    length: usize,
}

// Put together here, so that this file does not find itself.
const KINDS: [Kind; 7] = [
    Kind {
        prefix: concat!("AK", "IA"),
        length: 16,
    },
    Kind {
        prefix: concat!("gh", "p_"),
        length: 36,
    },
    Kind {
        prefix: concat!("github", "_pat_"),
        length: 22,
    },
    Kind {
        prefix: concat!("gl", "pat-"),
        length: 20,
    },
    Kind {
        prefix: concat!("xox", "b-"),
        length: 20,
    },
    Kind {
        prefix: concat!("sk_", "live_"),
        length: 20,
    },
    Kind {
        prefix: concat!("AI", "za"),
        length: 35,
    },
];
const PRIVATE_KEY: [&str; 2] = [concat!("-----BE", "GIN "), concat!("PRIVATE", " KEY-----")];

pub(super) fn faults(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if looks_like_a_secret(line) {
                faults.push(file.fault(
                    number,
                    "looks like a secret: revoke it, then take it out of the history",
                ));
            }
        }
    }
    faults
}

fn looks_like_a_secret(line: &str) -> bool {
    if PRIVATE_KEY.iter().all(|part| line.contains(part)) {
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
            places(&faults(&Tree::of(&[("a.txt", &text)]))),
            ["a.txt:1", "a.txt:2", "a.txt:3"]
        );
    }
}
