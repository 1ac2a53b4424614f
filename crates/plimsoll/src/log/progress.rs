//! Progress on stderr; the one place of this command that reads a clock.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use plimsoll_report::number;

use crate::screen::eprint;

/// Silence at the beginning: a short log needs no progress.
const SILENT: Duration = Duration::from_secs(2);
/// Time between messages on a terminal, and elsewhere.
const EVERY: Duration = Duration::from_millis(500);
const EVERY_PLAIN: Duration = Duration::from_secs(10);
/// Lines between looks at the clock.
const LINES: u64 = 1 << 14;

/// Tells how far reading is.
#[derive(Debug)]
pub(crate) struct ReadProgress {
    begin: Instant,
    last: Duration,
    quiet: bool,
    terminal: bool,
    shown: bool,
    lines: u64,
    bytes: u64,
}

impl ReadProgress {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the module that reads the clock"
    )]
    pub(crate) fn start(quiet: bool) -> Self {
        Self {
            begin: Instant::now(),
            last: Duration::ZERO,
            quiet,
            terminal: io::stderr().is_terminal(),
            shown: false,
            lines: 0,
            bytes: 0,
        }
    }

    /// A line was read.
    pub(super) fn line(&mut self, len: usize) {
        self.lines += 1;
        self.bytes += len as u64 + 1;
        if self.lines.is_multiple_of(LINES) && !self.quiet {
            self.show();
        }
    }

    fn show(&mut self) {
        let now = self.begin.elapsed();
        let every = if self.terminal { EVERY } else { EVERY_PLAIN };
        if now < SILENT || now.saturating_sub(self.last) < every {
            return;
        }
        self.last = now;
        let text = format!(
            "{} lines, {}, {}/s",
            number::count(self.lines),
            number::bytes(self.bytes),
            number::bytes(per_second(self.bytes, now))
        );
        if self.terminal {
            let mut stderr = io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
            self.shown = true;
        } else {
            eprint(&text);
        }
    }

    /// Clears the line of the terminal.
    pub(super) fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
            self.shown = false;
        }
    }
}

fn per_second(bytes: u64, time: Duration) -> u64 {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    bytes.saturating_mul(1000) / ms
}
