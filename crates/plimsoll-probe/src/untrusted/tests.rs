//! Files that processes name, opened in a directory that represents the root of one.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use rustix::fs::{CWD, mknodat};

use super::budget::ReadBudget;
use super::deadline::Worker;
use super::*;
use crate::clock;

const LEN_MAX: u64 = 1 << 20;

/// A root with a file of each kind, in a folder that holds more.
struct RootFixture {
    folder: tempfile::TempDir,
}

impl RootFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("root/etc/deep")).unwrap();
        fs::create_dir_all(at("root/run")).unwrap();
        fs::write(at("secret"), "of the host").unwrap();
        fs::write(at("root/secret"), "of the root").unwrap();
        fs::write(at("root/etc/plain"), "plain").unwrap();
        mknodat(CWD, at("root/etc/fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let sparse = fs::File::create(at("root/etc/sparse")).unwrap();
        sparse.set_len(10 << 30).unwrap();
        for (link, to) in [
            ("absolute", "/secret"),
            ("host", at("secret").to_str().unwrap()),
            ("up", "../../../../../../../../secret"),
            ("inside", "deep/../plain"),
            ("circle", "circle"),
            ("zero", "/dev/zero"),
            ("memory", "/proc/self/mem"),
            ("folder", "deep"),
        ] {
            symlink(to, at(&format!("root/etc/{link}"))).unwrap();
        }
        Self { folder }
    }

    fn root(&self) -> Root {
        Root::at(&self.folder.path().join("root"))
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let read = self.root().read(path, LEN_MAX);
        read.map(|bytes| String::from_utf8(bytes).unwrap())
            .map_err(|error| error.to_string())
    }
}

#[test]
fn names_lead_nowhere_outside_the_root() {
    let fixture = RootFixture::new();
    for (path, text) in [
        ("/etc/plain", "plain"),
        ("/etc/inside", "plain"),
        ("/etc/folder/../plain", "plain"),
        // An absolute link begins at the root, and `..` ends there.
        ("/etc/absolute", "of the root"),
        ("/etc/up", "of the root"),
        ("/../../../secret", "of the root"),
    ] {
        assert_eq!(fixture.read(path).as_deref(), Ok(text), "{path}");
    }
    for path in [
        "/etc/host",
        "/etc/zero",
        "/etc/memory",
        "/no/such",
        "/etc/plain/x",
    ] {
        assert_eq!(fixture.read(path), Err("no such file".to_owned()), "{path}");
    }
    assert!(
        fixture
            .read("/etc/circle")
            .unwrap_err()
            .contains("or loops")
    );
    assert!(fixture.read(&"/x".repeat(4000)).is_err());
}

#[test]
fn only_regular_files_on_disk_are_read() {
    let fixture = RootFixture::new();
    for (path, expected) in [
        ("/etc/fifo", "it is a FIFO; only regular files are read"),
        ("/etc/deep", "it is a folder"),
        ("/etc/sparse", "it is longer than 1 MiB"),
    ] {
        let error = fixture.read(path).unwrap_err();
        assert!(error.contains(expected), "{path}: {error}");
    }
    let machine = Root::at(Path::new("/"));
    for (path, expected) in [
        ("/dev/zero", "it is a device"),
        ("/dev/../dev/tty", "it is a device"),
        ("/proc/self/status", "a file of the kernel"),
        ("/proc/self/fd/0", "a symbolic link that leaves its root"),
        (
            "/proc/self/root/etc/passwd",
            "a symbolic link that leaves its root",
        ),
    ] {
        let error = machine.read(path, LEN_MAX).unwrap_err().to_string();
        assert!(error.contains(expected), "{path}: {error}");
    }
}

/// Without `openat2`, the lookup in user space has the same result.
#[test]
fn names_are_looked_up_by_hand_as_by_the_kernel() {
    let fixture = RootFixture::new();
    let root = fs::File::open(fixture.folder.path().join("root")).unwrap();
    let root = OwnedFd::from(root);
    let paths = [
        "etc/plain",
        "etc/fifo",
        "etc/absolute",
        "etc/host",
        "etc/up",
        "etc/inside",
        "etc/circle",
        "etc/zero",
        "etc/folder",
        "etc/folder/../plain",
        "etc/folder/../../../..",
        "etc/plain/x",
        "./etc//deep/.",
        "..",
        ".",
        "no",
    ];
    for bounds in [PathBounds::InRoot, PathBounds::Beneath] {
        for path in paths {
            let number = |found: Result<OwnedFd, rustix::io::Errno>| {
                found.map(|handle| fstat(&handle).unwrap().st_ino)
            };
            assert_eq!(
                number(resolve::walk(&root, path, bounds)),
                number(resolve::handle(&root, path, bounds)),
                "{path} {bounds:?}"
            );
        }
    }
    let machine = OwnedFd::from(fs::File::open("/").unwrap());
    let through = resolve::walk(&machine, "proc/self/root/etc", PathBounds::InRoot);
    assert_eq!(through.unwrap_err(), rustix::io::Errno::LOOP);
}

