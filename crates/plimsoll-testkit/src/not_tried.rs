//! Tests skipped on this machine, and why: in the test's own output and, for `cargo xtask test`, in a file.

#![expect(
    clippy::print_stdout,
    reason = "whoever reads the log of a test must see what was not tried"
)]

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Path of the file that collects one line per skipped check: the test's name, a tab, the reason.
///
/// libtest hides the output of passing tests, so the caller of the tests reads this file instead.
pub const FILE_VARIABLE: &str = "PLIMSOLL_NOT_TRIED";

/// Reports that this test skipped a check, and why. `cargo xtask test` lists it in its last lines.
///
/// # Panics
/// When the file named in the environment cannot be written: an incomplete list would be wrong.
pub fn not_tried(reason: impl Display) {
    let reason = reason.to_string().replace('\n', " ");
    println!("NOT TRIED: {reason}");
    let Some(path) = std::env::var_os(FILE_VARIABLE) else {
        return;
    };
    let thread = std::thread::current();
    let program = std::env::args().next().unwrap_or_default();
    let name = match thread.name() {
        // A separate program, or a thread started by a test.
        None | Some("main") => program.rsplit('/').next().unwrap_or_default(),
        Some(name) => name,
    };
    let line = format!("{name}\t{reason}\n");
    // One write of one short line: concurrent tests and programs do not interleave.
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("{FILE_VARIABLE}={}: {error}", path.display()));
}

/// The same for a measurement invalidated by other work on this machine.
pub fn disturbed(reason: impl Display) {
    not_tried(format_args!("this machine was disturbed: {reason}"));
}
