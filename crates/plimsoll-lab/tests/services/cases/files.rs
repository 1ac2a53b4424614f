//! Files are written from templates, and put back byte for byte.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::Command;

use plimsoll_lab::service::ApplyFaultKind;
use plimsoll_testkit::machine::namespace::Namespace;

use crate::fixture::Fixture;

pub(crate) const ALL: &[super::Case] = &[
    (
        "a_reload_that_drops_connections_is_named",
        a_reload_that_drops_connections_is_named,
    ),
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
    (
        "a_file_that_its_check_refuses_is_never_read",
        a_file_that_its_check_refuses_is_never_read,
    ),
    (
        "a_service_that_does_not_come_back_ends_the_experiment",
        a_service_that_does_not_come_back_ends_the_experiment,
    ),
    (
        "a_full_disk_keeps_nothing_from_coming_back",
        a_full_disk_keeps_nothing_from_coming_back,
    ),
    (
        "settings_of_the_kernel_are_put_back",
        settings_of_the_kernel_are_put_back,
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

fn a_file_that_its_check_refuses_is_never_read() {
    let fixture = Fixture::new();
    fixture.write("conf.in", TEMPLATE.as_bytes());
    let path = fixture.write("server.conf", b"before");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let check = "echo line 1: unknown level; ! grep -q 'level b' server.conf";
    let reload = "cat server.conf >> reloads";
    let text = format!(
        "axes: {{ level: [a, b] }}\n\
         measure: {{ url: \"http://127.0.0.1:1/\", loads: [10/s], for: 1s }}\n\
         apply:\n  - file: {{ template: conf.in, to: server.conf, check: [sh, -c, {check:?}], reload: [sh, -c, {reload:?}] }}\n"
    );
    let mut services = fixture.open(&text);
    let refused = services.apply(1).unwrap_err();
    assert_eq!(refused.kind(), ApplyFaultKind::Check);
    assert!(refused.is_of_trial());
    let message = refused.to_string();
    assert!(
        message.contains("check of server.conf") && message.contains("line 1: unknown level"),
        "{message}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    assert!(!fixture.base().join("reloads").exists());
    fixture.is_clean();
    // The other level is good.
    let service = services.apply(0).unwrap();
    service.stop().unwrap();
    let reloads = fs::read_to_string(fixture.base().join("reloads")).unwrap();
    assert_eq!(reloads, "level a\r\nfixedbefore");
    fixture.is_clean();
}

fn a_service_that_does_not_come_back_ends_the_experiment() {
    let fixture = Fixture::new();
    fixture.write("conf.in", TEMPLATE.as_bytes());
    let path = fixture.write("server.conf", b"before");
    // It is ready with the written file alone, within a time in which any machine runs the check.
    let ready = "grep -q level server.conf";
    let text = format!(
        "axes: {{ level: [a, b] }}\n\
         measure: {{ url: \"http://127.0.0.1:1/\", loads: [10/s], for: 1s }}\n\
         ready: {{ command: [sh, -c, {ready:?}], within: 3s }}\n\
         apply:\n  - file: {{ template: conf.in, to: server.conf, reload: [\"true\"] }}\n"
    );
    let mut services = fixture.open(&text);
    let mut service = services.apply(0).unwrap();
    service.ready().unwrap();
    let fault = service.stop().unwrap_err();
    assert!(!fault.is_of_trial());
    assert!(fault.to_string().contains("does not come back"), "{fault}");
    assert_eq!(fs::read(&path).unwrap(), b"before");
    fixture.is_clean();
}

/// A file system of 256 KiB in memory.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where no file system may be mounted.
    fn mount(path: PathBuf) -> Option<Self> {
        fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"]);
        let mounted = mount.arg(&path).output();
        let is_mounted = mounted.is_ok_and(|output| output.status.success());
        is_mounted.then_some(Self(path))
    }

    /// Writes until nothing more fits.
    fn fill(&self) {
        let mut filler = fs::File::create(self.0.join("filler")).unwrap();
        while filler.write_all(&[1; 4096]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn a_full_disk_keeps_nothing_from_coming_back() {
    let fixture = Fixture::new();
    let Some(disk) = SmallDisk::mount(fixture.base().join("disk")) else {
        plimsoll_testkit::not_tried::not_tried("no file system may be mounted here");
        return;
    };
    fixture.write("conf.in", TEMPLATE.as_bytes());
    let before = vec![b'x'; 100_000];
    let path = fixture.write("disk/server.conf", &before);
    let mut services =
        fixture.open(&fixture.serving("file: { template: conf.in, to: disk/server.conf }", ""));
    let service = services.apply(0).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"level a\r\nfixed");
    disk.fill();
    service.stop().unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    services.close().unwrap();
    fixture.is_clean();
    // A file that does not fit was never written.
    fixture.write("conf.in", "y".repeat(50_000).as_bytes());
    let text = fixture.serving("file: { template: conf.in, to: disk/new.conf }", "");
    let mut services = fixture.open(&text);
    let refused = services.apply(0).unwrap_err();
    assert!(refused.to_string().contains("No space left"), "{refused}");
    assert!(!fixture.base().join("disk/new.conf").exists());
    fixture.is_clean();
}

/// nginx, started again or told to read its file: only the first drops connections.
fn a_reload_that_drops_connections_is_named() {
    for is_restart in [false, true] {
        let fixture = Fixture::new();
        let port = fixture.port;
        let reload = if is_restart {
            // While nginx is away the first time, a request comes and is dropped.
            format!(
                "nginx -p . -c nginx.conf -s stop; while [ -e nginx.pid ]; do :; done; \
                 [ -e dropped ] || python3 -c 'import socket; socket.create_server((\"127.0.0.1\", {port})).accept()'; \
                 touch dropped; nginx -p . -c nginx.conf"
            )
        } else {
            "nginx -p . -c nginx.conf -s reload".to_owned()
        };
        let configuration = |connections: &str| {
            format!(
                "pid nginx.pid;\nerror_log error.log;\nevents {{ worker_connections {connections}; }}\n\
                 http {{ access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; \
                 scgi_temp_path s; server {{ listen 127.0.0.1:{port}; return 204; }} }}\n"
            )
        };
        fixture.write("nginx.conf", configuration("64").as_bytes());
        fixture.write("nginx.conf.in", configuration("{{ level }}").as_bytes());
        let nginx = |words: &[&str]| {
            let mut command = Command::new("nginx");
            let command = command.args(["-p", ".", "-c", "nginx.conf"]).args(words);
            assert!(
                command
                    .current_dir(fixture.base())
                    .status()
                    .unwrap()
                    .success()
            );
        };
        nginx(&[]);
        let text = format!(
            "axes: {{ level: [64, 128] }}\n\
             ready: {{ http: \"http://127.0.0.1:{port}/\" }}\n\
             measure: {{ url: \"http://127.0.0.1:{port}/\", loads: [10/s], for: 1s }}\n\
             apply:\n  - file: {{ template: nginx.conf.in, to: nginx.conf, reload: [sh, -c, {reload:?}] }}\n"
        );
        let mut services = fixture.open(&text);
        // Told once, not in every trial.
        for is_first in [true, false] {
            let mut service = services.apply(1).unwrap();
            service.ready().unwrap();
            let notes = service.notes().join(", ");
            let is_noted = notes.contains("the reload of nginx.conf drops connections: ");
            assert_eq!(is_noted, is_restart && is_first, "{reload}: {notes}");
            service.stop().unwrap();
        }
        services.close().unwrap();
        nginx(&["-s", "stop"]);
        fixture.is_clean();
    }
}

/// In a network of its own, by the files that a draft of `plimsoll tune --discover URL --kernel` has.
fn settings_of_the_kernel_are_put_back() {
    let Some(_network) = Namespace::enter(32_768, 60_999) else {
        return;
    };
    let present = || {
        let path = "/proc/sys/net/ipv4/tcp_fin_timeout";
        fs::read_to_string(path).unwrap().trim().to_owned()
    };
    let before = present();
    let fixture = Fixture::new();
    let file = |level: &str| {
        format!("# net.ipv4.tcp_syn_retries = 6\nnet.ipv4.tcp_fin_timeout = {level}\n")
    };
    fixture.write("tune-kernel.conf", file(&before).as_bytes());
    fixture.write("kernel.in", file("{{ level }}").as_bytes());
    let text = "axes: { level: [7, 9] }\n\
        measure: { url: \"http://127.0.0.1:1/\", loads: [10/s], for: 1s }\n\
        apply:\n  - file: { template: kernel.in, to: tune-kernel.conf, reload: [sysctl, -q, -p, tune-kernel.conf] }\n";
    let mut services = fixture.open(text);
    for (cell, level) in ["7", "9"].into_iter().enumerate() {
        let service = services.apply(cell).unwrap();
        assert_eq!(present(), level);
        service.stop().unwrap();
        assert_eq!(present(), before);
    }
    fixture.is_clean();
}
