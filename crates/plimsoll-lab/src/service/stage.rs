//! What all parts of applying a cell share: the experiment, the folder, the journal.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_model::experiment::{Experiment, LevelText};

use super::ServiceContext;
use super::fault::{ApplyFault, ApplyFaultKind};
use super::journal::AppliedJournal;
use super::processes;

/// Folder of the output of processes, in the folder of the experiment.
const OUTPUT_FOLDER: &str = "output";
/// Bytes at the end of an output that are searched for its last line.
const TAIL_LEN: u64 = 4096;
/// Lines at the end of an output that are shown.
const LINES_MAX: usize = 20;
/// Longest line that is shown, characters.
const LINE_LEN_MAX: usize = 300;

/// What all parts of applying a cell share.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) experiment: Arc<Experiment>,
    pub(super) context: ServiceContext,
    pub(super) journal: AppliedJournal,
    pub(super) boot: String,
}

/// What was put back, and what was not.
#[derive(Debug, Default)]
pub(super) struct Reversal {
    /// What was put back, for people.
    pub(super) restored: Vec<String>,
    /// What was found changed by others.
    pub(super) notes: Vec<String>,
    /// What is still applied.
    pub(super) faults: Vec<ApplyFault>,
}

impl Reversal {
    /// The first of what is still applied, as an error.
    pub(super) fn check(&self) -> Result<(), ApplyFault> {
        self.faults
            .first()
            .map_or(Ok(()), |fault| Err(fault.clone()))
    }
}

impl Stage {
    pub(super) fn open(
        experiment: Arc<Experiment>,
        context: ServiceContext,
    ) -> Result<Self, ApplyFault> {
        let journal = AppliedJournal::open(&context.folder)?;
        let output = context.folder.join(OUTPUT_FOLDER);
        fs::create_dir_all(&output).map_err(|error| {
            ApplyFault::new(
                ApplyFaultKind::Journal,
                output.display().to_string(),
                format!("the folder cannot be made: {error}"),
                "use a folder of your own with --out",
            )
        })?;
        Ok(Self {
            experiment,
            context,
            journal,
            boot: processes::boot(),
        })
    }

    /// A text in a cell; `None` when one of its axes has no level there.
    pub(super) fn text(&self, cell: usize, text: &LevelText) -> Option<String> {
        text.in_cell(&self.experiment.design, &self.experiment.cell(cell)?)
    }

    /// The words of a command in a cell.
    pub(super) fn words(&self, cell: usize, words: &[LevelText]) -> Vec<String> {
        words
            .iter()
            .filter_map(|word| self.text(cell, word))
            .collect()
    }

    /// A file or folder that the experiment names.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.context.base.join(name)
    }

    /// The file of an output.
    pub(super) fn output(&self, name: &str) -> PathBuf {
        let folder = self.context.folder.join(OUTPUT_FOLDER);
        folder.join(format!("{name}.log"))
    }

    /// # Errors
    /// When the user requested a stop.
    pub(super) fn check_stop(&self) -> Result<(), ApplyFault> {
        if self.context.stop.is_raised() {
            Err(ApplyFault::interrupted())
        } else {
            Ok(())
        }
    }
}

/// The last lines of an output, for people: those that fit into its last bytes, without empty ones.
pub(super) fn last_lines(path: &Path) -> Vec<String> {
    let tail = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(TAIL_LEN)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_LEN).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = tail().unwrap_or_default();
    let shown = |line: &str| -> String {
        let printable = line.trim_end().chars().filter(|c| !c.is_control());
        printable.take(LINE_LEN_MAX).collect()
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = lines.map(shown).collect();
    lines.drain(..lines.len().saturating_sub(LINES_MAX));
    lines
}

/// The last line of an output of ours that tells an error, else its last line, for people.
pub(super) fn error_line(path: &Path) -> String {
    const MARK: &str = "error: ";
    let lines = last_lines(path);
    match lines.iter().rev().find_map(|line| line.strip_prefix(MARK)) {
        Some(error) => error.to_owned(),
        None => last_line(path),
    }
}

/// The last line of an output, for people; empty when there is none.
pub(super) fn last_line(path: &Path) -> String {
    let line = last_lines(path).pop().unwrap_or_default();
    line.trim().to_owned()
}

/// A problem with the last line of an output behind it.
pub(super) fn with_last_line(problem: String, output: &Path) -> String {
    match last_line(output).as_str() {
        "" => problem,
        line => format!("{problem}: {line}"),
    }
}

/// The line of an output that names the cause of a failure, for people: of checks of configurations it is the first one that
/// mentions an error, and their last line is only that they failed. The last line where none does, and after a traceback.
fn cause_line(path: &Path) -> String {
    const MARKS: [&str; 6] = ["error", "[emerg]", "[alert]", "fatal", "unknown", "invalid"];
    let lines = last_lines(path);
    let has_mark = |line: &String| {
        let line = line.to_ascii_lowercase();
        MARKS.iter().any(|mark| line.contains(mark))
    };
    let is_traceback = lines.iter().any(|line| line.starts_with("Traceback"));
    let Some(first) = lines.iter().position(has_mark).filter(|_| !is_traceback) else {
        return last_line(path);
    };
    let cause = lines[first].trim();
    // Apache names the place, and the cause in the next line.
    let next = lines.get(first + 1).filter(|_| cause.ends_with(':'));
    next.map_or_else(
        || cause.to_owned(),
        |next| format!("{cause} {}", next.trim()),
    )
}

/// A problem with the line of an output behind it that names its cause.
pub(super) fn with_cause(problem: String, output: &Path) -> String {
    match cause_line(output).as_str() {
        "" => problem,
        line => format!("{problem}: {line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_failed_check_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (output, cause) in [
            (
                "[28-Nov-2026 02:38:22] ERROR: [/p.conf:9] unknown entry 'pm.nonsense'\n\
                 [28-Nov-2026 02:38:22] ERROR: failed to load configuration file '/f.conf'\n\
                 [28-Nov-2026 02:38:22] ERROR: FPM initialization failed\n",
                "[28-Nov-2026 02:38:22] ERROR: [/p.conf:9] unknown entry 'pm.nonsense'",
            ),
            (
                "AH00526: Syntax error on line 31 of /a.conf:\nUnknown Authz provider: local\nAction '-t' failed.\n\
                 The Apache error log may have more information.\n",
                "AH00526: Syntax error on line 31 of /a.conf: Unknown Authz provider: local",
            ),
            (
                "nginx: [emerg] unknown directive \"x\" in /n.conf:3\nnginx: configuration file /n.conf test failed\n",
                "nginx: [emerg] unknown directive \"x\" in /n.conf:3",
            ),
            (
                "Traceback (most recent call last):\n  raise ValueError(error)\nValueError: 7\n",
                "ValueError: 7",
            ),
            ("killed\n", "killed"),
            ("", ""),
        ] {
            fs::write(file.path(), output).unwrap();
            assert_eq!(cause_line(file.path()), cause);
        }
    }

    #[test]
    fn an_error_comes_before_its_help() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = |text: &str| {
            fs::write(file.path(), text).unwrap();
            (last_line(file.path()), error_line(file.path()))
        };
        let help = "help: give a file";
        assert_eq!(
            line("error: no such file\n  help: give a file\n\n"),
            (help.to_owned(), "no such file".to_owned())
        );
        assert_eq!(line("killed\n"), ("killed".to_owned(), "killed".to_owned()));
        assert_eq!(line(""), (String::new(), String::new()));
    }
}
