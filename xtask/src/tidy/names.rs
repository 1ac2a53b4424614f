//! Names that say nothing are banned for folders and modules.

use super::{Fault, Tree};

const BANNED: [&str; 9] = [
    "utils", "util", "common", "helpers", "helper", "manager", "core", "imp", "misc",
];

pub(super) fn faults(tree: &Tree) -> Vec<Fault> {
    tree.rust()
        .filter_map(|file| {
            let parts = file.path.strip_suffix(".rs")?.split('/');
            let banned = parts.clone().find(|part| BANNED.contains(part));
            // `lib.rs` is cargo's; a folder of that name is not.
            let folder = parts.clone().rev().skip(1).find(|part| *part == "lib");
            let what = if let Some(name) = banned.or(folder) {
                format!("`{name}` says nothing: name it for what it holds")
            } else if parts.clone().next_back() == Some("mod") {
                "a module is `x.rs` beside its folder `x`".to_owned()
            } else {
                return None;
            };
            Some(file.fault(0, what))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn finds_names_that_say_nothing() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", ""),
            ("crates/a/src/utils.rs", ""),
            ("crates/a/src/common/b.rs", ""),
            ("crates/a/src/lib/b.rs", ""),
            ("crates/a/src/b/mod.rs", ""),
            ("crates/a/src/cores.rs", ""),
        ]);
        let expected = ["utils.rs", "common/b.rs", "lib/b.rs", "b/mod.rs"]
            .map(|path| format!("crates/a/src/{path}:0"));
        assert_eq!(places(&faults(&tree)), expected);
    }
}
