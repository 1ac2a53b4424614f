//! Progress of a run on stderr.

use std::io::{self, IsTerminal as _, Write as _};

use plimsoll_lab::progress::{Progress, Watcher};
use plimsoll_live::ProgressHandle;
use plimsoll_model::trial::Trial;
use plimsoll_report::live_line::{self, LiveState};

use crate::live;
use crate::screen::eprint;

/// Seconds between plain progress lines where there is no terminal.
const PLAIN_EVERY_S: u32 = 5;

/// Progress of a run: a live line on a terminal, plain lines in a pipe.
#[derive(Debug)]
pub(crate) struct LiveLine {
    quiet: bool,
    terminal: bool,
    shown: bool,
    seconds: u32,
    page: Option<ProgressHandle>,
}

impl LiveLine {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: io::stderr().is_terminal(),
            shown: false,
            seconds: 0,
            page: live::progress(),
        }
    }

    /// Clears the live line.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
            self.shown = false;
        }
    }

    fn print_message(&mut self, text: &str) {
        if !self.quiet {
            self.clear();
            eprint(text);
        }
    }
}

impl Watcher for LiveLine {
    fn window_closed(&mut self, progress: &Progress<'_>) {
        if let Some(page) = &self.page {
            page.show(&live::progress_report(progress));
        }
        if self.quiet {
            return;
        }
        let state = LiveState {
            window: progress.window,
            stage: progress.stage,
            interval: progress.interval,
            unit: progress.unit,
            remaining: progress.remaining,
            cpu: progress.cpu,
        };
        if self.terminal {
            let line = live_line::line(&state, width().saturating_sub(1));
            let mut stderr = io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush());
            self.shown = true;
        } else {
            self.seconds += 1;
            if self.seconds.is_multiple_of(PLAIN_EVERY_S) {
                eprint(&live_line::line(&state, 160));
            }
        }
    }

    fn trial_ended(&mut self, trial: &Trial) {
        let text = plimsoll_report::text::trial_line(trial);
        self.print_message(&text);
    }

    fn noted(&mut self, text: &str) {
        self.print_message(text);
    }
}

/// The live line of the loads of an experiment, whose trials have a line of their own.
pub(crate) struct TrialLine(pub(crate) LiveLine);

impl Watcher for TrialLine {
    fn window_closed(&mut self, progress: &Progress<'_>) {
        self.0.window_closed(progress);
    }

    fn noted(&mut self, text: &str) {
        self.0.noted(text);
    }
}

/// Prints a line of an experiment in place of the live line of its load.
pub(crate) fn print_over(text: &str) {
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
    }
    eprint(text);
}

/// Columns of the terminal; 80 if unknown.
fn width() -> usize {
    rustix::termios::tcgetwinsize(io::stderr()).map_or(80, |size| usize::from(size.ws_col).max(20))
}
