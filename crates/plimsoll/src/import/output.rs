//! Writes an imported plan and the files that it names, and lists what it lacks.

use std::path::{Component, Path};

use plimsoll_import::{DataFile, FileContent, Imported, Loss};
use plimsoll_lab::output;

use super::{open, show};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::{eprint, print};

/// Name of the plan in the folder of `--out`.
const PLAN_NAME: &str = "plan.yaml";

/// Prints the plan, or writes it into the folder `out`; then its notes and losses. `folder` is that of what was imported.
/// With losses and `is_strict` it is an error.
pub(super) fn finish(
    imported: &Imported,
    folder: &Path,
    out: Option<&Path>,
    is_strict: bool,
) -> Result<Exit, CliError> {
    if let Some(out) = out {
        write(imported, folder, out)?;
        eprint(&format!(
            "the plan is {}; try it with `plimsoll check`",
            out.join(PLAN_NAME).display()
        ));
    } else {
        print(&imported.plan);
        note_files(imported);
    }
    show(imported);
    list(&imported.losses);
    if is_strict && !imported.losses.is_empty() {
        let lost = imported.losses.len();
        return Err(CliError::usage(format!(
            "the plan lacks {lost} part{} of its source",
            if lost == 1 { "" } else { "s" }
        ))
        .remedy("change the source as each line says, or import without --strict"));
    }
    Ok(Exit::Met)
}

/// Lists what was left out, a line each.
pub(super) fn list(losses: &[Loss]) {
    for loss in losses {
        eprint(&loss.to_string());
    }
}

/// Notes files that the plan on standard output names and that nobody wrote.
fn note_files(imported: &Imported) {
    let is_absent = |file: &&DataFile| match &file.content {
        FileContent::Bytes(_) => true,
        FileContent::Copy(from) => from != &file.name,
    };
    let absent = imported.files.iter().filter(is_absent);
    let names: Vec<&str> = absent.map(|file| file.name.as_str()).collect();
    if !names.is_empty() {
        eprint(&format!(
            "note: the plan needs files that only --out DIR writes: {}",
            names.join(", ")
        ));
    }
}

/// Writes the plan and the files that it names.
fn write(imported: &Imported, folder: &Path, out: &Path) -> Result<(), CliError> {
    output::create_folder(out).map_err(|error| failed(out, &error))?;
    write_files(imported, folder, out)?;
    let plan = out.join(PLAN_NAME);
    output::write_whole(&plan, imported.plan.as_bytes()).map_err(|error| failed(&plan, &error))
}

/// Writes the files that a plan in the folder `out` names.
pub(crate) fn write_files(imported: &Imported, folder: &Path, out: &Path) -> Result<(), CliError> {
    for file in &imported.files {
        let path = out.join(plain_path(file)?);
        if let Some(parent) = path.parent() {
            output::create_folder(parent).map_err(|error| failed(parent, &error))?;
        }
        let bytes = match &file.content {
            FileContent::Bytes(bytes) => bytes.clone(),
            FileContent::Copy(from) => open::raw(&folder.join(from)).map_err(CliError::usage)?,
        };
        output::write_whole(&path, &bytes).map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

fn failed(path: &Path, error: &std::io::Error) -> CliError {
    CliError::usage(format!("cannot write {}: {error}", path.display()))
}

/// The path of a file below the plan's folder.
fn plain_path(file: &DataFile) -> Result<&Path, CliError> {
    let path = Path::new(&file.name);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if is_below && path.components().next().is_some() {
        return Ok(path);
    }
    Err(CliError::usage(format!(
        "the file {} would be outside the folder",
        file.name
    )))
}
