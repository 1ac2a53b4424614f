//! Every row of `docs/security.md` names a test that carries out the attack.

use std::collections::BTreeSet;

use super::{SourceTree, Violation};

const LIST: &str = "docs/security.md";

/// Each row of a table names at least one test, in backticks as `path::name`, and each named test exists.
pub(super) fn violations(tree: &SourceTree) -> Vec<Violation> {
    let Some(list) = tree.files.iter().find(|file| file.path == LIST) else {
        return vec![Violation {
            path: LIST.to_owned(),
            line: 0,
            what: "missing: the list of tested attacks".to_owned(),
            is_warning: false,
        }];
    };
    let tests = tests(tree);
    let mut violations = Vec::new();
    let mut is_body = false;
    for (number, line) in list.lines() {
        if !line.starts_with('|') {
            is_body = false;
            continue;
        }
        // The separator below a table's heading.
        if line.starts_with("|-") || line.starts_with("| -") {
            is_body = true;
            continue;
        }
        if !is_body {
            continue;
        }
        let named: Vec<_> = named(line).collect();
        if named.is_empty() {
            violations.push(list.violation(number, "no test is named; add it as `module::test`"));
        }
        for name in named.iter().filter(|name| !tests.contains(**name)) {
            violations.push(list.violation(number, format!("there is no test `{name}`")));
        }
    }
    violations
}

/// The last parts of the paths in backticks.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter_map(|quoted| {
        let (_, name) = quoted.rsplit_once("::")?;
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        (is_name && !name.is_empty()).then_some(name)
    })
}

/// Tests of a program with a `main` of its own: functions that their module lists by name.
const LISTED: &str = "/tests/services/cases/";

/// The names of all functions that are tests: a line with an attribute that ends in `test]` or a property's, then `fn`.
fn tests(tree: &SourceTree) -> BTreeSet<&str> {
    let mut tests = BTreeSet::new();
    for file in tree.rust() {
        let mut is_marked = false;
        for line in file.text.lines().map(str::trim_start) {
            if line.starts_with("#[") {
                is_marked |= line.starts_with("#[test") || line.starts_with("#[tokio::test");
                continue;
            }
            let function = line
                .strip_prefix("async ")
                .unwrap_or(line)
                .strip_prefix("fn ");
            if let Some(rest) = function {
                let name = rest.split(['(', '<']).next().unwrap_or_default();
                let is_listed =
                    || file.path.contains(LISTED) && file.text.contains(&format!("\"{name}\","));
                if is_marked || is_listed() {
                    tests.insert(name);
                }
            }
            if !line.starts_with("//") {
                is_marked = false;
            }
        }
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn every_attack_names_a_test_that_exists() {
        let code = "#[test]\nfn floods_end() {}\n#[test]\n#[expect(x, reason = \"y\")]\nasync fn bombs_end() {}\nfn help() {}\n";
        let of = |list: &str| {
            let tree =
                SourceTree::of(&[("docs/security.md", list), ("crates/a/tests/it/a.rs", code)]);
            places(&violations(&tree))
        };
        let heading = "| attack | test | bound |\n|---|---|---|\n";
        let good = format!("{heading}| flood | `a::floods_end`, `a::bombs_end` | 1 s |\n");
        assert_eq!(of(&good), [""; 0]);
        for bad in [
            "| flood | `a::help` | 1 s |",
            "| flood | by hand | 1 s |",
            "| x | `a::gone` | |",
        ] {
            let list = format!("{heading}{bad}\n");
            assert_eq!(of(&list), ["docs/security.md:3"], "{bad}");
        }
        assert_eq!(
            places(&violations(&SourceTree::of(&[]))),
            ["docs/security.md:0"]
        );
    }
}
