//! Plans of OpenAPI documents: their requests are valid for the document, as a server by Prism judges.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use plimsoll_testkit::program::packages::install;
use serde_json::Value;

use crate::support::Sandbox;

/// The documents, and the program of the judge.
fn documents() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/import_scripts/openapi")
}

/// The folder of the judge with its libraries, installed once from its lock file.
fn program() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("openapi-judge");
        install(&documents(), &folder, "server.mjs");
        folder
    })
}

/// A server of a document that judges requests; it ends with this handle, or with this process.
struct Judge {
    process: Child,
    port: u16,
}

impl Judge {
    fn of(document: &Path) -> Self {
        let mut process = Command::new("node")
            .arg(program().join("server.mjs"))
            .arg(document)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is installed, apt-get install nodejs");
        let mut line = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Self { process, port }
    }

    /// How many requests it got, and those that violate the document.
    fn judgement(&self) -> (u64, Vec<Value>) {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket
            .write_all(b"GET /judgement HTTP/1.0\r\nHost: judge\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let json: Value = serde_json::from_str(body).unwrap();
        let faults = json["faults"].as_array().unwrap().clone();
        (json["requests"].as_u64().unwrap(), faults)
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Imports a document, runs its plan against the judge until every step was taken, and expects only valid requests.
fn check(name: &str, variables: &[(&str, &str)]) {
    let place = Sandbox::new();
    let document = documents().join(name);
    let judge = Judge::of(&document);
    let target = format!("http://127.0.0.1:{}", judge.port);
    let output = place.run(&[
        "import",
        "openapi",
        document.to_str().unwrap(),
        "--target",
        &target,
    ]);
    assert_eq!(output.code, 0, "{output:?}");
    let plan = place.path().join("plan.yaml");
    let load = "load: { users: 40, iterations: 400 }\n";
    std::fs::write(&plan, format!("{}{load}", output.stdout)).unwrap();
    let checked = place.run(&["check", "plan.yaml"]);
    assert_eq!(checked.code, 0, "{checked:?}\n{}", output.stdout);
    for (variable, _) in variables {
        assert!(checked.stderr.contains(variable), "{checked:?}");
    }
    let ran = place
        .command(&["run", "plan.yaml", "--json", "--seed", "1"])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&ran.stderr));
    });
    let (requests, faults) = judge.judgement();
    assert!(faults.is_empty(), "{:#}\n{}", faults[0], output.stdout);
    let steps = json["steps"].as_array().unwrap();
    for step in steps {
        let (samples, ok) = (&step["samples"], &step["outcomes"]["ok"]);
        assert!(samples.as_u64() > Some(0), "{step:#}");
        assert_eq!(samples, ok, "{step:#}");
    }
    assert!(requests >= 400, "{requests}");
}

#[test]
fn a_service_of_resources_takes_all_requests_of_its_plan() {
    check("pets.yaml", &[]);
}

#[test]
fn parameters_of_every_style_are_valid() {
    check("styles.yaml", &[]);
}

#[test]
fn bodies_of_every_kind_are_valid() {
    check("bodies.yaml", &[]);
}

#[test]
fn credentials_of_every_scheme_are_sent() {
    let variables = [
        ("BEARER", "abc"),
        ("BASIC", "ada:secret"),
        ("HEADER", "k1"),
        ("QUERY", "k 2"),
        ("COOKIE", "k3"),
        ("OAUTH", "t"),
    ];
    check("security.yaml", &variables);
}

#[test]
fn values_by_schemas_of_3_1_are_valid() {
    check("schemas.json", &[]);
}

#[test]
fn documents_of_several_files_are_valid() {
    check("files.yaml", &[]);
}
