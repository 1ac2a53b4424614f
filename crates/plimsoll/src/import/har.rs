//! `plimsoll import har`.

use std::io::Read as _;

use plimsoll_import::{Imported, har, journey};

use super::{open, site};
use crate::arguments::HarArguments;
use crate::explain::{CliError, chain};

/// Longest recording that is read, bytes.
const HAR_LEN_MAX: u64 = 512 << 20;

/// The plan of a recording.
pub(super) fn plan(arguments: &HarArguments) -> Result<Imported, CliError> {
    let name = arguments.file.display();
    let mut bytes = Vec::new();
    let read = open::file(&arguments.file)?
        .take(HAR_LEN_MAX + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| CliError::usage(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > HAR_LEN_MAX {
        let message = format!("{name} is longer than {} MiB", HAR_LEN_MAX >> 20);
        return Err(CliError::usage(message)
            .remedy("save the recording without content, or record a shorter one"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| CliError::usage(format!("{name}: not UTF-8 ({error})")))?;
    let har_error =
        |error: &dyn std::error::Error| CliError::usage(format!("{name}: {}", chain(error)));
    let recording = har::read(&text).map_err(|error| har_error(&error))?;
    let options = journey::Options {
        target: arguments.target.as_deref().map(site).transpose()?,
        hosts: arguments.host.clone(),
    };
    journey::plan(&recording, &options).map_err(|error| har_error(&error))
}
