//! No cycles between the top-level modules of a crate: code that two modules need belongs in a module below both.
//!
//! The root (`lib.rs`, `main.rs`) wires the modules together and may import all of them; a name that it re-exports counts
//! as one of the module that defines it.

mod imports;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::str::FromStr as _;

use proc_macro2::TokenStream;

use self::imports::Imports;
use super::{File, SourceTree, Violation};

/// Imports between modules, each with the first place.
type Arrows<'a> = BTreeMap<String, BTreeMap<String, (&'a File, usize)>>;

pub(super) fn violations(tree: &SourceTree) -> Vec<Violation> {
    let roots = tree.rust().filter_map(|file| {
        let name = ["/src/lib.rs", "/src/main.rs"];
        name.iter()
            .find_map(|name| file.path.strip_suffix(name).map(|folder| (folder, file)))
    });
    roots
        .flat_map(|(folder, root)| violations_of(tree, folder, root))
        .collect()
}

fn violations_of(tree: &SourceTree, folder: &str, root: &File) -> Vec<Violation> {
    let (arrows, mut violations) = arrows(tree, folder, root);
    let cycles = cycles(&arrows);
    for members in &cycles {
        let shortest = shortest(&arrows, members);
        let (file, line) = arrows[&shortest[0]][&shortest[1]];
        let what = format!(
            "a cycle of {} modules, at least {}; move the shared code into a module below them (all: {})",
            members.len(),
            shortest.join(" → "),
            members.iter().cloned().collect::<Vec<_>>().join(", ")
        );
        violations.push(file.violation(line, what));
    }
    violations
}

/// The imports between the top-level modules of the crate, and unparsable sources.
fn arrows<'a>(tree: &'a SourceTree, folder: &str, root: &'a File) -> (Arrows<'a>, Vec<Violation>) {
    let mut sources = Vec::new();
    let mut violations = Vec::new();
    for file in tree.rust() {
        let Some(at) = module_path(&file.path, folder) else {
            continue;
        };
        match TokenStream::from_str(&file.text) {
            Ok(tokens) => sources.push((file, imports::read(tokens, &at), at)),
            Err(error) => violations.push(file.violation(
                error.span().start().line,
                format!("cannot parse as Rust: {error}"),
            )),
        }
    }
    let of_tests: Vec<_> = sources
        .iter()
        .flat_map(|(_, imports, _)| imports.test_modules.clone())
        .collect();
    sources.retain(|(_, _, at)| !of_tests.iter().any(|test| at.starts_with(test)));
    let modules: BTreeSet<_> = sources
        .iter()
        .filter_map(|(_, _, at)| at.first().cloned())
        .collect();
    let brought = sources
        .iter()
        .find(|(file, _, _)| std::ptr::eq(*file, root))
        .map(|(_, imports, _)| re_exported(imports, &modules))
        .unwrap_or_default();
    let mut arrows = Arrows::new();
    for (file, imports, at) in sources {
        let Some(from) = at.first() else {
            continue;
        };
        for (path, line) in imports.named {
            let first = path.first().filter(|first| modules.contains(*first));
            let to = first.or_else(|| path.first().and_then(|name| brought.get(name)));
            if let Some(to) = to.filter(|to| *to != from) {
                let row = arrows.entry(from.clone()).or_default();
                row.entry(to.clone()).or_insert((file, line));
            }
        }
    }
    (arrows, violations)
}

/// The module of a source of the crate; tests and programs beside the crate are left out.
fn module_path(path: &str, folder: &str) -> Option<Vec<String>> {
    let inside = path.strip_prefix(folder)?.strip_prefix("/src/")?;
    let module = inside.strip_suffix(".rs")?;
    let segments: Vec<_> = module.split('/').map(str::to_owned).collect();
    match segments.as_slice() {
        [root] if root == "lib" || root == "main" => Some(Vec::new()),
        [first, ..] if first == "bin" => None,
        segments if segments.iter().any(|segment| segment == "tests") => None,
        _ => Some(segments),
    }
}

/// The names that the root takes from its modules, with the modules.
fn re_exported(root: &Imports, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let brought = root.brought.iter();
    brought
        .filter_map(|(name, path)| {
            let module = path.first().filter(|first| modules.contains(*first))?;
            Some((name.clone(), module.clone()))
        })
        .collect()
}

