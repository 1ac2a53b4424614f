//! Files crafted to exhaust memory or to block the program: each is refused, in bounded memory.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::Sandbox;

/// Address space of each command, KiB: a program that takes more is ended by its allocator.
const MEMORY_KIB: u64 = 1 << 20;

/// Runs a command in bounded memory; returns exit code and output.
fn run(place: &Sandbox, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .current_dir(place.path())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), stderr)
}

/// A file with this content is refused with exit code 2 and these words.
fn refused(name: &str, content: &[u8], command: &[&str], words: &str) {
    let place = Sandbox::new();
    std::fs::write(place.path().join(name), content).unwrap();
    let (code, output) = run(&place, &[command, &[name]].concat());
    let start: String = output.chars().take(600).collect();
    assert_eq!(code, 2, "{command:?} of {name}: {start}");
    assert!(output.contains(words), "`{words}` is not in: {start}");
    assert!(
        output.len() < 64 << 10,
        "{} bytes are said: {start}",
        output.len()
    );
    let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is made: {left:?}");
}

const START: &str = "target: http://127.0.0.1:1\nload: { users: 1, hold: 1s }\n";

fn laughs() -> String {
    let mut levels = String::new();
    for level in 1..20 {
        let items = vec![format!("*l{}", level - 1); 10].join(", ");
        writeln!(levels, "  - &l{level} [{items}]").unwrap();
    }
    format!("{START}steps:\n  - &l0 {{ get: / }}\n{levels}  - *l19\n")
}

/// A list in a list, and so on: two thousand lines.
fn blocks() -> String {
    let mut lines = String::new();
    for indent in 0..2_000 {
        writeln!(lines, "{}-", " ".repeat(indent)).unwrap();
    }
    format!("{START}steps:\n{lines}")
}

#[test]
fn yaml_is_never_more_than_it_looks() {
    let deep = |open: &str, close: &str| [open.repeat(200_000), close.repeat(200_000)];
    let of_steps = |text: String| format!("{START}steps: {text}\n");
    for (name, text, words) in [
        ("laughs", laughs(), "1 problem"),
        ("flow", of_steps(deep("[", "]").concat()), "problem"),
        ("maps", of_steps(deep("{a: ", "").concat()), "problem"),
        ("blocks", blocks(), "problem"),
        ("itself", of_steps("&a [*a]".to_owned()), "problem"),
        (
            "number",
            format!("{START}seed: {}\n", "9".repeat(1_000_000)),
            "problem",
        ),
        (
            "twice",
            format!("{START}seed: 1\nseed: 2\n"),
            "duplicate key `seed`",
        ),
    ] {
        refused(&format!("{name}.yaml"), text.as_bytes(), &["check"], words);
    }
    // The reader of the edge's file is the same one.
    let edge = format!("listen: {}", deep("[", "]").concat());
    refused("edge.yaml", edge.as_bytes(), &["edge", "check"], "problem");
    refused(
        "long.yaml",
        &vec![b'#'; 17 << 20],
        &["check"],
        "17825792 bytes",
    );
}

#[test]
fn what_is_read_within_a_plan_has_an_end() {
    let deep = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(50_000), close.repeat(50_000))
    };
    let captured = |how: String| format!("{START}steps: [{{ get: /, capture: {{ a: {how} }} }}]\n");
    let path = |path: String| captured(format!("{{ json: '$[?{path}]' }}"));
    let expression = deep("(", "1", ")");
    for (name, text, words) in [
        (
            "expression",
            format!("{START}steps: [{{ get: '/{{{{ {expression} }}}}' }}]\n"),
            "problem",
        ),
        (
            "regex",
            captured("'((a{1000}){1000}){1000}(b)'".to_owned()),
            "problem",
        ),
        (
            "groups",
            captured(format!("'{}'", deep("(", "a", ")"))),
            "problem",
        ),
        ("path", path(deep("(", "@.a", ")")), "is not a JSON path"),
        (
            "paths",
            path("(".repeat(40) + "@.a" + &")".repeat(40)),
            "too deep",
        ),
        (
            "selector",
            captured(format!("{{ css: '{}' }}", deep(":not(", "a", ")"))),
            "problem",
        ),
    ] {
        refused(&format!("{name}.yaml"), text.as_bytes(), &["check"], words);
    }
}

