//! A real name server with changing records.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::port;

/// A dnsmasq that serves the records of a file, with a TTL of a second.
pub struct Dns {
    process: Child,
    /// Where it answers, over UDP and TCP.
    pub address: SocketAddr,
    hosts: PathBuf,
    lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
    _folder: TempDir,
}

impl Drop for Dns {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Dns {
    /// Starts with lines as in `/etc/hosts`, for names below `test`.
    pub fn start(hosts: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("hosts");
        std::fs::write(&file, hosts).expect("a new folder can be written to");
        let address = port::unused();
        let mut process = Command::new("dnsmasq")
            .args([
                "--keep-in-foreground",
                "--conf-file=/dev/null",
                "--no-resolv",
                "--no-hosts",
            ])
            .args([
                "--listen-address=127.0.0.1",
                "--bind-interfaces",
                "--local-ttl=1",
            ])
            .args([
                "--local=/test/",
                "--user=root",
                "--pid-file=",
                "--log-facility=-",
            ])
            .arg(format!("--port={}", address.port()))
            .arg(format!("--addn-hosts={}", file.display()))
            .stderr(Stdio::piped())
            .spawn()
            .expect("dnsmasq is installed: apt-get install dnsmasq-base");
        let lines = BufReader::new(process.stderr.take().expect("it is piped")).lines();
        let mut dns = Self {
            process,
            address,
            hosts: file,
            lines,
            _folder: folder,
        };
        assert!(dns.reads(), "dnsmasq did not start");
        dns
    }

    /// It reports when it has read its file; `false` when it has ended.
    fn reads(&mut self) -> bool {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        lines.any(|line| line.contains("read ") && line.contains("hosts"))
    }

    /// Replaces the records; they are served when this returns.
    pub fn set_hosts(&mut self, hosts: &str) {
        std::fs::write(&self.hosts, hosts).expect("the file can be written");
        kill_process(Pid::from_child(&self.process), Signal::HUP).expect("it runs");
        assert!(self.reads());
    }
}
