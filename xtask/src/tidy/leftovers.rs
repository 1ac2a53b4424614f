//! Leftovers that must not be committed: reminders, disabled tests, tests that sleep.

use super::{File, SourceTree, Violation};

// Concatenated, so that this file does not match itself.
const LEFTOVERS: [&str; 6] = [
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("TO", "DO"),
    concat!("to", "do!("),
    concat!("unimplemented", "!("),
    concat!("db", "g!("),
];
const IGNORED: [&str; 2] = [
    concat!("#[ig", "nore"),
    concat!("#[cfg_attr(all(), ig", "nore"),
];
const SLEEPS: [&str; 4] = [
    concat!("thread::", "sleep"),
    concat!("park_", "timeout"),
    concat!("time::", "sleep"),
    concat!("sleep", "_ms("),
];

/// Sources, scripts and documents.
const EXTENSIONS: [&str; 9] = ["rs", "ts", "js", "css", "py", "sh", "toml", "yml", "md"];

pub(super) fn leftovers(tree: &SourceTree) -> Vec<Violation> {
    let files = tree.files.iter().filter(|file| {
        EXTENSIONS
            .iter()
            .any(|extension| file.has_extension(extension))
    });
    find(files, &LEFTOVERS, "unfinished; finish it or open an issue")
}

pub(super) fn ignored_tests(tree: &SourceTree) -> Vec<Violation> {
    find(
        tree.rust(),
        &IGNORED,
        "a disabled test proves nothing; repair or delete it",
    )
}

pub(super) fn sleeping_tests(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = find(
        tree.rust(),
        &SLEEPS,
        "a test must not sleep; wait for an event or a deadline",
    );
    violations.retain(|violation| {
        let file = tree
            .rust()
            .find(|file| file.path == violation.path)
            .expect("the fault was found in this file");
        is_test(file, violation.line)
    });
    violations
}

/// Whether a line belongs to tests: by the path of its file, or below `#[cfg(test)]`.
fn is_test(file: &File, line: usize) -> bool {
    let by_place = file.path.contains("/tests/") || file.path.ends_with("/tests.rs");
    by_place
        || file
            .lines()
            .find(|(_, text)| text.trim() == "#[cfg(test)]")
            .is_some_and(|(start, _)| start < line)
}

fn find<'a>(
    files: impl Iterator<Item = &'a File>,
    patterns: &[&str],
    remedy: &str,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files {
        for (number, line) in file.lines() {
            if let Some(pattern) = patterns.iter().find(|pattern| contains_word(line, pattern)) {
                violations.push(file.violation(number, format!("`{pattern}`: {remedy}")));
            }
        }
    }
    violations
}

/// Whether the pattern occurs as a whole word.
fn contains_word(line: &str, pattern: &str) -> bool {
    line.match_indices(pattern).any(|(start, _)| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let before = line[..start].chars().next_back();
        let after = line[start + pattern.len()..].chars().next();
        let open = pattern.starts_with(is_word) && before.is_some_and(is_word);
        let close = pattern.ends_with(is_word) && after.is_some_and(is_word);
        !open && !close
    })
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn finds_leftovers_as_words_only() {
        let text = LEFTOVERS.map(|word| format!("// {word}\n")).concat();
        let other = format!("// mXX{}\nfn {}_list() {{}}\n", "XL", "todo");
        let tree = SourceTree::of(&[("a.rs", &text), ("b.rs", &other), ("c.bin", &text)]);
        assert_eq!(
            places(&leftovers(&tree)),
            (1..=6)
                .map(|line| format!("a.rs:{line}"))
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn finds_tests_that_do_not_run() {
        let text = format!(
            "#[test]\n{}]\nfn a() {{}}\n{} = \"slow\"]\n",
            IGNORED[0], IGNORED[0]
        );
        assert_eq!(
            places(&ignored_tests(&SourceTree::of(&[("a.rs", &text)]))),
            ["a.rs:2", "a.rs:4"]
        );
    }

    #[test]
    fn finds_tests_that_sleep() {
        let call = format!("{}(d);\n", SLEEPS[0]);
        let below = format!("{call}#[cfg(test)]\nmod tests {{\n{call}}}\n");
        let tree = SourceTree::of(&[
            ("src/a.rs", &below),
            ("src/clock.rs", &call),
            ("tests/e2e/a.rs", &call),
            ("x/tests/b.rs", &call),
        ]);
        assert_eq!(
            places(&sleeping_tests(&tree)),
            ["src/a.rs:4", "x/tests/b.rs:1"]
        );
    }
}
