//! Everything about the stack that a setting may change, to be compared before and after.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::Value;

use super::stack::Stack;
use crate::program::databases::carry_out;

/// Time for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lines that describe files, settings that the programs run with, and the answer of the service.
#[derive(Debug)]
pub(super) struct StackState(Vec<String>);

impl StackState {
    /// As it is now; a program that does not answer is a line, too.
    pub(super) fn of(stack: &Stack) -> Self {
        let mut state = Self(Vec::new());
        for file in &stack.files {
            let about = std::fs::metadata(file).map(|about| {
                format!(
                    "mode {:o}, owner {}:{}",
                    about.mode(),
                    about.uid(),
                    about.gid()
                )
            });
            state.add(&file.display().to_string(), about);
            state.add(&file.display().to_string(), std::fs::read_to_string(file));
        }
        let [postgres, console] = [
            stack.postgres.url(),
            format!("postgres://admin@{}/pgbouncer", stack.pgbouncer),
        ];
        for (name, url, statement) in [
            ("PostgreSQL", postgres, "SHOW ALL"),
            ("pgbouncer", console, "SHOW CONFIG"),
        ] {
            let settings = carry_out(&["psql", &url, "-qtAX", "-c", statement]);
            state.add(name, Ok(settings));
        }
        state.add("HAProxy", haproxy(stack));
        state.add("Puma", puma(stack));
        state.add("answer", get(stack.address, "/"));
        state
    }

    fn add(&mut self, name: &str, text: io::Result<String>) {
        let text = text.unwrap_or_else(|error| format!("no answer: {error}"));
        let lines = text.lines().map(|line| format!("{name}: {line}"));
        self.0.extend(lines);
    }

    /// How another state differs, for people; `None` when it does not.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        if self.0 == other.0 {
            return None;
        }
        let mut text = String::new();
        for (mark, lines, known) in [("-", &self.0, &other.0), ("+", &other.0, &self.0)] {
            for line in lines.iter().filter(|line| !known.contains(line)) {
                let _ = writeln!(text, "{mark} {line}");
            }
        }
        Some(text)
    }
}

/// Limits of connections that HAProxy runs with.
fn haproxy(stack: &Stack) -> io::Result<String> {
    let mut client = UnixStream::connect(&stack.admin_socket)?;
    client.set_read_timeout(Some(PATIENCE))?;
    client.write_all(b"show info;show stat\n")?;
    let mut text = String::new();
    client.read_to_string(&mut text)?;
    let info = text.lines().filter(|line| line.starts_with("Maxconn:"));
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let limit = rows
        .iter()
        .find_map(|row| row.iter().position(|name| *name == "slim"));
    let limits = rows.iter().filter(|row| row.first() == Some(&"app"));
    let limits = limits.map(|row| {
        let of = |place: usize| row.get(place).copied().unwrap_or_default();
        format!("{} {}", of(1), of(limit.unwrap_or(0)))
    });
    let lines: Vec<String> = info.map(str::to_owned).chain(limits).collect();
    Ok(lines.join("\n"))
}

/// Workers and threads that Puma runs with.
fn puma(stack: &Stack) -> io::Result<String> {
    let (address, path) = stack
        .puma_stats
        .trim_start_matches("http://")
        .split_once('/')
        .unwrap_or_default();
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let answer = get(address, &format!("/{path}"))?;
    let body = answer.rsplit('\n').next().unwrap_or_default();
    let stats: Value = serde_json::from_str(body)?;
    Ok(format!(
        "{} workers, {} booted, {} threads",
        stats["workers"],
        stats["booted_workers"],
        stats["worker_status"][0]["last_status"]["max_threads"]
    ))
}

/// The status line and the body of a response.
fn get(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.lines().next().unwrap_or_default();
    Ok(format!("{status}\n{body}"))
}
