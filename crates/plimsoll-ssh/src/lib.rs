//! This program on another machine, over the user's own `ssh`: sent, checked by its hash, run for as long as the connection
//! lasts, and taken away. Agents that nobody installed and the workers of a file of hosts are started by it.
//!
//! The walk of a start ([`SentProgram::start`]):
//!
//! 1. `ssh` is started with arguments, without a shell, in a process group of its own: the Ctrl-C of a terminal is for this
//!    program, which ends what it has started in its own order.
//! 2. What `ssh` hands to the other machine is one command for a shell there (`script`). It is a constant but for a length,
//!    a hash and plain words: nothing that a user or the other machine has written becomes a part of it.
//! 3. The bytes of this program are the first on its input. The shell there writes them to a new file, compares the hash,
//!    tries whether the program runs, and prints a line of its own (`marker`) before it runs it. Everything after that line
//!    belongs to the program: standard input and output are the connection.
//! 4. The shell removes the file when the program ends, when the connection ends before, and when something fails. The
//!    program removes it as soon as it runs ([`remove_own_file`]).
//!
//! One `ssh` is one login: a program that is sent needs no second connection to be removed, which nobody could make after a
//! Ctrl-C or a cut line.
//!
//! What never fails to hold: every wait ends; no secret is in a list of processes, here or there, since what a program needs
//! is sent on its input.

mod error;
mod lines;
mod marker;
mod own_file;
mod script;
mod sent_program;
mod this_program;

pub use error::SshError;
pub use lines::SshReport;
pub use marker::RemoteFailure;
pub use own_file::remove_own_file;
pub use sent_program::{SentProgram, SshCloser, SshRequest};
pub use this_program::ThisProgram;
