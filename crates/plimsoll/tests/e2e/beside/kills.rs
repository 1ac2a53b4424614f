//! `kill -9` of a search over a whole stack. `cargo xtask soak --kills 100` does more of them.

use std::path::Path;
use std::time::Duration;

use plimsoll_testkit::kills::KillRig;
use plimsoll_testkit::turns::beside_all;

const KILLS: u32 = 10;
const SEED: u64 = 22;
/// Applying the settings takes about half of it.
const WITHIN: Duration = Duration::from_secs(4);

#[test]
fn ten_kills_leave_the_stack_as_it_was() {
    let _beside = beside_all();
    let mut rig = KillRig::start(Path::new(env!("CARGO_BIN_EXE_plimsoll")), SEED).unwrap();
    for _ in 0..KILLS {
        rig.kill(WITHIN).unwrap();
    }
}
