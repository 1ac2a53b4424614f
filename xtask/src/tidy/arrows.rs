//! Dependencies between crates: the table of ARCHITECTURE.md, checked against cargo's metadata.

use serde_json::Value;

use super::{SourceTree, Violation};

/// Permitted dependencies of a crate; its tests may also use the test kit.
struct CrateRule {
    name: &'static str,
    may_know: &'static [&'static str],
}

const MODEL: &str = "plimsoll-model";
const TESTKIT: &str = "plimsoll-testkit";
const HARNESS: &str = "plimsoll-harness";

const CRATE_RULES: [CrateRule; 39] = [
    CrateRule {
        name: MODEL,
        may_know: &[],
    },
    CrateRule {
        name: "plimsoll-config",
        may_know: &[MODEL],
    },
    CrateRule {
        name: "plimsoll-wire",
        may_know: &[],
    },
    CrateRule {
        name: "plimsoll-sql",
        may_know: &[],
    },
    CrateRule {
        name: "plimsoll-cache",
        may_know: &["plimsoll-wire"],
    },
    CrateRule {
        name: "plimsoll-hub",
        may_know: &["plimsoll-wire"],
    },
    CrateRule {
        name: "plimsoll-load",
        may_know: &[MODEL, "plimsoll-wire"],
    },
    CrateRule {
        name: "plimsoll-workers",
        may_know: &[
            MODEL,
            "plimsoll-load",
            "plimsoll-peer",
            "plimsoll-probe",
            "plimsoll-ssh",
        ],
    },
    CrateRule {
        name: "plimsoll-probe",
        may_know: &[MODEL, "plimsoll-wire", "plimsoll-sql", "plimsoll-names"],
    },
    CrateRule {
        name: "plimsoll-analysis",
        may_know: &[MODEL, "plimsoll-sql"],
    },
    CrateRule {
        name: "plimsoll-browser",
        may_know: &[MODEL],
    },
    CrateRule {
        name: "plimsoll-lab",
        may_know: &[
            MODEL,
            "plimsoll-agent",
            "plimsoll-browser",
            "plimsoll-config",
            "plimsoll-wire",
            "plimsoll-load",
            "plimsoll-probe",
            "plimsoll-analysis",
            "plimsoll-names",
            "plimsoll-workers",
        ],
    },
    CrateRule {
        name: "plimsoll-import",
        may_know: &[MODEL, "plimsoll-logs"],
    },
    CrateRule {
        name: "plimsoll-logs",
        may_know: &["plimsoll-cache"],
    },
    CrateRule {
        name: "plimsoll-scale",
        may_know: &[MODEL, "plimsoll-config"],
    },
    CrateRule {
        name: "plimsoll-report",
        may_know: &[
            MODEL,
            "plimsoll-analysis",
            "plimsoll-logs",
            "plimsoll-scale",
        ],
    },
    CrateRule {
        name: "plimsoll-live",
        may_know: &[MODEL, "plimsoll-analysis", "plimsoll-lab", "plimsoll-page"],
    },
    CrateRule {
        name: "plimsoll-page",
        may_know: &[],
    },
    CrateRule {
        name: "plimsoll-link",
        may_know: &[MODEL, "plimsoll-net"],
    },
    CrateRule {
        name: "plimsoll-simulate",
        may_know: &[MODEL, "plimsoll-config"],
    },
    CrateRule {
        name: "plimsoll-peer",
        may_know: &[],
    },
    CrateRule {
        name: "plimsoll-ssh",
        may_know: &[MODEL],
    },
    CrateRule {
        name: "plimsoll-kubernetes",
        may_know: &[MODEL],
    },
    CrateRule {
        name: "plimsoll-agent",
        may_know: &[
            MODEL,
            "plimsoll-names",
            "plimsoll-peer",
            "plimsoll-probe",
            "plimsoll-ssh",
        ],
    },
    CrateRule {
        name: "plimsoll-export",
        may_know: &[MODEL, "plimsoll-names"],
    },
    CrateRule {
        name: "plimsoll-sample",
        may_know: &[],
    },
    CrateRule {
        name: "plimsoll",
        may_know: &[
            MODEL,
            "plimsoll-agent",
            "plimsoll-peer",
            "plimsoll-browser",
            "plimsoll-config",
            "plimsoll-wire",
            "plimsoll-load",
            "plimsoll-probe",
            "plimsoll-analysis",
            "plimsoll-export",
            "plimsoll-import",
            "plimsoll-kubernetes",
            "plimsoll-lab",
            "plimsoll-link",
            "plimsoll-live",
            "plimsoll-logs",
            "plimsoll-report",
            "plimsoll-sample",
            "plimsoll-scale",
            "plimsoll-simulate",
            "plimsoll-edge",
            "plimsoll-cache",
            "plimsoll-names",
            "plimsoll-ssh",
            "plimsoll-workers",
        ],
    },
    CrateRule {
        name: TESTKIT,
        may_know: &[MODEL],
    },
    CrateRule {
        name: HARNESS,
        may_know: &[],
    },
    CrateRule {
        name: "plimsoll-bench",
        may_know: &[HARNESS, MODEL, "plimsoll-analysis", TESTKIT],
    },
    CrateRule {
        name: "plimsoll-cases",
        may_know: &[HARNESS],
    },
    CrateRule {
        name: "plimsoll-names",
        may_know: &[],
    },
    CrateRule {
        name: "plimsoll-package",
        may_know: &[HARNESS],
    },
    CrateRule {
        name: "plimsoll-soak",
        may_know: &[
            HARNESS,
            MODEL,
            "plimsoll-analysis",
            "plimsoll-lab",
            "plimsoll-peer",
            "plimsoll-config",
            "plimsoll-simulate",
            "plimsoll-workers",
            TESTKIT,
        ],
    },
    CrateRule {
        name: "xtask",
        may_know: &[HARNESS],
    },
    CrateRule {
        name: "plimsoll-net",
        may_know: &[MODEL, "plimsoll-wire", "plimsoll-config", "plimsoll-names"],
    },
    CrateRule {
        name: "plimsoll-hub-io",
        may_know: &[
            "plimsoll-wire",
            "plimsoll-config",
            "plimsoll-hub",
            "plimsoll-net",
            "plimsoll-names",
        ],
    },
    CrateRule {
        name: "plimsoll-proxy",
        may_know: &[
            MODEL,
            "plimsoll-wire",
            "plimsoll-config",
            "plimsoll-cache",
            "plimsoll-hub",
            "plimsoll-net",
            "plimsoll-hub-io",
        ],
    },
    CrateRule {
        name: "plimsoll-edge",
        may_know: &[
            MODEL,
            "plimsoll-wire",
            "plimsoll-config",
            "plimsoll-net",
            "plimsoll-hub-io",
            "plimsoll-proxy",
            "plimsoll-names",
            "plimsoll-page",
        ],
    },
];

