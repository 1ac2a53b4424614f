//! A command of the user's: a program with its arguments, without a shell, for a bounded time.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// Longest time that it may take, s.
const LASTING_MAX_S: i64 = 120;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It was not started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// The program.
        program: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// It reported a failure.
    #[error("`{program}` {how}")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        how: String,
    },
}

/// Runs a command to its end. Its output goes to our standard error, its input is empty.
///
/// # Errors
/// When it does not start, fails, or takes longer than two minutes.
pub fn run(words: &[String], environment: &[(String, String)]) -> Result<(), CommandError> {
    let Some((program, arguments)) = words.split_first() else {
        return Ok(());
    };
    let start = |source| CommandError::Start {
        program: program.clone(),
        source,
    };
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment.iter().cloned())
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        // What the terminal sends to us is ours to handle: it must be able to finish.
        .process_group(0)
        .spawn()
        .map_err(start)?;
    let ended = wait(&mut child).map_err(start)?;
    let failed = |how: String| {
        Err(CommandError::Failed {
            program: program.clone(),
            how,
        })
    };
    match ended {
        Some(status) if status.success() => Ok(()),
        Some(status) => failed(format!("failed ({status})")),
        None => {
            // It has ended already, as intended.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            let _ = child.wait();
            failed(format!("took longer than {LASTING_MAX_S} s and was ended"))
        }
    }
}

/// Waits for its end; `None` when it takes too long.
fn wait(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let lasting = Timespec {
        tv_sec: LASTING_MAX_S,
        tv_nsec: 0,
    };
    loop {
        let mut ready = [PollFd::new(&handle, PollFlags::IN)];
        match poll(&mut ready, Some(&lasting)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return child.try_wait(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[&str]) -> Vec<String> {
        text.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_command_does_its_work_or_says_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file with spaces; and more");
        let path = file.display().to_string();
        let environment = [("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        run(&words(&["touch", &path]), &environment).unwrap();
        assert!(file.exists(), "arguments are handed over as they are");
        let failed = run(&words(&["false"]), &environment).unwrap_err();
        assert!(failed.to_string().contains("`false` failed"), "{failed}");
        let absent = run(&words(&["/nowhere/at-all"]), &[]).unwrap_err();
        assert!(absent.to_string().contains("cannot start"), "{absent}");
        assert!(run(&[], &[]).is_ok());
    }
}
