//! Programs that make and try packages: from Debian, `PyPI`, crates.io and the Go module proxy, by their lock files.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::packages::{Tool, see_to};
use plimsoll_harness::python;
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::cargo;

use crate::release::Release;

/// Programs and their Debian packages.
const DEBIAN: [Tool<'static>; 14] = [
    Tool::new("debootstrap", "debootstrap"),
    Tool::new("dnsmasq", "dnsmasq-base"),
    Tool::new("dpkg-deb", "dpkg"),
    Tool::new("ip", "iproute2"),
    Tool::new("lintian", "lintian"),
    Tool::new("nix-instantiate", "nix-bin"),
    Tool::new("nm", "binutils"),
    Tool::new("npm", "npm"),
    Tool::new("ruby", "ruby"),
    Tool::new("shellcheck", "shellcheck"),
    Tool::new("skopeo", "skopeo"),
    Tool::new("strace", "strace"),
    Tool::new("systemd-analyze", "systemd"),
    Tool::new("umoci", "umoci"),
];

/// Built from the Go modules that `packaging/tools/go.sum` locks: package and program.
const GO: [(&str, &str); 3] = [
    ("github.com/rhysd/actionlint/cmd/actionlint", "actionlint"),
    ("helm.sh/helm/v3/cmd/helm", "helm"),
    ("./podsecurity", "podsecurity"),
];

/// Makes Debian packages of cargo's metadata.
const CARGO_DEB_VERSION: &str = "3.8.0";

/// Installs what is missing.
pub(crate) fn install(release: &Release) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "packages are tried in roots of their own, which only root can make; run this as root"
    );
    see_to(&DEBIAN)?;
    python::install(
        &release.source("tools/requirements.txt"),
        &release.tool("packaging"),
    )
    .context("missing: maturin and zizmor, which pip installs")?;
    cargo_deb(release)?;
    GO.into_iter()
        .try_for_each(|(package, name)| build_by_go(release, package, name))
}

fn cargo_deb(release: &Release) -> Result<()> {
    let root = release.tool("cargo-deb");
    // What it costs is its build, not its run.
    execute(
        cargo()
            .args(["install", "cargo-deb", "--locked", "--quiet"])
            .args(["--version", CARGO_DEB_VERSION])
            .arg("--root")
            .arg(&root)
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .stdin(Stdio::null()),
    )
    .context("missing: cargo-deb, which cargo installs")
}

fn build_by_go(release: &Release, package: &str, name: &str) -> Result<()> {
    let program = release.tool(name);
    let folder = release.source("tools");
    let modified = |path| std::fs::metadata(path).and_then(|it| it.modified());
    let sources = ["go.sum", "podsecurity/main.go"].map(|file| modified(folder.join(file)));
    let changed = sources.into_iter().filter_map(Result::ok).max();
    if changed.is_some_and(|changed| modified(program.clone()).is_ok_and(|built| changed <= built))
    {
        return Ok(());
    }
    execute(
        Command::new("go")
            .args(["build", "-mod=readonly", "-trimpath", "-o"])
            .arg(&program)
            .arg(package)
            .current_dir(&folder)
            .env("CGO_ENABLED", "0")
            .env("GOTOOLCHAIN", "local")
            .stdin(Stdio::null()),
    )
    .with_context(|| {
        format!("missing: {name}, which `go` builds from sources of the Go module proxy")
    })
}
