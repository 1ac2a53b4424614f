//! A file fits in the head: over 500 lines is a warning, over 800 a fault.

use super::{Fault, Tree};

const WARN_OVER: usize = 500;
const FAIL_OVER: usize = 800;

/// Written by hand and counted.
const EXTENSIONS: [&str; 6] = ["rs", "ts", "js", "css", "py", "sh"];

/// Tables of numbers and generated sources, which nobody reads from top to bottom.
const EXCEPTIONS: [&str; 0] = [];

pub(super) fn faults(tree: &Tree) -> Vec<Fault> {
    let counted = tree.files.iter().filter(|file| {
        EXTENSIONS
            .iter()
            .any(|extension| file.has_extension(extension))
            && !EXCEPTIONS.contains(&file.path.as_str())
    });
    counted
        .filter_map(|file| {
            let count = file.text.lines().count();
            let is_warning = count <= FAIL_OVER;
            (count > WARN_OVER).then(|| Fault {
                is_warning,
                ..file.fault(
                    0,
                    format!(
                        "{count} lines; split it by what its parts are for (at most {FAIL_OVER})"
                    ),
                )
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_warn_and_longer_ones_fail() {
        let text = |count: usize| "//\n".repeat(count);
        let (short, long, longer) = (text(500), text(501), text(801));
        let tree = Tree::of(&[
            ("a.rs", &short),
            ("b.rs", &long),
            ("c.rs", &longer),
            ("d.json", &longer),
        ]);
        let found: Vec<_> = faults(&tree)
            .into_iter()
            .map(|fault| (fault.path, fault.is_warning))
            .collect();
        assert_eq!(
            found,
            [("b.rs".to_owned(), true), ("c.rs".to_owned(), false)]
        );
    }
}