#[test]
fn relative_names_stay_in_their_folder() {
    let fixture = RootFixture::new();
    let folder = fixture.folder.path().join("root/etc");
    let beside = fixture.root().with_folder(folder).beneath();
    assert_eq!(beside.read("inside", LEN_MAX).unwrap(), b"plain");
    for path in ["up", "absolute", "../secret", "/secret"] {
        let error = beside.read(path, LEN_MAX).unwrap_err().to_string();
        assert!(error.contains("leaves its root"), "{path}: {error}");
    }
}

#[test]
fn folders_and_sockets_are_found_in_the_root() {
    let fixture = RootFixture::new();
    let path = fixture.folder.path().join("root/run/part.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    symlink(
        "/run/part.sock",
        fixture.folder.path().join("root/etc/socket"),
    )
    .unwrap();
    let handle = fixture.root().socket("/etc/socket").unwrap();
    std::os::unix::net::UnixStream::connect(path_of(&handle)).unwrap();
    assert!(fixture.root().socket("/etc/plain").is_err());
    let names = fixture.root().names("/run").unwrap();
    assert_eq!(names, ["part.sock"]);
    assert!(fixture.root().names("/etc/fifo").is_err());
    fixture.root().expect_file("/etc/inside").unwrap();
    assert!(fixture.root().expect_file("/etc/fifo").is_err());
}

/// Root reads as the process that names a file could.
#[test]
fn rights_are_those_of_the_process() {
    if !rustix::process::geteuid().is_root() {
        plimsoll_testkit::not_tried::not_tried("only root can take the rights of others");
        return;
    }
    let fixture = RootFixture::new();
    let mode = |path: &str, mode: u32| {
        let path = fixture.folder.path().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    mode("root/secret", 0o640);
    let status = "Uid:\t0\t65534\t0\t65534\nGid:\t0\t65534\t0\t65534\nGroups:\t5 \n";
    let nobody = Credentials::from_status(status).unwrap();
    // The user of a setuid-root program has only that user's own rights.
    let risen = status.replace("0\t65534\t0\t65534", "65534\t0\t0\t0");
    assert_eq!(Credentials::from_status(&risen), Some(nobody.clone()));
    let theirs = |groups: &[u32]| Root {
        credentials: Some(Credentials {
            groups: groups.to_vec(),
            ..nobody.clone()
        }),
        ..fixture.root()
    };
    let error = theirs(&[]).read("/secret", LEN_MAX).unwrap_err();
    assert!(matches!(error, OpenError::Denied), "{error}");
    assert_eq!(theirs(&[]).read("/etc/plain", LEN_MAX).unwrap(), b"plain");
    // Its group may.
    let group = fs::metadata(fixture.folder.path().join("root/secret"))
        .unwrap()
        .gid();
    let own = theirs(&[group]).read("/secret", LEN_MAX);
    assert_eq!(own.unwrap(), b"of the root");
    // The own rights are back.
    assert_eq!(fixture.read("/secret").as_deref(), Ok("of the root"));
    assert!(rustix::process::geteuid().is_root());
}

#[test]
fn what_does_not_come_back_is_left_behind() {
    let mut worker = Worker::default();
    let quick = Duration::from_millis(10);
    assert_eq!(worker.run(Duration::from_mins(1), || 7).unwrap(), 7);
    let mut held = Vec::new();
    for _ in 0..4 {
        let (sender, receiver) = sync_channel::<()>(1);
        held.push(sender);
        let late = worker.run(quick, move || receiver.recv().is_ok());
        assert!(matches!(late, Err(OpenError::Late)), "{late:?}");
    }
    let refused = worker.run(Duration::from_mins(1), || 8);
    assert!(
        matches!(refused, Err(OpenError::Exhausted(_))),
        "{refused:?}"
    );
}

/// A busy machine keeps a thread from its processor, which is not what a file is late for.
#[test]
fn a_thread_that_runs_is_not_late() {
    let mut worker = Worker::default();
    let patience = Duration::from_millis(100);
    let end_ns = clock::now_ns() + 150_000_000;
    let busy = move || {
        while clock::now_ns() < end_ns {
            std::hint::spin_loop();
        }
        7
    };
    assert_eq!(worker.run(patience, busy).unwrap(), 7);
}

#[test]
fn one_process_does_not_use_up_what_is_for_all() {
    let (mut budget, mut worker) = (ReadBudget::default(), Worker::default());
    let mut read = |pid: u32, len: usize| {
        let read = budget.spend(pid, &mut worker, move || Ok(len), |len| *len);
        read.map_err(|error| error.to_string())
    };
    let chunk = 8 << 20;
    let mut count = 0;
    while read(1, chunk).is_ok() {
        count += 1;
        assert!(count < 1000, "there is no end");
    }
    assert!(
        read(1, 1)
            .unwrap_err()
            .contains("the limit of bytes per process")
    );
    assert_eq!(read(2, 1), Ok(1));
    let files = (0..100_000).take_while(|_| read(3, 0).is_ok()).count();
    assert_eq!(files, 1024);
    // Very many processes do.
    let processes = (4..100_000)
        .take_while(|&pid| read(pid, chunk).is_ok())
        .count();
    assert!(processes < 64, "{processes}");
}
