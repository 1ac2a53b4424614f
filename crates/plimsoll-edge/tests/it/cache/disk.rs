//! The cache on disk: it survives a restart, serves large responses, and never serves damaged ones.

mod heads;
mod ill;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_config::edge::{CacheDisk, EdgeConfig};
use plimsoll_testkit::folder_watch::FolderWatch;
use tempfile::TempDir;

use super::{cached, check, origin, page, request, status, value};
use crate::cache::purge::order;
use crate::support::{
    Afloat, ObservedEdge, PATIENCE, Scripted, get, metric, open_admin, send_request, start,
    status_and_body, wait_for,
};

const OBJECTS: &str = "plimsoll_edge_cache_disk_objects";
const DROPPED: &str = "plimsoll_edge_cache_disk_dropped_total";
const HIT: &str = "plimsoll; hit";

/// An edge before one server with a disk cache.
fn config(server: SocketAddr, folder: &Path) -> EdgeConfig {
    EdgeConfig {
        cache: Some(1 << 20),
        cache_disk: Some(CacheDisk {
            path: folder.to_owned(),
            size: 64 << 20,
            // A thread of the disk may stand still on a busy machine; after the default, the server is asked.
            lookup_timeout: PATIENCE,
        }),
        admin: Some(open_admin()),
        ..cached(server)
    }
}

/// Stops an edge; afterwards another may use its folder.
fn end(edge: Afloat) {
    edge.drain(Duration::ZERO).join().unwrap();
}

/// A folder that does not exist yet.
fn folder() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("copies");
    (place, folder)
}

/// A server of pages that count their requests.
fn pages() -> Scripted {
    origin(|head, number| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let lines = format!("Cache-Control: max-age=600\nETag: \"{number}\"\nCache-Tag: news");
        page(&lines, &format!("{path} {number}"))
    })
}

/// The cache files in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name.len() == 2) {
            let files = std::fs::read_dir(path).unwrap();
            found.extend(files.map(|file| file.unwrap().path()));
        }
    }
    found
}

/// Watches the files of the only copy, which lie beside each other.
fn watch_only_copy(folder: &Path) -> FolderWatch {
    FolderWatch::new(files(folder)[0].parent().unwrap())
}

/// Three megabytes in which no two positions look alike.
fn large() -> String {
    (0..3 << 18)
        .map(|number| format!("{number:04x}"))
        .map(|text| text[..4].to_owned())
        .collect()
}

