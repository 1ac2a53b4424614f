//! The rows of the technologies hold what they promise: settings can be changed, processes are examined, collectors are
//! tried on real programs.

use std::path::Path;

use plimsoll_model::component::TriedOn;

use super::*;

/// Where collectors are tried: beside them, and on whole runs.
const TRIALS: [&str; 4] = [
    "src/collectors",
    "../plimsoll-testkit/src/corpus",
    "../plimsoll/tests/collectors",
    "../plimsoll/tests/e2e",
];

/// The texts of all sources below a folder that start real programs.
fn trials(folder: &Path, texts: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            trials(&path, texts);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            if [
                "plimsoll_testkit::program",
                "crate::program",
                "Sandbox::new",
            ]
            .iter()
            .any(|start| text.contains(start))
            {
                texts.push_str(&text);
            }
        }
    }
}

/// Whether a test watches it: by its kind, or by a word of it in `watch:`.
fn is_tried(texts: &str, kind: ComponentKind) -> bool {
    let mut words = kind.words().iter();
    let variant = format!("ComponentKind::{kind:?},");
    texts.contains(&variant)
        || words.any(|word| {
            let key = format!("{word}: ");
            texts.match_indices(&key).any(|(at, _)| {
                let before = &texts[..at];
                before.ends_with('"') || before.ends_with("\\n")
            })
        })
}

#[test]
fn collectors_are_tried_on_what_their_rows_name() {
    let mut texts = String::new();
    for folder in TRIALS {
        trials(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &mut texts,
        );
    }
    for &kind in ComponentKind::ALL {
        let is_claimed = kind.tried_on() == TriedOn::Program;
        assert_eq!(is_tried(&texts, kind), is_claimed, "{}", kind.words()[0]);
    }
}

#[test]
fn settings_of_the_rows_can_be_changed() {
    for &kind in ComponentKind::ALL {
        let has_access = integration(kind).tunables().is_some();
        assert_eq!(has_access, !kind.tunables().is_empty(), "{}", kind.name());
    }
}

#[test]
fn processes_of_the_rows_are_examined() {
    for &kind in ComponentKind::ALL {
        // Programs in Go have any name.
        let is_expected = kind.has_process_names() || kind == ComponentKind::Go;
        let is_examined = integration(kind).discover.is_some();
        assert_eq!(is_examined, is_expected, "{}", kind.name());
    }
}
