//! Runs of users, sessions and aborts, by the laboratory against a real site.
#![expect(
    clippy::unwrap_used,
    reason = "these are tests, and the lint sees only functions marked so"
)]

mod people;
