//! `plimsoll export`: the tables of a run.

use std::path::PathBuf;

use plimsoll_lab::{output, run_log};
use plimsoll_report::{csv, parquet};

use crate::arguments::ExportArguments;
use crate::exit::Exit;
use crate::explain::{CliError, chain};
use crate::screen::print;

/// Writes windows, readings, findings, trials and steps as one file each.
pub(crate) fn export(arguments: &ExportArguments) -> Result<Exit, CliError> {
    let run = run_log::read(&arguments.file)?.run;
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| arguments.file.with_extension(""));
    let write_error = |path: &PathBuf, error: &std::io::Error| {
        CliError::usage(format!("cannot write {}: {error}", path.display()))
    };
    output::create_folder(&folder).map_err(|error| write_error(&folder, &error))?;
    let tables: Vec<(&str, Vec<u8>)> = if arguments.csv {
        vec![
            ("windows.csv", csv::windows(&run).into_bytes()),
            ("readings.csv", csv::readings(&run).into_bytes()),
            ("findings.csv", csv::findings(&run).into_bytes()),
            ("trials.csv", csv::trials(&run).into_bytes()),
            ("steps.csv", csv::steps(&run).into_bytes()),
        ]
    } else {
        let made = |table: Result<Vec<u8>, parquet::ParquetError>| {
            table.map_err(|error| CliError::new(Exit::Internal, chain(&error)))
        };
        vec![
            ("windows.parquet", made(parquet::windows(&run))?),
            ("readings.parquet", made(parquet::readings(&run))?),
            ("findings.parquet", made(parquet::findings(&run))?),
            ("trials.parquet", made(parquet::trials(&run))?),
            ("steps.parquet", made(parquet::steps(&run))?),
        ]
    };
    for (name, bytes) in tables {
        let path = folder.join(name);
        output::write(&path, &bytes).map_err(|error| write_error(&path, &error))?;
        print(&format!("{}\n", path.display()));
    }
    Ok(Exit::Met)
}
