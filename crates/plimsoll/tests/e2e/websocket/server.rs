//! Servers on Node's `ws`, in `ws/server.mjs`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use plimsoll_testkit::program::packages::install;
use serde_json::Value;

/// The folder of the servers with their libraries, installed once from its lock file.
fn servers() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| installed("ws"))
}

/// The same for the servers of presets.
fn presets() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| installed("presets"))
}

fn installed(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/e2e")
        .join(name);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("websocket-servers-{name}"));
    install(&source, &folder, "server.mjs");
    folder
}

/// A server that ends with this handle, or with this process.
pub(crate) struct WebSocketServer {
    process: Child,
    port: u16,
}

impl WebSocketServer {
    /// Starts one that waits for this many clients before it executes the plan.
    pub(crate) fn start(clients: u32, plan: &Value) -> Self {
        Self::start_with(clients, plan, None)
    }

    /// The same over TLS, with a certificate and its key in a file.
    pub(super) fn start_with(clients: u32, plan: &Value, pem: Option<&Path>) -> Self {
        let mut command = Command::new("node");
        if let Some(pem) = pem {
            command.env("SERVER_PEM", pem);
        }
        command
            .arg(servers().join("server.mjs"))
            .args([clients.to_string(), plan.to_string()]);
        Self::listening(&mut command)
    }

    /// Starts a server of a preset, which publishes after this many subscriptions.
    pub(super) fn of_preset(protocol: &str, clients: u32) -> Self {
        let mut command = Command::new("node");
        command
            .arg(presets().join("server.mjs"))
            .args([protocol, &clients.to_string()]);
        Self::listening(&mut command)
    }

    /// Starts a server based on Centrifuge, which publishes after this many subscriptions.
    pub(super) fn of_centrifuge(clients: u32) -> Self {
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools/centrifuge");
        Self::listening(Command::new(program).arg(clients.to_string()))
    }

    fn listening(command: &mut Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect(
                "node is installed, apt-get install nodejs; other servers by `cargo xtask test`",
            );
        let mut line = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Self { process, port }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("ws://127.0.0.1:{}{path}", self.port)
    }

    /// The actions that it reports.
    pub(crate) fn counts(&self) -> Value {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket
            .write_all(b"GET /counts HTTP/1.0\r\nHost: server\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }
}

impl Drop for WebSocketServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
