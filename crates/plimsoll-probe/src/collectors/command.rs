//! A configured command that prints metrics.

use std::io::{self, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::link::{ScrapeError, shortly};

/// Longest output that is read, bytes.
const STDOUT_LEN_MAX: u64 = 4 << 20;
/// Longest error output that is read, bytes.
const COMPLAINT_LEN_MAX: u64 = 4096;

/// A child that does not outlive its question.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command without a shell, and returns its output.
pub(super) fn run(words: &[String], patience: Duration) -> Result<String, ScrapeError> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(ScrapeError::Absent("the command is missing".to_owned()));
    };
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| ScrapeError::Absent(format!("{program}: {error}")))?;
    let mut asked = ChildGuard(child);
    let output = asked.0.stdout.take();
    let complaints = asked.0.stderr.take();
    let (sender, answer) = sync_channel(1);
    // The thread ends with the child, whose output it reads.
    let reader = std::thread::Builder::new()
        .name("scrape command".to_owned())
        .spawn(move || {
            let read = || -> io::Result<(String, String)> {
                let (mut stdout, mut complaint) = (Vec::new(), Vec::new());
                if let Some(output) = output {
                    output.take(STDOUT_LEN_MAX).read_to_end(&mut stdout)?;
                }
                if let Some(complaints) = complaints {
                    complaints
                        .take(COMPLAINT_LEN_MAX)
                        .read_to_end(&mut complaint)?;
                }
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                Ok((text(&stdout), text(&complaint)))
            };
            let _ = sender.send(read());
        });
    reader?;
    let (stdout, complaint) = match answer.recv_timeout(patience) {
        Ok(read) => read?,
        Err(RecvTimeoutError::Timeout) => return Err(ScrapeError::Late),
        Err(RecvTimeoutError::Disconnected) => return Err(ScrapeError::Closed),
    };
    if stdout.trim().is_empty() {
        return Err(ScrapeError::Absent(shortly(&complaint)));
    }
    Ok(stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn what_a_command_says_is_taken() {
        assert_eq!(
            run(&words("echo {} $HOME ;"), LONG).as_deref(),
            Ok("{} $HOME ;\n")
        );
        let complaint = run(&words("cat /no/such/file"), LONG);
        assert!(
            matches!(&complaint, Err(ScrapeError::Absent(why)) if why.contains("/no/such/file")),
            "{complaint:?}"
        );
        for text in ["no-such-program-of-ours -j", ""] {
            assert!(
                matches!(run(&words(text), LONG), Err(ScrapeError::Absent(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let late = run(&words("sleep 600"), Duration::from_millis(50));
        assert_eq!(late, Err(ScrapeError::Late));
        // The output is too long: the child blocks in its write, and is killed.
        let endless = run(&words("yes"), LONG).unwrap();
        assert_eq!(endless.len() as u64, STDOUT_LEN_MAX);
    }
}
