//! The command for a shell on the other machine: it receives the program, runs it, and takes it away.

use crate::marker::{DAMAGED, PREFIX, STARTED, UNCHECKED, UNRUNNABLE, UNWRITTEN};
use crate::own_file::FILE_NAME;
use crate::this_program::ThisProgram;

/// The command that receives this program on its standard input and runs it with these arguments, which are plain words.
///
/// The login shell there may be any: all it does is to start `sh`, with one text in single quotes that has no quote, no
/// backslash and no exclamation mark. The file is removed by `sh` when it exits, also when its input ends early, which is how
/// the end of a connection is noticed there.
///
/// # Panics
/// When an argument is no plain word: it would have another meaning for a shell.
pub(crate) fn command(program: &ThisProgram, arguments: &[&str]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    for argument in arguments {
        assert!(
            !argument.is_empty() && argument.chars().all(is_plain),
            "`{argument}` is no plain word"
        );
    }
    let fail = |word: &str| format!("{{ echo {PREFIX} {word}; exit 1; }}");
    let (len, sum, words) = (program.len(), program.sum(), arguments.join(" "));
    let steps = [
        "umask 077".to_owned(),
        format!(
            "f=$(mktemp \"${{TMPDIR:-/tmp}}/{FILE_NAME}XXXXXXXX\") || {}",
            fail(UNWRITTEN)
        ),
        "clean() { rm -f \"$f\"; }".to_owned(),
        "trap clean EXIT".to_owned(),
        "trap \"exit 1\" HUP INT TERM PIPE".to_owned(),
        format!("head -c {len} > \"$f\" || {}", fail(UNWRITTEN)),
        format!("s=$(sha256sum < \"$f\") || {}", fail(UNCHECKED)),
        format!("test \"${{s%% *}}\" = {sum} || {}", fail(DAMAGED)),
        "chmod 700 \"$f\"".to_owned(),
        format!(
            "\"$f\" --version < /dev/null > /dev/null || {}",
            fail(UNRUNNABLE)
        ),
        format!("echo {PREFIX} {STARTED}"),
        format!("\"$f\" {words}"),
    ];
    format!("sh -c '{}'", steps.join("; "))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output, Stdio};

    use tempfile::TempDir;

    use super::*;

    /// A program that prints its arguments and its input.
    const PROGRAM: &str = "#!/bin/sh\ncase $1 in --version) exit 0;; esac\necho \"runs $*\"\ncat\n";

    fn of_text(folder: &Path, text: &str) -> ThisProgram {
        let path = folder.join("program");
        std::fs::write(&path, text).unwrap();
        // The path of a test lives as long as its process.
        let path = path.display().to_string().into_boxed_str();
        ThisProgram::of_file(Box::leak(path)).unwrap()
    }

    /// Runs the command as the login shell `shell` would; returns its output and whether its folder is empty afterwards.
    fn run(command: &str, path: &str, input: &str) -> (Output, bool) {
        let there = TempDir::new().unwrap();
        let mut child = Command::new("/bin/sh")
            .args(["-c", command])
            .env("TMPDIR", there.path())
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A shell that has failed takes no more.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let is_empty = std::fs::read_dir(there.path()).unwrap().next().is_none();
        (output, is_empty)
    }

    const PATH: &str = "/usr/bin:/bin";

    #[test]
    fn what_is_sent_is_run_with_its_input_and_removed() {
        let folder = TempDir::new().unwrap();
        let program = of_text(folder.path(), PROGRAM);
        let command = command(&program, &["worker", "--sent"]);
        let (output, is_empty) = run(&command, PATH, &format!("{PROGRAM}the rest"));
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            stdout,
            "plimsoll-sent: started\nruns worker --sent\nthe rest"
        );
        assert!(output.status.success() && is_empty, "{:?}", output.status);
    }

    #[test]
    fn a_connection_that_ends_early_leaves_nothing_behind() {
        let folder = TempDir::new().unwrap();
        let program = of_text(folder.path(), PROGRAM);
        let (output, is_empty) = run(&command(&program, &["worker"]), PATH, &PROGRAM[..9]);
        assert_eq!(output.stdout, b"plimsoll-sent: damaged\n");
        assert!(!output.status.success() && is_empty);
    }

    #[test]
    fn other_bytes_are_not_run() {
        let folder = TempDir::new().unwrap();
        let program = of_text(folder.path(), PROGRAM);
        let other = PROGRAM.replace("runs", "ruin");
        let (output, is_empty) = run(&command(&program, &["worker"]), PATH, &other);
        assert_eq!(output.stdout, b"plimsoll-sent: damaged\n");
        assert!(!output.status.success() && is_empty);
    }

    #[test]
    fn what_does_not_run_there_is_reported_by_its_word() {
        let folder = TempDir::new().unwrap();
        let text = "#!/nowhere/interpreter\n";
        let program = of_text(folder.path(), text);
        let (output, is_empty) = run(&command(&program, &["worker"]), PATH, text);
        assert_eq!(output.stdout, b"plimsoll-sent: unrunnable\n");
        assert!(is_empty);
    }

    fn installed(tool: &str) -> PathBuf {
        let mut places = PATH.split(':').map(|folder| Path::new(folder).join(tool));
        places.find(|place| place.exists()).unwrap()
    }

    #[test]
    fn a_machine_without_a_tool_is_reported_by_its_word() {
        let folder = TempDir::new().unwrap();
        let program = of_text(folder.path(), PROGRAM);
        // All that the command needs, but for one program.
        for (missing, word) in [("sha256sum", UNCHECKED), ("mktemp", UNWRITTEN)] {
            let tools = TempDir::new().unwrap();
            for tool in ["sh", "mktemp", "head", "sha256sum", "rm", "chmod"] {
                if tool != missing {
                    symlink(installed(tool), tools.path().join(tool)).unwrap();
                }
            }
            let path = tools.path().display().to_string();
            let (output, is_empty) = run(&command(&program, &["worker"]), &path, PROGRAM);
            let expected = format!("{PREFIX} {word}\n");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
            assert!(is_empty);
        }
    }

    #[test]
    fn no_word_of_a_user_is_in_the_command() {
        let folder = TempDir::new().unwrap();
        let program = of_text(folder.path(), PROGRAM);
        let text = command(&program, &["worker", "--sent"]);
        let inner = text.strip_prefix("sh -c '").unwrap();
        let inner = inner.strip_suffix('\'').unwrap();
        assert!(!inner.contains(['\'', '\\', '!', '\n']), "{inner}");
        for word in ["", "a b", "$(id)", "a;b", "'"] {
            let refused = std::panic::catch_unwind(|| command(&program, &[word]));
            assert!(refused.is_err(), "{word}");
        }
    }
}
