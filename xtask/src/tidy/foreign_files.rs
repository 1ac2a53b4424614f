//! The probe runs as root and looks at processes of anybody: files that these name are opened in one place, which resolves
//! names in their root and opens nothing but files.

use super::{Fault, Tree};

/// Where the rule holds.
const ROOM: &str = "crates/plimsoll-probe/src/";
/// What opens: names of processes below `/proc`, names that processes give, and four settings of the kernel.
const DOORS: [&str; 4] = [
    "files.rs",
    "kernel_files.rs",
    "untrusted",
    "eyes/hands/kernel.rs",
];
/// Calls that follow names.
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

pub(super) fn faults(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust() {
        let Some(path) = file.path.strip_prefix(ROOM) else {
            continue;
        };
        let is_test = path.ends_with("tests.rs") || path.contains("tests/");
        if is_test || DOORS.iter().any(|door| path.starts_with(door)) {
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
                faults.push(file.fault(number, what));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn finds_what_opens_files_beside_the_door() {
        let room = |path: &str| format!("{ROOM}{path}");
        let calls = CALLS.map(|call| format!("a({call}x);\n")).concat();
        let below = format!("// File::open\n#[cfg(test)]\nmod tests {{\n{calls}}}\n");
        let files = [
            (room("eyes/tail.rs"), calls.as_str()),
            (room("auto.rs"), below.as_str()),
            (room("files.rs"), calls.as_str()),
            (room("untrusted/resolve.rs"), calls.as_str()),
            (room("eyes/tests.rs"), calls.as_str()),
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
            .map(|line| format!("{}:{line}", room("eyes/tail.rs")))
            .collect();
        assert_eq!(places(&faults(&Tree::of(&files))), right);
    }
}
