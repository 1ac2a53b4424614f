//! Stale responses: served while they are renewed, and when no server answers.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plimsoll_testkit::not_tried::not_tried;

use super::{ageing, before, cached, check, origin, page, request, status};
use crate::support::{Scripted, connect, get, read_all, read_until, status_and_body};

#[test]
fn a_stale_page_is_served_at_once_and_renewed_without_its_client() {
    let (release, wait) = sync_channel::<()>(10);
    let wait = Arc::new(Mutex::new(wait));
    let origin = origin(move |_, number| {
        if number == 0 {
            return page(
                "Cache-Control: max-age=1, stale-while-revalidate=600\nAge: 9",
                "old",
            );
        }
        let _ = wait.lock().unwrap().recv();
        page("Cache-Control: max-age=600", "new")
    });
    let edge = before(origin.address);
    get(edge.address, "/");
    // The server has not answered yet: the client has its page, and is gone before the new one arrives.
    let stale = get(edge.address, "/");
    let cache_status = "plimsoll; hit; detail=stale-while-revalidate";
    check(&stale, (200, "old"), cache_status);
    for _ in 0..10 {
        check(&get(edge.address, "/"), (200, "old"), cache_status);
    }
    release.send(()).unwrap();
    edge.wait_until("the new page", || {
        status_and_body(&get(edge.address, "/")).1 == "new"
    });
    assert_eq!(origin.requests().len(), 2);
}

#[test]
fn a_stale_page_is_written_once() {
    let origin = origin(|head, number| {
        if head.starts_with("GET /b") {
            return page("Cache-Control: no-store", "b");
        }
        let lines = "Cache-Control: max-age=1, stale-while-revalidate=600\nAge: 9";
        page(lines, &format!("a{number}"))
    });
    let edge = before(origin.address);
    get(edge.address, "/a");
    let mut stream = connect(edge.address);
    stream
        .write_all(b"GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n")
        .unwrap();
    read_until(&mut stream, "a0");
    let last = "GET /b HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    stream.write_all(last.as_bytes()).unwrap();
    let rest = read_all(&mut stream);
    assert_eq!(status_and_body(&rest), (200, "b"), "{rest}");
    assert_eq!(rest.matches("HTTP/1.1").count(), 1, "{rest}");
}

#[test]
fn a_page_outlives_its_server() {
    let origin = Scripted::start(|mut connection| {
        if connection.number == 0 && connection.head().is_some() {
            connection.send(page("Cache-Control: max-age=1\nAge: 9", "hello"));
        }
    });
    let edge = before(origin.address);
    get(edge.address, "/");
    for _ in 0..20 {
        let answer = get(edge.address, "/");
        check(
            &answer,
            (200, "hello"),
            "plimsoll; hit; detail=stale-if-error",
        );
    }
    let never = request(edge.address, "GET /other", "");
    assert_eq!(status_and_body(&never).0 / 100, 5, "{never}");
}

#[test]
fn a_server_that_says_it_is_ill_is_stood_in_for() {
    let origin = origin(|_, number| match number {
        0 => page("Cache-Control: max-age=1\nAge: 9", "hello"),
        _ => "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nsick".to_owned(),
    });
    let edge = before(origin.address);
    get(edge.address, "/");
    let asked = Instant::now();
    let answer = get(edge.address, "/");
    let cache_status = "plimsoll; fwd=stale; fwd-status=503; detail=stale-if-error";
    check(&answer, (200, "hello"), cache_status);
    let answer = get(edge.address, "/");
    check(
        &answer,
        (200, "hello"),
        "plimsoll; hit; detail=stale-if-error",
    );
    // No retry for a second, which may pass on a busy machine.
    let is_within = asked.elapsed() < Duration::from_secs(1);
    if is_within {
        assert_eq!(origin.requests().len(), 2);
    } else {
        not_tried("no retry for a second after a failure: the machine is too busy");
    }
}

#[test]
fn a_server_that_gets_well_is_noticed_however_much_is_asked() {
    let is_ill = Arc::new(AtomicBool::new(false));
    let known = Arc::clone(&is_ill);
    let origin = Scripted::start(move |mut connection| {
        while connection.head().is_some() {
            let number = connection.number;
            if known.load(Ordering::SeqCst) {
                return;
            }
            connection.send(page(
                "Cache-Control: max-age=1\nAge: 9",
                &number.to_string(),
            ));
        }
    });
    let edge = before(origin.address);
    assert_eq!(status_and_body(&get(edge.address, "/")), (200, "0"));
    is_ill.store(true, Ordering::SeqCst);
    let began = origin.requests().len();
    // The server is retried although every request finds a stale response.
    edge.wait_until("another try", || {
        let answer = get(edge.address, "/");
        assert_eq!(status_and_body(&answer), (200, "0"), "{answer}");
        origin.requests().len() >= began + 6
    });
    is_ill.store(false, Ordering::SeqCst);
    edge.wait_until("the new page", || {
        status_and_body(&get(edge.address, "/")) != (200, "0")
    });
}

#[test]
fn a_page_that_must_be_asked_about_is_never_served_stale() {
    let origin = origin(|_, number| match number {
        0 => page("Cache-Control: max-age=1, must-revalidate\nAge: 9", "hello"),
        _ => "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nsick".to_owned(),
    });
    let edge = before(origin.address);
    get(edge.address, "/");
    let answer = get(edge.address, "/");
    assert_eq!(
        status_and_body(&answer),
        (503, "sick"),
        "{}",
        status(&answer)
    );
}

#[test]
fn a_copy_is_renewed_once_in_the_last_tenth_of_its_lifetime() {
    let (release, wait) = sync_channel::<()>(10);
    let wait = Arc::new(Mutex::new(wait));
    let origin = origin(move |_, number| {
        let body = number.to_string();
        if number > 0 {
            let _ = wait.lock().unwrap().recv();
        }
        page("Cache-Control: max-age=1000", &body)
    });
    let (edge, age) = ageing(&cached(origin.address));
    get(edge.address, "/");
    age.advance(Duration::from_secs(800));
    check(&get(edge.address, "/"), (200, "0"), "plimsoll; hit");
    assert_eq!(origin.requests().len(), 1);
    age.advance(Duration::from_secs(150));
    let mut answer = get(edge.address, "/");
    // The renewal hangs; the stored response is served all the same, and no second renewal starts.
    for _ in 0..20 {
        check(&answer, (200, "0"), "plimsoll; hit; detail=renewed-early");
        answer = get(edge.address, "/");
    }
    // It reaches the origin in its own time: no answer so far waited for it.
    origin.wait_for_requests("the renewal", |heads| heads.len() >= 2);
    assert_eq!(origin.requests().len(), 2);
    release.send(()).unwrap();
    edge.wait_until("the new page", || {
        status_and_body(&get(edge.address, "/")).1 == "1"
    });
    assert_eq!(origin.requests().len(), 2);
}
