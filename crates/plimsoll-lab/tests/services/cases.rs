//! The cases, by subject.

mod bad_input;
mod files;
mod kills;
mod limits;
mod processes;
mod source;
mod surroundings;

use plimsoll_testkit::cases::Case;

/// All cases.
pub(crate) fn all() -> impl Iterator<Item = Case> {
    let lists: [&'static [Case]; 7] = [
        processes::ALL,
        limits::ALL,
        files::ALL,
        source::ALL,
        surroundings::ALL,
        bad_input::ALL,
        kills::ALL,
    ];
    lists.into_iter().flatten().copied()
}
