//! The Debian package, by cargo-deb from the metadata in `crates/plimsoll/Cargo.toml`.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::execute;

use crate::build::RUSTFLAGS;
use crate::guide;
use crate::release::{Release, TARGET, copy, output};
use crate::roots::{debian, shell};

/// A version before every other, for the upgrade.
const EARLIER: &str = "0.0.1";
/// Highest exposure of the unit, of 100, by systemd's own assessment.
const EXPOSURE_MAX: &str = "20";

/// Builds the package, and one of an earlier version to upgrade from.
pub(crate) fn make(release: &Release) -> Result<()> {
    let earlier = release.staging().join(Release::deb_name(EARLIER));
    build(
        release,
        &release.version,
        &release.file(&Release::deb_name(&release.version)),
    )?;
    build(release, EARLIER, &earlier)
}

fn build(release: &Release, version: &str, to: &Path) -> Result<()> {
    let mut command = Command::new(release.tool("cargo-deb/bin/cargo-deb"));
    command
        .args(["--no-build", "--locked", "--quiet", "--target", TARGET])
        .arg("--deb-version")
        .arg(format!("{version}-1"))
        .arg("--manifest-path")
        .arg(release.workspace.root().join("crates/plimsoll/Cargo.toml"))
        .arg("--output")
        .arg(to)
        .env("CARGO_TARGET_DIR", release.cargo_target())
        .env("RUSTFLAGS", RUSTFLAGS)
        .env("SOURCE_DATE_EPOCH", &release.epoch)
        .stdin(Stdio::null());
    if version == EARLIER {
        // Nobody loads it.
        command.arg("--fast");
    }
    execute(&mut command)
}

/// Installs, upgrades and purges it in a fresh Debian.
pub(crate) fn check(release: &Release) -> Result<()> {
    let name = Release::deb_name(&release.version);
    let earlier = Release::deb_name(EARLIER);
    execute(
        Command::new("lintian")
            .args(["--allow-root", "--fail-on", "error", "--show-overrides"])
            .arg(release.file(&name)),
    )?;
    let root = release.try_folder()?;
    let root = root.path();
    debian(release, root)?;
    for from in [release.file(&name), release.staging().join(&earlier)] {
        let to = from.file_name().context("a package has a name")?;
        copy(&from, &root.join("root").join(to))?;
    }
    shell(
        root,
        &format!(
            "cd /root\napt-get install --yes --quiet=2 ./{earlier}\necho '# changed here' >> /etc/plimsoll/edge.yaml"
        ),
    )?;
    let commands = guide::commands(release, "Debian and Ubuntu")?;
    shell(root, &format!("cd /root\n{commands}"))?;
    installed_is_whole(release, root)?;
    unit_is_hardened(root)?;
    shell(
        root,
        "mkdir -p /var/lib/plimsoll /var/log/plimsoll\napt-get purge --yes --quiet=2 plimsoll",
    )?;
    for path in [
        "usr/bin/plimsoll",
        "etc/plimsoll",
        "var/lib/plimsoll",
        "var/log/plimsoll",
    ] {
        ensure!(!root.join(path).exists(), "/{path} is left after a purge");
    }
    Ok(())
}

fn installed_is_whole(release: &Release, root: &Path) -> Result<()> {
    let mut status = Command::new("dpkg-query");
    status.arg(format!("--root={}", root.display())).args([
        "--show",
        "--showformat=${db:Status-Status} ${Version}",
        "plimsoll",
    ]);
    let status = output(&mut status)?;
    let expected = format!("installed {}-1", release.version);
    ensure!(status == expected, "dpkg says `{status}`, not `{expected}`");
    let config = std::fs::read_to_string(root.join("etc/plimsoll/edge.yaml"))?;
    ensure!(
        config.ends_with("# changed here\n"),
        "an upgrade replaced a changed configuration"
    );
    shell(
        root,
        "test \"$(id --user --name plimsoll)\" = plimsoll\n\
         plimsoll edge check /etc/plimsoll/edge.yaml\n\
         test -s /usr/share/bash-completion/completions/plimsoll\n\
         test -s /usr/share/zsh/vendor-completions/_plimsoll\n\
         test -s /usr/share/fish/vendor_completions.d/plimsoll.fish\n\
         test ! -e /etc/systemd/system/multi-user.target.wants/plimsoll-edge.service",
    )
}

fn unit_is_hardened(root: &Path) -> Result<()> {
    // Those that the unit is ordered by; a root without systemd has none.
    shell(
        Path::new("/"),
        &format!(
            "cp --update /lib/systemd/system/*.target {}/usr/lib/systemd/system/",
            root.display()
        ),
    )?;
    for action in [
        &["verify", "--man=no"][..],
        &[
            "security",
            "--offline=yes",
            "--no-pager",
            "--threshold",
            EXPOSURE_MAX,
        ],
    ] {
        let mut analyze = Command::new("systemd-analyze");
        analyze
            .args(action)
            .arg(format!("--root={}", root.display()))
            .arg("plimsoll-edge.service");
        let text = output(&mut analyze)?;
        println!("{}", text.lines().last().unwrap_or_default());
    }
    Ok(())
}
