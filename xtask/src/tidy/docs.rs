//! Documentation: crate docs exist, claims name rules that exist, links inside the repository resolve.

use std::collections::{BTreeMap, BTreeSet};

use super::{File, RULES, SourceTree, Violation};
use crate::markdown;

/// Every crate's root begins with the purpose of the crate.
pub(super) fn crate_docs(tree: &SourceTree) -> Vec<Violation> {
    let roots = tree.rust().filter(|file| {
        ["src/lib.rs", "src/main.rs"]
            .iter()
            .any(|root| file.path.ends_with(root))
            || file.path.contains("/src/bin/")
    });
    roots
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| {
            file.violation(
                1,
                "crate docs are missing; begin with `//!`: purpose and scope of the crate",
            )
        })
        .collect()
}

/// In ARCHITECTURE.md `(tidy: NAME)` marks a claim that the rule NAME enforces; the literal NAME explains the mark.
pub(super) fn claims(tree: &SourceTree) -> Vec<Violation> {
    let Some(file) = tree
        .files
        .iter()
        .find(|file| file.path == "ARCHITECTURE.md")
    else {
        let what = "missing: the description of the crates".to_owned();
        return vec![Violation {
            path: "ARCHITECTURE.md".to_owned(),
            line: 0,
            what,
            is_warning: false,
        }];
    };
    let mut violations = Vec::new();
    let mut marks = 0;
    for (number, line) in file.lines() {
        let marked = line
            .split("(tidy: ")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        for names in marked.filter(|names| *names != "NAME") {
            marks += 1;
            for name in names
                .split(", ")
                .filter(|name| !RULES.iter().any(|rule| rule.name == *name))
            {
                let known: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
                violations.push(file.violation(
                    number,
                    format!("unknown tidy rule `{name}`; valid: {}", known.join(", ")),
                ));
            }
        }
    }
    if marks == 0 {
        violations.push(file.violation(0, "no claim names its rule, as in `(tidy: arrows)`"));
    }
    violations
}

/// Links of Markdown files to files, folders and headings of the repository.
pub(super) fn links(tree: &SourceTree) -> Vec<Violation> {
    let mut known: BTreeSet<String> = tree.paths.iter().cloned().collect();
    for path in &tree.paths {
        let folders = path
            .match_indices('/')
            .map(|(end, _)| path[..end].to_owned());
        known.extend(folders);
    }
    known.insert(String::new());
    let files = tree.files.iter().filter(|file| file.has_extension("md"));
    let anchors: BTreeMap<_, _> = files
        .clone()
        .map(|file| (file.path.as_str(), markdown::anchors(&file.text)))
        .collect();
    files
        .flat_map(|file| links_of(file, &known, &anchors))
        .collect()
}

fn links_of(
    file: &File,
    known: &BTreeSet<String>,
    anchors: &BTreeMap<&str, BTreeSet<String>>,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, target) in markdown::links(&file.text) {
        let is_outside = target.contains("://") || target.starts_with("mailto:");
        if is_outside {
            continue;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = if path.is_empty() {
            Some(file.path.clone())
        } else {
            resolve(&file.path, path)
        };
        let Some(path) = path.filter(|path| known.contains(path)) else {
            violations.push(file.violation(
                number,
                format!("link to `{target}`, which is not in the repository"),
            ));
            continue;
        };
        let headings = anchors.get(path.as_str());
        if !anchor.is_empty() && headings.is_some_and(|headings| !headings.contains(anchor)) {
            violations.push(file.violation(
                number,
                format!("link to `#{anchor}`, which is no heading of {path}"),
            ));
        }
    }
    violations
}

/// The path from the root of a link in `from`; `None` if it leaves the repository.
pub(super) fn resolve(from: &str, link: &str) -> Option<String> {
    let mut segments: Vec<&str> = if link.starts_with('/') {
        Vec::new()
    } else {
        from.split('/').collect()
    };
    segments.pop();
    for segment in link.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            _ => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn crate_roots_begin_with_docs() {
        let tree = SourceTree::of(&[
            ("crates/a/src/lib.rs", "//! For a.\n"),
            ("crates/b/src/lib.rs", "use std;\n"),
            ("crates/b/src/c.rs", "use std;\n"),
            ("crates/b/src/bin/c.rs", "use std;\n"),
        ]);
        assert_eq!(
            places(&crate_docs(&tree)),
            ["crates/b/src/lib.rs:1", "crates/b/src/bin/c.rs:1"]
        );
    }

    #[test]
    fn claims_name_rules_that_exist() {
        let of = |text| places(&claims(&SourceTree::of(&[("ARCHITECTURE.md", text)])));
        assert_eq!(of("Arrows go down (tidy: arrows).\n"), [""; 0]);
        assert_eq!(
            of("Down (tidy: arrows, links).\nUp (tidy: levitation)\n"),
            ["ARCHITECTURE.md:2"]
        );
        assert_eq!(of("A mark reads `(tidy: NAME)`.\n"), ["ARCHITECTURE.md:0"]);
        assert_eq!(of("Nothing is marked.\n"), ["ARCHITECTURE.md:0"]);
        assert_eq!(places(&claims(&SourceTree::of(&[]))), ["ARCHITECTURE.md:0"]);
    }

    #[test]
    fn links_lead_to_headings() {
        let text = "[a](a.md#more) [b](a.md#less) [c](#here) [d](#there)\n# Here\n";
        let tree = SourceTree::of(&[("docs/x.md", text), ("docs/a.md", "# A\n## More\n")]);
        let found: Vec<_> = links(&tree).into_iter().map(|it| it.what).collect();
        assert_eq!(
            found,
            [
                "link to `#less`, which is no heading of docs/a.md",
                "link to `#there`, which is no heading of docs/x.md"
            ]
        );
    }

    #[test]
    fn links_lead_somewhere() {
        let text = "[a](a.md) [b](../README.md#top) [c](missing.md)\n```\n[d](code.md)\n```\n\
                    [e](https://example.org/x) [f](a.md) [g](/docs) [h](../../out.md)\n";
        let tree = SourceTree::of(&[
            ("docs/x.md", text),
            ("docs/a.md", ""),
            ("README.md", "# Top\n[docs](docs/)"),
        ]);
        assert_eq!(places(&links(&tree)), ["docs/x.md:1", "docs/x.md:5"]);
    }
}
