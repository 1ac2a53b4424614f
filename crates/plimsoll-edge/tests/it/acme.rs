//! Certificates by ACME, from a real test authority: pebble.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use plimsoll_config::edge::{Acme, AcmeCertificate, Certificate, EdgeConfig};
use plimsoll_testkit::port;
use tempfile::TempDir;

use crate::origins::certified;
use crate::programs::curl;
use crate::support::{ObservedEdge, Patience, Scripted, plain, pool};
use plimsoll_testkit::dns::Dns;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// An authority that validates at a port and issues certificates with a lifetime in seconds.
struct Pebble {
    process: Child,
    directory: SocketAddr,
    management: SocketAddr,
    folder: TempDir,
    _dns: Dns,
}

impl Drop for Pebble {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Pebble {
    fn start(validation_address: SocketAddr, valid_s: u64) -> Self {
        let dns = Dns::start("127.0.0.1 a.test www.a.test\n");
        let (authorities, folder) = certified("127.0.0.1");
        std::fs::write(folder.path().join("ca.pem"), authorities.pem).unwrap();
        let (directory, management) = (port::unused(), port::unused());
        let configuration = serde_json::json!({ "pebble": {
            "listenAddress": directory.to_string(),
            "managementListenAddress": management.to_string(),
            "certificate": folder.path().join("cert.pem"),
            "privateKey": folder.path().join("key.pem"),
            "httpPort": 1,
            "tlsPort": validation_address.port(),
            "ocspResponderURL": "",
            "externalAccountBindingRequired": false,
            "certificateValidityPeriod": valid_s,
        }});
        let file = folder.path().join("pebble.json");
        std::fs::write(&file, configuration.to_string()).unwrap();
        let mut process = Command::new("pebble")
            .args(["-strict", "-dnsserver", &dns.address.to_string(), "-config"])
            .arg(&file)
            .env("PEBBLE_VA_NOSLEEP", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("pebble is installed: apt-get install pebble");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let listens = lines
            .by_ref()
            .map_while(Result::ok)
            .any(|line| line.contains("ACME directory available"));
        assert!(listens, "pebble did not start");
        // It reports readiness before it listens; a request in between is refused, and the retry comes only minutes
        // later.
        let patience = Patience::start();
        for address in [directory, management] {
            while TcpStream::connect(address).is_err() {
                patience.check("pebble listens");
            }
        }
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            process,
            directory,
            management,
            folder,
            _dns: dns,
        }
    }

    /// A file with the root certificate of the authority.
    fn root(&self) -> PathBuf {
        let path = self.folder.path().join("root.pem");
        let url = format!("https://{}/roots/0", self.management);
        std::fs::write(&path, curl(&["-k", &url])).unwrap();
        path
    }
}

fn obtaining(
    server: &Scripted,
    address: SocketAddr,
    pebble: &Pebble,
    state: &Path,
    name: &str,
) -> EdgeConfig {
    let mut edge = plain(pool(&[server.address]));
    let files = Certificate {
        cert: state.join("certificates/a.pem"),
        key: state.join("certificates/a.key"),
    };
    edge.listen[0].address = address;
    edge.listen[0].tls = vec![files.clone()];
    edge.acme = Some(Acme {
        directory: format!("https://{}/dir", pebble.directory),
        email: Some("ops@a.test".to_owned()),
        ca: Some(pebble.folder.path().join("ca.pem")),
        state: state.to_owned(),
        certificates: vec![AcmeCertificate {
            names: vec![name.to_owned(), "www.a.test".to_owned()],
            files,
        }],
    });
    edge
}

/// Requests as a browser that trusts the root.
fn fetch(address: SocketAddr, root: &Path, name: &str) -> String {
    let port = address.port();
    let (resolve, root) = (
        format!("{name}:{port}:127.0.0.1"),
        root.display().to_string(),
    );
    curl(&[
        "--resolve",
        &resolve,
        "--cacert",
        &root,
        &format!("https://{name}:{port}/"),
    ])
}

#[test]
fn a_certificate_is_obtained_kept_and_used_at_the_next_start() {
    let server = Scripted::always(OK);
    let address = port::unused();
    let pebble = Pebble::start(address, 3600);
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let edge = obtaining(&server, address, &pebble, &state, "a.test");
    let observed = ObservedEdge::start(&edge);
    observed.wait_for_message("certificate obtained for a.test, www.a.test");
    // The certificate outlives the authority.
    let root = folder.path().join("root.pem");
    std::fs::copy(pebble.root(), &root).unwrap();
    for name in ["a.test", "www.a.test"] {
        assert_eq!(fetch(address, &root, name), "ok");
    }
    for file in ["certificates/a.key", "certificates/a.pem"] {
        let mode = std::fs::metadata(state.join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let account = || {
        let mut files = std::fs::read_dir(&state)
            .unwrap()
            .flatten()
            .map(|entry| entry.path());
        let file = files.find(|path| path.extension().is_some_and(|ending| ending == "json"));
        std::fs::read(file.unwrap()).unwrap()
    };
    let made = account();
    drop(observed);
    // Obtained again, with the earlier account.
    std::fs::remove_file(state.join("certificates/a.pem")).unwrap();
    let observed = ObservedEdge::start(&edge);
    observed.wait_for_message("certificate obtained for a.test, www.a.test");
    assert_eq!(account(), made);
    drop(observed);
    // No authority is running, and none is needed.
    drop(pebble);
    let _observed = ObservedEdge::start(&edge);
    assert_eq!(fetch(address, &root, "a.test"), "ok");
}

#[test]
fn a_certificate_is_renewed_when_two_thirds_of_its_time_are_over() {
    let server = Scripted::always(OK);
    let address = port::unused();
    // Long enough that it is still valid, and not yet to be renewed, when a thread has stood still meanwhile.
    let pebble = Pebble::start(address, 24);
    let folder = tempfile::tempdir().unwrap();
    let observed = ObservedEdge::start(&obtaining(
        &server,
        address,
        &pebble,
        folder.path(),
        "a.test",
    ));
    observed.wait_for_message("certificate obtained for a.test, www.a.test");
    let first = std::fs::read(folder.path().join("certificates/a.pem")).unwrap();
    observed.wait_for_message("certificate obtained for a.test, www.a.test");
    let second = std::fs::read(folder.path().join("certificates/a.pem")).unwrap();
    assert!(first != second);
    assert_eq!(fetch(address, &pebble.root(), "a.test"), "ok");
}

#[test]
fn what_the_authority_does_not_give_is_told_and_nothing_else_waits_for_it() {
    let server = Scripted::always(OK);
    let address = port::unused();
    let pebble = Pebble::start(address, 3600);
    let folder = tempfile::tempdir().unwrap();
    let mut edge = obtaining(&server, address, &pebble, folder.path(), "gone.test");
    let (cert, key) = (folder.path().join("own.pem"), folder.path().join("own.key"));
    let own = rcgen::generate_simple_self_signed(["own.test".to_owned()]).unwrap();
    std::fs::write(&cert, own.cert.pem()).unwrap();
    std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    edge.listen[0].tls.push(Certificate {
        cert: cert.clone(),
        key,
    });
    let observed = ObservedEdge::start(&edge);
    assert_eq!(fetch(address, &cert, "own.test"), "ok");
    let message =
        observed.wait_for_message("cannot obtain a certificate for gone.test, www.a.test");
    assert!(
        message.contains("gone.test: ") && message.contains("in 2 minutes"),
        "{message}"
    );
}
