//! The modules that a Rust source imports, from its tokens, so that comments and strings do not count.
//!
//! Paths that start with `crate`, `super` or `self` are resolved, in `use` and inline, also inside macros. Code under
//! `#[cfg(test)]` is ignored: tests may import everything.

use proc_macro2::{TokenStream, TokenTree};

use crate::tokens::{is_punct, is_test_attribute, split_item};

/// Module paths in one source, all from the root of its crate.
#[derive(Debug, Default)]
pub(super) struct Imports {
    /// Paths that are named, with their lines (from 1).
    pub(super) named: Vec<(Vec<String>, usize)>,
    /// Names that `use` imports into the source's own module, with their paths.
    pub(super) brought: Vec<(String, Vec<String>)>,
    /// Modules of this source that exist in tests only.
    pub(super) test_modules: Vec<Vec<String>>,
}

/// Reads the tokens of a source whose module is `at`.
pub(super) fn read(tokens: TokenStream, at: &[String]) -> Imports {
    let mut imports = Imports::default();
    walk(tokens, at, &mut imports);
    imports
}

fn walk(stream: TokenStream, at: &[String], imports: &mut Imports) {
    let tokens: Vec<_> = stream.into_iter().collect();
    let mut rest = tokens.as_slice();
    while let [first, after @ ..] = rest {
        if is_test_attribute(rest) {
            let (item, beyond) = split_item(after);
            if let Some(name) = declared_module(item) {
                imports.test_modules.push(join_path(at, &name));
            }
            rest = beyond;
            continue;
        }
        rest = match (word(first).as_deref(), after) {
            (Some("mod"), [name, TokenTree::Group(body), beyond @ ..]) => {
                let name = word(name).unwrap_or_default();
                walk(body.stream(), &join_path(at, &name), imports);
                beyond
            }
            (Some("use"), _) => {
                let end = after.iter().position(|token| is_punct(token, ';'));
                let (tree, beyond) = after.split_at(end.unwrap_or(after.len()));
                let line = first.span().start().line;
                for leaf in leaves(tree, &[]) {
                    let path = from_root(&leaf.path, at);
                    imports.named.extend(path.clone().map(|path| (path, line)));
                    let path = path.unwrap_or(leaf.path);
                    imports.brought.push((leaf.name, path));
                }
                beyond
            }
            (Some("crate" | "super" | "self"), [colon, ..]) if is_punct(colon, ':') => {
                let (path, beyond) = split_path(rest);
                let line = first.span().start().line;
                let path = from_root(&path, at);
                imports.named.extend(path.map(|path| (path, line)));
                beyond
            }
            _ => {
                if let TokenTree::Group(group) = first {
                    walk(group.stream(), at, imports);
                }
                after
            }
        };
    }
}

/// The name in `mod name;`.
fn declared_module(item: &[TokenTree]) -> Option<String> {
    let [.., keyword, name, end] = item else {
        return None;
    };
    (word(keyword).as_deref() == Some("mod") && is_punct(end, ';')).then(|| word(name))?
}

/// A path in place, as `crate::a::b`, and what follows.
fn split_path(tokens: &[TokenTree]) -> (Vec<String>, &[TokenTree]) {
    let mut path: Vec<_> = tokens.first().and_then(word).into_iter().collect();
    let mut rest = &tokens[1..];
    while let [first, two, name, beyond @ ..] = rest {
        let Some(name) = word(name).filter(|_| is_punct(first, ':') && is_punct(two, ':')) else {
            break;
        };
        path.push(name);
        rest = beyond;
    }
    (path, rest)
}

/// One name of a `use`.
struct Leaf {
    name: String,
    path: Vec<String>,
}

/// All names of the tree of a `use` with the prefix `before`.
fn leaves(tree: &[TokenTree], before: &[String]) -> Vec<Leaf> {
    let mut path = before.to_vec();
    let mut name = None;
    let mut renames = false;
    for token in tree {
        match (token, word(token)) {
            (TokenTree::Group(group), _) => {
                let tokens: Vec<_> = group.stream().into_iter().collect();
                let items = tokens.split(|token| is_punct(token, ','));
                let items = items.filter(|item| !item.is_empty());
                return items.flat_map(|item| leaves(item, &path)).collect();
            }
            (_, Some(word)) if word == "as" => renames = true,
            (_, Some(word)) if renames => name = Some(word),
            (_, Some(word)) if word == "self" && !path.is_empty() => {}
            (_, Some(word)) => path.push(word),
            (_, None) => {}
        }
    }
    let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
    vec![Leaf { name, path }]
}

/// The path from the root of the crate, if it is one of this crate.
fn from_root(path: &[String], at: &[String]) -> Option<Vec<String>> {
    let (first, mut rest) = path.split_first()?;
    let mut base = match first.as_str() {
        "crate" => &[],
        "self" => at,
        "super" => at.split_last()?.1,
        _ => return None,
    };
    while let Some((_, beyond)) = rest.split_first().filter(|(next, _)| *next == "super") {
        base = base.split_last()?.1;
        rest = beyond;
    }
    Some([base, rest].concat())
}

fn join_path(at: &[String], name: &str) -> Vec<String> {
    let mut path = at.to_vec();
    path.push(name.to_owned());
    path
}

fn word(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    }
}
