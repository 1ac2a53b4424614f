//! The test kit's origin with a known law, as a separate process.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context as _, Result};

use crate::child::pinned;

/// A running origin; ends when dropped.
pub struct OriginProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    url: String,
}

impl OriginProcess {
    /// Starts the binary with these arguments, pinned if a core is given.
    ///
    /// # Errors
    ///
    /// If the binary cannot run, or its output cannot be read.
    pub fn start(
        binary: &Path,
        core: Option<usize>,
        arguments: &[impl AsRef<OsStr>],
    ) -> Result<Self> {
        let mut command = match core {
            Some(core) => pinned(core, &[binary.display().to_string()]),
            None => Command::new(binary),
        };
        let mut child = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", binary.display()))?;
        let stdin = child.stdin.take();
        let mut url = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        stdout.read_line(&mut url)?;
        child.stdout = Some(stdout.into_inner());
        Ok(Self {
            child,
            stdin,
            url: url.trim().to_owned(),
        })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends it and returns what it counted: the line of counts, then the arrival moments asked for.
    ///
    /// # Errors
    ///
    /// If its output cannot be read.
    pub fn finish(mut self) -> Result<String> {
        drop(self.stdin.take());
        let mut text = String::new();
        let mut stdout = self
            .child
            .stdout
            .take()
            .expect("the output was put back after the first line");
        stdout.read_to_string(&mut text)?;
        self.child.wait()?;
        Ok(text)
    }
}

impl Drop for OriginProcess {
    fn drop(&mut self) {
        // Already ended after `finish`.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
