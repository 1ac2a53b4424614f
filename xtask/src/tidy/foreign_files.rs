//! The probe runs as root and reads processes of any user: files that these name are opened in one module, which resolves
//! paths in their root and opens only regular files.

use std::ops::RangeInclusive;
use std::str::FromStr as _;

use proc_macro2::{TokenStream, TokenTree};

use super::{File, SourceTree, Violation};
use crate::tokens::{is_test_attribute, split_item};

/// Scope of the rule.
const PROBE_SOURCE: &str = "crates/plimsoll-probe/src/";
/// Modules that may open files: paths below `/proc`, paths from processes, and four kernel settings.
const FILE_OPENERS: [&str; 4] = [
    "files.rs",
    "kernel_files.rs",
    "untrusted",
    "collectors/tunables/kernel.rs",
];
/// Calls that resolve paths.
const CALLS: [&str; 14] = [
    "File::open",
    "File::options",
    "OpenOptions",
    "fs::read",
    "read_dir(",
    "read_link(",
    "fs::metadata",
    "fs::write",
    "fs::open",
    "canonicalize(",
    ".is_file()",
    ".is_dir()",
    ".exists()",
    "UnixStream::connect",
];

pub(super) fn violations(tree: &SourceTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.rust() {
        let Some(path) = file.path.strip_prefix(PROBE_SOURCE) else {
            continue;
        };
        let is_test = path.ends_with("tests.rs") || path.contains("tests/");
        if is_test || FILE_OPENERS.iter().any(|opener| path.starts_with(opener)) {
            continue;
        }
        let of_tests = lines_of_tests(file);
        let code = file.lines().filter(|(number, line)| {
            let is_test = of_tests.iter().any(|lines| lines.contains(number));
            !is_test && !line.trim_start().starts_with("//")
        });
        for (number, line) in code {
            if let Some(call) = CALLS.iter().find(|call| line.contains(*call)) {
                let what = format!(
                    "`{call}` follows a name that a hostile process may have given: use `Files`, `kernel_files` for \
                     /proc, or `untrusted`"
                );
                violations.push(file.violation(number, what));
            }
        }
    }
    violations
}

/// The lines of the items that exist in tests only. A source that does not parse, which the rule on cycles reports, has none.
fn lines_of_tests(file: &File) -> Vec<RangeInclusive<usize>> {
    let mut lines = Vec::new();
    if let Ok(tokens) = TokenStream::from_str(&file.text) {
        add_lines_of_tests(tokens, &mut lines);
    }
    lines
}

fn add_lines_of_tests(stream: TokenStream, lines: &mut Vec<RangeInclusive<usize>>) {
    let tokens: Vec<_> = stream.into_iter().collect();
    let mut rest = tokens.as_slice();
    while let [first, after @ ..] = rest {
        if is_test_attribute(rest) {
            let (item, beyond) = split_item(after);
            let last = item.last().unwrap_or(first);
            lines.push(first.span().start().line..=last.span().end().line);
            rest = beyond;
            continue;
        }
        if let TokenTree::Group(group) = first {
            add_lines_of_tests(group.stream(), lines);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn finds_what_opens_files_between_and_behind_test_modules() {
        let call = CALLS[0];
        let text = format!(
            "#[cfg(test)]\nmod fixture;\nfn a() {{ {call}(x); }}\n\
             mod inner {{\n#[cfg(test)]\nmod tests {{\nfn a() {{ {call}(x); }}\n}}\nfn b() {{ {call}(x); }}\n}}\n\
             #[cfg(all(test, unix))]\n#[expect(unused, reason = \"b\")]\nmod tests {{ fn a() {{\n{call}(x); }} }}\n\
             #[cfg(test)]\nuse x::{call};\nfn c() {{\n{call}(x);\n}}\n"
        );
        let path = format!("{PROBE_SOURCE}auto.rs");
        let expected = [3, 9, 18].map(|line| format!("{path}:{line}"));
        let tree = SourceTree::of(&[(&path, &text)]);
        assert_eq!(places(&violations(&tree)), expected);
    }

    #[test]
    fn finds_what_opens_files_beside_the_door() {
        let probe_path = |path: &str| format!("{PROBE_SOURCE}{path}");
        let closed = |call: &str| if call.ends_with('(') { "x)" } else { "x" };
        let calls = CALLS.map(|call| format!("a({call}{});\n", closed(call)));
        let calls = calls.concat();
        let below = format!("// File::open\n#[cfg(test)]\nmod tests {{\n{calls}}}\n");
        let files = [
            (probe_path("collectors/tail.rs"), calls.as_str()),
            (probe_path("auto.rs"), below.as_str()),
            (probe_path("files.rs"), calls.as_str()),
            (probe_path("untrusted/resolve.rs"), calls.as_str()),
            (probe_path("collectors/tests.rs"), calls.as_str()),
            (
                "crates/plimsoll-edge/src/disk.rs".to_owned(),
                calls.as_str(),
            ),
        ];
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), *text))
            .collect();
        let right: Vec<String> = (1..=CALLS.len())
            .map(|line| format!("{}:{line}", probe_path("collectors/tail.rs")))
            .collect();
        assert_eq!(places(&violations(&SourceTree::of(&files))), right);
    }
}