#[test]
fn copies_outlive_the_edge() {
    let (_place, folder) = folder();
    let origin = origin(|head, number| {
        let language = if head.contains("Language: de") {
            "de"
        } else {
            "en"
        };
        let lines = "Cache-Control: max-age=600\nVary: Accept-Language\nX-Told: yes";
        page(lines, &format!("{language} {number}"))
    });
    let edge = start(&config(origin.address, &folder));
    for (language, body) in [("de", "de 0"), ("en", "en 1")] {
        let answer = request(
            edge.address,
            "GET /",
            &format!("Accept-Language: {language}"),
        );
        assert_eq!(status_and_body(&answer).1, body);
    }
    wait_for(&edge, OBJECTS, 2.0);
    end(edge);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in files(&folder) {
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
    let edge = start(&config(origin.address, &folder));
    wait_for(&edge, OBJECTS, 2.0);
    for (language, body) in [("en", "en 1"), ("de", "de 0"), ("en", "en 1")] {
        let answer = request(
            edge.address,
            "GET /",
            &format!("Accept-Language: {language}"),
        );
        check(&answer, (200, body), HIT);
        assert_eq!(value(&answer, "x-told"), "yes");
    }
    assert_eq!(origin.requests().len(), 2);
}

#[test]
fn a_copy_too_large_for_memory_is_served_from_the_disk() {
    let (_place, folder) = folder();
    let body = large();
    let whole = body.clone();
    let origin = origin(move |_, _| {
        let lines = "Cache-Control: max-age=600\nETag: \"a\"";
        page(lines, &whole)
    });
    let edge = start(&config(origin.address, &folder));
    assert_eq!(status_and_body(&get(edge.address, "/")).1, body);
    wait_for(&edge, OBJECTS, 1.0);
    check_large(&edge, &body);
    // Its head is in memory, its body is not.
    let bytes = metric(&edge, "plimsoll_edge_cache_bytes").unwrap();
    assert!(bytes < 1e6, "{bytes}");
    end(edge);
    let edge = start(&config(origin.address, &folder));
    wait_for(&edge, OBJECTS, 1.0);
    check_large(&edge, &body);
    assert_eq!(origin.requests().len(), 1);
}

#[track_caller]
fn check_large(edge: &Afloat, body: &str) {
    let address = edge.address;
    // The first request after it was written may arrive before its head is in memory.
    edge.wait_until("the copy", || {
        status(&request(address, "HEAD /", "")) == HIT
    });
    check(&get(address, "/"), (200, body), HIT);
    let head = request(address, "HEAD /", "");
    check(&head, (200, ""), HIT);
    assert_eq!(value(&head, "content-length"), body.len().to_string());
    let known = request(address, "GET /", "If-None-Match: \"a\"");
    check(&known, (304, ""), HIT);
    for (first, last) in [
        (0, 0),
        (65_535, 65_536),
        (100, 2_000_000),
        (body.len() - 5, body.len() - 1),
    ] {
        let partial = request(address, "GET /", &format!("Range: bytes={first}-{last}"));
        check(&partial, (206, &body[first..=last]), HIT);
    }
    let beyond = request(address, "GET /", "Range: bytes=99999999-");
    check(&beyond, (416, ""), HIT);
}

#[test]
fn an_answer_of_unknown_length_goes_to_the_disk_too() {
    let (_place, folder) = folder();
    let body = large();
    let mut chunks = String::new();
    for chunk in body.as_bytes().chunks(70_000) {
        let text = std::str::from_utf8(chunk).unwrap();
        write!(chunks, "{:x}\r\n{text}\r\n", chunk.len()).unwrap();
    }
    let origin = origin(move |_, _| {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nETag: \"a\"\r\n";
        format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
    });
    let edge = start(&config(origin.address, &folder));
    let first = get(edge.address, "/");
    assert!(first.len() > body.len(), "{}", first.len());
    wait_for(&edge, OBJECTS, 1.0);
    check_large(&edge, &body);
    assert_eq!(origin.requests().len(), 1);
}

/// A kind of damage to a file.
type Damage = fn(&mut Vec<u8>);

#[test]
fn a_damaged_file_is_dropped_and_never_served() {
    let damages: [(&str, Damage); 12] = [
        ("magic", |file| file[0] ^= 1),
        ("version", |file| file[8] = 2),
        ("length", |file| file[16] ^= 1),
        ("its own sum", |file| file[60] ^= 0x80),
        ("terms", |file| file[90] ^= 1),
        ("key", |file| file[150] ^= 1),
        ("head", |file| {
            let len = file.len();
            file[len - 60] ^= 1;
        }),
        ("body", |file| {
            let len = file.len();
            file[len - 9] ^= 1;
        }),
        ("sum of the body", |file| *file.last_mut().unwrap() ^= 1),
        ("cut off", |file| file.truncate(file.len() - 1)),
        ("longer", |file| file.push(0)),
        ("garbage", |file| file.fill(0xa5)),
    ];
    for (what, damage) in damages {
        let (_place, folder) = folder();
        let origin = pages();
        let edge = start(&config(origin.address, &folder));
        get(edge.address, "/");
        wait_for(&edge, OBJECTS, 1.0);
        end(edge);
        let file = files(&folder).pop().unwrap();
        let mut bytes = std::fs::read(&file).unwrap();
        damage(&mut bytes);
        std::fs::write(&file, &bytes).unwrap();
        let edge = start(&config(origin.address, &folder));
        wait_for(&edge, OBJECTS, 1.0);
        let answer = get(edge.address, "/");
        assert_eq!(status_and_body(&answer), (200, "/ 1"), "{what}: {answer}");
        assert_eq!(metric(&edge, DROPPED), Some(1.0), "{what}");
        // The new response replaces it.
        wait_for(&edge, OBJECTS, 1.0);
        check(&get(edge.address, "/"), (200, "/ 1"), HIT);
    }
}

#[test]
fn a_large_copy_that_is_damaged_while_it_is_in_use_is_broken_off_and_fetched_anew() {
    let (_place, folder) = folder();
    let body = large();
    let whole = body.clone();
    let origin = origin(move |_, _| page("Cache-Control: max-age=600", &whole));
    let edge = start(&config(origin.address, &folder));
    get(edge.address, "/");
    wait_for(&edge, OBJECTS, 1.0);
    edge.wait_until("the copy", || {
        status(&request(edge.address, "HEAD /", "")) == HIT
    });
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(files(&folder).pop().unwrap())
        .unwrap();
    file.write_all_at(b"?", 2 << 20).unwrap();
    let broken = get(edge.address, "/");
    let served = status_and_body(&broken).1;
    assert!(
        served.len() < body.len() && body.starts_with(served),
        "{}",
        served.len()
    );
    edge.wait_until("the whole page", || {
        status_and_body(&get(edge.address, "/")).1 == body
    });
    assert_eq!(metric(&edge, DROPPED), Some(1.0));
    assert_eq!(origin.requests().len(), 2);
}

#[track_caller]
fn check_purge(what: &str, expected: [bool; 3]) {
    let (_place, folder) = folder();
    let origin = pages();
    let edge = start(&config(origin.address, &folder));
    let paths = ["/news/a", "/news/b", "/c"];
    for path in paths {
        get(edge.address, path);
    }
    wait_for(&edge, OBJECTS, 3.0);
    let (status_of, body) = order(edge.admin(), "/purge", what);
    assert_eq!(status_of, 200, "{body}");
    assert!(!body.contains("could not"), "{body}");
    end(edge);
    let edge = start(&config(origin.address, &folder));
    // Existing files first: missing pages are fetched anew, which must not happen before the old files are found.
    let mut all: Vec<_> = paths.into_iter().zip(expected).collect();
    all.sort_by_key(|(_, is_there)| !is_there);
    for (path, is_there) in all {
        if is_there {
            edge.wait_until("what is on disk", || metric(&edge, OBJECTS) != Some(0.0));
        }
        let answer = get(edge.address, path);
        assert_eq!(status(&answer) == HIT, is_there, "{what} {path}: {answer}");
    }
}

#[test]
fn a_purge_holds_after_a_restart() {
    check_purge(
        r#"{"url": "http://a.example/c", "hard": true}"#,
        [true, true, false],
    );
    check_purge(
        r#"{"prefix": "http://a.example/news/", "hard": true}"#,
        [false, false, true],
    );
    check_purge(
        r#"{"prefix": "http://b.example/", "hard": true}"#,
        [true, true, true],
    );
    check_purge(r#"{"tag": "news", "hard": true}"#, [false, false, false]);
    check_purge(r#"{"tag": "other", "hard": true}"#, [true, true, true]);
    check_purge(r#"{"all": true, "hard": true}"#, [false, false, false]);
    check_purge(r#"{"url": "http://a.example/c"}"#, [true, true, false]);
    check_purge(r#"{"all": true}"#, [false, false, false]);
}

#[test]
fn a_change_at_the_origin_holds_after_a_restart() {
    let (_place, folder) = folder();
    let origin = pages();
    let edge = start(&config(origin.address, &folder));
    get(edge.address, "/a");
    get(edge.address, "/b");
    wait_for(&edge, OBJECTS, 2.0);
    request(edge.address, "POST /a", "Content-Length: 0");
    wait_for(&edge, OBJECTS, 1.0);
    end(edge);
    let edge = start(&config(origin.address, &folder));
    wait_for(&edge, OBJECTS, 1.0);
    check(&get(edge.address, "/b"), (200, "/b 1"), HIT);
    assert_eq!(status_and_body(&get(edge.address, "/a")).1, "/a 3");
}

#[test]
fn a_journal_that_cannot_be_read_empties_the_folder() {
    let (_place, folder) = folder();
    let origin = pages();
    let edge = start(&config(origin.address, &folder));
    get(edge.address, "/a");
    wait_for(&edge, OBJECTS, 1.0);
    end(edge);
    std::fs::write(folder.join("purges"), b"what?").unwrap();
    let watch = watch_only_copy(&folder);
    let edge = start(&config(origin.address, &folder));
    watch.wait_until("an empty folder", || files(&folder).is_empty());
    assert_eq!(status_and_body(&get(edge.address, "/a")).1, "/a 1");
}

#[test]
fn the_disk_keeps_to_its_size() {
    let (_place, folder) = folder();
    let body = "x".repeat(30_000);
    let origin = origin(move |_, _| page("Cache-Control: max-age=600", &body));
    let size = 1 << 20;
    let edge = start(&EdgeConfig {
        cache_disk: Some(CacheDisk {
            path: folder.clone(),
            size,
            ..CacheDisk::default()
        }),
        ..config(origin.address, &folder)
    });
    for number in 0..100 {
        get(edge.address, &format!("/{number}"));
    }
    let count =
        |name: &str| metric(&edge, &format!("plimsoll_edge_cache_disk_{name}_total")).unwrap();
    edge.wait_until("all copies", || {
        count("written") + count("skipped") >= 100.0
    });
    assert!(count("evictions") > 50.0, "{}", count("evictions"));
    end(edge);
    let lens = files(&folder)
        .into_iter()
        .map(|file| std::fs::metadata(file).unwrap().len());
    let (count, bytes) = lens.fold((0, 0), |(count, sum), len| (count + 1, sum + len));
    assert!(
        (20..=34).contains(&count) && bytes <= size,
        "{count} files, {bytes} bytes"
    );
}

#[test]
fn a_reload_with_other_memory_keeps_what_is_on_disk() {
    let (_place, folder) = folder();
    let origin = pages();
    let observed = ObservedEdge::start(&config(origin.address, &folder));
    let edge = &observed.edge;
    get(edge.address, "/a");
    wait_for(edge, OBJECTS, 1.0);
    let other = EdgeConfig {
        cache: Some(2 << 20),
        ..config(origin.address, &folder)
    };
    observed.reload(&other).unwrap();
    wait_for(edge, "plimsoll_edge_cache_size_bytes", f64::from(2 << 20));
    edge.wait_until("the copy", || status(&get(edge.address, "/a")) == HIT);
    check(&get(edge.address, "/a"), (200, "/a 0"), HIT);
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn who_asks_for_a_copy_on_disk_at_once_waits_for_one_read() {
    let (_place, folder) = folder();
    let origin = pages();
    let edge = start(&config(origin.address, &folder));
    get(edge.address, "/a");
    wait_for(&edge, OBJECTS, 1.0);
    end(edge);
    let edge = start(&config(origin.address, &folder));
    wait_for(&edge, OBJECTS, 1.0);
    let address = edge.address;
    let clients: Vec<_> = (0..20)
        .map(|_| std::thread::spawn(move || get(address, "/a")))
        .collect();
    for client in clients {
        check(&client.join().unwrap(), (200, "/a 0"), HIT);
    }
    assert_eq!(origin.requests().len(), 1);
    let admin = edge.admin();
    let request = format!("GET /cache HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n");
    let asked = send_request(admin, &request);
    assert!(asked.contains("\"disk\""), "{asked}");
}
