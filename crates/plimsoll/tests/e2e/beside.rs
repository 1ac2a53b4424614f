//! Tests that take minutes. Tests begin in the order of their names, and these before most others, so that none of them goes
//! on when all others have ended.

mod kills;
mod law;
mod search;
mod workers;
