//! What is known about the packages: checksums, a bill of materials, and where they come from.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::execute;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::build::RUSTFLAGS;
use crate::guide;
use crate::release::{Release, TARGET, output};
use crate::sbom;

const SUMS: &str = "SHA256SUMS";
const PROVENANCE: &str = "provenance.intoto.json";

/// Validates a bill of materials by the schema that `CycloneDX` publishes.
const VALIDATE: &str = "
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(str(error) if error else 0)
";

fn bill(release: &Release) -> String {
    format!("plimsoll-{}.cdx.json", release.version)
}

/// Writes the records of what is in the folder.
pub(crate) fn make(release: &Release) -> Result<()> {
    let bill = bill(release);
    let materials = sbom::cyclonedx(release)?;
    std::fs::write(
        release.file(&bill),
        serde_json::to_string_pretty(&materials)?,
    )?;
    let sums = sums(&release.folder(), &[SUMS, PROVENANCE])?;
    let statement = provenance(release, &sums)?;
    std::fs::write(
        release.file(PROVENANCE),
        serde_json::to_string_pretty(&statement)?,
    )?;
    let sums = self::sums(&release.folder(), &[SUMS])?;
    let lines = sums.iter().map(|(name, sum)| format!("{sum}  {name}\n"));
    std::fs::write(release.file(SUMS), lines.collect::<String>())?;
    Ok(())
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn digest(file: &Path) -> Result<String> {
    let mut opened = std::fs::File::open(file)
        .with_context(|| format!("{} is missing; make it first", file.display()))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = opened.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
    }
    let mut digits = String::new();
    for byte in hash.finalize() {
        write!(digits, "{byte:02x}")?;
    }
    Ok(digits)
}

/// Names and checksums of the files of a folder, in order of their names.
pub(crate) fn sums(folder: &Path, without: &[&str]) -> Result<Vec<(String, String)>> {
    let mut sums = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && !without.contains(&name.as_str()) {
            sums.push((name, digest(&entry.path())?));
        }
    }
    sums.sort_unstable();
    Ok(sums)
}

/// Prints the files and their sizes.
pub(crate) fn list(release: &Release) -> Result<()> {
    for (name, _) in sums(&release.folder(), &[])? {
        let size = std::fs::metadata(release.file(&name))?.len();
        println!("{:>9.3} MB  {name}", size as f64 / 1e6);
    }
    Ok(())
}

/// A statement of SLSA provenance. It is not signed: it says how the files were made, and proves nothing by itself.
fn provenance(release: &Release, sums: &[(String, String)]) -> Result<Value> {
    let subjects = sums.iter();
    let subjects: Vec<Value> = subjects
        .map(|(name, sum)| json!({ "name": name, "digest": { "sha256": sum } }))
        .collect();
    let mut rustc = Command::new("rustc");
    rustc.arg("--version");
    let lock = digest(&release.workspace.root().join("Cargo.lock"))?;
    Ok(json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": format!("{}build/xtask-package/v1", release.homepage),
                "externalParameters": {
                    "command": "cargo xtask package",
                    "version": release.version,
                    "target": TARGET,
                },
                "internalParameters": { "RUSTFLAGS": RUSTFLAGS, "signed": false },
                "resolvedDependencies": [
                    { "name": "sources", "digest": { "gitCommit": release.commit } },
                    { "name": "Cargo.lock", "digest": { "sha256": lock } },
                    { "name": output(&mut rustc)? },
                ],
            },
            "runDetails": {
                "builder": { "id": format!("{}builder/unsigned", release.homepage) },
            },
        },
    }))
}

/// Holds checksums, bill and statement against the files.
pub(crate) fn check(release: &Release) -> Result<()> {
    execute(
        Command::new("sh")
            .args(["-euc", &guide::commands(release, "Verify the files")?])
            .current_dir(release.folder())
            .stdin(Stdio::null()),
    )?;
    let text = std::fs::read_to_string(release.file(SUMS))?;
    let sums = self::sums(&release.folder(), &[SUMS])?;
    ensure!(
        text.lines().count() == sums.len(),
        "{SUMS} has {} lines for {} files",
        text.lines().count(),
        sums.len()
    );
    execute(
        Command::new(release.tool("packaging/bin/python"))
            .args(["-c", VALIDATE])
            .arg(release.file(&bill(release)))
            .stdin(Stdio::null()),
    )
    .context("the bill of materials is not as CycloneDX 1.6 wants it")?;
    let statement = std::fs::read_to_string(release.file(PROVENANCE))?;
    let statement: Value = serde_json::from_str(&statement)?;
    let subjects = statement["subject"].as_array();
    for subject in subjects.into_iter().flatten() {
        let name = subject["name"].as_str().unwrap_or_default();
        let sum = subject["digest"]["sha256"].as_str().unwrap_or_default();
        let line = format!("{sum}  {name}");
        ensure!(
            text.lines().any(|other| other == line),
            "{PROVENANCE} and {SUMS} differ about {name}"
        );
    }
    ensure!(
        subjects.is_some_and(|subjects| subjects.len() + 1 == sums.len()),
        "{PROVENANCE} does not name every file"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_standard_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b"), "abc").unwrap();
        std::fs::write(folder.path().join("a"), "").unwrap();
        std::fs::write(folder.path().join("left out"), "").unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        // FIPS 180-4: the empty message and `abc`.
        let expected = [
            (
                "a",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                "b",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
        ];
        let expected = expected.map(|(name, sum)| (name.to_owned(), sum.to_owned()));
        assert_eq!(sums(folder.path(), &["left out"]).unwrap(), expected);
    }
}
