//! Attacks of a hostile host on the probe: processes that name files or sockets that must not be opened. Each of these
//! once blocked the program, or led it to an unintended file or socket.

mod fixtures;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use plimsoll_lab::run_log;
use plimsoll_testkit::origin::fault::{self, OriginFault};
use rustix::process::Signal;

use crate::support::{self, Sandbox};
use fixtures::{
    Hostile, apart, assert_stderr_contains, drips, ended, ends, fifo, interrupted_after,
    of_other_users, page, silent, watched_until, write,
};

/// Files that were once opened: none is, each is reported, and regular files are read.
#[test]
fn files_that_must_not_be_opened_hold_up_nobody() {
    let _apart = apart();
    let place = Sandbox::new();
    let fifo = fifo(&place);
    let link = place.path().join("zero.conf");
    symlink("/dev/zero", &link).unwrap();
    let sparse = place.path().join("sparse.conf");
    std::fs::File::create(&sparse)
        .unwrap()
        .set_len(10_000_000_000)
        .unwrap();
    let round = write(
        &place,
        "round.conf",
        "include round.conf; include round.conf;\n",
    );
    for file in 0..400 {
        write(
            &place,
            &format!("many/{file}.conf"),
            "include round.conf;\n",
        );
    }
    let many = write(&place, "many.conf", "include many/*.conf;\n");
    let deep = write(&place, "deep.conf", &"a {\n".repeat(300_000));
    let pipes = write(
        &place,
        "pipes.conf",
        "http { include fifo; access_log fifo; }\n",
    );
    let named = [
        &fifo,
        Path::new("/dev/zero"),
        &link,
        &sparse,
        &round,
        &many,
        &deep,
        &pipes,
    ];
    let _all: Vec<Hostile> = named.map(|path| Hostile::nginx(&place, path)).into();
    let commands: [&[&str]; 3] = [
        &["watch", "--for", "1s", "--watch", "auto", "--json"],
        &["check", "http://127.0.0.1:1/", "--json"],
        &["check", "--for", "3000-users", "--json"],
    ];
    for (index, words) in commands.into_iter().enumerate() {
        let output = ends(&place, words);
        assert_eq!(output.code, 0, "{output:?}");
        output.json();
        if index == 1 {
            // It reads nothing that others name.
            continue;
        }
        for (path, why) in [
            (&fifo, "it is a FIFO; only regular files are read"),
            (&PathBuf::from("/dev/zero"), "it is a device"),
            (&link, "it is a device"),
            (&sparse, "it is longer than 8 MiB"),
        ] {
            let pid = output.stderr.lines().any(|line| {
                line.contains(&format!("{}, named by pid ", path.display())) && line.contains(why)
            });
            assert!(pid, "{}: `{why}` is not in {output:?}", path.display());
        }
        assert_stderr_contains(&output, "matches 400 files: only the first 256 are read");
    }
}

/// A process with its own root names files of the host by links.
#[test]
fn links_of_a_root_do_not_lead_to_the_files_of_the_host() {
    let Some((_apart, place)) = of_other_users() else {
        return;
    };
    let (port, text) = page();
    let secret = write(&place, "secret.conf", &text);
    // The same name inside stands for a page elsewhere.
    let (inner_port, inner) = page();
    let inside = format!("jail{}", secret.display());
    write(&place, &inside, &inner);
    let jail = place.path().join("jail");
    std::fs::create_dir_all(jail.join("etc/nginx")).unwrap();
    symlink(&secret, jail.join("etc/nginx/nginx.conf")).unwrap();
    let up = format!("../../../../../../../../..{}", secret.display());
    symlink(up, jail.join("etc/nginx/up.conf")).unwrap();
    let root = jail.to_str().unwrap();
    let start = |path: &str, port: &str| {
        let variables = [("ROOT", root), ("TCP", port)];
        Hostile::start(&place, "nginx", &["-c", path], &variables)
    };
    let _first = start("/etc/nginx/nginx.conf", &port);
    let _other = start("/etc/nginx/up.conf", &inner_port);
    let absent = Hostile::start(
        &place,
        "nginx",
        &["-c", "/etc/passwd-of-the-host"],
        &[("ROOT", root)],
    );
    let output = ends(
        &place,
        &["watch", "--for", "1s", "--watch", "auto", "--json"],
    );
    assert_eq!(output.code, 0, "{output:?}");
    let notes = output.json()["notes"].to_string();
    assert!(!notes.contains(&format!("127.0.0.1:{port}/s")), "{notes}");
    let page = format!("found and watched: nginx at http://127.0.0.1:{inner_port}/s");
    assert!(notes.contains(&page), "`{page}` is not in {notes}");
    drop(absent);
}