/// Violations of all packages of the workspace.
pub(super) fn violations(tree: &SourceTree) -> Vec<Violation> {
    let Some(packages) = tree.metadata["packages"].as_array() else {
        return vec![at(
            "Cargo.toml",
            "cargo metadata lists no packages".to_owned(),
        )];
    };
    let ours: Vec<&str> = packages
        .iter()
        .filter_map(|package| package["name"].as_str())
        .collect();
    packages
        .iter()
        .flat_map(|package| of_package(package, &ours))
        .collect()
}

fn of_package(package: &Value, ours: &[&str]) -> Vec<Violation> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some(rule) = CRATE_RULES.iter().find(|rule| rule.name == name) else {
        let what = format!(
            "crate {name} is not in the table; add its permitted dependencies to xtask/src/tidy/arrows.rs"
        );
        return vec![at(name, what)];
    };
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let mut violations = Vec::new();
    for dependency in dependencies {
        let other = dependency["name"].as_str().unwrap_or_default();
        let is_for_tests = dependency["kind"].as_str() == Some("dev");
        let is_allowed = rule.may_know.contains(&other) || (is_for_tests && other == TESTKIT);
        if ours.contains(&other) && !is_allowed {
            let known = if rule.may_know.is_empty() {
                "no other crate".to_owned()
            } else {
                rule.may_know.join(", ")
            };
            violations.push(at(
                name,
                format!("crate {name} must not depend on {other}; permitted: {known}"),
            ));
        }
    }
    violations
}

fn at(name: &str, what: String) -> Violation {
    Violation {
        path: name.to_owned(),
        line: 0,
        what,
        is_warning: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(package: &str, dependency: &str, kind: Option<&str>, expected: bool) {
        let mut tree = SourceTree::of(&[]);
        tree.metadata = json!({ "packages": [
            { "name": package, "dependencies": [{ "name": dependency, "kind": kind }] },
            { "name": "plimsoll-model", "dependencies": [{ "name": "serde", "kind": null }] },
            { "name": "plimsoll-testkit", "dependencies": [] },
            { "name": "plimsoll-lab", "dependencies": [] },
        ] });
        assert_eq!(
            violations(&tree).is_empty(),
            expected,
            "{package} -> {dependency} {kind:?}"
        );
    }

    #[test]
    fn arrows_point_one_way() {
        check("plimsoll-load", "plimsoll-model", None, true);
        check("plimsoll-load", "plimsoll-lab", None, false);
        check("plimsoll-load", "plimsoll-lab", Some("dev"), false);
        check("plimsoll-load", "plimsoll-testkit", Some("dev"), true);
        check("plimsoll-load", "plimsoll-testkit", None, false);
        check("plimsoll", "plimsoll-lab", None, true);
        check("plimsoll-wire", "plimsoll-model", None, false);
    }

    #[test]
    fn a_new_crate_must_take_its_place() {
        check("plimsoll-attic", "serde", None, false);
    }
}
