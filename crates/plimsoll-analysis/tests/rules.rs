//! What each rule is tried on, as its page says, is so: compared with the tests themselves.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::path::Path;

use plimsoll_analysis::findings::{self, RuleId, TriedOn};
use plimsoll_testkit::corpus;

/// Unit tests over series, in files that end in `tests.rs`. They name rules by variants of `RuleId`.
const SERIES: [&str; 2] = ["src/findings", "src/rules"];
/// Tests on real programs beside the planted limits. They name rules by their texts.
const REAL: [&str; 3] = [
    "../plimsoll/tests/e2e",
    "../plimsoll/tests/collectors",
    "../plimsoll-lab/tests/limits",
];

/// The text of all sources below a folder whose name ends so.
fn sources(folder: &Path, ending: &str) -> String {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let texts = paths.map(|path| {
        if path.is_dir() {
            sources(&path, ending)
        } else if path.to_string_lossy().ends_with(ending) {
            std::fs::read_to_string(&path).unwrap()
        } else {
            String::new()
        }
    });
    texts.collect()
}

fn of_this_crate(folder: &str, ending: &str) -> String {
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), ending)
}

/// Whether a call or a row asks for a rule: the first argument, or the one after the findings. Elsewhere an id may stand
/// among those that are left out.
fn asks_for(text: &str, rule: RuleId) -> bool {
    text.match_indices(&format!("\"{rule}\"")).any(|(at, _)| {
        let before = text[..at].trim_end();
        before.ends_with('(') || before.ends_with("found,")
    })
}

/// Whether a text names a variant, and not only a longer one.
fn names(text: &str, rule: RuleId) -> bool {
    let variant = format!("RuleId::{rule:?}");
    text.match_indices(&variant).any(|(at, _)| {
        let mut after = text[at + variant.len()..].chars();
        !after.next().is_some_and(char::is_alphanumeric)
    })
}

#[test]
fn rules_are_tried_on_the_real_programs_that_the_page_claims() {
    let planted = corpus::all();
    let rules = planted.iter().flat_map(|planted| planted.rules);
    for rule in rules {
        rule.parse::<RuleId>().expect(rule);
    }
    let is_planted = |rule: RuleId| {
        let mut first = planted.iter().filter_map(|planted| planted.rules.first());
        first.any(|first| *first == rule.as_str())
    };
    let texts: String = REAL.map(|folder| of_this_crate(folder, ".rs")).concat();
    for rule in findings::rules() {
        let id = rule.id();
        assert_eq!(
            rule.tried_on() == TriedOn::RealProgram,
            is_planted(id) || asks_for(&texts, id),
            "what {id} is tried on is not so"
        );
    }
}

#[test]
fn rules_of_no_real_program_are_tried_on_series() {
    let tests = SERIES
        .map(|folder| of_this_crate(folder, "tests.rs"))
        .concat();
    for rule in findings::rules() {
        let is_claimed = rule.is_built() && rule.tried_on() == TriedOn::Series;
        let id = rule.id();
        assert!(!is_claimed || names(&tests, id), "{id} has no test");
    }
}

#[test]
fn what_names_a_rule() {
    let text = "best_is(\n    \"G1\", of(&found, \"R4\"); [\"M1\", \"D2\"]; rule != \"C4\"; check(&run, RuleId::N12)";
    let asked: Vec<RuleId> = RuleId::ALL
        .iter()
        .copied()
        .filter(|&rule| asks_for(text, rule))
        .collect();
    assert_eq!(asked, [RuleId::G1, RuleId::R4]);
    assert!(names(text, RuleId::N12) && !names(text, RuleId::N1));
}
