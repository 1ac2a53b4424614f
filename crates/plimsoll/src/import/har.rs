//! `plimsoll import har`.

use std::io::BufReader;
use std::io::Read as _;
use std::path::Path;

use plimsoll_import::{har, journey};

use super::{open, output, site};
use crate::arguments::HarArguments;
use crate::exit::Exit;
use crate::explain::{CliError, chain};

/// Longest recording that is read, bytes; it is read as a stream.
const HAR_LEN_MAX: u64 = 16 << 30;

/// Imports a recording.
pub(super) fn import(arguments: &HarArguments) -> Result<Exit, CliError> {
    let name = arguments.file.display().to_string();
    let har_error =
        |error: &dyn std::error::Error| CliError::usage(format!("{name}: {}", chain(error)));
    let mut limited = open::file(&arguments.file)?.take(HAR_LEN_MAX);
    let read = har::read_from(BufReader::with_capacity(1 << 20, &mut limited));
    if limited.limit() == 0 {
        let message = format!("{name} is longer than {} GiB", HAR_LEN_MAX >> 30);
        return Err(CliError::usage(message).remedy("record a shorter visit"));
    }
    let recording = read.map_err(|error| har_error(&error))?;
    let options = journey::Options {
        target: arguments.target.as_deref().map(site).transpose()?,
        hosts: arguments.host.clone(),
        file: name.clone(),
        has_folder: arguments.out.is_some(),
    };
    let imported = journey::plan(&recording, &options).map_err(|error| har_error(&error))?;
    let out = arguments.out.as_deref();
    output::finish(&imported, Path::new(""), out, arguments.strict)
}
