//! The probe runs as root and reads processes of any user: files that these name are opened in one module, which resolves
//! paths in their root and opens only regular files.

use super::{SourceTree, Violation};

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
        let code = file
            .lines()
            .take_while(|(_, line)| line.trim() != "#[cfg(test)]");
        for (number, line) in code.filter(|(_, line)| !line.trim_start().starts_with("//")) {
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

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn finds_what_opens_files_beside_the_door() {
        let probe_path = |path: &str| format!("{PROBE_SOURCE}{path}");
        let calls = CALLS.map(|call| format!("a({call}x);\n")).concat();
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