#[test]
fn a_device_or_a_pipe_as_a_file_ends_at_once() {
    let place = Sandbox::new();
    let made = Command::new("mkfifo")
        .arg(place.path().join("pipe.yaml"))
        .status();
    assert!(made.unwrap().success());
    for arguments in [
        &["check", "/dev/zero"][..],
        &["run", "/dev/zero", "--for", "1s"],
        &["report", "/dev/zero"],
        &["import", "har", "/dev/zero"],
        &["import", "log", "/dev/zero"],
        &["edge", "check", "/dev/zero"],
        &["run", "http://127.0.0.1:1/", "--urls", "/dev/zero"],
        &["run", "http://127.0.0.1:1/", "--data", "@/dev/zero"],
        &["watch", "--watch", "/dev/zero"],
    ] {
        let (code, output) = run(&place, arguments);
        assert!(
            code == 2 && output.contains("it is a device"),
            "{arguments:?}: {code} {output}"
        );
    }
    let (code, output) = run(&place, &["check", "pipe.yaml"]);
    assert!(
        code == 2 && output.contains("no data arrived on this pipe for 5 s"),
        "{code} {output}"
    );
}

#[test]
fn recordings_and_logs_are_never_more_than_they_look() {
    let deep = 200_000;
    let values = format!(
        "{{\"log\": {{\"entries\": [{}0]}}}}",
        "0,".repeat(9_000_000)
    );
    refused(
        "deep.har",
        format!("{}{}", "[".repeat(deep), "]".repeat(deep)).as_bytes(),
        &["import", "har"],
        "recursion limit",
    );
    refused(
        "many.har",
        values.as_bytes(),
        &["import", "har"],
        "more than 8000000 JSON values",
    );
    // A line of 300 MB in 300 kB.
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..300 {
        bomb.write_all(&vec![b'a'; 1 << 20]).unwrap();
    }
    refused(
        "line.log.gz",
        &bomb.finish().unwrap(),
        &["import", "log"],
        "line.log.gz",
    );
}

fn packed(chunks: &[&[u8]]) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), Compression::best());
    for chunk in chunks {
        file.write_all(chunk).unwrap();
    }
    file.finish().unwrap()
}

#[test]
fn a_run_file_is_never_more_than_it_looks() {
    let zeros = vec![0_u8; 100 << 20];
    refused(
        "zeros.run",
        &packed(&[&zeros]),
        &["report"],
        "longer than 64 MiB",
    );
    let spaces = vec![b' '; 63 << 20];
    refused(
        "spaces.run",
        &packed(&[&spaces, b"\n"]),
        &["report"],
        "is not a run log",
    );
    let deep = format!(
        "{{\"event\":\"run_started\",\"data\":{{\"format_major\":1,\"a\":{}\n",
        "[".repeat(1 << 20)
    );
    refused(
        "deep.run",
        &packed(&[deep.as_bytes()]),
        &["report"],
        "is not a run log",
    );
    let values = format!(
        "{{\"event\":\"run_started\",\"data\":{{\"format_major\":1,\"a\":[{}0]}}}}\n",
        "0,".repeat(20 << 20)
    );
    refused(
        "values.run",
        &packed(&[values.as_bytes()]),
        &["report"],
        "is not a run log",
    );
}

/// A run file that is read up to where it begins to fill the memory: what it holds until then is shown.
#[test]
fn a_run_file_of_endless_events_is_cut_off() {
    let place = Sandbox::new();
    let origin = plimsoll_testkit::port::unused();
    let url = format!("http://{origin}/");
    let output = place.run(&["run", &url, "--rate", "5/s", "--for", "1s"]);
    let file = place
        .run_files()
        .pop()
        .unwrap_or_else(|| panic!("{output:?}"));
    let mut bytes = std::fs::read(&file).unwrap();
    let note = format!(
        "{{\"event\":\"note_made\",\"data\":{{\"second\":1,\"text\":\"{}\"}}}}\n",
        "a".repeat(100_000)
    );
    let many = note.repeat(10);
    let notes = packed(&vec![many.as_bytes(); 400]);
    assert!(notes.len() < 2 << 20, "{} bytes hold 400 MB", notes.len());
    bytes.extend(notes);
    std::fs::write(&file, &bytes).unwrap();
    let (code, output) = run(&place, &["report", &file.display().to_string()]);
    assert!((0..=6).contains(&code), "{code} {output}");
    assert!(output.contains("it is damaged or malicious"), "{output}");
}
