//! Scripts of other tools and the plans made of them: both send the same requests. What the tests of all formats share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plimsoll_testkit::logging_origin::{LoggingOrigin, ObservedRequest};

use crate::support::{CommandOutput, Sandbox};

/// Stands in a script for the URL of the origin; `HOST_OF_ORIGIN` and `PORT_OF_ORIGIN` for its parts.
pub(crate) const ORIGIN: &str = "http://origin.test";

/// A folder with a script that names a logging origin.
pub(crate) struct ScriptRoom {
    pub(crate) place: Sandbox,
    pub(crate) origin: LoggingOrigin,
    script: PathBuf,
}

impl ScriptRoom {
    /// Copies `tests/e2e/import_scripts/KIND/NAME` and the files beside it, with [`ORIGIN`] replaced by the origin's URL
    /// in the script and in texts beside it.
    pub(crate) fn new(kind: &str, name: &str) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/e2e/import_scripts")
            .join(kind);
        let place = Sandbox::new();
        let origin = LoggingOrigin::start();
        for entry in std::fs::read_dir(source).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let bytes = std::fs::read(&path).unwrap();
                let bytes = match String::from_utf8(bytes) {
                    Ok(text) => text
                        .replace(ORIGIN, &origin.url())
                        .replace("HOST_OF_ORIGIN", &origin.address().ip().to_string())
                        .replace("PORT_OF_ORIGIN", &origin.address().port().to_string())
                        .into_bytes(),
                    Err(error) => error.into_bytes(),
                };
                std::fs::write(place.path().join(path.file_name().unwrap()), bytes).unwrap();
            }
        }
        Self {
            script: place.path().join(name),
            place,
            origin,
        }
    }

    /// The script with the origin's URL.
    pub(crate) fn script(&self) -> &Path {
        &self.script
    }

    /// Imports the script into the folder `plan`.
    pub(crate) fn import(&self, kind: &str, more: &[&str]) -> CommandOutput {
        let script = self.script.to_str().unwrap();
        let mut arguments = vec!["import", kind, script, "--out", "plan"];
        arguments.extend(more);
        let output = self.place.run(&arguments);
        assert_eq!(output.code, 0, "{output:?}");
        output
    }

    /// The text of the imported plan.
    pub(crate) fn plan(&self) -> String {
        std::fs::read_to_string(self.place.path().join("plan/plan.yaml")).unwrap()
    }

    /// Runs the imported plan with one user for one iteration; what the origin received of it.
    pub(crate) fn run_once(&self, variables: &[(&str, &str)]) -> Vec<ObservedRequest> {
        let once = with_one_iteration(&self.plan());
        std::fs::write(self.place.path().join("plan/once.yaml"), &once).unwrap();
        let check = self.place.run(&["check", "plan/once.yaml"]);
        assert_eq!(check.code, 0, "{check:?}\n{once}");
        drop(self.origin.take());
        let output = self
            .place
            .command(&["run", "plan/once.yaml", "--json"])
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stderr);
        // 6: a busy machine makes the measurement void, not what was sent.
        let is_done = matches!(output.status.code(), Some(0 | 6));
        assert!(
            is_done && !shown.contains("panicked"),
            "{shown}\n{}\n{once}",
            String::from_utf8_lossy(&output.stdout)
        );
        self.origin.take()
    }
}

/// The plan with one user and one iteration instead of its own load.
pub(crate) fn with_one_iteration(plan: &str) -> String {
    let mut is_load = false;
    let mut kept = String::new();
    for line in plan.lines() {
        if !line.starts_with([' ', '#', '-']) {
            is_load = line.starts_with("load:");
        }
        if !is_load {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept + "load: { users: 1, hold: 1m, iterations: 1 }\n"
}

/// Asserts that two programs sent the same multiset of method, path, body and chosen headers.
#[track_caller]
pub(crate) fn assert_same(theirs: &[ObservedRequest], ours: &[ObservedRequest], headers: &[&str]) {
    let comparable = |requests: &[ObservedRequest]| {
        let mut counts: BTreeMap<ObservedRequest, usize> = BTreeMap::new();
        for request in requests {
            *counts.entry(request.comparable(headers)).or_default() += 1;
        }
        counts
    };
    let (theirs, ours) = (comparable(theirs), comparable(ours));
    assert!(!theirs.is_empty(), "the original tool sent nothing");
    let only = |these: &BTreeMap<ObservedRequest, usize>,
                others: &BTreeMap<ObservedRequest, usize>| {
        let lines: Vec<String> = these
            .iter()
            .filter(|(request, count)| others.get(request) != Some(count))
            .map(|(request, count)| {
                let body = String::from_utf8_lossy(&request.body);
                format!(
                    "  {count} x {} {} {:?}\n    {body:?}",
                    request.method, request.path, request.headers
                )
            })
            .collect();
        lines.join("\n")
    };
    assert!(
        theirs == ours,
        "only the original:\n{}\nonly the plan:\n{}",
        only(&theirs, &ours),
        only(&ours, &theirs)
    );
}
