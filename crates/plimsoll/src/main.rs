//! The door: arguments, messages, exit codes.
fn main() {}
