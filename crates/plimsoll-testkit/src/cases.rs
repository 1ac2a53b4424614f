//! Runs named cases, for test programs with a `main` of their own: one after the other, or lists of them beside each other.

#![expect(
    clippy::print_stdout,
    reason = "a test without the usual harness reports by itself how it went"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, ExitCode, Stdio};

/// Name and function of a case; it fails by a panic.
pub type Case = (&'static str, fn());

/// Which cases the arguments select.
#[derive(Debug)]
struct Selection<'a> {
    filters: Vec<&'a str>,
    is_exact: bool,
    is_list: bool,
}

impl<'a> Selection<'a> {
    fn of(arguments: &'a [String]) -> Self {
        let words = move || arguments.iter().map(String::as_str);
        Self {
            filters: words().filter(|word| !word.starts_with('-')).collect(),
            is_exact: words().any(|word| word == "--exact"),
            is_list: words().any(|word| word == "--list"),
        }
    }

    fn selects(&self, name: &str) -> bool {
        let is_match = |filter: &&str| {
            if self.is_exact {
                name == *filter
            } else {
                name.contains(filter)
            }
        };
        self.filters.is_empty() || self.filters.iter().any(is_match)
    }
}

/// Runs lists of cases beside each other, each list in a process of its own, and then the rest, which want the machine for
/// themselves. Arguments select the cases whose name contains one of them, or is one of them with `--exact`; these are run
/// here, one after the other. `--list` prints names, other flags of the usual harness are ignored.
///
/// # Panics
/// When this program cannot be started again.
pub fn run(arguments: &[String], beside: &[&[Case]], rest: &[Case]) -> ExitCode {
    let selection = Selection::of(arguments);
    if selection.is_list || !selection.filters.is_empty() {
        let all = beside.iter().copied().flatten().chain(rest);
        return exit_code(&failed(&selection, all.copied()));
    }
    // Without a name a process would run all of them, and start further ones.
    let lists = beside.iter().filter(|list| !list.is_empty());
    let processes: Vec<Child> = lists.map(|list| start(list)).collect();
    let mut all_passed = true;
    for process in processes {
        all_passed &= has_passed(process);
    }
    let of_the_rest = exit_code(&failed(&selection, rest.iter().copied()));
    if all_passed {
        of_the_rest
    } else {
        ExitCode::FAILURE
    }
}

/// Starts this program again with the cases of a list.
fn start(list: &[Case]) -> Child {
    let own = std::env::current_exe().expect("a process knows its program");
    Command::new(own)
        .arg("--exact")
        .args(list.iter().map(|case| case.0))
        .stdin(Stdio::null())
        .spawn()
        .expect("this program starts again")
}

/// Waits for a process of cases, which prints those that fail.
fn has_passed(mut process: Child) -> bool {
    let status = process.wait().expect("a child of this process ends");
    if !status.success() {
        println!("a process with cases of this program: {status}");
    }
    status.success()
}

/// Runs the selected cases one after the other; returns the names of those that failed.
fn failed(selection: &Selection<'_>, cases: impl IntoIterator<Item = Case>) -> Vec<&'static str> {
    let mut failed = Vec::new();
    for (name, case) in cases {
        if !selection.selects(name) {
            continue;
        }
        if selection.is_list {
            println!("{name}: test");
        } else if catch_unwind(AssertUnwindSafe(case)).is_ok() {
            println!("test {name} ... ok");
        } else {
            println!("test {name} ... FAILED");
            failed.push(name);
        }
    }
    failed
}

fn exit_code(failed: &[&str]) -> ExitCode {
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        println!("failed: {failed:?}");
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_selected_as_by_the_usual_harness() {
        let selects = |arguments: &[&str], name: &str| {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            Selection::of(&arguments).selects(name)
        };
        assert!(selects(&[], "c1_cpu"));
        assert!(selects(&["--quiet"], "c1_cpu"));
        assert!(selects(&["m2", "cpu"], "c1_cpu"));
        assert!(!selects(&["m2"], "c1_cpu"));
        assert!(!selects(&["--exact", "cpu"], "c1_cpu"));
        assert!(selects(&["--exact", "m2", "c1_cpu"], "c1_cpu"));
    }

    #[test]
    fn a_case_that_panics_has_failed_and_the_others_run() {
        let cases: [Case; 3] = [("a", || {}), ("b", || panic!("planted")), ("c", || {})];
        let arguments = [];
        assert_eq!(failed(&Selection::of(&arguments), cases), ["b"]);
        let only = ["a".to_owned()];
        assert!(failed(&Selection::of(&only), cases).is_empty());
    }
}
