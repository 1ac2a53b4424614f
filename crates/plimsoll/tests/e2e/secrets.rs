//! Secrets are planted in every possible place, and all output and files of the program are searched for them.

mod edge;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use plimsoll_testkit::port;

use crate::edge::origin;
use crate::support::Sandbox;

/// What every planted secret contains, and nothing else does.
const MARK: &str = "hush7431";

/// Reports where a secret is shown.
fn assert_silent(what: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    if let Some(at) = text.find(MARK) {
        let start = text[..at]
            .char_indices()
            .rev()
            .nth(200)
            .map_or(0, |(at, _)| at);
        let end = text[at..]
            .char_indices()
            .nth(60)
            .map_or(text.len(), |(more, _)| at + more);
        panic!("{what} shows a secret: …{}…", &text[start..end]);
    }
}

/// A folder in which commands run with secrets in their environment.
struct Hushed {
    place: Sandbox,
    /// What this test wrote itself.
    given: Vec<PathBuf>,
}

impl Hushed {
    fn new() -> Self {
        Self {
            place: Sandbox::new(),
            given: Vec::new(),
        }
    }

    fn give(&mut self, name: &str, content: &str) {
        let path = self.place.path().join(name);
        std::fs::write(&path, content).unwrap();
        self.given.push(path);
    }

    /// Runs a command that is none of this test's mistakes.
    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let (code, output) = self.try_to(arguments);
        assert!(!output.contains("For more information, try"), "{output}");
        (code, output)
    }

    /// Runs a command under the most permissive umask; its output contains no secret.
    fn try_to(&self, arguments: &[&str]) -> (i32, String) {
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", "umask 0; exec \"$@\"", "sh"])
            .arg(env!("CARGO_BIN_EXE_plimsoll"))
            .args(arguments)
            .current_dir(self.place.path())
            .env("NO_COLOR", "1")
            .env("EXAM_PASSWORD", format!("env-{MARK}"))
            .stdin(std::process::Stdio::null());
        let output = command.output().unwrap();
        assert_silent(&format!("stdout of {arguments:?}"), &output.stdout);
        assert_silent(&format!("stderr of {arguments:?}"), &output.stderr);
        let text = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("panicked"), "{text}");
        (output.status.code().unwrap_or(-1), text)
    }

    /// Looks through every file that was made; returns how many.
    fn scan_files(&self) -> usize {
        let mut count = 0;
        let mut folders = vec![self.place.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    assert_eq!(
                        mode(&path) & 0o027,
                        0,
                        "{} is open to others",
                        path.display()
                    );
                    folders.push(path);
                } else if !self.given.contains(&path) {
                    assert_eq!(
                        mode(&path) & 0o137,
                        0,
                        "{} is open to others: {:o}",
                        path.display(),
                        mode(&path)
                    );
                    let bytes = std::fs::read(&path).unwrap();
                    assert_silent(&path.display().to_string(), &bytes);
                    let mut events = Vec::new();
                    if path.extension().is_some_and(|ending| ending == "run") {
                        MultiGzDecoder::new(&bytes[..])
                            .read_to_end(&mut events)
                            .unwrap();
                        assert!(!events.is_empty());
                    }
                    assert_silent(&path.display().to_string(), &events);
                    count += 1;
                }
            }
        }
        count
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The URL of a service with a secret in each place that a URL has.
fn url(address: SocketAddr) -> String {
    format!(
        "http://ada:{MARK}@{address}/cart;jsessionid={MARK}?page=2&token={MARK}&authorization={MARK}&%61pi_key={MARK};SIG={MARK}\
         &next=http%3A%2F%2Fx%2F%3Fcode%3D{MARK}&X-Amz-Signature={MARK}"
    )
}

fn headers() -> Vec<String> {
    [
        "Authorization: Bearer",
        "Cookie: sid=",
        "X-Api-Key:",
        "Proxy-Authorization: Basic",
        "Referer: http://x/?token=",
    ]
    .iter()
    .map(|start| format!("{start} {MARK}").replace("= ", "="))
    .collect()
}

#[test]
fn runs_reports_and_tables_show_no_secret() {
    let hushed = Hushed::new();
    for address in [origin(), port::unused()] {
        let url = url(address);
        let headers = headers();
        let mut arguments = vec![
            "run", &url, "--rate", "20/s", "--for", "1s", "--report", "-X", "POST",
        ];
        for header in &headers {
            arguments.extend(["-H", header]);
        }
        let data = format!("user=ada&password={MARK}");
        arguments.extend(["--data", &data]);
        hushed.run(&arguments);
        hushed.run(&[&arguments[..], &["--json"]].concat());
    }
    let refused = url(port::unused());
    let (code, output) = hushed.run(&["limit", &refused, "--quick"]);
    assert_eq!(code, 5, "{output}");
    hushed.run(&["check", &refused]);
    let run = hushed
        .place
        .run_files()
        .pop()
        .unwrap()
        .display()
        .to_string();
    hushed.run(&["report", &run]);
    hushed.run(&["report", &run, "--json"]);
    hushed.run(&["export", &run, "--csv", "--out", "tables"]);
    hushed.run(&["export", &run, "--parquet", "--out", "tables"]);
    let scanned = hushed.scan_files();
    assert!(scanned >= 14, "{scanned} files");
}

