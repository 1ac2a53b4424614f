//! The files that a search writes: what they were before, by which a later change by others is noticed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use plimsoll_lab::output;
use plimsoll_model::experiment::{Cell, Experiment};

use crate::experiment::{ExperimentFile, digest};
use crate::explain::CliError;

/// Longest file that is read, bytes; a longer one is not written either.
const FILE_LEN_MAX: u64 = 64 << 20;
/// Folder of the files as they were before they were adopted, in that of the results.
const ORIGINALS: &str = "original";

/// Digests of files by their paths; `None` where there is no file.
pub(super) type FileDigests = BTreeMap<String, Option<String>>;

/// The files as they are now.
///
/// # Errors
/// When a file cannot be read or written: no setting of it could be tried.
pub(super) fn digests(file: &ExperimentFile) -> Result<FileDigests, CliError> {
    let mut digests = FileDigests::new();
    for path in paths(file) {
        let found = content(&path).and_then(|content| {
            check_writable(&path)?;
            Ok(content)
        });
        let content = found.map_err(|error| {
            CliError::usage(format!("{} cannot be changed: {error}", path.display())).remedy(
                "run with the rights of its owner; valid: a regular file of at most 64 MiB, or none in a folder that exists",
            )
        })?;
        let digest = content.map(|content| digest(&content));
        digests.insert(path.display().to_string(), digest);
    }
    Ok(digests)
}

/// The files that were changed since, and do not have the content of `cell` either.
pub(super) fn changed(file: &ExperimentFile, known: &FileDigests, cell: &Cell) -> Vec<String> {
    let wanted = wanted(file, cell);
    let is_changed = |path: &PathBuf| {
        let now = content(path).ok().flatten().map(|content| digest(&content));
        let before = known.get(&path.display().to_string());
        let is_before = before.is_some_and(|before| *before == now);
        let is_wanted = now.is_some() && wanted.get(path) == now.as_ref();
        !is_before && !is_wanted
    };
    let changed = paths(file).into_iter().filter(is_changed);
    changed.map(|path| path.display().to_string()).collect()
}

/// Whether the experiment writes any file.
pub(super) fn has_any(file: &ExperimentFile) -> bool {
    let mut setups = file.experiment.setups.iter();
    setups.any(|setup| !setup.files.is_empty())
}

/// Keeps a copy of each file that `cell` changes, in the folder of the results; returns where.
///
/// # Errors
/// When a copy cannot be written.
pub(super) fn keep_originals(file: &ExperimentFile, cell: &Cell) -> Result<Vec<String>, CliError> {
    let folder = file.folder.join(ORIGINALS);
    let mut kept = Vec::new();
    for (number, (path, wanted)) in wanted(file, cell).into_iter().enumerate() {
        let Some(content) = content(&path).ok().flatten() else {
            continue;
        };
        if digest(&content) == wanted {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let copy = folder.join(format!("{}-{name}", number + 1));
        let written = output::create_folder(&folder)
            .and_then(|()| output::write_whole(&copy, &content))
            .and_then(|()| fs::set_permissions(&copy, fs::metadata(&path)?.permissions()));
        written.map_err(|error| {
            CliError::usage(format!("cannot keep a copy {}: {error}", copy.display()))
                .remedy("free some space; nothing was changed")
        })?;
        kept.push(format!("{} is kept as {}", path.display(), copy.display()));
    }
    Ok(kept)
}

/// Digest of the content of each file in a cell.
fn wanted(file: &ExperimentFile, cell: &Cell) -> BTreeMap<PathBuf, String> {
    let experiment: &Experiment = &file.experiment;
    let templates = experiment.setups.iter().flat_map(|setup| &setup.files);
    templates
        .map(|template| {
            let lines = template.lines.iter();
            let content: String = lines
                .filter_map(|line| line.in_cell(&experiment.design, cell))
                .collect();
            (path(&file.base, &template.to), digest(content.as_bytes()))
        })
        .collect()
}

fn paths(file: &ExperimentFile) -> Vec<PathBuf> {
    let templates = file.experiment.setups.iter().flat_map(|setup| &setup.files);
    let paths = templates.map(|template| path(&file.base, &template.to));
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The absolute path of a file.
fn path(base: &Path, name: &str) -> PathBuf {
    let path = base.join(name);
    std::path::absolute(&path).unwrap_or(path)
}

fn content(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut content = Vec::new();
    file.take(FILE_LEN_MAX + 1).read_to_end(&mut content)?;
    if content.len() as u64 > FILE_LEN_MAX {
        return Err(io::Error::other("it is longer than 64 MiB"));
    }
    Ok(Some(content))
}

/// Whether a file that is there may be written to.
fn check_writable(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::experiment_file;
    use super::*;

    #[test]
    fn a_file_that_others_changed_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.conf");
        fs::write(&path, "workers 2\n").unwrap();
        let file = experiment_file(folder.path());
        let known = digests(&file).unwrap();
        let cell = file.experiment.design.cell_at(1);
        assert!(changed(&file, &known, &cell).is_empty());
        // Adopted already.
        fs::write(&path, "workers 4\n").unwrap();
        assert!(changed(&file, &known, &cell).is_empty());
        fs::write(&path, "workers 3\n").unwrap();
        assert_eq!(changed(&file, &known, &cell), [path.display().to_string()]);
        fs::remove_file(&path).unwrap();
        assert_eq!(changed(&file, &known, &cell).len(), 1);
    }

    #[test]
    fn originals_are_kept_of_what_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.conf");
        fs::write(&path, "workers 2\n").unwrap();
        let file = experiment_file(folder.path());
        let cells = [0, 1].map(|index| file.experiment.design.cell_at(index));
        assert!(keep_originals(&file, &cells[0]).unwrap().is_empty());
        assert_eq!(keep_originals(&file, &cells[1]).unwrap().len(), 1);
        let copy = file.folder.join("original/1-app.conf");
        assert_eq!(fs::read_to_string(copy).unwrap(), "workers 2\n");
    }

    #[test]
    fn what_cannot_be_changed_is_refused_before_a_trial() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("app.conf")).unwrap();
        let error = digests(&experiment_file(folder.path())).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("app.conf cannot be changed"), "{text}");
    }
}