/// SIGTERM and SIGINT end it while a FIFO, a socket that never answers and a page that drips are watched, with what was
/// measured.
#[test]
fn signals_end_it_and_what_was_measured_is_kept() {
    let _apart = apart();
    let place = Sandbox::new();
    let fifo = fifo(&place);
    let _pipe = Hostile::nginx(&place, &fifo);
    let (_silent, _drips) = (silent(&place), drips(&place));
    let origin = fault::start(OriginFault::None).unwrap();
    let url = origin.url();
    let watch = ["watch", "--for", "10m", "--watch", "auto", "--json"];
    let limit = ["limit", &url, "--watch", "auto", "--json"];
    for (signal, words) in [
        (Signal::TERM, &watch[..]),
        (Signal::INT, &watch),
        (Signal::TERM, &limit),
    ] {
        let mut child = place.start(words);
        let mut output = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // Components are reported with the first second.
        while !line.contains("note: ") {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "{words:?} ended");
        }
        let rest = std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        support::signal(&child, signal);
        let result = ended(child, words[0]);
        rest.join().unwrap().unwrap();
        assert_eq!(result.code, 130, "{result:?}");
        let json = result.json();
        if words == watch {
            assert!(!json["readings"].as_array().unwrap().is_empty(), "{json:#}");
        }
    }
    let log = run_log::read(&place.run_files().pop().unwrap()).unwrap();
    assert!(log.run.ending.is_some() && !log.run.windows.is_empty());
}

/// A run with them is measured, ends in time, and its log reports each.
#[test]
fn a_run_ends_whatever_it_watches() {
    let _apart = apart();
    let place = Sandbox::new();
    let origin = fault::start(OriginFault::None).unwrap();
    let _pipe = Hostile::nginx(&place, &fifo(&place));
    let (_silent, _drips) = (silent(&place), drips(&place));
    let url = origin.url();
    let expected = [
        "it is a FIFO; only regular files are read",
        "silent.sock cannot be watched: it does not respond in time",
        "/s cannot be watched: it does not respond in time",
    ];
    interrupted_after(&place, &url, &expected).json();
    let log = run_log::read(&place.run_files().pop().unwrap()).unwrap();
    let notes: Vec<String> = log.run.notes.into_iter().map(|(_, text)| text).collect();
    let notes = notes.join("\n");
    for text in expected {
        assert!(notes.contains(text), "`{text}` is not in {notes}");
    }
}