#[test]
fn mistakes_of_the_command_line_show_no_secret() {
    let hushed = Hushed::new();
    let bad = format!("http://ada:{MARK}@ho st/?token={MARK}");
    for arguments in [
        &["run", bad.as_str()][..],
        &["run", &format!("ftp://ada:{MARK}@host/")],
        &[
            "run",
            &format!("postgres://ada:{MARK}@host/d?password={MARK}"),
        ],
        &[
            "run",
            &format!("http://ada:{MARK}@no-such-host.invalid/?token={MARK}"),
        ],
        &[
            "run",
            "http://127.0.0.1:1/",
            "-H",
            &format!("Authorization Bearer {MARK}"),
        ],
        &[
            "run",
            "http://127.0.0.1:1/",
            "--objective",
            &format!("token={MARK} < 5"),
        ],
        &["run", "http://127.0.0.1:1/", &format!("--token={MARK}")],
        &["import", "har", &format!("http://x/?token={MARK}")],
        &[
            "record",
            &format!("http://ada:{MARK}@127.0.0.1:1/"),
            "--browser=/no/such/browser",
        ],
    ] {
        let (code, output) = hushed.try_to(arguments);
        assert!(code == 2 || code == 5, "{code} {output}");
    }
}

const STEPS: &str = r#"
target: http://ada:hush7431@ADDRESS
headers: { Authorization: Bearer hush7431, X-Api-Key: hush7431 }
load: { users: 2, hold: 1s }
data: { people: { csv: people.csv } }
steps:
  - get: /a?token=hush7431&x={{ user }}&sig=hush7431
    headers: { Cookie: sid=hush7431 }
    expect: { header: { set-cookie: sid=hush7431 } }
  - post: /login?x=1&session={{ user }}hush7431&p=2
    form: { user: "{{ people.name }}", password: "{{ people.password }}", token: hush7431, env: "{{ env('EXAM_PASSWORD') }}" }
  - post: /json
    json: { password: hush7431, secret: hush7431 }
"#;

#[test]
fn plans_show_no_secret() {
    let mut hushed = Hushed::new();
    hushed.give(
        "people.csv",
        &format!("name,password\nada,{MARK}\nbo,{MARK}\n"),
    );
    for (name, address) in [("good.yaml", origin()), ("refused.yaml", port::unused())] {
        hushed.give(name, &STEPS.replace("ADDRESS", &address.to_string()));
        hushed.run(&["check", name]);
        hushed.run(&["run", name, "--report"]);
        hushed.run(&["run", name, "--json"]);
    }
    for (number, line) in [
        "target: http://ada:hush7431@ho st",
        "target: http://x\nheaders: { Authorization: [Bearer hush7431] }",
        "target: http://x\nheaders: { \"X-Api-Key: hush7431\" }",
        "target: http://x\nsteps: [ { gte: '/a?token=hush7431' } ]",
        "target: http://x\nsteps: [ { get: 'http://ada:hush7431@/?token=hush7431' } ]",
        "target: http://x\nsteps: [ { get: '/{{ nope(\"token=hush7431\") }}' } ]",
        "target: http://x\nwatch: { postgres: 'postgres://plimsoll:hush7431@a b' }",
        "target: http://x\nwatch: { redis: 'redis://:hush7431@a b' }",
        "target: http://x\nwatch: { redis: { at: x, password: [hush7431] } }",
        "target: http://x\npassword: hush7431",
        "token: hush7431: x",
    ]
    .iter()
    .enumerate()
    {
        let name = format!("bad{number}.yaml");
        hushed.give(&name, line);
        let (code, output) = hushed.run(&["check", &name]);
        assert_eq!(code, 2, "{line}: {output}");
    }
    assert!(hushed.scan_files() >= 6);
}

#[test]
fn external_scripts_show_no_secret() {
    let mut hushed = Hushed::new();
    let script = format!(
        "import sys\nsys.stderr.write('Authorization: Bearer {MARK}\\n')\nsys.stdin.readline()\nprint('{{\"password\": \"{MARK}\"}}')\n"
    );
    hushed.give("script.py", &script);
    // Longer than Python takes to start on a busy machine.
    let plan = format!(
        "target: http://{}\nprocess: [python3, script.py]\nload: {{ users: 1, hold: 9s }}\n",
        origin()
    );
    hushed.give("plan.yaml", &plan);
    let (_, output) = hushed.run(&["run", "plan.yaml", "--report"]);
    for words in [
        "plan: Authorization:",
        "a process of the journey plan failed",
    ] {
        assert!(output.contains(words), "no `{words}` in {output}");
    }
    hushed.run(&["run", "plan.yaml", "--json"]);
    assert!(hushed.scan_files() >= 3);
}

