//! Data goes to stdout, everything else to stderr.

use std::io::{self, IsTerminal as _, Write as _};

use plimsoll_model::redact;

use crate::arguments::Colour;

/// Capabilities of the terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    colour: Colour,
    no_color: bool,
}

impl Screen {
    /// `no_color` is whether NO_COLOR is set to something.
    pub(crate) fn new(colour: Colour, no_color: bool) -> Self {
        Self { colour, no_color }
    }

    /// Whether data on stdout is coloured.
    pub(crate) fn colours_data(self) -> bool {
        match self.colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => !self.no_color && io::stdout().is_terminal(),
        }
    }
}

/// Writes data to stdout. A closed pipe is not an error.
pub(crate) fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}

/// Writes a line to stderr as it is: with a secret that the user must read there.
pub(crate) fn eprint_with_secret(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes a message to stderr, with secrets redacted.
pub(crate) fn eprint(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", redact::text(text));
}
