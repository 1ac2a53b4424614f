//! Reproducibility: the same binary gives the same packages, byte by byte.

use std::process::Command;

use anyhow::{Result, ensure};
use plimsoll_harness::step::execute;

use crate::Kind;
use crate::records::sums;
use crate::release::Release;

/// Makes the packages once more in another folder, of the same binary, man pages and completions.
pub(crate) fn check(release: &Release, kinds: &[Kind]) -> Result<()> {
    let folder = release.try_folder()?;
    let again = release.in_folder(folder.path())?;
    execute(
        Command::new("cp")
            .arg("--recursive")
            .arg(release.staging())
            .arg(again.staging()),
    )?;
    kinds.iter().try_for_each(|kind| kind.make(&again))?;
    let first = sums(&release.folder(), &[])?;
    let second = sums(&again.folder(), &[])?;
    for (name, sum) in &second {
        ensure!(
            first
                .iter()
                .any(|other| other == &(name.clone(), sum.clone())),
            "{name} is another file when it is made again of the same binary"
        );
    }
    println!("{} files are the same when made again", second.len());
    Ok(())
}
