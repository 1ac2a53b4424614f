//! Plans from logs of real servers, and from a recording of Chromium.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_testkit::port;
use plimsoll_testkit::program::{Program, start_haproxy};
use tempfile::TempDir;

use crate::support::Sandbox;

/// Working folder of a server; its configuration sets the path of its log.
fn folder_of_its_own() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn free_port() -> u16 {
    port::unused().port()
}

/// Asks for `path`, as `agent`, on a connection of its own.
fn fetch(port: u16, path: &str, agent: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn visit(port: u16) {
    for path in [
        "/article/17",
        "/article/23",
        "/about",
        "/style.css",
        "/missing",
    ] {
        fetch(port, path, "Mozilla/5.0 (test)");
    }
}

fn imported(place: &Sandbox, log: &Path, more: &[&str]) -> String {
    let mut arguments = vec!["import", "log", log.to_str().unwrap()];
    arguments.extend(more);
    let output = place.run(&arguments);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("0 unreadable lines"), "{output:?}");
    assert!(
        output
            .stdout
            .lines()
            .any(|line| line.starts_with("target: ")),
        "{output:?}"
    );
    assert!(
        output.stdout.contains("/article/{{ article.value }}"),
        "{output:?}"
    );
    assert!(
        output.stdout.contains("get: /about") && !output.stdout.contains("get: /missing"),
        "{output:?}"
    );
    output.stdout
}

/// nginx from a private folder, with a log of this format.
fn nginx(place: &Sandbox, format: &str) -> (Program, u16, PathBuf) {
    let port = free_port();
    let folder = place.path().display();
    let log = place.path().join("nginx.log");
    let text = format!(
        "daemon off; pid {folder}/pid; error_log stderr notice; events {{ }}\n\
         http {{ client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};\n\
         uwsgi_temp_path {folder}; scgi_temp_path {folder}; {format}\n\
         access_log {} chosen; server {{ listen 127.0.0.1:{port};\n\
         location / {{ return 200 ok; }} location /missing {{ return 404; }} }} }}\n",
        log.display()
    );
    let file = place.path().join("nginx.conf");
    std::fs::write(&file, text).unwrap();
    let command = ["nginx", "-e", "stderr", "-c", file.to_str().unwrap()];
    let server = Program::start(folder_of_its_own(), &command, "start worker process ");
    (server, port, log)
}

#[test]
fn logs_of_nginx() {
    for (format, more) in [
        (
            "log_format chosen '$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" $request_time';",
            "nginx",
        ),
        (
            "log_format chosen escape=json '{\"time\":\"$time_iso8601\",\"remote_addr\":\"$remote_addr\",\"method\":\"$request_method\",\"uri\":\"$request_uri\",\"status\":$status,\"host\":\"$host\",\"user_agent\":\"$http_user_agent\"}';",
            "json",
        ),
    ] {
        let place = Sandbox::new();
        let (server, port, log) = nginx(&place, format);
        visit(port);
        drop(server);
        let found = imported(&place, &log, &[]);
        let explicit = imported(&place, &log, &["--format", more]);
        assert_eq!(found, explicit);
        assert_eq!(
            found.contains("target: https://shop.example"),
            more == "json",
            "{found}"
        );
    }
}

