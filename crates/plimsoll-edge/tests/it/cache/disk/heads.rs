//! Heads renewed by a 304 while the bodies stay on disk.

use std::path::Path;

use super::{
    DROPPED, HIT, OBJECTS, check, config, end, files, folder, get, large, metric, order, origin,
    page, request, start, status, value, wait_for, watch_only_copy,
};
use crate::support::{Afloat, Scripted};

const WRITTEN: &str = "plimsoll_edge_cache_disk_written_total";
const BYTES: &str = "plimsoll_edge_cache_disk_bytes";

/// A server of an unchanging page; each head counts the earlier ones.
fn server(body: &str) -> Scripted {
    let body = body.to_owned();
    origin(move |head, number| {
        let lines = format!("Cache-Control: max-age=600\nETag: \"a\"\nX-Told: {number}");
        if head.to_ascii_lowercase().contains("if-none-match") {
            let lines = lines.replace('\n', "\r\n");
            return format!("HTTP/1.1 304 Not Modified\r\n{lines}\r\n\r\n");
        }
        page(&lines, &body)
    })
}

/// An edge with a large stored response that was soft-purged, and then renewed by a 304.
fn with_renewed(origin: &Scripted, folder: &Path) -> Afloat {
    let edge = start(&config(origin.address, folder));
    get(edge.address, "/");
    wait_for(&edge, OBJECTS, 1.0);
    // The first request after it was written may arrive before its head is in memory.
    edge.wait_until("the copy", || {
        status(&request(edge.address, "HEAD /", "")) == HIT
    });
    order(edge.admin(), "/purge", r#"{"all": true}"#);
    get(edge.address, "/");
    wait_for(&edge, WRITTEN, 2.0);
    assert_eq!(origin.requests().len(), 2);
    edge
}

#[test]
fn a_large_copy_is_as_fresh_after_a_restart_as_its_last_head_made_it() {
    let (_place, folder) = folder();
    let body = large();
    let origin = server(&body);
    let edge = with_renewed(&origin, &folder);
    let bytes = metric(&edge, BYTES);
    end(edge);
    let edge = start(&config(origin.address, &folder));
    wait_for(&edge, OBJECTS, 1.0);
    assert_eq!(metric(&edge, BYTES), bytes);
    let answer = get(edge.address, "/");
    check(&answer, (200, body.as_str()), HIT);
    assert_eq!(value(&answer, "x-told"), "1");
    assert_eq!(origin.requests().len(), 2);
    // Its head is removed with it.
    let hard = r#"{"url": "http://a.example/", "hard": true}"#;
    let watch = watch_only_copy(&folder);
    order(edge.admin(), "/purge", hard);
    watch.wait_until("an empty folder", || files(&folder).is_empty());
}

#[test]
fn a_damaged_head_of_a_large_copy_is_dropped_with_it() {
    let (_place, folder) = folder();
    let body = large();
    let origin = server(&body);
    end(with_renewed(&origin, &folder));
    let mut heads = files(&folder);
    heads.retain(|file| file.extension().is_some());
    let head = heads.pop().unwrap();
    let mut bytes = std::fs::read(&head).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&head, &bytes).unwrap();
    let edge = start(&config(origin.address, &folder));
    wait_for(&edge, OBJECTS, 1.0);
    let answer = get(edge.address, "/");
    assert_eq!(value(&answer, "x-told"), "2");
    assert_eq!(metric(&edge, DROPPED), Some(1.0));
    wait_for(&edge, WRITTEN, 1.0);
    assert!(!head.exists(), "it is of the body before");
}

#[test]
fn a_head_without_a_copy_is_removed() {
    let (_place, folder) = folder();
    let body = large();
    let origin = server(&body);
    end(with_renewed(&origin, &folder));
    for file in files(&folder) {
        if file.extension().is_none() {
            std::fs::remove_file(file).unwrap();
        }
    }
    assert_eq!(files(&folder).len(), 1);
    let watch = watch_only_copy(&folder);
    let edge = start(&config(origin.address, &folder));
    watch.wait_until("an empty folder", || files(&folder).is_empty());
    assert_eq!(value(&get(edge.address, "/"), "x-told"), "2");
}
