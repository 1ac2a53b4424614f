//! Files that a reader has before the first command of a page: a log, a script, runs of yesterday.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Collections beside the tests, by the name that pages give them.
const COLLECTIONS: [(&str, &str); 2] = [
    ("shop.json", "import_scripts/postman/login.json"),
    ("staging.json", "import_scripts/postman/env.json"),
];

/// A plan of the reader.
const PLAN: &str = "target: http://127.0.0.1:3000\nsteps:\n  - get: /\n  - think: 1s\nload: { users: 5, hold: 2s }\n";

const OPENAPI: &str = "openapi: 3.1.0\ninfo: { title: Shop, version: '1' }\nservers: [{ url: 'http://127.0.0.1:3000' }]\n\
paths: { /items: { get: { responses: { '200': { description: items } } } } }\n";

/// Files that no command names, and that plans and servers of the pages need.
const FILES: [(&str, &str); 5] = [
    ("answer.c", "int main(void) { return 0; }\n"),
    (
        "candidates.csv",
        "name,password,assignment\nada,secret,7\nbob,secret,8\n",
    ),
    (
        "lines.sh",
        "curl http://127.0.0.1:3000/ -H 'Accept: text/html'\n",
    ),
    ("openapi.yaml", OPENAPI),
    ("shell.html", "<!doctype html><title>Shop</title>\n"),
];

/// Writes the files that no command needs to name.
pub(super) fn write_files(folder: &Path) {
    for (name, text) in FILES {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// Writes the files that a command names and that no block of the page was: `run` makes the runs.
pub(super) fn write(folder: &Path, command: &str, mut run: impl FnMut(&[&str])) {
    let words = command.split([' ', '\n', '=', '\'', '"']);
    for name in words.filter(|word| word.contains('.') && !word.contains('/')) {
        let path = folder.join(name);
        if path.exists() || is_written(command, name) {
            continue;
        }
        if let Some((_, source)) = COLLECTIONS.iter().find(|(file, _)| *file == name) {
            let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e");
            fs::copy(tests.join(source), &path).unwrap();
        } else if has_ending(name, "log") || name.ends_with(".log.1") {
            fs::write(&path, access_log(name.len())).unwrap();
        } else if has_ending(name, "run") {
            run(&[
                "run",
                "http://127.0.0.1:3000/",
                "--rate",
                "50/s",
                "--for",
                "1s",
                "--quiet",
                "--out",
                "given",
            ]);
            let made = fs::read_dir(folder.join("given")).unwrap().next().unwrap();
            fs::rename(made.unwrap().path(), &path).unwrap();
        } else if ["exam.yaml", "load.yaml"].contains(&name) {
            fs::write(&path, PLAN).unwrap();
        }
    }
}

fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == ending)
}

/// Whether the command writes this file itself.
fn is_written(command: &str, name: &str) -> bool {
    [
        format!("> {name}"),
        format!("--out {name}"),
        format!("--html {name}"),
    ]
    .iter()
    .any(|part| command.contains(part))
}

/// Writes a program.
pub(super) fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// An hour of an nginx with `$request_time` in its format; other logs have other hours.
fn access_log(hour: usize) -> String {
    let mut log = String::new();
    for second in 0..1200 {
        let (minute, rest) = (second / 20, second % 20 * 3);
        let hour = hour % 24;
        writeln!(
            log,
            "10.0.0.{} - - [23/Nov/2026:{hour:02}:{minute:02}:{rest:02} +0000] \"GET /article/{} HTTP/1.1\" 200 1234 \"-\" \"Mozilla/5.0\" 0.0{}",
            second % 50,
            second % 7,
            10 + second % 80,
        )
        .unwrap();
    }
    log
}
