//! The folder of a comparison, and folders that killed comparisons have left.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_lab::output;
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::service;

use super::super::sides::Sides;
use super::open_services;
use crate::explain::CliError;
use crate::screen::eprint;

/// Where comparisons without a folder of their own are.
const PARENT: &str = "./plimsoll";
/// Their names begin so.
const PREFIX: &str = "compare-";
/// Folders of earlier comparisons that are looked at, newest first.
const EARLIER_MAX: usize = 50;

/// The folder that the user names, or a new one beside those of earlier comparisons.
pub(super) fn folder(
    out: Option<&Path>,
    sides: &Sides,
    stop: &StopFlag,
) -> Result<PathBuf, CliError> {
    let folder = if let Some(out) = out {
        out.to_owned()
    } else {
        let parent = Path::new(PARENT);
        put_back_earlier(parent, sides, stop);
        let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
        parent.join(format!("{PREFIX}{}", now.strftime("%Y%m%dT%H%M%S%.3fZ")))
    };
    output::create_folder(&folder).map_err(|error| not_made(&folder, &error))?;
    Ok(folder)
}

pub(super) fn not_made(folder: &Path, error: &io::Error) -> CliError {
    CliError::usage(format!("cannot make {}: {error}", folder.display()))
        .remedy("choose another folder with --out DIR")
}

/// Puts back what killed comparisons left applied: their services would have the port, and Git lists their checkouts.
fn put_back_earlier(parent: &Path, sides: &Sides, stop: &StopFlag) {
    let entries = fs::read_dir(parent).into_iter().flatten();
    let mut earlier: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(PREFIX) && path.is_dir()
        })
        .collect();
    earlier.sort();
    for folder in earlier.iter().rev().take(EARLIER_MAX) {
        if !service::has_applied(folder) {
            continue;
        }
        let name = folder.display();
        // One that still runs has its lock, and stays.
        let closed = open_services(sides, folder, stop)
            .and_then(|services| services.close().map_err(CliError::from));
        match closed {
            Ok(()) => eprint(&format!(
                "note: its trials are kept: the same command with --out {name} goes on with them"
            )),
            Err(error) => eprint(&format!("note: {name} is left as it is: {error}")),
        }
    }
}
