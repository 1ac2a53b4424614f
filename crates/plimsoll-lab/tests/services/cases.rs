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

/// Lists of cases that take about equally long. Each case has folders, ports and processes of its own.
pub(crate) fn beside() -> [Vec<Case>; 5] {
    [
        kills::EVEN.to_vec(),
        kills::ODD.to_vec(),
        [processes::ALL, files::ALL].concat(),
        [dead_man::ALL, workers::ALL].concat(),
        [bad_input::ALL, source::ALL, surroundings::ALL].concat(),
    ]
}

/// Cases that assert control groups. Whoever removes the last group disables its controllers, maybe just when another group
/// is made.
pub(crate) const ALONE: &[Case] = limits::ALL;