#[test]
fn logs_of_apache() {
    let place = Sandbox::new();
    let port = free_port();
    let folder = place.path().display();
    let modules = "/usr/lib/apache2/modules";
    let text = format!(
        "ServerRoot {folder}\nServerName shop.example\nListen 127.0.0.1:{port}\nPidFile {folder}/apache.pid\n\
         ErrorLog /dev/stderr\nDocumentRoot {folder}/site\nMutex sem\n\
         LoadModule mpm_event_module {modules}/mod_mpm_event.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n\
         User www-data\nGroup www-data\n\
         LogFormat \"%v:%p %h %l %u %t \\\"%r\\\" %>s %O \\\"%{{Referer}}i\\\" \\\"%{{User-Agent}}i\\\"\" vhost_combined\n\
         LogFormat \"%h %l %u %t \\\"%r\\\" %>s %b\" common\n\
         CustomLog {folder}/vhost.log vhost_combined\nCustomLog {folder}/common.log common\n"
    );
    for path in ["article/17", "article/23", "about", "style.css"] {
        let file = place.path().join("site").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "ok").unwrap();
    }
    // The server gives up its rights and must still read the folder.
    Command::new("chmod")
        .args(["-R", "a+rX"])
        .arg(place.path())
        .status()
        .unwrap();
    let file = place.path().join("apache.conf");
    std::fs::write(&file, text).unwrap();
    let command = ["apache2", "-DFOREGROUND", "-f", file.to_str().unwrap()];
    let server = Program::start(folder_of_its_own(), &command, "resuming normal operations");
    visit(port);
    drop(server);
    let vhost = imported(
        &place,
        &place.path().join("vhost.log"),
        &["--format", "apache"],
    );
    assert!(vhost.contains("shop.example"), "{vhost}");
    let common = imported(&place, &place.path().join("common.log"), &[]);
    assert!(
        common.contains("target: https://example.invalid"),
        "{common}"
    );
}

#[test]
fn logs_of_haproxy() {
    let place = Sandbox::new();
    let (_nginx, origin, _) = nginx(&place, "log_format chosen '$status';");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_mins(1)))
        .unwrap();
    let syslog = socket.local_addr().unwrap();
    let port = free_port();
    let text = format!(
        "global\n log {syslog} local0\ndefaults\n mode http\n log global\n option httplog\n timeout connect 60s\n\
         timeout client 60s\n timeout server 60s\nfrontend web\n bind 127.0.0.1:{port}\n\
         http-request capture req.hdr(Host) len 64\n http-request capture req.hdr(User-Agent) len 64\n\
         default_backend site\nbackend site\n server one 127.0.0.1:{origin}\n"
    );
    let file = place.path().join("haproxy.cfg");
    std::fs::write(&file, text).unwrap();
    let _haproxy = start_haproxy(folder_of_its_own(), &file);
    visit(port);
    let mut lines = String::new();
    let mut buffer = [0; 4096];
    while lines.matches("HTTP/1.1").count() < 5 {
        let length = socket.recv(&mut buffer).expect("HAProxy logs each request");
        let line = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if line.contains('"') {
            lines.push_str(line.trim_end());
            lines.push('\n');
        }
    }
    let log = place.path().join("haproxy.log");
    std::fs::write(&log, lines).unwrap();
    let plan = imported(&place, &log, &[]);
    assert!(plan.contains("target: https://shop.example"), "{plan}");
    assert_eq!(plan, imported(&place, &log, &["--format", "haproxy"]));
}