/// A process of another user names the socket of a third user, and a port of another listener.
#[test]
fn nobody_is_asked_for_a_process_that_does_not_listen_there() {
    let Some((_apart, place)) = of_other_users() else {
        return;
    };
    let socket = place.path().join("theirs.sock");
    let others = [("UNIX", socket.to_str().unwrap()), ("ACCEPTS", "1")];
    let asked = Hostile::start(&place, "other", &[], &others);
    let (port, _) = page();
    let others = [("TCP", port.as_str()), ("ACCEPTS", "1")];
    let asked_by_port = Hostile::start(&place, "other", &[], &others);
    let text = format!("global\n  stats socket {}\n", socket.display());
    let file = write(&place, "names.cfg", &text);
    let words = ["-f", file.to_str().unwrap()];
    let nobody = [("USER_ID", "65534")];
    let _names = Hostile::start(&place, "haproxy", &words, &nobody);
    let address = format!("127.0.0.1:{port}");
    let _names_port = Hostile::start(&place, "redis-server", &[&address], &nobody);
    let _far = Hostile::start(&place, "redis-server", &["192.0.2.7:6379"], &nobody);
    let output = ends(&place, &["watch", "--for", "1s", "--watch", "auto"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_stderr_contains(
        &output,
        "belongs to another user; to watch it anyway, name it under `watch:`",
    );
    assert_stderr_contains(
        &output,
        &format!("does not listen on port {port} in this network namespace"),
    );
    assert_stderr_contains(&output, "192.0.2.7 is not an address of this machine");
    // Who listens saw a connection that was closed at once, if any, and no question.
    let received = asked.end();
    assert!(
        received.lines().all(|line| line.ends_with(": 0 bytes")),
        "{received}"
    );
    assert_eq!(asked_by_port.end(), "");
}

/// A component of another user is scraped once the target connects to it, and not before.
#[test]
fn parts_that_the_target_does_not_use_are_not_asked() {
    let Some((_apart, place)) = of_other_users() else {
        return;
    };
    let origin = fault::start(OriginFault::None).unwrap();
    let (port, _) = page();
    let address = format!("127.0.0.1:{port}");
    let variables = [
        ("TCP", port.as_str()),
        ("ACCEPTS", "1"),
        ("DETACHED", "1"),
        ("USER_ID", "65534"),
    ];
    let stranger = Hostile::start(&place, "redis-server", &[&address], &variables);
    let url = origin.url();
    let message = "watched once the target is observed to use it: Redis at 127.0.0.1:";
    interrupted_after(&place, &url, &[message]);
    assert_eq!(stranger.end(), "", "it was asked");
}

/// Root connects as the user of the component, not as root.
#[test]
fn root_asks_as_the_user_of_the_part() {
    let Some((_apart, place)) = of_other_users() else {
        return;
    };
    let socket = place.path().join("own.sock");
    let text = format!("global\n  stats socket {}\n", socket.display());
    let file = write(&place, "own.cfg", &text);
    let variables = [
        ("UNIX", socket.to_str().unwrap()),
        ("ACCEPTS", "1"),
        ("USER_ID", "65534"),
    ];
    let words = ["-f", file.to_str().unwrap()];
    let component = Hostile::start(&place, "haproxy", &words, &variables);
    // It was asked, and answers nothing.
    let late = "own.sock cannot be watched: it does not respond in time";
    watched_until(&place, "auto", &[late]);
    let question = "show info;show stat\n".len();
    let received = component.end();
    let asked = format!("asked by 65534: {question} bytes");
    assert!(received.contains(&asked), "`{asked}` is not in {received}");
    assert!(!received.contains("asked by 0"), "{received}");
}

/// A component of another user is scraped from the second in which the target connects to it.
#[test]
fn parts_that_the_target_begins_to_use_are_asked() {
    let Some((_apart, place)) = of_other_users() else {
        return;
    };
    let ((port, _), (target_port, _)) = (page(), page());
    let variables = [
        ("TCP", port.as_str()),
        ("ACCEPTS", "1"),
        ("USER_ID", "65534"),
    ];
    let used = Hostile::start(&place, "memcached", &["-p", &port], &variables);
    let mut target = Hostile::start(&place, "shop", &[], &[("TCP", &target_port)]);
    let url = format!("http://127.0.0.1:{target_port}/");
    let mut child = place.start(&["watch", &url, "--for", "10m", "--watch", "auto"]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut read_to = |text: &str| {
        let found = lines.by_ref().any(|line| line.unwrap().contains(text));
        assert!(found, "`{text}` was not said");
    };
    read_to("watched once the target is observed to use it: memcached at 127.0.0.1:");
    let input = target.child.stdin.as_mut().unwrap();
    writeln!(input, "{port}").unwrap();
    read_to("watched, because the target uses it: memcached at 127.0.0.1:");
    read_to("cannot be watched: it does not respond in time");
    support::signal(&child, Signal::TERM);
    assert_eq!(ended(child, "watch").code, 130);
    drop(target);
    // The target's own connection sends nothing, and is taken first.
    let received = used.end();
    let asked = format!("asked by 0: {} bytes", "stats\r\n".len());
    assert!(received.contains(&asked), "`{asked}` is not in {received}");
}

/// Paths from the user must be regular files too.
#[test]
fn a_log_that_is_a_pipe_is_not_opened() {
    let _apart = apart();
    let place = Sandbox::new();
    let path = fifo(&place);
    let watch = format!("nginx-log: {}\n", path.display());
    write(&place, "watch.yaml", &watch);
    let why = "it is a FIFO; only regular files are read";
    watched_until(&place, "watch.yaml", &[why]);
}

/// A unix socket with a full queue accepts no connection, and does not block the probe.
#[test]
fn a_full_queue_holds_up_nobody() {
    let _apart = apart();
    let place = Sandbox::new();
    let path = place.path().join("full.sock");
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let mut inside = std::os::unix::net::UnixStream::connect(&path).unwrap();
    inside.write_all(b"x").unwrap();
    write(
        &place,
        "watch.yaml",
        &format!("haproxy: unix:{}\n", path.display()),
    );
    watched_until(&place, "watch.yaml", &["it does not respond in time"]);
}
