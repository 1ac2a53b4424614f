//! Disks that cannot be used, fill, or become read-only: named, and the edge goes on.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{
    HIT, OBJECTS, config, files, folder, get, metric, order, origin, page, pages, parts, start,
    status, wait_for,
};
use crate::support::{Afloat, Patience, Telling};

#[track_caller]
fn check_goes_on(edge: &Afloat) {
    let patience = Patience::start();
    while status(&get(edge.address, "/on")) != HIT {
        patience.check("a hit");
    }
}

#[test]
fn a_folder_that_cannot_be_used_is_named_and_the_edge_goes_on() {
    let (place, folder) = folder();
    let origin = pages();
    let first = start(&config(origin.address, &folder));
    let second = Telling::start(&config(origin.address, &folder));
    let told = second.told("copies are not kept on disk");
    assert!(told.contains("another edge uses it"), "{told}");
    check_goes_on(&second.edge);
    check_goes_on(&first);

    let foreign = place.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("letter"), "dear").unwrap();
    let third = Telling::start(&config(origin.address, &foreign));
    let told = third.told("copies are not kept on disk");
    assert!(told.contains("other files in it"), "{told}");
    check_goes_on(&third.edge);

    let file = place.path().join("file");
    std::fs::write(&file, "").unwrap();
    let fourth = Telling::start(&config(origin.address, &file));
    let told = fourth.told("copies are not kept on disk");
    assert!(told.contains("not a file"), "{told}");
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
    let telling = Telling::start(&config(origin.address, &folder));
    let told = telling.told("copies are not kept on disk");
    assert!(told.contains("mount it for writing"), "{told}");
    check_goes_on(&telling.edge);
}

#[test]
fn a_disk_that_becomes_read_only_is_named_and_what_it_holds_is_not_believed() {
    let (_place, folder) = folder();
    let disk = SmallDisk::mount(&folder, "1m");
    let origin = pages();
    let telling = Telling::start(&config(origin.address, &folder));
    let edge = &telling.edge;
    get(edge.address, "/a");
    wait_for(edge, OBJECTS, 1.0);
    disk.call("mount", &["-o", "remount,ro"]);
    get(edge.address, "/b");
    let told = telling.told("cannot write a copy");
    assert!(told.contains("mount it for writing"), "{told}");
    let (_, told) = order(edge.admin(), "/purge", r#"{"all": true, "hard": true}"#);
    assert!(told.contains("could not be written"), "{told}");
    assert_eq!(parts(&get(edge.address, "/a")).1, "/a 2");
    check_goes_on(edge);
}

#[test]
fn a_disk_that_fills_is_named_and_the_edge_goes_on() {
    let (_place, folder) = folder();
    let _disk = SmallDisk::mount(&folder, "2m");
    let body = "x".repeat(100_000);
    let origin = origin(move |_, _| page("Cache-Control: max-age=600", &body));
    let telling = Telling::start(&config(origin.address, &folder));
    let edge = &telling.edge;
    // It is smaller than it should be: the oldest make room.
    for number in 0..60 {
        assert_eq!(
            parts(&get(edge.address, &format!("/{number}"))).1.len(),
            100_000
        );
    }
    let written = "plimsoll_edge_cache_disk_written_total";
    wait_for(edge, written, 60.0);
    assert_eq!(
        metric(edge, "plimsoll_edge_cache_disk_errors_total"),
        Some(0.0)
    );
    // Others fill it.
    let mut filler = std::fs::File::create(folder.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    for file in files(&folder) {
        std::fs::remove_file(file).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
    }
    assert_eq!(parts(&get(edge.address, "/more")).1.len(), 100_000);
    let told = telling.told("cannot write a copy");
    assert!(told.contains("make room there"), "{told}");
    check_goes_on(edge);
}
