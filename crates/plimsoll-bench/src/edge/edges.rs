//! The measured edges, each in a typical configuration in front of a web application: it forwards the client's address and
//! keeps upstream connections alive.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use plimsoll_harness::packages;
use plimsoll_harness::port::free_port;
use plimsoll_harness::step::execute;
use plimsoll_harness::workspace::Workspace;
use tempfile::TempDir;

use crate::page::version;
use crate::server::BenchServer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EdgeKind {
    Plimsoll,
    Nginx,
    Haproxy,
}

/// How clients come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientTransport {
    Plain,
    /// HTTP/1.1 within TLS.
    Tls,
    /// HTTP/2 within TLS.
    Http2,
}

/// What stands before the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EdgeOptions {
    pub(super) transport: ClientTransport,
    /// Access log into a file, in each program's usual format, and figures to be asked for.
    pub(super) logs: bool,
}

/// Where the programs are, and what they share.
pub(super) struct EdgePrograms {
    pub(super) plimsoll: PathBuf,
    pub(super) origin: PathBuf,
    /// A certificate for localhost with its key: `cert.pem`, `key.pem`, and `both.pem`.
    certificate: TempDir,
}

impl EdgePrograms {
    /// Finds the programs and installs those that are missing.
    pub(super) fn find(workspace: &Workspace) -> Result<Self> {
        let packages: Vec<_> = [
            ("nginx", "nginx-light"),
            ("haproxy", "haproxy"),
            ("wrk", "wrk"),
            ("h2load", "nghttp2-client"),
            ("openssl", "openssl"),
        ]
        .into_iter()
        .filter(|(program, _)| !packages::is_installed(program))
        .map(|(_, package)| package)
        .collect();
        if !packages.is_empty() {
            packages::install(&packages)?;
        }
        Ok(Self {
            plimsoll: workspace.release("plimsoll"),
            origin: workspace.release("plimsoll-origin"),
            certificate: certificate()?,
        })
    }

    /// Names and versions, for the page.
    pub(super) fn versions(&self) -> Vec<String> {
        let wrk =
            version("wrk", "-v").map(|line| line.split(" [").next().unwrap_or_default().to_owned());
        [
            version(&self.plimsoll.display().to_string(), "--version"),
            version("nginx", "-v"),
            version("haproxy", "-v"),
            wrk,
            version("h2load", "--version"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn pem(&self, name: &str) -> String {
        self.certificate.path().join(name).display().to_string()
    }

    /// Our edge with these words of its command line.
    pub(super) fn plimsoll(&self, core: usize, words: &str) -> Result<BenchServer> {
        let (folder, port) = (tempfile::tempdir()?, free_port()?);
        let line = format!(
            "{} edge --listen 127.0.0.1:{port} --cores 1 --cache off {words}",
            self.plimsoll.display()
        );
        let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
        BenchServer::start(core, &words, folder, port)
    }
}

impl EdgeKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plimsoll => "plimsoll edge",
            Self::Nginx => "nginx",
            Self::Haproxy => "HAProxy",
        }
    }

    /// Starts it in front of the origin at this port.
    pub(super) fn start(
        self,
        programs: &EdgePrograms,
        core: usize,
        origin: u16,
        manner: EdgeOptions,
    ) -> Result<BenchServer> {
        match self {
            Self::Plimsoll => programs.plimsoll(core, &plimsoll_words(programs, origin, manner)),
            Self::Nginx => {
                let (folder, port) = (tempfile::tempdir()?, free_port()?);
                let http = nginx(programs, folder.path(), port, origin, manner);
                BenchServer::nginx_with(core, folder, port, &http)
            }
            Self::Haproxy => {
                let (folder, port) = (tempfile::tempdir()?, free_port()?);
                let path = folder.path().join("haproxy.cfg");
                std::fs::write(&path, haproxy(programs, port, origin, manner))?;
                let words =
                    ["haproxy", "-db", "-f", &path.display().to_string()].map(ToOwned::to_owned);
                BenchServer::start(core, &words, folder, port)
            }
        }
    }
}

fn plimsoll_words(programs: &EdgePrograms, origin: u16, manner: EdgeOptions) -> String {
    let mut words = format!("--to http://127.0.0.1:{origin} --max-in-flight 256 ");
    if manner.transport != ClientTransport::Plain {
        let _ = write!(
            words,
            "--tls-cert {} --tls-key {} ",
            programs.pem("cert.pem"),
            programs.pem("key.pem")
        );
    }
    // Its folder is where it was started, which is ours; standard output is a file there.
    words
        + if manner.logs {
            "--access-log -"
        } else {
            "--access-log off"
        }
}

fn nginx(
    programs: &EdgePrograms,
    folder: &Path,
    port: u16,
    origin: u16,
    manner: EdgeOptions,
) -> String {
    let listen = match manner.transport {
        ClientTransport::Plain => "",
        ClientTransport::Tls => " ssl",
        ClientTransport::Http2 => " ssl http2",
    };
    let certificate = if manner.transport == ClientTransport::Plain {
        String::new()
    } else {
        format!(
            "    ssl_certificate {};\n    ssl_certificate_key {};\n",
            programs.pem("cert.pem"),
            programs.pem("key.pem")
        )
    };
    let logs = if manner.logs {
        format!(
            "    access_log {}/access.log combined;\n    location = /status {{ stub_status; }}\n",
            folder.display()
        )
    } else {
        String::new()
    };
    format!(
        "  upstream app {{ server 127.0.0.1:{origin}; keepalive 256; keepalive_requests 1000000000; }}\n  \
         server {{\n    listen 127.0.0.1:{port}{listen} backlog=4096;\n{certificate}{logs}    \
         location / {{\n      proxy_pass http://app;\n      proxy_http_version 1.1;\n      \
         proxy_set_header Connection \"\";\n      proxy_set_header Host $host;\n      \
         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n      \
         proxy_set_header X-Forwarded-Proto $scheme;\n    }}\n  }}\n"
    )
}

fn haproxy(programs: &EdgePrograms, port: u16, origin: u16, manner: EdgeOptions) -> String {
    let bind = match manner.transport {
        ClientTransport::Plain => String::new(),
        ClientTransport::Tls => format!(" ssl crt {} alpn http/1.1", programs.pem("both.pem")),
        ClientTransport::Http2 => format!(" ssl crt {} alpn h2", programs.pem("both.pem")),
    };
    let (target, log) = if manner.logs {
        (
            "  log stdout format raw local0\n",
            "  log global\n  option httplog\n",
        )
    } else {
        ("", "")
    };
    format!(
        "global\n  nbthread 1\n  maxconn 4000\n{target}defaults\n  mode http\n  timeout connect 5s\n  \
         timeout client 1h\n  timeout server 1m\n  option forwardfor\n  http-reuse always\n{log}frontend web\n  \
         bind 127.0.0.1:{port}{bind}\n  http-request set-header X-Forwarded-Proto http\n  default_backend app\n\
         backend app\n  server app 127.0.0.1:{origin}\n"
    )
}

/// A key on the curve that all of the programs prefer.
fn certificate() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    execute(
        Command::new("openssl")
            .args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"])
            .args([
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-subj",
                "/CN=localhost",
            ])
            .args([
                "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout",
            ])
            .arg(path("key.pem"))
            .arg("-out")
            .arg(path("cert.pem")),
    )?;
    let both = [
        std::fs::read(path("cert.pem"))?,
        std::fs::read(path("key.pem"))?,
    ]
    .concat();
    std::fs::write(path("both.pem"), both)?;
    Ok(folder)
}
