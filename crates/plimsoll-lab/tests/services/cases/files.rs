//! Files are written from templates, and put back byte for byte.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::fixture::Fixture;

pub(crate) const ALL: &[super::Case] = &[
    (
        "a_file_is_put_back_byte_for_byte",
        a_file_is_put_back_byte_for_byte,
    ),
    (
        "a_file_that_was_not_there_is_removed",
        a_file_that_was_not_there_is_removed,
    ),
    (
        "a_change_by_somebody_else_is_kept",
        a_change_by_somebody_else_is_kept,
    ),
    (
        "what_cannot_be_written_stays_as_it_is",
        what_cannot_be_written_stays_as_it_is,
    ),
];

const TEMPLATE: &str = "level {{ level }}\r\nfixed";

fn a_file_is_put_back_byte_for_byte() {
    let fixture = Fixture::new();
    let before = b"\xff\xfe not text\r\n\0 end without a line end";
    let path = fixture.write("server.conf", before);
    let link = fixture.base().join("link.conf");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    fixture.write("conf.in", TEMPLATE.as_bytes());
    let about = fs::metadata(&path).unwrap();
    let log = fixture.base().join("reloads");
    // The content at each reload.
    let script = format!("cat server.conf >> {}; echo >> {0}", log.display());
    let apply =
        format!("file: {{ template: conf.in, to: link.conf, reload: [sh, -c, {script:?}] }}");
    // The service is not started here, so that it reloads.
    let text = format!(
        "axes: {{ level: [a, b] }}\n\
         measure: {{ url: \"http://127.0.0.1:1/\", loads: [10/s], for: 1s }}\n\
         apply:\n  - {apply}\n"
    );
    let mut services = fixture.open(&text);
    for (cell, level) in ["a", "b"].into_iter().enumerate() {
        let service = services.apply(cell).unwrap();
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(written, format!("level {level}\r\nfixed"));
        service.stop().unwrap();
        assert_eq!(fs::read(&path).unwrap(), before);
        let after = fs::metadata(&path).unwrap();
        assert_eq!(after.mode(), about.mode());
        assert_eq!(after.ino(), about.ino());
        assert_eq!(after.modified().unwrap(), about.modified().unwrap());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
    let reloads = fs::read(&log).unwrap();
    let restored = reloads
        .windows(before.len())
        .filter(|window| window == before)
        .count();
    assert_eq!(restored, 2, "each time the service reads the file again");
    fixture.is_clean();
}

fn a_file_that_was_not_there_is_removed() {
    let fixture = Fixture::new();
    fixture.write("conf.in", TEMPLATE.as_bytes());
    let path = fixture.base().join("server.conf");
    let text = fixture.serving("file: { template: conf.in, to: server.conf }", "");
    let mut services = fixture.open(&text);
    let mut service = services.apply(1).unwrap();
    service.ready().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"level b\r\nfixed");
    service.stop().unwrap();
    assert!(!path.exists());
    fixture.is_clean();
}

fn a_change_by_somebody_else_is_kept() {
    let fixture = Fixture::new();
    fixture.write("conf.in", TEMPLATE.as_bytes());
    let path = fixture.write("server.conf", b"before");
    let text = fixture.serving("file: { template: conf.in, to: server.conf }", "");
    let mut services = fixture.open(&text);
    let service = services.apply(0).unwrap();
    fs::write(&path, "edited by hand").unwrap();
    let notes = service.stop().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"before");
    let [note] = &notes[..] else {
        panic!("{notes:?}");
    };
    assert!(note.contains("was changed by something else"), "{note}");
    let found = note.rsplit(' ').next().unwrap();
    assert_eq!(fs::read(found).unwrap(), b"edited by hand");
    fixture.is_clean();
}

fn what_cannot_be_written_stays_as_it_is() {
    let fixture = Fixture::new();
    fixture.write("conf.in", TEMPLATE.as_bytes());
    fs::create_dir(fixture.base().join("folder")).unwrap();
    for to in ["folder", "absent/server.conf"] {
        let file = format!("file: {{ template: conf.in, to: {to} }}");
        let mut services = fixture.open(&fixture.serving(&file, ""));
        let refused = services.apply(0).unwrap_err();
        assert!(refused.is_of_trial());
        let text = refused.to_string();
        assert!(text.contains(to) && text.contains("not written"), "{text}");
        fixture.is_clean();
    }
}
