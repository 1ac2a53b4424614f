//! The line that the shell on the other machine prints before the program runs, or when it does not.

use std::io::{self, Read};

/// Begin of the line, which no greeting of a login has.
pub(crate) const PREFIX: &str = "plimsoll-sent:";

/// The program runs from now on.
pub(crate) const STARTED: &str = "started";
/// It could not be written.
pub(crate) const UNWRITTEN: &str = "unwritten";
/// Its hash could not be computed.
pub(crate) const UNCHECKED: &str = "unchecked";
/// Its hash is another one.
pub(crate) const DAMAGED: &str = "damaged";
/// It does not run.
pub(crate) const UNRUNNABLE: &str = "unrunnable";

/// Bytes before the line at most: greetings of a login.
pub(crate) const NOISE_MAX: u64 = 64 << 10;

/// What failed on the other machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RemoteFailure {
    /// There is no room, or no folder.
    #[error(
        "the program cannot be written there; make room in the folder for temporary files (TMPDIR, else /tmp)"
    )]
    Unwritten,
    /// There is no `sha256sum`.
    #[error("the program cannot be checked there; install `sha256sum` (coreutils) on that machine")]
    Unchecked,
    /// It arrived with other bytes.
    #[error("the program arrived there with other bytes (its SHA-256 differs); start again")]
    Damaged,
    /// Another processor, another C library, or a file system without programs.
    #[error(
        "the program does not run there: that machine has another kind of processor or C library (the static binary of the \
         packages runs on any Linux), or allows no programs in the folder for temporary files (TMPDIR, else /tmp)"
    )]
    Unrunnable,
}

/// How the wait for the line has ended.
#[derive(Debug)]
pub(crate) enum MarkerOutcome {
    Started,
    Failed(RemoteFailure),
    /// The stream has ended.
    Ended,
    /// There is too much before it.
    Noise,
}

/// Reads up to the end of the line, and no byte beyond it: those belong to the program.
///
/// # Errors
/// When the stream fails, or nothing comes within its time-out.
pub(crate) fn read(stream: &mut impl Read) -> io::Result<MarkerOutcome> {
    let mut line = Vec::new();
    for _ in 0..NOISE_MAX {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) => return Ok(MarkerOutcome::Ended),
            Ok(_) if byte[0] == b'\n' => {
                if let Some(outcome) = outcome_of(&line) {
                    return Ok(outcome);
                }
                line.clear();
            }
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(MarkerOutcome::Noise)
}

/// What a line means; `None` for one of a login. A greeting without an end of line may stand before ours.
fn outcome_of(line: &[u8]) -> Option<MarkerOutcome> {
    let line = String::from_utf8_lossy(line);
    let (_, word) = line.trim_end().rsplit_once(PREFIX)?;
    match word.trim() {
        STARTED => Some(MarkerOutcome::Started),
        UNWRITTEN => Some(MarkerOutcome::Failed(RemoteFailure::Unwritten)),
        UNCHECKED => Some(MarkerOutcome::Failed(RemoteFailure::Unchecked)),
        DAMAGED => Some(MarkerOutcome::Failed(RemoteFailure::Damaged)),
        UNRUNNABLE => Some(MarkerOutcome::Failed(RemoteFailure::Unrunnable)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_are_passed_over_and_what_follows_is_left() {
        let mut stream = &b"Welcome to load1!\nno newline plimsoll-sent: started\n\0\0first"[..];
        let outcome = read(&mut stream).unwrap();
        assert!(matches!(outcome, MarkerOutcome::Started), "{outcome:?}");
        assert_eq!(stream, b"\0\0first");
    }

    #[test]
    fn a_failure_has_its_word() {
        for (word, failure) in [
            (UNWRITTEN, RemoteFailure::Unwritten),
            (UNCHECKED, RemoteFailure::Unchecked),
            (DAMAGED, RemoteFailure::Damaged),
            (UNRUNNABLE, RemoteFailure::Unrunnable),
        ] {
            let text = format!("{PREFIX} {word}\n");
            let outcome = read(&mut text.as_bytes()).unwrap();
            assert!(
                matches!(outcome, MarkerOutcome::Failed(found) if found == failure),
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn a_stream_that_ends_or_never_ends_is_left() {
        let outcome = read(&mut &b"plimsoll-sent: other\nplimsoll-sent: started"[..]).unwrap();
        assert!(matches!(outcome, MarkerOutcome::Ended), "{outcome:?}");
        let outcome = read(&mut std::io::repeat(b'x')).unwrap();
        assert!(matches!(outcome, MarkerOutcome::Noise), "{outcome:?}");
    }
}
