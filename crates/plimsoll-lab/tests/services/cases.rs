//! The cases, by subject.

mod bad_input;
mod dead_man;
mod files;
mod kills;
mod limits;
mod processes;
mod source;
mod surroundings;
mod workers;

use plimsoll_testkit::cases::Case;

/// All cases.
pub(crate) fn all() -> impl Iterator<Item = Case> {
    let lists: [&'static [Case]; 9] = [
        processes::ALL,
        limits::ALL,
        files::ALL,
        source::ALL,
        surroundings::ALL,
        bad_input::ALL,
        kills::ALL,
        dead_man::ALL,
        workers::ALL,
    ];
    lists.into_iter().flatten().copied()
}
