//! The disk cache: after a stop, after a kill, and with another user.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::edge::{RunningEdge, get_of, wait_until};
use crate::support::Sandbox;

/// Answers each connection's first request with a page to be kept; counts them.
fn origin() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            if lines.map_while(Result::ok).any(|line| line.is_empty()) {
                let number = count.fetch_add(1, Ordering::SeqCst);
                let body = format!("page {number}");
                let len = body.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nCache-Tag: all\r\n\
                     Content-Length: {len}\r\nConnection: close\r\n\r\n{body}"
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    (format!("http://{address}"), asked)
}

/// Always for the same host, wherever the edge is.
fn get(address: SocketAddr, path: &str) -> String {
    get_of(address, "a.example", path)
}

/// Waits until so many copies are on disk.
fn wait_for_copies(edge: &RunningEdge, count: u32) {
    let line = format!("plimsoll_edge_cache_disk_objects {count}\n");
    wait_until(&line, || {
        // The admin address answers to no other host.
        get_of(edge.admin, &edge.admin.to_string(), "/metrics").contains(&line)
    });
}

#[test]
fn copies_outlive_an_end_and_a_kill() {
    let place = Sandbox::new();
    let (to, asked) = origin();
    let arguments = ["--to", &to, "--cache-disk", "copies:16MiB"];
    let edge = RunningEdge::start(&place, &arguments);
    for path in ["/a", "/b"] {
        get(edge.address, path);
    }
    wait_for_copies(&edge, 2);
    assert_eq!(edge.end().code(), Some(0));
    // Killed, it has no time to write anything.
    for _ in 0..2 {
        let edge = RunningEdge::start(&place, &arguments);
        wait_for_copies(&edge, 2);
        assert!(get(edge.address, "/a").ends_with("\r\n\r\npage 0"));
        assert!(get(edge.address, "/b").ends_with("\r\n\r\npage 1"));
        // Killed, and waited for: until then the folder is its own.
        drop(edge);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // A purge is on the disk before it answers.
    let edge = RunningEdge::start(&place, &arguments);
    wait_for_copies(&edge, 2);
    let admin = edge.admin.to_string();
    let purged = place.run(&["edge", "purge", "--tag", "all", "--hard", "--admin", &admin]);
    assert_eq!(purged.code, 0, "{purged:?}");
    drop(edge);
    let edge = RunningEdge::start(&place, &arguments);
    assert!(get(edge.address, "/a").ends_with("\r\n\r\npage 2"));
    let held = place.run(&["edge", "cache", "--admin", &edge.admin.to_string()]);
    assert!(held.stdout.contains("on disk: objects"), "{held:?}");
}

#[test]
fn a_new_edge_takes_the_folder_over_when_the_one_before_ends() {
    let place = Sandbox::new();
    let (to, asked) = origin();
    let arguments = ["--to", &to, "--cache-disk", "copies:16MiB"];
    let old = RunningEdge::start(&place, &arguments);
    get(old.address, "/a");
    wait_for_copies(&old, 1);
    // As at a restart: the new one takes requests while the old one still has the folder.
    let mut new = RunningEdge::start(&place, &arguments);
    assert!(get(new.address, "/a").ends_with("\r\n\r\npage 1"));
    assert_eq!(old.end().code(), Some(0));
    new.wait_for_line("no other edge uses the directory any more");
    wait_for_copies(&new, 1);
    // A loop follows in its own time; until then it has its own copy.
    wait_until("what the old one had is found", || {
        get(new.address, "/a").ends_with("\r\n\r\npage 0")
    });
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // From now on it is the new one's: killed, it loses nothing.
    get(new.address, "/b");
    wait_for_copies(&new, 2);
    drop(new);
    let last = RunningEdge::start(&place, &arguments);
    wait_for_copies(&last, 2);
    assert!(get(last.address, "/b").ends_with("\r\n\r\npage 2"));
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[test]
fn the_folder_belongs_to_whom_the_edge_becomes() {
    let place = Sandbox::new();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (to, _) = origin();
    let arguments = ["--to", &to, "--cache-disk", "copies", "--user", "nobody"];
    let edge = RunningEdge::start(&place, &arguments);
    get(edge.address, "/a");
    wait_for_copies(&edge, 1);
    let root = std::fs::metadata(format!("/proc/{}", std::process::id())).unwrap();
    let about = |name: &str| std::fs::metadata(place.path().join("copies").join(name)).unwrap();
    for (name, mode) in [
        ("", 0o700),
        ("new", 0o700),
        ("lock", 0o600),
        ("purges", 0o600),
    ] {
        let about = about(name);
        assert_eq!(about.mode() & 0o777, mode, "{name}");
        assert_ne!(about.uid(), root.uid(), "{name}");
    }
}

#[test]
fn what_is_said_of_the_disk_must_be_possible() {
    let place = Sandbox::new();
    let to = "http://127.0.0.1:9";
    let output = place.run(&["edge", "--to", to, "--cache-disk", "copies:1KiB"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("1MiB to 64TiB"), "{output:?}");
    let output = place.run(&[
        "edge",
        "--to",
        to,
        "--cache",
        "off",
        "--cache-disk",
        "copies",
    ]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("--cache 64MiB"), "{output:?}");
    let file = place.path().join("edge.yaml");
    let pools = "pools: { app: { servers: [http://127.0.0.1:9] } }\n";
    let wrong = "cache:\n  disk: { size: 1KiB, folder: x }\n";
    std::fs::write(&file, format!("{pools}{wrong}")).unwrap();
    let output = place.run(&["edge", "check", "edge.yaml"]);
    assert_eq!(output.code, 2, "{output:?}");
    for words in [
        "edge.yaml:3:",
        "out of range",
        "`path` is missing",
        "folder",
    ] {
        assert!(output.stderr.contains(words), "{words}: {output:?}");
    }
}
