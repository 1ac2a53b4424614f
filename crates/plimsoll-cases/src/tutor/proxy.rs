//! The configuration of HAProxy in front of the tutor.

use std::fmt::Write as _;
use std::path::Path;

/// What HAProxy is to do.
pub(super) struct Proxy<'a> {
    pub(super) port: u16,
    pub(super) web_ports: &'a [u16],
    pub(super) engine_port: u16,
    /// Requests that each server is handed at a time.
    pub(super) server_maxconn: u32,
    /// Folder for its administrative socket.
    pub(super) folder: &'a Path,
}

impl Proxy<'_> {
    /// The file that HAProxy reads.
    pub(super) fn configuration(&self) -> String {
        let mut text = format!(
            "global
    nbthread 1
    maxconn 6000
    stats socket {folder}/haproxy.sock mode 600 level admin

defaults
    mode http
    option http-keep-alive
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout queue 1s

frontend exam
    bind 127.0.0.1:{port}
    maxconn 5000
    acl is_engine path /compile /execute /evaluate
    use_backend engine if is_engine
    default_backend web

backend web
    balance leastconn
",
            folder = self.folder.display(),
            port = self.port,
        );
        for (place, port) in self.web_ports.iter().enumerate() {
            writeln!(
                text,
                "    server web{} 127.0.0.1:{port} maxconn {}",
                place + 1,
                self.server_maxconn
            )
            .expect("a string takes every character");
        }
        write!(
            text,
            "\nbackend engine\n    server engine1 127.0.0.1:{} maxconn {}\n",
            self.engine_port, self.server_maxconn
        )
        .expect("a string takes every character");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_bound() {
        let proxy = Proxy {
            port: 8080,
            web_ports: &[8081, 8082],
            engine_port: 8083,
            server_maxconn: 20,
            folder: Path::new("/tmp/tutor"),
        };
        let text = proxy.configuration();
        for line in [
            "bind 127.0.0.1:8080",
            "server web1 127.0.0.1:8081 maxconn 20",
            "server web2 127.0.0.1:8082 maxconn 20",
            "server engine1 127.0.0.1:8083 maxconn 20",
            "stats socket /tmp/tutor/haproxy.sock mode 600 level admin",
        ] {
            assert!(text.lines().any(|found| found.trim() == line), "{line}");
        }
    }
}