/// The modules that can be reached from one.
fn reached(arrows: &Arrows<'_>, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(next) = open.pop() {
        for to in arrows.get(&next).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(to.clone()) {
                open.push(to.clone());
            }
        }
    }
    reached
}

/// The sets of modules that reach each other.
fn cycles(arrows: &Arrows<'_>) -> BTreeSet<BTreeSet<String>> {
    let reach: BTreeMap<_, _> = arrows
        .keys()
        .map(|from| (from.clone(), reached(arrows, from)))
        .collect();
    let mutual = |from: &String| {
        let others = reach[from].iter();
        others
            .filter(|to| reach.get(*to).is_some_and(|back| back.contains(from)))
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    let all = reach.keys().map(mutual);
    all.filter(|members| !members.is_empty()).collect()
}

/// The shortest cycle from a module back to itself among these.
fn shortest(arrows: &Arrows<'_>, members: &BTreeSet<String>) -> Vec<String> {
    let ways = members
        .iter()
        .filter_map(|member| way_back(arrows, members, member));
    ways.min_by_key(Vec::len).unwrap_or_default()
}

fn way_back(arrows: &Arrows<'_>, members: &BTreeSet<String>, start: &str) -> Option<Vec<String>> {
    let mut ways = VecDeque::from([vec![start.to_owned()]]);
    let mut passed = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = way.last()?;
        for to in arrows.get(last).into_iter().flat_map(BTreeMap::keys) {
            let longer = [way.as_slice(), std::slice::from_ref(to)].concat();
            if to == start {
                return Some(longer);
            }
            if members.contains(to) && passed.insert(to.clone()) {
                ways.push_back(longer);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The violations of a crate with these sources.
    fn check(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<_> = files
            .iter()
            .map(|(name, text)| (format!("crates/x/src/{name}"), *text))
            .collect();
        let files: Vec<_> = paths
            .iter()
            .map(|(path, text)| (path.as_str(), *text))
            .collect();
        let found = violations(&SourceTree::of(&files));
        found.iter().map(ToString::to_string).collect()
    }

    const PLANTED: &str = "crates/x/src/a.rs:1: a cycle of 2 modules, at least a → b → a; move the shared code into a \
                           module below them (all: a, b)";

    #[test]
    fn a_planted_cycle_is_found_however_it_is_written() {
        let ways = [
            ("use crate::b::B;", "use crate::a::A;"),
            ("use crate::{b::B, c};", "fn f() -> crate::a::A { todo() }"),
            ("use super::b::{self as other, B};", "m!(super::a::A);"),
            (
                "use self::super::b;",
                "mod inner { use super::super::a::A; }",
            ),
            ("use crate::B;", "pub(crate) struct B; use crate::a;"),
            ("use crate::Other;", "use crate::a as z;"),
        ];
        let root = "mod a; mod b; mod c; pub use b::B; pub(crate) use crate::b::{X as Other};";
        for (a, b) in ways {
            let found = check(&[("lib.rs", root), ("a.rs", a), ("b.rs", b), ("c.rs", "")]);
            assert_eq!(found, [PLANTED], "{a} {b}");
        }
    }

    #[test]
    fn tests_comments_strings_and_own_rooms_are_no_arrows() {
        let a = "use crate::b::B; use self::inner::C; mod inner;";
        let b = "// crate::a\nconst TEXT: &str = \"crate::a\";\n#[cfg(test)]\nmod samples;\n\
                 #[cfg(test)] mod tests { use crate::a::A; }\n#[cfg(test)] use crate::a::A;";
        let found = check(&[
            ("lib.rs", "use a::A; use crate::b::B;"),
            ("a.rs", a),
            ("a/inner.rs", "use super::A; use crate::a::A; use std::b;"),
            ("b.rs", b),
            ("b/tests.rs", "use crate::a::A;"),
            ("b/samples.rs", "use crate::a::A;"),
            ("bin/tool.rs", "use crate::a::A;"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn long_ways_round_are_cycles_and_each_is_named_once() {
        let found = check(&[
            ("main.rs", ""),
            ("a.rs", "use crate::b;"),
            ("b/deep.rs", "use crate::c;"),
            ("c.rs", "use crate::a; use crate::d;"),
            ("d.rs", ""),
        ]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("3 modules, at least a → b → c → a"),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_no_rust_is_said_with_its_place() {
        let found = check(&[("lib.rs", "mod a;"), ("a.rs", "fn f() {\n")]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/x/src/a.rs:"), "{found:?}");
    }
}
