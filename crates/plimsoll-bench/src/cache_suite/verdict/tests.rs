//! Held against a part of what the packaged edition said of nginx, and against the words of the suite's own judge.

use super::*;

/// As the script lists them; only the links between them are shortened.
const TESTS: &str = r#"[
    {"id":"freshness-none","suite":"cc-freshness","kind":"optimal","depends_on":[],"browser_only":false},
    {"id":"freshness-max-age","suite":"cc-freshness","kind":"optimal","depends_on":["freshness-none"],"browser_only":false},
    {"id":"freshness-max-age-age","suite":"cc-freshness","kind":"required","depends_on":["freshness-max-age"],"browser_only":false},
    {"id":"age-parse-negative","suite":"age-parse","kind":"required","depends_on":["freshness-max-age"],"browser_only":false},
    {"id":"stale-sie-close","suite":"stale","kind":"check","depends_on":[],"browser_only":false},
    {"id":"stale-warning-stored","suite":"stale","kind":"required","depends_on":["stale-sie-close"],"browser_only":false},
    {"id":"vary-match","suite":"vary","kind":"required","depends_on":["freshness-max-age"],"browser_only":false},
    {"id":"vary-normalise-space","suite":"vary","kind":"optimal","depends_on":["vary-match"],"browser_only":false},
    {"id":"updateHEAD-absent","suite":"updateHEAD","kind":"required","depends_on":["stale-sie-close"],"browser_only":false},
    {"id":"conditional-browser","suite":"conditional-lm","kind":"required","depends_on":[],"browser_only":true}
]"#;

const NGINX: &str = r#"Running all
{
  "age-parse-negative": ["Assertion", "Response 2 comes from cache"],
  "freshness-max-age": true,
  "freshness-max-age-age": ["Setup", "retry"],
  "freshness-none": true,
  "stale-sie-close": ["Assertion", "Response 2 does not come from cache"],
  "stale-warning-stored": ["Setup", "Response 2 does not come from cache"],
  "updateHEAD-absent": true,
  "surrogate-max-age": ["Assertion", "Response 2 does not come from cache"],
  "vary-match": true,
  "vary-normalise-space": ["AbortError", "This operation was aborted"]
}
"#;

fn nginx() -> (Vec<Test>, Results) {
    (Test::list(TESTS).unwrap(), Results::read(NGINX).unwrap())
}

#[test]
fn judges_alone_and_with_what_a_test_depends_on() {
    let (tests, results) = nginx();
    let of = |id: &str| tests.iter().find(|test| test.id == id).unwrap();
    let both = |id: &str| (results.alone(id), results.verdict(&tests, of(id)));
    let why = |why: &str| why.to_owned();
    assert_eq!(
        both("vary-match"),
        (TestVerdict::Passed, TestVerdict::Passed)
    );
    let failed = TestVerdict::Failed {
        why: why("Response 2 comes from cache"),
    };
    assert_eq!(both("age-parse-negative"), (failed.clone(), failed));
    assert_eq!(
        both("freshness-max-age-age"),
        (TestVerdict::Retried, TestVerdict::Retried)
    );
    let harness = TestVerdict::Harness {
        why: why("This operation was aborted"),
    };
    assert_eq!(both("vary-normalise-space"), (harness.clone(), harness));
    let dependency = TestVerdict::Dependency {
        id: why("stale-sie-close"),
    };
    let setup = TestVerdict::Setup {
        why: why("Response 2 does not come from cache"),
    };
    assert_eq!(both("stale-warning-stored"), (setup, dependency.clone()));
    assert_eq!(
        both("updateHEAD-absent"),
        (TestVerdict::Passed, dependency.clone())
    );
    assert_eq!(results.shown(&tests, of("updateHEAD-absent")), dependency);
    assert_eq!(results.alone("conditional-browser"), TestVerdict::Untested);
}

#[test]
fn counts_what_is_listed_run_and_passed() {
    let (tests, results) = nginx();
    assert_eq!(
        results.count(&tests, TestKind::Required),
        Count {
            passed_alone: 2,
            passed: 1,
            run: 5,
            listed: 6,
        }
    );
    assert_eq!(
        results.count(&tests, TestKind::Optimal),
        Count {
            passed_alone: 2,
            passed: 2,
            run: 3,
            listed: 3,
        }
    );
    let missed = results.missed(&tests, TestKind::Required);
    let missed: Vec<_> = missed.iter().map(|(test, _)| test.id.as_str()).collect();
    assert_eq!(
        missed,
        [
            "freshness-max-age-age",
            "age-parse-negative",
            "stale-warning-stored"
        ]
    );
}

#[test]
fn a_circle_of_dependencies_ends() {
    let tests = TESTS.replace(
        r#""depends_on":[],"browser_only":false},
    {"id":"stale-warning"#,
        r#""depends_on":["stale-warning-stored"],"browser_only":false},
    {"id":"stale-warning"#,
    );
    let tests = Test::list(&tests).unwrap();
    let (_, results) = nginx();
    let test = tests
        .iter()
        .find(|test| test.id == "stale-sie-close")
        .unwrap();
    assert_eq!(test.depends_on, ["stale-warning-stored"]);
    assert!(matches!(
        results.verdict(&tests, test),
        TestVerdict::Dependency { .. }
    ));
}

#[test]
fn what_is_no_result_is_an_error() {
    assert!(Results::read("TypeError: fetch failed").is_err());
    assert!(Results::read("{ \"a\": tru").is_err());
    assert!(Test::list(r#"[{"id":"a","kind":"wished"}]"#).is_err());
    assert_eq!(Results::read("{}").unwrap(), Results::default());
}
