//! The container image: an OCI layout in one file, made without a daemon. It contains the binary, the certificates of
//! authorities and one user who is not root, and nothing else.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::step::execute;
use serde_json::{Value, json};

use crate::guide;
use crate::records::digest;
use crate::release::{Release, copy, output, renew};

/// Of the user in `packaging/image/passwd`.
const USER: &str = "65532:65532";
/// Debian's bundle of authorities, which the edge and HTTPS targets are verified with.
const AUTHORITIES: &str = "etc/ssl/certs/ca-certificates.crt";

/// The root is read-only, and there is no network. `$1` is the root, `$2` the user.
const TRY: &str = r#"
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
root="$1"
user="$2"
try() { chroot --userspec="$user" --groups= "$root" /plimsoll "$@"; }
try --version
try edge check /edge.yaml
if try generate man /man 2> /dev/null; then echo "the root is writable"; exit 1; fi
"#;

pub(crate) fn name(release: &Release) -> String {
    format!("plimsoll-{}-image.tar", release.version)
}

/// Writes layer, configuration, manifest and index.
pub(crate) fn make(release: &Release) -> Result<()> {
    let staging = release.staging().join("image");
    renew(&staging)?;
    let root = staging.join("root");
    for folder in ["etc/plimsoll", "tmp"] {
        std::fs::create_dir_all(root.join(folder))?;
    }
    copy(&release.stripped(), &root.join("plimsoll"))?;
    for file in ["passwd", "group"] {
        copy(
            &release.source("image").join(file),
            &root.join("etc").join(file),
        )?;
    }
    copy(&Path::new("/").join(AUTHORITIES), &root.join(AUTHORITIES))
        .context("the Debian package ca-certificates is missing")?;
    copy(
        &release.workspace.root().join("LICENSE"),
        &root.join("LICENSE"),
    )?;

    let layer = staging.join("layer.tar");
    release.pack(&root, ".", &layer)?;
    let uncompressed = digest(&layer)?;
    let gzip = staging.join("layer.tar.gz");
    release.pack(&root, ".", &gzip)?;

    let layout = staging.join("layout");
    std::fs::create_dir_all(layout.join("blobs/sha256"))?;
    let layer = blob(
        &layout,
        &gzip,
        "application/vnd.oci.image.layer.v1.tar+gzip",
    )?;
    let config = configuration(release, &uncompressed)?;
    let config = document(&layout, &config, "application/vnd.oci.image.config.v1+json")?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [layer],
    });
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let mut manifest = document(&layout, &manifest, media_type)?;
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": release.version });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    std::fs::write(layout.join("index.json"), index.to_string())?;
    let version = json!({ "imageLayoutVersion": "1.0.0" });
    std::fs::write(layout.join("oci-layout"), version.to_string())?;
    release.pack(&layout, ".", &release.file(&name(release)))
}

fn configuration(release: &Release, layer: &str) -> Result<Value> {
    let mut date = Command::new("date");
    date.args(["--utc", "+%Y-%m-%dT%H:%M:%SZ"])
        .arg(format!("--date=@{}", release.epoch));
    Ok(json!({
        "created": output(&mut date)?,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": USER,
            "Entrypoint": ["/plimsoll"],
            "Cmd": ["--help"],
            "Env": ["PATH=/"],
            "WorkingDir": "/",
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "plimsoll",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.revision": release.commit,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
        "history": [{ "created_by": "cargo xtask package image" }],
    }))
}

/// Adds a file; returns its descriptor.
fn blob(layout: &Path, file: &Path, media_type: &str) -> Result<Value> {
    let digest = digest(file)?;
    copy(file, &layout.join("blobs/sha256").join(&digest))?;
    let size = std::fs::metadata(file)?.len();
    Ok(json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": size }))
}

/// The same of a JSON document.
fn document(layout: &Path, value: &Value, media_type: &str) -> Result<Value> {
    let file = layout.join("document.json");
    std::fs::write(&file, value.to_string())?;
    let descriptor = blob(layout, &file, media_type)?;
    std::fs::remove_file(file)?;
    Ok(descriptor)
}

/// Reads it with skopeo, unpacks it with umoci, and runs it read-only as its user.
pub(crate) fn check(release: &Release) -> Result<()> {
    let folder = release.try_folder()?;
    let file = name(release);
    copy(&release.file(&file), &folder.path().join(&file))?;
    let mut shell = Command::new("sh");
    shell
        .args(["-euc", &guide::commands(release, "Container image")?])
        .current_dir(folder.path());
    execute(&mut shell)?;
    let mut inspect = Command::new("skopeo");
    inspect
        .args(["inspect", "--config"])
        .arg(format!("oci:plimsoll:{}", release.version))
        .current_dir(folder.path());
    let config: Value = serde_json::from_str(&output(&mut inspect)?)?;
    ensure!(
        config["config"]["User"] == USER,
        "the image's user is {}",
        config["config"]["User"]
    );
    let bundle = folder.path().join("bundle");
    execute(
        Command::new("umoci")
            .args(["unpack", "--image"])
            .arg(format!("plimsoll:{}", release.version))
            .arg(&bundle)
            .current_dir(folder.path()),
    )?;
    let root = bundle.join("rootfs");
    copy(&release.source("deb/edge.yaml"), &root.join("edge.yaml"))?;
    execute(
        Command::new("unshare")
            .args(["--mount", "--net", "--pid", "--fork", "--kill-child"])
            .args(["sh", "-euc", TRY, "try"])
            .arg(&root)
            .arg(USER),
    )
}
