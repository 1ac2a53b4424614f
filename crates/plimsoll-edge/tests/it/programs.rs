//! Real programs at both ends.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use plimsoll_testkit::port;
use tempfile::TempDir;

use crate::support::{before, get, status_and_body};

/// A real nginx on a free port.
pub(crate) struct NginxOrigin {
    process: Child,
    pub(crate) address: SocketAddr,
    pub(crate) folder: TempDir,
}

impl Drop for NginxOrigin {
    fn drop(&mut self) {
        // Stopped gracefully: a killed master leaves its workers behind.
        let pid = self.process.id().to_string();
        let _ = Command::new("kill").args(["-s", "TERM", &pid]).status();
        let _ = self.process.wait();
    }
}

impl NginxOrigin {
    pub(crate) fn start(locations: &str) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), "", locations)
    }

    /// With additional listen options and existing files.
    pub(crate) fn in_folder(folder: TempDir, listening: &str, locations: &str) -> Self {
        let address = port::unused();
        let prefix = folder.path().display();
        let configuration = format!(
            "daemon off; worker_processes 1; pid {prefix}/pid; error_log stderr notice;\n\
             events {{ worker_connections 1024; }}\n\
             http {{ access_log off; client_body_temp_path {prefix}; proxy_temp_path {prefix}; \
             fastcgi_temp_path {prefix}; uwsgi_temp_path {prefix}; scgi_temp_path {prefix};\n\
             server {{ listen {address} {listening}; root {prefix}; {locations} }} }}\n"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, configuration).unwrap();
        let mut process = Command::new("nginx")
            .args(["-e", "stderr", "-c"])
            .arg(&file)
            .stderr(Stdio::piped())
            .spawn()
            .expect("nginx is installed: apt-get install nginx-light");
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let started = lines
            .by_ref()
            .flatten()
            .any(|line| line.contains("start worker process "));
        assert!(started, "nginx did not start");
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            process,
            address,
            folder,
        }
    }
}

pub(crate) fn curl(arguments: &[&str]) -> String {
    let output = Command::new("curl")
        .args(["-sS", "--max-time", "60"])
        .args(arguments)
        .output()
        .expect("curl is installed: apt-get install curl");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn curl_gets_from_nginx_what_nginx_has() {
    let nginx = NginxOrigin::start(
        "location = /headers { return 200 \"$http_host|$http_x_forwarded_for|$http_forwarded\"; }\n\
         location = /moved { return 301 /there; }\n\
         location = /gzip { gzip on; gzip_min_length 1; gzip_types *; try_files /big =404; }",
    );
    let lines: Vec<String> = (0..400_000).map(|line| line.to_string()).collect();
    let big = lines.join("\n");
    std::fs::write(nginx.folder.path().join("big"), &big).unwrap();
    let edge = before(nginx.address);
    let url = |path: &str| format!("http://{}{path}", edge.address);
    assert!(curl(&[&url("/big")]) == big);
    // Compressed by nginx, which therefore sends chunks.
    assert!(curl(&["--compressed", &url("/gzip")]) == big);
    assert!(curl(&["--http1.0", &url("/big")]) == big);
    assert_eq!(curl(&["-r", "0-3", &url("/big")]), big[..4]);
    let response = curl(&["-I", &url("/big")]);
    assert!(
        response.contains(&format!("Content-Length: {}\r\n", big.len())),
        "{response}"
    );
    assert!(curl(&["-i", &url("/moved")]).contains("Location: http://"));
    assert!(curl(&["-i", &url("/nothing")]).starts_with("HTTP/1.1 404 Not Found\r\n"));
    let headers = curl(&[
        "-H",
        "Host: a.example",
        "-H",
        "X-Forwarded-For: 6.6.6.6",
        &url("/headers"),
    ]);
    assert_eq!(
        headers,
        "a.example|127.0.0.1|for=127.0.0.1;host=\"a.example\";proto=http"
    );
    // Twenty concurrent connections, several times.
    let urls: Vec<String> = (0..20)
        .map(|number| url(&format!("/big?{number}")))
        .collect();
    let mut arguments = vec!["-Z", "--parallel-max", "20"];
    arguments.extend(urls.iter().map(String::as_str));
    assert_eq!(curl(&arguments).len(), 20 * big.len());
}

#[test]
fn nginx_that_restarts_is_found_again() {
    let nginx = NginxOrigin::start("location / { return 200 'up'; }");
    let edge = before(nginx.address);
    assert_eq!(status_and_body(&get(edge.address, "/")), (200, "up"));
    drop(nginx);
    assert_eq!(status_and_body(&get(edge.address, "/")).0, 502);
}
