//! The site of the journey: nginx, which sends a token in a form and a cookie, and requires both.
//!
//! It costs less than any client, and it refuses what no user of the form would send: a form that is not posted, comes
//! without the cookie, or is not as long as one with a token in it. Its answer names the token of the cookie, so a
//! client that finds its captured token there has kept both.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use plimsoll_harness::port::free_port;
use plimsoll_harness::step::execute;

use crate::server::BenchServer;

/// Length of `token=…&answer=ship` with a token of 32 digits.
const FORM_LEN: usize = "token=".len() + 32 + "&answer=ship".len();

/// Bytes of filling that make each answer about 1 kB.
const FILLING_LEN: usize = 800;

/// Time-out for reading the counters.
const PATIENCE: Duration = Duration::from_secs(5);

/// Protocol of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryPoint {
    /// HTTP/1.1.
    Plain,
    /// HTTP/2 without encryption.
    Http2,
    /// TLS, with HTTP/2 for who chooses it.
    Tls,
}

pub(super) struct JourneySite {
    nginx: BenchServer,
    http2_port: u16,
    tls_port: u16,
    /// Our own requests, which no client made.
    own_request_count: u64,
}

impl JourneySite {
    pub(super) fn start(core: usize) -> Result<Self> {
        let (folder, port) = (tempfile::tempdir()?, free_port()?);
        let (http2_port, tls_port) = (free_port()?, free_port()?);
        certificate(folder.path())?;
        let server = format!(
            "  server {{
    listen 127.0.0.1:{port} backlog=4096;
    listen 127.0.0.1:{http2_port} http2 backlog=4096;
    listen 127.0.0.1:{tls_port} ssl http2 backlog=4096;
    ssl_certificate {folder}/site.pem;
    ssl_certificate_key {folder}/site.key;
    {directives}
  }}
",
            folder = folder.path().display(),
            directives = directives(),
        );
        let nginx = BenchServer::nginx_with(core, folder, port, &server)?;
        Ok(Self {
            nginx,
            http2_port,
            tls_port,
            own_request_count: 0,
        })
    }

    /// Without a slash at its end.
    pub(super) fn url(&self, entry_point: EntryPoint) -> String {
        match entry_point {
            EntryPoint::Plain => self.nginx.url().trim_end_matches('/').to_owned(),
            EntryPoint::Http2 => format!("http://127.0.0.1:{}", self.http2_port),
            EntryPoint::Tls => format!("https://127.0.0.1:{}", self.tls_port),
        }
    }

    /// CPU time of the server so far.
    pub(super) fn cpu(&self) -> Result<Duration> {
        self.nginx.cpu()
    }

    /// Requests of clients so far, by the server's own count.
    pub(super) fn request_count(&mut self) -> Result<u64> {
        let address = SocketAddr::from(([127, 0, 0, 1], self.nginx.port()));
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /counts HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        self.own_request_count += 1;
        let count = requests(&text).context("the server reports no count of requests")?;
        Ok(count.saturating_sub(self.own_request_count))
    }
}

/// A certificate for the site's address, signed by itself.
fn certificate(folder: &Path) -> Result<()> {
    execute(
        Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec"])
            .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=site"])
            .args(["-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-keyout", "site.key", "-out", "site.pem"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::null()),
    )
}

/// The third number below `server accepts handled requests`.
fn requests(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("accepts handled requests")?;
    rest.split_whitespace().nth(2)?.parse().ok()
}

fn directives() -> String {
    let filling = "x".repeat(FILLING_LEN);
    format!(
        r#"default_type text/html;
    location = /form {{
      add_header Set-Cookie "ship=$request_id; Path=/; HttpOnly";
      return 200 "<!doctype html><title>Form</title><p>{filling}</p><form method='post' action='/save'><input type='hidden' name=\"token\" value=\"$request_id\"><input name='answer'></form>";
    }}
    location = /save {{
      if ($request_method != POST) {{ return 405; }}
      if ($cookie_ship = "") {{ return 403; }}
      if ($content_length != {FORM_LEN}) {{ return 400; }}
      return 200 "<!doctype html><title>Saved</title><p>saved $cookie_ship</p><p>{filling}</p>";
    }}
    location /ships/ {{ return 200 "<!doctype html><title>Ship</title><p>{filling}</p>"; }}
    location = /counts {{ stub_status; }}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_count_of_requests() {
        let text = "HTTP/1.1 200 OK\r\n\r\nActive connections: 291 \nserver accepts handled requests\n 16630948 \
                    16630940 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n";
        assert_eq!(requests(text), Some(31_070_465));
        assert_eq!(requests("HTTP/1.1 404 Not Found\r\n\r\n"), None);
    }

    #[test]
    fn the_form_is_as_long_as_the_clients_write_it() {
        let form = format!("token={}&answer=ship", "0".repeat(32));
        assert_eq!(form.len(), FORM_LEN);
    }
}
