//! The Debian package, by cargo-deb from the metadata in `crates/plimsoll/Cargo.toml`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::execute;

use crate::build::rustflags;
use crate::guide;
use crate::release::{Release, TARGET, copy, output};
use crate::roots::{debian, shell};

/// What a purge need not remove: the records of package managers, former versions of the lists of accounts, and the files
/// that this check installs; `/run` is empty after a start.
const OF_OTHERS: [&str; 11] = [
    "run",
    "var/lib/dpkg",
    "var/lib/apt",
    "var/cache",
    "var/log/apt",
    "var/log/dpkg.log",
    "etc/passwd-",
    "etc/group-",
    "etc/shadow-",
    "etc/gshadow-",
    "root",
];

/// A version before every other, for the upgrade.
const EARLIER: &str = "0.0.1";
/// Highest exposure of the unit, of 100, by systemd's own assessment.
const EXPOSURE_MAX: &str = "20";
/// The same of the agent, which runs as root: it reads what belongs to other users' processes. systemd 252 finds 30.
const AGENT_EXPOSURE_MAX: &str = "35";

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
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags(release)?)
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
    copy_targets(root)?;
    let before = files(root)?;
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
    unit_is_hardened(root, "plimsoll-edge.service", EXPOSURE_MAX)?;
    unit_is_hardened(root, "plimsoll-agent.service", AGENT_EXPOSURE_MAX)?;
    shell(
        root,
        "mkdir -p /var/lib/plimsoll/cache /var/lib/plimsoll-agent /var/log/plimsoll\n\
         touch /var/lib/plimsoll/cache/a /var/lib/plimsoll-agent/agent.json /var/log/plimsoll/b\n\
         dpkg --purge plimsoll\nid --user plimsoll",
    )?;
    let left: Vec<String> = files(root)?.difference(&before).cloned().collect();
    ensure!(left.is_empty(), "a purge leaves {}", left.join(", "));
    println!("a purge leaves no file; the user stays, as the guide says");
    Ok(())
}

/// Files and folders of a root, without those that dpkg, apt and this check keep for themselves.
fn files(root: &Path) -> Result<BTreeSet<String>> {
    let mut find = Command::new("find");
    find.arg(root).args(["-xdev", "-mindepth", "1"]);
    for path in OF_OTHERS {
        find.args(["-path"])
            .arg(root.join(path))
            .args(["-prune", "-o"]);
    }
    find.args(["-printf", "/%P\n"]);
    Ok(output(&mut find)?.lines().map(str::to_owned).collect())
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
         test ! -e /etc/systemd/system/multi-user.target.wants/plimsoll-edge.service\n\
         test ! -e /etc/systemd/system/multi-user.target.wants/plimsoll-agent.service",
    )
}

/// The targets that the unit is ordered by; a root without systemd has none.
fn copy_targets(root: &Path) -> Result<()> {
    shell(
        Path::new("/"),
        &format!(
            "cp --update /lib/systemd/system/*.target {}/usr/lib/systemd/system/",
            root.display()
        ),
    )
}

fn unit_is_hardened(root: &Path, unit: &str, exposure_max: &str) -> Result<()> {
    for action in [
        &["verify", "--man=no"][..],
        &[
            "security",
            "--offline=yes",
            "--no-pager",
            "--threshold",
            exposure_max,
        ],
    ] {
        let mut analyze = Command::new("systemd-analyze");
        analyze
            .args(action)
            .arg(format!("--root={}", root.display()))
            .arg(unit);
        let text = output(&mut analyze)?;
        println!("{}", text.lines().last().unwrap_or_default());
    }
    Ok(())
}
