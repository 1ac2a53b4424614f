//! The tutor's capacity in users: one search of `plimsoll limit` with the plan of the case.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Result;

use crate::plimsoll_run::{LoadLineResult, run_plimsoll};

/// What is searched, and how.
pub(super) struct TutorSearch<'a> {
    pub(super) plimsoll: &'a Path,
    pub(super) plan: &'a Path,
    pub(super) url: &'a str,
    /// Where its run file and report go.
    pub(super) out: &'a Path,
    /// Short name of those.
    pub(super) name: &'a str,
    pub(super) is_quick: bool,
}

/// Runs the search to its end; a wish to stop ends it early, with an error.
pub(super) fn users_carried(
    search: &TutorSearch<'_>,
    is_stopped: &AtomicBool,
) -> Result<LoadLineResult> {
    let mut arguments: Vec<OsString> = vec!["limit".into(), search.plan.into()];
    arguments.extend(["--target", search.url, "--name", search.name].map(OsString::from));
    arguments.extend(["--out".into(), search.out.into()]);
    if search.is_quick {
        arguments.push("--quick".into());
    }
    let report = run_plimsoll(search.plimsoll, arguments, is_stopped)?;
    LoadLineResult::of(&report, "users")
}
