//! `cargo xtask messages`: lists every user-visible text of the program.
//!
//! String literals of two or more words in the crates: errors, findings, help, reports; and the comments of tables of
//! settings, which are the text of the reference. Texts that users never see are omitted: tests, reasons of lints,
//! messages of broken invariants.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::str::FromStr as _;

use anyhow::Result;
use plimsoll_harness::workspace::Workspace;
use proc_macro2::{TokenStream, TokenTree};

use crate::tidy::SourceTree;
use crate::tokens::{is_punct, is_test_attribute, split_item};

/// Crates whose texts no user sees.
const UNSEEN: [&str; 6] = [
    "crates/plimsoll-bench/",
    "crates/plimsoll-cases/",
    "crates/plimsoll-harness/",
    "crates/plimsoll-soak/",
    "crates/plimsoll-testkit/",
    "xtask/",
];
/// Calls and attributes whose texts no user sees.
const INTERNAL: [&str; 12] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "cfg",
    "debug_assert",
    "debug_assert_eq",
    "expect",
    "include_bytes",
    "include_str",
    "panic",
    "should_panic",
    "unreachable",
];

/// Prints the texts of files whose path contains `part`, with their places.
pub(crate) fn run(part: &str) -> Result<()> {
    let tree = SourceTree::read(&Workspace::find()?)?;
    let mut out = String::new();
    for (path, text) in tree.sources() {
        let is_test =
            path.contains("/tests/") || path.ends_with("tests.rs") || path.contains("/examples/");
        let is_unseen = UNSEEN.iter().any(|start| path.starts_with(start));
        if is_test || is_unseen || path.contains("/fuzz/") || !path.contains(part) {
            continue;
        }
        for (line, message) in of_source(text) {
            let _ = writeln!(out, "{path}:{line}: {message}");
        }
    }
    print!("{out}");
    Ok(())
}

/// The texts of one source, with their lines from 1, as they are written between their quotes.
fn of_source(text: &str) -> BTreeSet<(usize, String)> {
    let mut found = BTreeSet::new();
    if let Ok(tokens) = TokenStream::from_str(text) {
        walk(tokens, false, &mut found);
    }
    found
}

/// Walks tokens, in a table of settings or not.
fn walk(stream: TokenStream, is_table: bool, found: &mut BTreeSet<(usize, String)>) {
    let tokens: Vec<_> = stream.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if is_test_attribute(&tokens[at..]) {
            let (item, _) = split_item(&tokens[at + 1..]);
            at += 1 + item.len();
            continue;
        }
        match token {
            TokenTree::Group(group) if is_table || !is_internal(&tokens, at) => {
                let is_table = is_table || is_settings(&tokens[..at]);
                walk(group.stream(), is_table, found);
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let text = text
                    .trim_start_matches(['r', 'b', '#'])
                    .trim_end_matches('#');
                if text.starts_with('"') && text.split_whitespace().count() > 1 {
                    let line = literal.span().start().line;
                    let words: Vec<_> = text
                        .split_whitespace()
                        .filter(|word| *word != "\\")
                        .collect();
                    found.insert((line, words.join(" ")));
                }
            }
            TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
        at += 1;
    }
}

/// Whether the tokens end with `settings!`, whose comments are texts of the reference.
fn is_settings(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [.., TokenTree::Ident(name), mark] if name == "settings" && is_punct(mark, '!'))
}

/// Whether the group at a place is documentation, or has the arguments of an internal call or attribute.
fn is_internal(tokens: &[TokenTree], at: usize) -> bool {
    let (is_attribute, name) = match &tokens[..at] {
        [.., hash, mark] if is_punct(mark, '!') => (is_punct(hash, '#'), hash),
        [.., name] => (is_punct(name, '#'), name),
        [] => return false,
    };
    if is_attribute {
        return matches!(&tokens[at], TokenTree::Group(group) if group.stream().to_string().starts_with("doc"));
    }
    matches!(name, TokenTree::Ident(name) if INTERNAL.contains(&name.to_string().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_users_read_are_found() {
        let text = r##"
//! A text of the source.
#[derive(Debug)]
#[error("cannot read {path}: {why}")]
struct A;
#[expect(clippy::x, reason = "no user sees this")]
fn f() {
    assert!(true, "nor this one");
    x.expect("nor this");
    tell("it is \
          told");
    tell(r#"a "quoted" text"#);
    word("one");
}
settings! {
    /// A text of the reference.
    pub struct B, B "b" {}
}
#[cfg(test)]
mod tests {
    fn g() { tell("not of tests"); }
}
fn h() { tell("after them"); }
"##;
        let found: Vec<_> = of_source(text).into_iter().collect();
        let expected = [
            (4, "\"cannot read {path}: {why}\""),
            (10, "\"it is told\""),
            (12, "\"a \"quoted\" text\""),
            (16, "\" A text of the reference.\""),
            (23, "\"after them\""),
        ];
        let expected = expected.map(|(line, text)| (line, text.to_owned()));
        assert_eq!(found, expected);
    }
}