/// A server that asks for the password, and quotes what it got.
fn postgres() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = refuse(&mut stream);
        }
    });
    address
}

fn refuse(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut bytes = [0; 4096];
    let mut len = stream.read(&mut bytes)?;
    if bytes[4..8] == 80_877_103_u32.to_be_bytes() {
        stream.write_all(b"N")?;
        len = stream.read(&mut bytes)?;
    }
    assert!(len > 8);
    stream.write_all(b"R\0\0\0\x08\0\0\0\x03")?;
    len = stream.read(&mut bytes)?;
    let password = String::from_utf8_lossy(&bytes[5..len.max(5)]).into_owned();
    let password = password.trim_end_matches('\0');
    let text = format!(
        "SFATAL\0C28P01\0Mpassword authentication failed: postgres://plimsoll:{password}@db/x?password={password}\0\0"
    );
    let length = u32::try_from(text.len() + 4).unwrap();
    stream.write_all(b"E")?;
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(text.as_bytes())
}

#[test]
fn what_is_watched_shows_no_secret() {
    let mut hushed = Hushed::new();
    let watch = format!(
        "postgres: postgres://plimsoll:{MARK}@{}\nmariadb: mysql://plimsoll:{MARK}@{}\nredis: {{ at: '{}', password: {MARK} }}\n",
        postgres(),
        port::unused(),
        port::unused()
    );
    hushed.give("watch.yaml", &watch);
    // They are asked every second: also where one stands still for some, there is an answer.
    let (code, output) = hushed.run(&["watch", "--watch", "watch.yaml", "--for", "8s"]);
    assert_eq!(code, 0, "{output}");
    assert!(
        output.contains("password authentication failed"),
        "{output}"
    );
    hushed.run(&["watch", "--watch", "watch.yaml", "--for", "1s", "--json"]);
    let target = format!("http://{}/", origin());
    hushed.run(&[
        "run",
        &target,
        "--watch",
        "watch.yaml",
        "--rate",
        "5/s",
        "--for",
        "2s",
        "--report",
    ]);
    assert!(hushed.scan_files() >= 2);
}

#[test]
fn recordings_and_logs_show_no_secret() {
    let mut hushed = Hushed::new();
    let query = format!("page=2&token={MARK}&%61uthorization={MARK};key={MARK}");
    let line = |number: u32| {
        format!(
            "10.0.0.1 - - [25/Nov/2026:05:00:{number:02} +0000] \"GET /a?{query} HTTP/1.1\" 200 12 \"http://x/?token={MARK}\" \"curl\"\n"
        )
    };
    hushed.give("access.log", &(0..30).map(line).collect::<String>());
    hushed.give("bad.log", &format!("GET /?token={MARK}\n").repeat(20));
    let (code, output) = hushed.run(&[
        "import",
        "log",
        "access.log",
        "--target",
        &format!("http://ada:{MARK}@x/"),
    ]);
    assert_eq!(code, 0, "{output}");
    hushed.run(&[
        "import",
        "log",
        "access.log",
        "--target",
        "http://x/",
        "--replay",
        "1x",
        "--rows",
        "rows.csv",
    ]);
    hushed.run(&["import", "log", "bad.log"]);
    let header = |name: &str, value: &str| serde_json::json!({ "name": name, "value": value });
    let har = serde_json::json!({ "log": { "version": "1.2", "entries": [{
        "startedDateTime": "2026-11-25T05:00:00.000Z", "time": 5,
        "request": {
            "method": "POST", "url": format!("http://x/login?{query}"), "httpVersion": "HTTP/1.1",
            "headers": [
                header("Authorization", &format!("Bearer {MARK}abcdef0123")), header("Cookie", &format!("sid={MARK}")),
                header("X-Api-Key", MARK), header("Referer", &format!("http://x/?token={MARK}")),
            ],
            "queryString": [], "cookies": [], "headersSize": -1, "bodySize": -1,
            "postData": { "mimeType": "application/x-www-form-urlencoded", "text": format!("user=ada&password={MARK}") },
        },
        "response": {
            "status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
            "content": { "size": 2, "mimeType": "text/html", "text": "ok" }, "redirectURL": "", "headersSize": -1, "bodySize": -1,
        },
        "cache": {}, "timings": { "send": 0, "wait": 5, "receive": 0 },
    }] } });
    hushed.give("visit.har", &har.to_string());
    let (code, output) = hushed.run(&["import", "har", "visit.har"]);
    assert_eq!(code, 0, "{output}");
    assert!(hushed.scan_files() >= 1);
}
