//! Meaningless names of folders and modules are refused.

use super::{SourceTree, Violation};

const BANNED: [&str; 9] = [
    "utils", "util", "common", "helpers", "helper", "manager", "core", "imp", "misc",
];

pub(super) fn violations(tree: &SourceTree) -> Vec<Violation> {
    tree.rust()
        .filter_map(|file| {
            let segments = file.path.strip_suffix(".rs")?.split('/');
            let banned = segments.clone().find(|segment| BANNED.contains(segment));
            // `lib.rs` is cargo's; a folder of that name is not.
            let folder = segments
                .clone()
                .rev()
                .skip(1)
                .find(|segment| *segment == "lib");
            let what = if let Some(name) = banned.or(folder) {
                format!("`{name}` is meaningless; name it after its contents")
            } else if segments.clone().next_back() == Some("mod") {
                "a module is `x.rs` beside its folder `x`".to_owned()
            } else {
                return None;
            };
            Some(file.violation(0, what))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn finds_names_that_say_nothing() {
        let tree = SourceTree::of(&[
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/utils.rs", ""),
            ("crates/a/src/common/b.rs", ""),
            ("crates/a/src/lib/b.rs", ""),
            ("crates/a/src/b/mod.rs", ""),
            ("crates/a/src/cores.rs", ""),
        ]);
        let expected = ["utils.rs", "common/b.rs", "lib/b.rs", "b/mod.rs"]
            .map(|path| format!("crates/a/src/{path}:0"));
        assert_eq!(places(&violations(&tree)), expected);
    }
}
