//! `--apply`: the settings of a finished search become those that stand.

use plimsoll_config::tuned::TunedFile;
use plimsoll_lab::progress::StopFlag;

use super::by_hand::by_hand;
use super::files::{self, FileDigests};
use super::{PreparedTune, TUNED_FILE};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::plan_file;

/// What was changed for good, and what is left to the user.
#[derive(Debug, Default)]
pub(super) struct Adopted {
    pub(super) applied: Vec<String>,
    pub(super) by_hand: Vec<String>,
}

/// The settings that an earlier search has found, if it has ended.
///
/// # Errors
/// When the file is there and invalid.
pub(super) fn found(prepared: &PreparedTune) -> Result<Option<TunedFile>, CliError> {
    let path = prepared.file.folder.join(TUNED_FILE);
    if !path.exists() {
        return Ok(None);
    }
    match plan_file::read_tuned(&path)? {
        Some(tuned) => Ok(Some(tuned)),
        None => Err(CliError::usage(format!(
            "{} is not a file that plimsoll tune wrote: `tuned` is missing",
            path.display()
        ))
        .remedy("delete it; the same command without --apply writes it again from the log")),
    }
}

/// The cell of the settings of a file.
///
/// # Errors
/// When a knob or a level is unknown.
pub(super) fn cell_of(prepared: &PreparedTune, tuned: &TunedFile) -> Result<usize, CliError> {
    let tuning = prepared.tuning();
    let mut levels = tuning.default_levels();
    for (name, text) in &tuned.settings {
        let unknown = |what: String, valid: String| {
            CliError::usage(format!("{TUNED_FILE}: {what}")).remedy(format!("valid: {valid}"))
        };
        let knob = tuning.knobs.iter().position(|knob| knob.name == *name);
        let Some(knob) = knob else {
            let names: Vec<&str> = tuning.knobs.iter().map(|knob| knob.name.as_str()).collect();
            return Err(unknown(format!("unknown knob `{name}`"), names.join(", ")));
        };
        let known = &tuning.knobs[knob].levels;
        let level = known.iter().position(|level| level == text);
        levels[knob] = level.ok_or_else(|| {
            let what = format!("`{text}` is not a level of {name}");
            unknown(what, known.join(", "))
        })?;
    }
    if let Some(text) = tuning.violated(&levels) {
        let message = format!("{TUNED_FILE}: these settings violate the constraint `{text}`");
        return Err(CliError::usage(message).remedy("give settings that the search has tried"));
    }
    Ok(prepared.file.experiment.design.index_of(&levels))
}

/// Makes the settings of a cell those that stand. `known` are the files as they were while it was measured.
///
/// # Errors
/// When a file has changed since, or something cannot be applied; then everything is as before.
pub(super) fn adopt(
    prepared: &PreparedTune,
    cell: usize,
    known: &FileDigests,
    stop: &StopFlag,
) -> Result<Adopted, CliError> {
    let experiment = &prepared.file.experiment;
    let levels = experiment.design.cell_at(cell);
    let changed = files::changed(&prepared.file, known, &levels);
    if !changed.is_empty() {
        let message = format!(
            "not what was measured: {} changed since the search",
            changed.join(", ")
        );
        return Err(CliError::new(Exit::Usage, message).remedy(
            "put the file back, or search again in another folder: --out DIR; nothing was changed",
        ));
    }
    let kept = files::keep_originals(&prepared.file, &levels)?;
    let mut services = prepared.open_services(stop)?;
    let mut applied = services.adopt(cell)?;
    services.close()?;
    applied.extend(kept);
    if applied.is_empty() && files::has_any(&prepared.file) {
        applied.push("the files have these settings already".to_owned());
    }
    Ok(Adopted {
        applied,
        by_hand: left_to_user(prepared, cell),
    })
}

/// What the user has to change to get from the settings that stand to those of a cell.
pub(super) fn left_to_user(prepared: &PreparedTune, cell: usize) -> Vec<String> {
    let experiment = &prepared.file.experiment;
    let stands = experiment.design.cell_at(prepared.default_cell());
    by_hand(experiment, &stands, &experiment.design.cell_at(cell))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::prepared;
    use super::*;

    fn tuned(workers: &str) -> TunedFile {
        TunedFile {
            settings: [("workers".to_owned(), workers.to_owned())].into(),
            ..TunedFile::default()
        }
    }

    #[test]
    fn settings_of_a_file_are_levels_of_knobs() {
        let folder = tempfile::tempdir().unwrap();
        let prepared = prepared(folder.path());
        assert_eq!(cell_of(&prepared, &tuned("4")).unwrap(), 1);
        let error = cell_of(&prepared, &tuned("5")).unwrap_err().to_string();
        assert!(error.contains("`5` is not a level of workers"), "{error}");
        assert!(error.contains("valid: 2, 4"), "{error}");
    }

    #[test]
    fn a_setting_is_adopted_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.conf");
        fs::write(&path, "workers 2\n").unwrap();
        let prepared = prepared(folder.path());
        let known = files::digests(&prepared.file).unwrap();
        let stop = StopFlag::default();
        let adopted = adopt(&prepared, 1, &known, &stop).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "workers 4\n");
        assert!(
            adopted.applied[0].contains("app.conf is written"),
            "{adopted:?}"
        );
        // The next start puts nothing back, and the same again changes nothing.
        let services = prepared.open_services(&stop).unwrap();
        assert!(services.restored().is_empty());
        drop(services);
        let again = adopt(&prepared, 1, &known, &stop).unwrap();
        assert_eq!(again.applied, ["the files have these settings already"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "workers 4\n");
        // By others, and refused.
        fs::write(&path, "workers 3\n").unwrap();
        let error = adopt(&prepared, 1, &known, &stop).unwrap_err().to_string();
        assert!(error.contains("changed since the search"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "workers 3\n");
    }
}
