//! Chains whose time-outs nest, and chains whose time-outs do not.

use plimsoll_model::metric::series;

use plimsoll_model::metric;

use super::super::service::Service;
use super::*;
use crate::files::Files;

/// The components of a machine with these files in `/proc`.
fn machine(put: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in put {
        let path = root.path().join("proc").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

fn summarize(put: &[(&str, &str)], readings: &Readings) -> Vec<(bool, String, String)> {
    let root = machine(put);
    let mut files = Files::new(root.path().to_owned());
    let service = Service::find(&mut files, &mut Readings::default(), None);
    let all = advice(readings, &service.servers);
    let all = all.into_iter();
    all.map(|advice| (advice.ok, advice.name, advice.current))
        .collect()
}

const HAPROXY: &str = "defaults\n  timeout client 30s\n  timeout server 1m\n  timeout connect 5s\n  timeout http-request 10s\n\
    frontend web\n  bind :80\n  default_backend app\nbackend app\n  server a 127.0.0.1:8080\n";
const NGINX: &str = "http {\n upstream py {\n server 127.0.0.1:8000;\n keepalive 4;\n }\n server {\n listen 8080;\n\
    location / { proxy_pass http://py; proxy_read_timeout 20s; }\n\
    location /php { fastcgi_pass 127.0.0.1:9000; fastcgi_read_timeout 90s; }\n }\n}\n";

#[test]
fn a_chain_is_told_from_the_first_to_the_last() {
    let put = [
        ("7/comm", "haproxy\n"),
        ("7/stat", "7 (haproxy) S 1 0"),
        ("7/cmdline", "haproxy\0-f\0/h.cfg\0"),
        ("7/root/h.cfg", HAPROXY),
        ("8/comm", "nginx\n"),
        ("8/stat", "8 (nginx) S 1 0"),
        ("8/cmdline", "nginx: master process nginx -c /n.conf"),
        ("8/root/n.conf", NGINX),
        ("9/comm", "nginx\n"),
        ("9/stat", "9 (nginx) S 8 0"),
        ("10/comm", "gunicorn\n"),
        ("10/stat", "10 (gunicorn) S 1 0"),
        ("10/cmdline", "python3\0gunicorn\0-k\0gevent\0app:app\0"),
        ("11/comm", "php-fpm8.2\n"),
        ("11/stat", "11 (php-fpm8.2) S 1 0"),
        ("11/cmdline", "php-fpm: master process (/p.conf)"),
        ("11/root/p.conf", "[www]\nlisten = 9000\n"),
    ];
    let readings = Readings::default();
    let mut all = summarize(&put, &readings);
    all.sort();
    let all: Vec<_> = all
        .iter()
        .map(|row| (row.0, row.1.as_str(), row.2.as_str()))
        .collect();
    let right = [
        (
            false,
            "fastcgi_read_timeout of nginx 8080 behind timeout server of HAProxy web",
            "90 s (/n.conf:9) behind 60 s (/h.cfg:3)",
        ),
        (
            false,
            "keepalive of gunicorn 127.0.0.1:8000 behind keepalive_timeout of nginx 8080",
            "2 s (by default) behind 60 s (by default)",
        ),
        (
            false,
            "request_terminate_timeout of PHP-FPM www behind fastcgi_read_timeout of nginx 8080",
            "none (/p.conf) behind 90 s (/n.conf:9)",
        ),
        (
            false,
            "timeout client before timeout server of HAProxy web",
            "30 s (/h.cfg:2) before 60 s (/h.cfg:3)",
        ),
        (
            true,
            "timeout connect before timeout server of HAProxy web",
            "5 s (/h.cfg:4) before 60 s (/h.cfg:3)",
        ),
        (
            true,
            "timeout http-request inside timeout client of HAProxy web",
            "10 s (/h.cfg:5) inside 30 s (/h.cfg:2)",
        ),
    ];
    assert_eq!(all, right);
}

#[test]
fn a_statement_ends_before_who_asked_is_ended() {
    let put = [
        ("10/comm", "gunicorn\n"),
        ("10/stat", "10 (gunicorn) S 1 0"),
        ("10/cmdline", "python3\0gunicorn\0app:app\0"),
        ("10/cwd/gunicorn.conf.py", "import os\ntimeout = 20\n"),
    ];
    let with = |limits: &[(&str, &str, f64)]| {
        let mut readings = Readings::default();
        for &(metric, word, value) in limits {
            let at = ("at", "db");
            readings.values.insert(series(metric, &[at]), 0.0);
            let labels = [at, ("setting", word)];
            readings
                .values
                .insert(series(metric::SETTING, &labels), value);
        }
        summarize(&put, &readings)
    };
    let postgres = |ms| with(&[(metric::POSTGRES_REFUSED, "statement_timeout", ms)]);
    let name = "statement_timeout of PostgreSQL (db) behind timeout of gunicorn 127.0.0.1:8000";
    let current = "none behind 20 s (gunicorn.conf.py:2)";
    assert_eq!(
        postgres(0.0),
        [(false, name.to_owned(), current.to_owned())]
    );
    assert!(!postgres(30_000.0)[0].0);
    assert!(postgres(15_000.0)[0].0);
    let mariadb = (metric::MYSQL_COLLECTOR_REFUSED, "max_statement_time", 15.0);
    assert!(with(&[mariadb])[0].0);
    // With two it is unknown which one is used.
    let postgres = (metric::POSTGRES_REFUSED, "statement_timeout", 0.0);
    assert_eq!(with(&[mariadb, postgres]), []);
}

#[test]
fn real_programs_one_before_another_are_told_with_their_files() {
    let php = plimsoll_testkit::program::runtimes::PhpFpm::start(1, true, "echo 1;");
    let nginx = plimsoll_testkit::program::Nginx::start(64, true, &php.location());
    let mut files = Files::new("/".into());
    let service = Service::find(&mut files, &mut Readings::default(), None);
    let all = advice(&Readings::default(), &service.servers);
    let name = format!(
        "request_terminate_timeout of PHP-FPM www behind fastcgi_read_timeout of nginx {}",
        nginx.address
    );
    let own = all.iter().find(|advice| advice.name == name);
    let own = own.unwrap_or_else(|| panic!("{name} is missing in {all:#?}"));
    let current = format!(
        "none ({}) behind 60 s (by default)",
        php.configuration.display()
    );
    assert_eq!((own.ok, own.current.as_str()), (false, current.as_str()));
    assert_eq!(
        own.advised,
        "request_terminate_timeout of 54 s, less than 60 s"
    );
}
