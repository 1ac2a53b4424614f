//! The static binary, and what it writes itself: man pages and completions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::cargo;

use crate::release::{Release, TARGET, renew};

/// Linked with the C library's archive. Names are found without it (crate `plimsoll-names`).
pub(crate) const RUSTFLAGS: &str = "-C target-feature=+crt-static";
/// Characters of a text that an error shows.
const SHOWN_MAX: usize = 120;
/// What separates the flags in cargo's variable: a path may have spaces.
const SEPARATOR: &str = "\u{1f}";

/// Flags of the compiler, for cargo's variable `CARGO_ENCODED_RUSTFLAGS`: static, and without folders of the machine that
/// builds. Those stand in messages of panics and in the names of sources.
pub(crate) fn rustflags(release: &Release) -> Result<String> {
    let mut flags = RUSTFLAGS.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (folder, name) in folders(release)? {
        flags.push("--remap-path-prefix".to_owned());
        flags.push(format!("{}={name}", folder.display()));
    }
    Ok(flags.join(SEPARATOR))
}

/// Folders of the machine that builds, and what stands in the binary instead. The later of two that fit counts.
fn folders(release: &Release) -> Result<Vec<(PathBuf, String)>> {
    let cargo_home = match std::env::var_os("CARGO_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => home()?.join(".cargo"),
    };
    let mut folders = vec![
        (home()?, "/home".to_owned()),
        (cargo_home.clone(), "/cargo".to_owned()),
        (release.workspace.root().to_owned(), "/plimsoll".to_owned()),
        (release.cargo_target(), "/build".to_owned()),
    ];
    // A folder of each registry, whose name has its host.
    let registries = cargo_home.join("registry/src");
    let entries = std::fs::read_dir(&registries);
    for entry in entries.with_context(|| format!("cannot read {}", registries.display()))? {
        folders.push((entry?.path(), "/registry".to_owned()));
    }
    Ok(folders)
}

fn home() -> Result<PathBuf> {
    std::env::home_dir().context("HOME is not set, whose path must not stand in the binary")
}

/// An error if a folder of the machine that built it stands in a program.
pub(crate) fn names_no_folder(release: &Release, program: &Path) -> Result<()> {
    let content =
        std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let mut private: Vec<String> = Vec::new();
    for (folder, _) in folders(release)? {
        private.push(format!("{}/", folder.display()));
        if folder
            .parent()
            .is_some_and(|it| it.ends_with("registry/src"))
        {
            private.extend(
                folder
                    .file_name()
                    .map(|it| it.to_string_lossy().into_owned()),
            );
        }
    }
    match first_text_with(&content, &private) {
        Some(text) => bail!(
            "{} names a folder of the machine that built it: `{text}`; see `folders` in {}",
            program.display(),
            file!()
        ),
        None => Ok(()),
    }
}

/// The first run of printable characters that contains one of these.
fn first_text_with(content: &[u8], private: &[String]) -> Option<String> {
    let texts = content.split(|byte| !matches!(byte, b' '..=b'~'));
    let texts = texts.filter_map(|text| std::str::from_utf8(text).ok());
    let mut found = texts.filter_map(|text| {
        let place = private
            .iter()
            .filter_map(|it| text.find(it.as_str()))
            .min()?;
        Some(text[place..].chars().take(SHOWN_MAX).collect())
    });
    found.next()
}

/// Builds the binary and fills the staging folder.
pub(crate) fn run(release: &Release) -> Result<()> {
    execute(
        cargo()
            .args(["build", "--release", "--locked", "--package", "plimsoll"])
            .args(["--target", TARGET, "--target-dir"])
            .arg(release.cargo_target())
            .current_dir(release.workspace.root())
            .env("CARGO_ENCODED_RUSTFLAGS", rustflags(release)?)
            .env_remove("RUSTFLAGS")
            .stdin(Stdio::null()),
    )?;
    renew(&release.folder())?;
    renew(&release.staging())?;
    execute(
        Command::new("strip")
            .arg("--strip-all")
            .arg("-o")
            .arg(release.stripped())
            .arg(release.binary()),
    )?;
    for (what, folder) in [("completions", "completions"), ("man", "man")] {
        execute(
            Command::new(release.stripped())
                .args(["generate", what])
                .arg(release.staging().join(folder)),
        )?;
    }
    std::fs::write(release.staging().join("changelog"), changelog(release)?)?;
    Ok(())
}

/// The changelog in Debian's format: what is new is in CHANGELOG.md.
fn changelog(release: &Release) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["--utc", "--rfc-email"])
        .arg(format!("--date=@{}", release.epoch));
    let date = crate::release::output(&mut date).context("no date for the changelog")?;
    Ok(format!(
        "plimsoll ({}-1) unstable; urgency=medium\n\n  * Release {}; CHANGELOG.md of the sources lists what has changed.\n\n \
         -- Plimsoll maintainers <maintainers@plimsoll.invalid>  {date}\n",
        release.version, release.version
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_a_program_is_found() {
        let private = ["/home/ada".to_owned(), "index.test-1949".to_owned()];
        let found = |content: &[u8]| first_text_with(content, &private);
        assert_eq!(
            found(b"\x00/registry/url-2.5.8/src/lib.rs\xff/rustc/5980/library"),
            None
        );
        let content = b"\x7fELF\xff\x00called in /home/ada/.cargo/x.rs\x00";
        assert_eq!(found(content).as_deref(), Some("/home/ada/.cargo/x.rs"));
        let content = b"/cargo/registry/src/index.test-1949cf/url.rs";
        assert_eq!(found(content).as_deref(), Some("index.test-1949cf/url.rs"));
    }
}