#[test]
fn lines_that_cannot_be_read_are_shown() {
    let place = Sandbox::new();
    let log = place.path().join("access.log");
    let good = r#"10.0.0.1 - - [22/Nov/2026:01:43:45 +0000] "GET / HTTP/1.1" 200 10 "-" "M""#;
    let text = format!("{good}\nx\n{good}\n\u{1}\n{good}\ny\nz\n");
    std::fs::write(&log, text).unwrap();
    let output = place.run(&["import", "log", log.to_str().unwrap()]);
    assert_eq!(output.code, 0, "{output:?}");
    for expected in [
        "4 unreadable lines",
        "line 2: timestamp",
        "line 4: ",
        "line 6: ",
    ] {
        assert!(output.stderr.contains(expected), "{expected}: {output:?}");
    }
    assert!(!output.stderr.contains("line 7"), "{output:?}");
    std::fs::write(&log, "x\n").unwrap();
    let output = place.run(&["import", "log", "access.log"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("--format"), "{output:?}");
}

#[test]
fn a_format_by_its_configuration_in_a_compressed_log() {
    let place = Sandbox::new();
    let log = place.path().join("access.log.zst");
    let line = |second: u32| {
        format!("200 GET /article/{second} 0.{second}0 17890{second}000.000 192.0.2.{second}\r\n")
    };
    let lines: Vec<String> = (10..40).map(line).collect();
    let text = format!("\u{feff}{}", lines.concat());
    std::fs::write(&log, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    let format =
        "log_format x '$status $request_method $request_uri $request_time $msec $remote_addr';";
    let rows = place.path().join("rows.csv");
    let replay = [
        "import",
        "log",
        "access.log.zst",
        "--format",
        format,
        "--replay",
        "--rows",
    ];
    let output = place.run(&[&replay[..], &[rows.to_str().unwrap()]].concat());
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("format: nginx"), "{output:?}");
    assert!(output.stderr.contains("0 unreadable"), "{output:?}");
    let rows = std::fs::read_to_string(rows).unwrap();
    // From 10 s less 0.1 s on, each 1000 s later and 10 ms longer.
    let first = "at,path\n0.000,\"/article/10\"\n999.990,\"/article/11\"\n";
    assert!(rows.starts_with(first), "{rows}");
    assert_eq!(rows.lines().count(), 31);
    let output = place.run(&["import", "log", "access.log.zst"]);
    assert_eq!(output.code, 2, "{output:?}");
    let output = place.run(&[
        "import",
        "log",
        "access.log.zst",
        "--format",
        "$time_local $status",
    ]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("lacks the request line"),
        "{output:?}"
    );
}

/// A line of nginx at so many seconds after midnight.
fn at_second(second: u32, address: u32, path: &str) -> String {
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "192.0.2.{address} - - [22/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 10 \"-\" \"M\"\n"
    )
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Visits of three pages, each page by another server, in one second each; the logs of one server are rotated.
#[test]
fn logs_of_several_servers_are_the_same_as_one() {
    let place = Sandbox::new();
    let mut servers = vec![String::new(); 3];
    let mut whole = String::new();
    for second in 0..900_u32 {
        let (visit, page) = (second / 90 * 30 + second % 30, second % 90 / 30);
        let line = at_second(second, visit % 250, &format!("/article/{visit}-{page}"));
        whole.push_str(&line);
        servers[page as usize].push_str(&line);
    }
    let half = servers[1].match_indices('\n').nth(149).unwrap().0 + 1;
    let (early, late) = servers[1].split_at(half);
    for (name, content) in [
        ("whole.log", whole.as_bytes()),
        ("a.log", servers[0].as_bytes()),
        ("b.log", late.as_bytes()),
        ("b.log.1.gz", &packed(early)),
        ("c.log", servers[2].as_bytes()),
    ] {
        std::fs::write(place.path().join(name), content).unwrap();
    }
    let plan = |files: &[&str], more: &[&str]| {
        let output = place.run(&[&["import", "log"], files, more].concat());
        assert_eq!(output.code, 0, "{output:?}");
        output.stdout
    };
    let (single, several) = (
        &["whole.log"][..],
        &["c.log", "b.log", "b.log.1.gz", "a.log"][..],
    );
    let expected = plan(single, &[]);
    assert!(expected.contains(" visits, "), "{expected}");
    assert_eq!(plan(several, &[]), expected);
    let rows = |files, name| {
        plan(files, &["--replay", "1x", "--rows", name]);
        std::fs::read_to_string(place.path().join(name)).unwrap()
    };
    let expected = rows(single, "single.csv");
    assert_eq!(expected.lines().count(), 901);
    assert_eq!(rows(several, "several.csv"), expected);
}

#[test]
fn a_log_that_is_damaged_gives_no_plan() {
    let place = Sandbox::new();
    let text: String = (0..40_000)
        .map(|second| at_second(second, 1, "/"))
        .collect();
    let bytes = packed(&text);
    let path = place.path().join("access.log.gz");
    std::fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let output = place.run(&["import", "log", "access.log.gz"]);
    assert_eq!((output.code, &*output.stdout), (2, ""), "{output:?}");
    assert!(
        output
            .stderr
            .contains("cannot read access.log.gz behind line "),
        "{output:?}"
    );
}

#[test]
fn a_recording_that_is_cut_off() {
    let place = Sandbox::new();
    std::fs::write(place.path().join("cut.har"), "{\"log\":").unwrap();
    let output = place.run(&["import", "har", "cut.har"]);
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("cut.har: line 1"), "{output:?}");
}
