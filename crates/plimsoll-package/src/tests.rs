//! Packages of a given program: what can be known about them without a release build. The whole is tried by `cargo xtask
//! package`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use saphyr_parser::{Event, Parser};
use serde_json::Value;

use crate::records::digest;
use crate::release::{Release, output};
use crate::{Kind, again};

/// A release whose program is a line of a shell, in a folder of its own.
fn release(folder: &Path) -> Release {
    let release = Release::new("https://downloads.test/plimsoll/", "https://plimsoll.test/");
    let release = release.unwrap().in_folder(folder).unwrap();
    let staging = release.staging();
    for (name, text) in [
        ("plimsoll", "#!/bin/sh\necho plimsoll\n"),
        ("changelog", "plimsoll\n"),
        ("man/plimsoll.1", ".TH plimsoll 1\n"),
        ("completions/plimsoll.bash", "complete plimsoll\n"),
    ] {
        let file = staging.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let program = staging.join("plimsoll");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    release
}

/// Lines of tar: mode, owner and name.
fn content(file: &Path) -> Vec<String> {
    let mut tar = Command::new("tar");
    tar.args(["--list", "--verbose", "--numeric-owner", "--file"])
        .arg(file);
    let text = output(&mut tar).unwrap();
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        format!("{} {} {}", words[0], words[1], words.last().unwrap())
    });
    lines.collect()
}

#[test]
fn packages_of_the_same_program_are_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = [
        Kind::Archive,
        Kind::Npm,
        Kind::Image,
        Kind::Ci,
        Kind::Recipes,
        Kind::Records,
    ];
    let first = release(folder.path());
    for kind in kinds {
        kind.make(&first).unwrap();
    }
    again::check(&first, &kinds).unwrap();

    std::fs::write(first.staging().join("plimsoll"), "another").unwrap();
    let error = again::check(&first, &[Kind::Archive]).unwrap_err();
    assert!(error.to_string().contains("x86_64-linux.tar.gz"), "{error}");
}

#[test]
fn the_archive_has_the_program_and_all_beside_it_in_one_folder_of_root() {
    let folder = tempfile::tempdir().unwrap();
    let release = release(folder.path());
    Kind::Archive.make(&release).unwrap();
    let name = release.archive_name();
    let lines = content(&release.file(&format!("{name}.tar.gz")));
    for line in [
        "-rwxr-xr-x 0/0 NAME/bin/plimsoll",
        "-rw-r--r-- 0/0 NAME/LICENSE",
        "-rw-r--r-- 0/0 NAME/share/completions/plimsoll.bash",
        "-rw-r--r-- 0/0 NAME/share/man/man1/plimsoll.1",
        "-rw-r--r-- 0/0 NAME/share/systemd/plimsoll-agent.service",
        "-rw-r--r-- 0/0 NAME/share/systemd/plimsoll-edge.service",
    ] {
        let line = line.replace("NAME", &name);
        assert!(lines.contains(&line), "no `{line}` in {lines:#?}");
    }
    let outside = lines
        .iter()
        .find(|line| !line.contains(&format!(" {name}/")));
    assert_eq!(outside, None);
}

#[test]
fn the_image_is_a_layout_whose_digests_are_those_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let release = release(folder.path());
    Kind::Image.make(&release).unwrap();
    let layout = folder.path().join("layout");
    std::fs::create_dir(&layout).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--file"])
        .arg(release.file(&crate::image::name(&release)))
        .arg("--directory")
        .arg(&layout);
    output(&mut tar).unwrap();

    let json =
        |file: &Path| -> Value { serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap() };
    let blob = |descriptor: &Value| {
        let sum = descriptor["digest"]
            .as_str()
            .unwrap()
            .strip_prefix("sha256:");
        let file = layout.join("blobs/sha256").join(sum.unwrap());
        assert_eq!(digest(&file).unwrap(), sum.unwrap());
        let size = std::fs::metadata(&file).unwrap().len();
        assert_eq!(descriptor["size"], size);
        file
    };
    let index = json(&layout.join("index.json"));
    let manifest = json(&blob(&index["manifests"][0]));
    let config = json(&blob(&manifest["config"]));
    assert_eq!(config["config"]["User"], "65532:65532");
    let layer = blob(&manifest["layers"][0]);
    let lines = content(&layer);
    for line in [
        "-rwxr-xr-x 0/0 ./plimsoll",
        "-rw-r--r-- 0/0 ./etc/passwd",
        "-rw-r--r-- 0/0 ./etc/ssl/certs/ca-certificates.crt",
    ] {
        assert!(
            lines.contains(&line.to_owned()),
            "no `{line}` in {lines:#?}"
        );
    }
    // The layer is named by what it is without compression.
    let mut unzip = Command::new("sh");
    unzip
        .args([
            "-c",
            "gzip --decompress --stdout \"$1\" | sha256sum | cut -d' ' -f1",
            "sh",
        ])
        .arg(layer);
    let sum = output(&mut unzip).unwrap();
    assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{sum}"));
}

