//! Unusable, full and read-only disks: reported, and the edge continues.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{
    HIT, OBJECTS, config, files, folder, get, metric, order, origin, page, pages, start, status,
    status_and_body, wait_for,
};
use crate::support::{Afloat, ObservedEdge};

#[track_caller]
fn check_goes_on(edge: &Afloat) {
    edge.wait_until("a hit", || status(&get(edge.address, "/on")) == HIT);
}

#[test]
fn a_folder_that_cannot_be_used_is_named_and_the_edge_goes_on() {
    let (place, folder) = folder();
    let origin = pages();
    let first = start(&config(origin.address, &folder));
    let second = ObservedEdge::start(&config(origin.address, &folder));
    let message = second.wait_for_message("disk cache off in");
    assert!(
        message.contains("another edge uses the directory"),
        "{message}"
    );
    check_goes_on(&second.edge);
    check_goes_on(&first);

    let foreign = place.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("letter"), "dear").unwrap();
    let third = ObservedEdge::start(&config(origin.address, &foreign));
    let message = third.wait_for_message("disk cache off in");
    assert!(message.contains("contains other files"), "{message}");
    check_goes_on(&third.edge);

    let file = place.path().join("file");
    std::fs::write(&file, "").unwrap();
    let fourth = ObservedEdge::start(&config(origin.address, &file));
    let message = fourth.wait_for_message("disk cache off in");
    assert!(message.contains("not a file"), "{message}");
    check_goes_on(&fourth.edge);
}

/// A file system of its own.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, size: &str) -> Self {
        std::fs::create_dir_all(at).unwrap();
        let disk = Self(at.to_owned());
        disk.call(
            "mount",
            &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"],
        );
        disk
    }

    fn call(&self, program: &str, arguments: &[&str]) {
        let done = std::process::Command::new(program)
            .args(arguments)
            .arg(&self.0)
            .status();
        assert!(
            done.is_ok_and(|status| status.success()),
            "{program} needs root"
        );
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
    }
}

#[test]
fn a_disk_that_cannot_be_written_is_named_and_the_edge_goes_on() {
    let (_place, folder) = folder();
    let disk = SmallDisk::mount(&folder, "1m");
    disk.call("mount", &["-o", "remount,ro"]);
    let origin = pages();
    let observed = ObservedEdge::start(&config(origin.address, &folder));
    let message = observed.wait_for_message("disk cache off in");
    assert!(message.contains("mount it for writing"), "{message}");
    check_goes_on(&observed.edge);
}

#[test]
fn a_disk_that_becomes_read_only_is_named_and_what_it_holds_is_not_believed() {
    let (_place, folder) = folder();
    let disk = SmallDisk::mount(&folder, "1m");
    let origin = pages();
    let observed = ObservedEdge::start(&config(origin.address, &folder));
    let edge = &observed.edge;
    get(edge.address, "/a");
    wait_for(edge, OBJECTS, 1.0);
    disk.call("mount", &["-o", "remount,ro"]);
    get(edge.address, "/b");
    let message = observed.wait_for_message("cannot write a stored response");
    assert!(message.contains("mount it for writing"), "{message}");
    let (_, body) = order(edge.admin(), "/purge", r#"{"all": true, "hard": true}"#);
    assert!(body.contains("could not be written"), "{body}");
    assert_eq!(status_and_body(&get(edge.address, "/a")).1, "/a 2");
    check_goes_on(edge);
}

#[test]
fn a_disk_that_fills_is_named_and_the_edge_goes_on() {
    let (_place, folder) = folder();
    let _disk = SmallDisk::mount(&folder, "2m");
    let body = "x".repeat(100_000);
    let origin = origin(move |_, _| page("Cache-Control: max-age=600", &body));
    let observed = ObservedEdge::start(&config(origin.address, &folder));
    let edge = &observed.edge;
    // The limit was reduced: the oldest make room.
    for number in 0..60 {
        assert_eq!(
            status_and_body(&get(edge.address, &format!("/{number}")))
                .1
                .len(),
            100_000
        );
    }
    let written = "plimsoll_edge_cache_disk_written_total";
    wait_for(edge, written, 60.0);
    assert_eq!(
        metric(edge, "plimsoll_edge_cache_disk_errors_total"),
        Some(0.0)
    );
    // Other data fills it.
    let mut filler = std::fs::File::create(folder.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    for file in files(&folder) {
        std::fs::remove_file(file).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
    }
    assert_eq!(
        status_and_body(&get(edge.address, "/more")).1.len(),
        100_000
    );
    let message = observed.wait_for_message("cannot write a stored response");
    assert!(message.contains("free space there"), "{message}");
    check_goes_on(edge);
}
