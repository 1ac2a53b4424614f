//! File sizes: more than 500 lines with several types is a warning, more than 1,000 an error.

use std::str::FromStr as _;

use proc_macro2::{TokenStream, TokenTree};

use super::{File, SourceTree, Violation};

const WARN_OVER: usize = 500;
const FAIL_OVER: usize = 1_000;

/// Written by hand and counted.
const EXTENSIONS: [&str; 6] = ["rs", "ts", "js", "css", "py", "sh"];

pub(super) fn violations(tree: &SourceTree) -> Vec<Violation> {
    let counted = tree.files.iter().filter(|file| {
        EXTENSIONS
            .iter()
            .any(|extension| file.has_extension(extension))
    });
    counted.filter_map(violation).collect()
}

fn violation(file: &File) -> Option<Violation> {
    let count = file.text.lines().count();
    let is_warning = count <= FAIL_OVER;
    if count <= WARN_OVER || (is_warning && holds_single_type(file)) {
        return None;
    }
    let what = format!("{count} lines; split it by purpose (at most {FAIL_OVER})");
    Some(Violation {
        is_warning,
        ..file.violation(0, what)
    })
}

/// Whether a Rust source defines one type at most, tests aside: such a file may be long.
fn holds_single_type(file: &File) -> bool {
    if !file.has_extension("rs") {
        return false;
    }
    let code = file.text.split("\n#[cfg(test)]").next().unwrap_or_default();
    let Ok(tokens) = TokenStream::from_str(code) else {
        return false;
    };
    let types = tokens.into_iter().filter(|token| {
        matches!(token, TokenTree::Ident(word) if ["struct", "enum", "trait"].iter().any(|kind| word == kind))
    });
    types.count() <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_of_several_types_warn_and_longer_ones_fail() {
        let text = |types: &str, count: usize| format!("{types}\n{}", "//\n".repeat(count - 1));
        let two = "struct A; enum B {}";
        let files = [
            ("short.rs", text(two, 500)),
            ("several.rs", text(two, 501)),
            ("one.rs", text("struct A { b: B } impl A {}", 1_000)),
            (
                "tests_aside.rs",
                text("struct A;\n#[cfg(test)]\nmod tests { struct B; }", 600),
            ),
            ("longer.rs", text("struct A;", 1_001)),
            ("script.py", text("", 501)),
            ("numbers.json", text("", 1_001)),
        ];
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        let found: Vec<_> = violations(&SourceTree::of(&files))
            .into_iter()
            .map(|violation| (violation.path, violation.is_warning))
            .collect();
        let expected = [
            ("several.rs", true),
            ("longer.rs", false),
            ("script.py", true),
        ];
        assert_eq!(
            found,
            expected.map(|(path, warns)| (path.to_owned(), warns))
        );
    }
}