#[test]
fn records_and_recipes_name_each_file_by_its_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let release = release(folder.path());
    for kind in [Kind::Archive, Kind::Recipes, Kind::Records] {
        kind.make(&release).unwrap();
    }
    let archive = format!("{}.tar.gz", release.archive_name());
    let sum = digest(&release.file(&archive)).unwrap();
    let read = |name: &str| std::fs::read_to_string(release.file(name)).unwrap();
    assert!(read("SHA256SUMS").contains(&format!("{sum}  {archive}\n")));
    let formula = read("plimsoll.rb");
    assert!(formula.contains(&sum), "{formula}");
    assert!(formula.contains(&format!("https://downloads.test/plimsoll/{archive}")));
    assert!(read("provenance.intoto.json").contains(&sum));
    let mut check = Command::new("sha256sum");
    check
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(release.folder());
    output(&mut check).unwrap();
}

/// Files that other programs read. What they make of them is tried by `cargo xtask package`.
#[test]
fn files_of_packages_are_well_formed() {
    for (name, text) in [
        (
            "edge.yaml",
            include_str!("../../../packaging/deb/edge.yaml"),
        ),
        (
            "Chart.yaml",
            include_str!("../../../packaging/helm/plimsoll-edge/Chart.yaml"),
        ),
        (
            "values.yaml",
            include_str!("../../../packaging/helm/plimsoll-edge/values.yaml"),
        ),
        (
            "Chart.yaml of the agent",
            include_str!("../../../packaging/helm/plimsoll-agent/Chart.yaml"),
        ),
        (
            "values.yaml of the agent",
            include_str!("../../../packaging/helm/plimsoll-agent/values.yaml"),
        ),
        (
            "github-workflow.yml",
            include_str!("../../../packaging/ci/github-workflow.yml"),
        ),
    ] {
        let events: Result<Vec<Event<'_>>, _> = Parser::new_from_str(text)
            .map(|event| event.map(|(event, _)| event))
            .collect();
        assert!(events.is_ok(), "{name}: {events:?}");
    }
}

/// What cargo-deb reads: files that are there, and lines that it does not break.
#[test]
fn the_debian_package_has_a_synopsis_of_one_line_and_sources_for_its_files() {
    let manifest = include_str!("../../plimsoll/Cargo.toml");
    let manifest: toml::Table = manifest.parse().unwrap();
    let package = &manifest["package"];
    let synopsis = package["description"].as_str().unwrap();
    assert!(synopsis.len() < 80, "{synopsis}");
    let deb = &package["metadata"]["deb"];
    let description = deb["extended-description"].as_str().unwrap();
    for line in description.lines() {
        assert!(line.len() < 79, "{line}");
    }
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plimsoll");
    for asset in deb["assets"].as_array().unwrap() {
        let source = asset[0].as_str().unwrap();
        let is_built = source.contains("target/");
        assert!(is_built || crate_folder.join(source).exists(), "{source}");
    }
    for unit in deb["systemd-units"].as_array().unwrap() {
        for key in ["enable", "start"] {
            assert_eq!(unit[key].as_bool(), Some(false), "{key}");
        }
        let name = format!("{}.service", unit["unit-name"].as_str().unwrap());
        let scripts = crate_folder.join(unit["unit-scripts"].as_str().unwrap());
        for file in [name.as_str(), "postinst", "postrm"] {
            assert!(scripts.join(file).exists(), "{file}");
        }
    }
}
