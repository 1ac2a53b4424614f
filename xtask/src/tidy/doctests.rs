//! A code block in the docs of a crate that tests none would be an example that nobody tries.

use super::{File, SourceTree, Violation};

pub(super) fn violations(tree: &SourceTree) -> Vec<Violation> {
    let untested = tree.files.iter().filter_map(|file| {
        let folder = file.path.strip_suffix("Cargo.toml")?;
        let switches_off = file.text.lines().any(|line| line == "doctest = false");
        switches_off.then(|| format!("{folder}src/"))
    });
    let untested: Vec<String> = untested.collect();
    tree.rust()
        .filter(|file| untested.iter().any(|folder| file.path.starts_with(folder)))
        .flat_map(examples)
        .collect()
}

/// The first line of every Rust code block in a file's docs.
fn examples(file: &File) -> Vec<Violation> {
    let mut is_open = false;
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        let line = line.trim_start();
        let text = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let Some(text) = text else {
            is_open = false;
            continue;
        };
        let Some(language) = text.trim_start().strip_prefix("```") else {
            continue;
        };
        if !is_open && is_rust(language) {
            found.push(file.violation(
                number,
                "the crate's examples are not tested; name the block's language, or remove `doctest = false`",
            ));
        }
        is_open = !is_open;
    }
    found
}

/// Whether rustdoc would run a block that begins so: unless a word says that it is something else.
fn is_rust(language: &str) -> bool {
    language
        .split([',', ' '])
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .all(|word| {
            ["rust", "no_run", "should_panic", "compile_fail"].contains(&word)
                || word.starts_with("edition")
        })
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn finds_examples_that_nobody_tries() {
        let docs = "//! ```\n//! let a = 1;\n//! ```\n//!\n//! ```text\n//! 1 2\n//! ```\n\
                    /// ```rust,no_run\n/// a();\n/// ```\nfn a() {}\n";
        let tree = SourceTree::of(&[
            ("crates/a/Cargo.toml", "[lib]\ndoctest = false\n"),
            ("crates/a/src/lib.rs", docs),
            ("crates/a/tests/it.rs", docs),
            ("crates/b/Cargo.toml", "[lints]\nworkspace = true\n"),
            ("crates/b/src/lib.rs", docs),
        ]);
        assert_eq!(
            places(&violations(&tree)),
            ["crates/a/src/lib.rs:1", "crates/a/src/lib.rs:8"]
        );
    }
}
