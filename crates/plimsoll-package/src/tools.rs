//! Programs that make and try packages: from Debian, `PyPI`, crates.io and the Go module proxy, by their lock files.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::go;
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
    .context("missing: wheel, zizmor and CycloneDX' validator, which pip installs")?;
    cargo_deb(release)?;
    GO.into_iter().try_for_each(|(package, name)| {
        go::build(
            &release.source("tools"),
            package,
            &release.tool(name),
            &["podsecurity/main.go"],
        )
    })
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
