//! `plimsoll export`: the tables of a run.

use std::path::PathBuf;

use plimsoll_lab::{output, run_log};
use plimsoll_report::export_table::RunTable;
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
    let written = |table: RunTable| {
        let name = table.name();
        if arguments.csv {
            let text = csv::render(&run, table);
            return Ok((format!("{name}.csv"), text.into_bytes()));
        }
        match parquet::render(&run, table) {
            Ok(bytes) => Ok((format!("{name}.parquet"), bytes)),
            Err(error) => Err(CliError::new(Exit::Internal, chain(&error))),
        }
    };
    let tables: Vec<(String, Vec<u8>)> = RunTable::ALL
        .into_iter()
        .map(written)
        .collect::<Result<_, _>>()?;
    for (name, bytes) in tables {
        let path = folder.join(name);
        output::write(&path, &bytes).map_err(|error| write_error(&path, &error))?;
        print(&format!("{}\n", path.display()));
    }
    Ok(Exit::Met)
}
