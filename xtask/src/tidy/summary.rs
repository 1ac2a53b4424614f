//! The site has every page: `docs/SUMMARY.md` lists each page once.

use std::collections::BTreeMap;

use super::docs::resolve;
use super::{SourceTree, Violation};
use crate::markdown;

const SUMMARY: &str = "docs/SUMMARY.md";
/// `cargo xtask site` lists the decisions by itself.
const DECISIONS: &str = "docs/decisions/";

/// Pages of `docs` that the summary lacks, and those that it lists twice.
pub(super) fn violations(tree: &SourceTree) -> Vec<Violation> {
    let Some(summary) = tree.files.iter().find(|file| file.path == SUMMARY) else {
        return vec![Violation {
            path: SUMMARY.to_owned(),
            line: 0,
            what: "missing: the contents of the site".to_owned(),
            is_warning: false,
        }];
    };
    let mut violations = Vec::new();
    let mut listed = BTreeMap::new();
    for (number, link) in markdown::links(&summary.text) {
        let Some(page) = resolve(SUMMARY, link) else {
            continue;
        };
        if let Some(first) = listed.insert(page, number) {
            violations.push(summary.violation(
                number,
                format!("`{link}` is listed in line {first} already"),
            ));
        }
    }
    for page in tree.files.iter().filter(|file| file.has_extension("md")) {
        let is_page = page.path.starts_with("docs/") && page.path != SUMMARY;
        let is_decision = page.path.starts_with(DECISIONS) && !page.path.ends_with("README.md");
        if is_page && !is_decision && !listed.contains_key(&page.path) {
            violations.push(page.violation(
                0,
                format!("the page is not in {SUMMARY}; add it to the chapter where a reader looks for it"),
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn every_page_is_listed_once() {
        let of = |text: &str| {
            let tree = SourceTree::of(&[
                (SUMMARY, text),
                ("README.md", ""),
                ("docs/a.md", ""),
                ("docs/decisions/README.md", ""),
                ("docs/decisions/0001-x.md", ""),
            ]);
            places(&violations(&tree))
        };
        let start = "[P](../README.md)\n- [D](decisions/README.md)\n";
        assert_eq!(of(&format!("{start}- [A](a.md)\n")), [""; 0]);
        assert_eq!(of(start), ["docs/a.md:0"]);
        assert_eq!(
            of(&format!("{start}- [A](a.md)\n- [B](a.md)\n")),
            ["docs/SUMMARY.md:4"]
        );
        assert_eq!(
            places(&violations(&SourceTree::of(&[]))),
            ["docs/SUMMARY.md:0"]
        );
    }
}
