//! What is found on a machine, and what is said of the rest.

use super::admission::Admission;
use super::*;

/// Writes a file of `/proc` below a root.
fn put_in(root: &Path, path: &str, text: &str) {
    let path = root.join("proc").join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn a_server_is_found_by_the_script_of_its_interpreter() {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| put_in(root.path(), path, text);
    let line = "/usr/bin/python3.11\0/usr/bin/gunicorn\0-b\0:8001\0app:app\0";
    // A supervisor in Python, the server, a worker of it, and a program of the same interpreter.
    for (pid, parent, line) in [
        (7, 1, "/usr/bin/python3.11\0/usr/bin/supervisord\0"),
        (8, 7, line),
        (9, 8, line),
        (10, 1, "python3.11\0-m\0http.server\0-b\0gunicorn\0"),
    ] {
        put(&format!("{pid}/comm"), "python3.11\n");
        put(
            &format!("{pid}/stat"),
            &format!("{pid} (python3.11) S {parent} 0"),
        );
        put(&format!("{pid}/cmdline"), line);
    }
    let mut files = Files::new(root.path().to_owned());
    let found = discover(&mut files, Vec::new(), true, &mut |_, _, _| Admission::Now).watched;
    let shown: Vec<_> = found
        .iter()
        .map(|(component, known)| (component.to_string(), known.pid))
        .collect();
    assert_eq!(shown, [("gunicorn at 127.0.0.1:8001".to_owned(), Some(8))]);
}

#[test]
fn servers_are_found_by_what_their_files_say() {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| put_in(root.path(), path, text);
    put("7/comm", "pgbouncer\n");
    put(
        "7/cmdline",
        "/usr/sbin/pgbouncer\0/etc/pgbouncer/pgbouncer.ini\0",
    );
    let ini = "[databases]\nshop = host=db pool_size=5\n[pgbouncer]\nlisten_addr = *\nlisten_port = 6433\ndefault_pool_size = 20\n";
    put("7/root/etc/pgbouncer/pgbouncer.ini", ini);
    for (pid, parent) in [(8, 1), (9, 8)] {
        put(&format!("{pid}/comm"), "gunicorn\n");
        put(
            &format!("{pid}/stat"),
            &format!("{pid} (gunicorn) S {parent} 0"),
        );
        put(
            &format!("{pid}/cmdline"),
            "python3\0/usr/bin/gunicorn\0--workers=3\0app:app\0",
        );
        put(
            &format!("{pid}/cwd/gunicorn.conf.py"),
            "bind = '127.0.0.1:8001'\nthreads = 2\n",
        );
    }
    put("10/comm", "apache2\n");
    put("10/cmdline", "/usr/sbin/apache2\0-k\0start\0");
    put(
        "10/root/etc/apache2/apache2.conf",
        "IncludeOptional mods-enabled/*.conf\nListen 8080\n",
    );
    let status =
        "<Location /server-status>\nSetHandler server-status\n</Location>\nMaxRequestWorkers 150\n";
    put("10/root/etc/apache2/mods-enabled/status.conf", status);
    put("11/comm", "prometheus-node\n");
    put("11/cmdline", "/usr/bin/prometheus-node-exporter\0");
    let mut files = Files::new(root.path().to_owned());
    let mut found = discover(&mut files, Vec::new(), true, &mut |_, _, _| Admission::Now).watched;
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let shown: Vec<String> = found
        .iter()
        .map(|(component, _)| component.to_string())
        .collect();
    assert_eq!(
        shown,
        [
            "Apache at http://127.0.0.1:8080/server-status",
            "pgbouncer at 127.0.0.1:6433",
            "gunicorn at 127.0.0.1:8001",
        ]
    );
    let settings = found.iter().flat_map(|(_, known)| &known.settings);
    let settings: Vec<_> = settings
        .map(|setting| {
            (
                setting.name,
                setting.value.to_string(),
                setting.file.as_str(),
            )
        })
        .collect();
    let right = [
        (
            "MaxRequestWorkers",
            "150".to_owned(),
            "/etc/apache2/mods-enabled/status.conf:4",
        ),
        (
            "default_pool_size",
            "20".to_owned(),
            "/etc/pgbouncer/pgbouncer.ini:6",
        ),
        (
            "pool_size",
            "5".to_owned(),
            "/etc/pgbouncer/pgbouncer.ini:2",
        ),
        ("workers", "3".to_owned(), ""),
        ("threads", "2".to_owned(), "gunicorn.conf.py:2"),
    ];
    assert_eq!(settings, right);
    let notes = files.notes().join("\n");
    assert!(
        notes.contains("url: http://127.0.0.1:9100/metrics, series: [NAME, …]"),
        "{notes}"
    );
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one machine with all that is looked for"
)]
fn what_tells_of_itself_is_found_and_of_the_rest_it_is_said_how() {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &[u8]| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for (pid, inner) in [(7, 7), (8, 3), (9, 9)] {
        put(&format!("proc/{pid}/comm"), b"java\n");
        put(
            &format!("proc/{pid}/status"),
            format!("Name:\tjava\nNSpid:\t{pid}\t{inner}\n").as_bytes(),
        );
    }
    put("tmp/hsperfdata_shop/7", b"");
    // The file of an earlier process with this pid.
    put("tmp/hsperfdata_shop/8", b"");
    put("proc/8/root/tmp/hsperfdata_root/3", b"");
    for pid in [10, 11] {
        put(&format!("proc/{pid}/comm"), b"uwsgi\n");
        put(
            &format!("proc/{pid}/cmdline"),
            b"/usr/bin/uwsgi\0--ini\0/etc/uwsgi/shop.ini\0--need-app\0",
        );
    }
    put(
        "proc/10/root/etc/uwsgi/shop.ini",
        b"[uwsgi]\nprocesses = 2\nstats = /run/uwsgi/stats.sock\n",
    );
    put(
        "etc/uwsgi/shop.ini",
        b"[uwsgi]\nstats = /run/uwsgi/stats.sock\n",
    );
    let named: [(&str, &[u8]); 5] = [
        ("12/comm", b"uwsgi\n"),
        ("12/cmdline", b"uwsgi\0--http=:80\0"),
        ("13/comm", b"varnishd\n"),
        ("13/cmdline", b"varnishd\0-n\0shop\0"),
        ("14/comm", b"caddy\n"),
    ];
    for (path, text) in named {
        put(&format!("proc/{path}"), text);
    }
    let mut program = b"\x7fELF\x02".to_vec();
    program.extend([0; 600]);
    program.extend(b"\x04\0\0\0S\0\0\0\x04\0\0\0Go\0\0build");
    put("proc/14/exe", &program);
    put("proc/15/comm", b"cat\n");
    put("proc/16/comm", b"mongod\n");
    put(
        "proc/16/cmdline",
        b"/usr/bin/mongod\0--config\0/etc/mongod.conf\0",
    );
    put("proc/16/root/etc/mongod.conf", b"net:\n  port: 27018\n");
    put("proc/15/exe", &program[..600]);
    let mut files = Files::new(root.path().to_owned());
    let found = discover(&mut files, Vec::new(), true, &mut |_, _, _| Admission::Now).watched;
    let mut shown: Vec<String> = found
        .iter()
        .map(|(component, _)| component.to_string())
        .collect();
    shown.sort();
    assert_eq!(
        shown,
        [
            "MongoDB at 127.0.0.1:27018",
            "the JVM at /proc/8/root/tmp/hsperfdata_root/3",
            "the JVM at /tmp/hsperfdata_shop/7",
            "uWSGI at /run/uwsgi/stats.sock",
        ]
    );
    let notes = files.notes().join("\n");
    for expected in [
        "a JVM (pid 9) runs here but exposes no counters",
        "uWSGI (pid 12) has no stats address",
        "varnish: 'varnishstat -j -t 0 -n shop'",
        "caddy is a program in Go (pid 14)",
    ] {
        assert!(notes.contains(expected), "`{expected}` is not in {notes}");
    }
    assert!(!notes.contains("cat is"), "{notes}");
}
