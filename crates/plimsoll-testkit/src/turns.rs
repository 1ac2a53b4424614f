//! Turns on this machine: a test that measures has it alone, all others share it.
//!
//! Most tests wait for processes, time-outs and small loads, and need no quiet: they run beside each other, as many as
//! there are test threads. A test whose assertions depend on time asks for the machine first.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// Who has the machine, and who waits for it.
#[derive(Default)]
struct Machine {
    sharing: usize,
    is_alone: bool,
    /// Tests that want it alone; none begins to share it meanwhile, so that they get it.
    waiting: usize,
}

static MACHINE: Mutex<Machine> = Mutex::new(Machine {
    sharing: 0,
    is_alone: false,
    waiting: 0,
});
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// The turn of the test on this thread.
    static HELD: RefCell<Weak<MachineTurn>> = const { RefCell::new(Weak::new()) };
}

fn machine() -> MutexGuard<'static, Machine> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A turn on the machine, which ends when its last holder drops it.
#[derive(Debug)]
pub struct MachineTurn {
    is_alone: bool,
}

impl MachineTurn {
    fn shared() -> Self {
        let mut machine = CHANGED
            .wait_while(machine(), |it| it.is_alone || it.waiting > 0)
            .unwrap_or_else(PoisonError::into_inner);
        machine.sharing += 1;
        Self { is_alone: false }
    }

    fn alone() -> Self {
        let mut machine = machine();
        machine.waiting += 1;
        let mut machine = CHANGED
            .wait_while(machine, |it| it.is_alone || it.sharing > 0)
            .unwrap_or_else(PoisonError::into_inner);
        machine.waiting -= 1;
        machine.is_alone = true;
        Self { is_alone: true }
    }
}

impl Drop for MachineTurn {
    fn drop(&mut self) {
        let mut machine = machine();
        if self.is_alone {
            machine.is_alone = false;
        } else {
            machine.sharing -= 1;
        }
        CHANGED.notify_all();
    }
}

fn hold(turn: MachineTurn) -> Arc<MachineTurn> {
    let turn = Arc::new(turn);
    HELD.set(Arc::downgrade(&turn));
    turn
}

/// The turn that this test has; otherwise it waits for one that it shares.
#[must_use]
pub fn held_or_shared() -> Arc<MachineTurn> {
    HELD.with_borrow(Weak::upgrade)
        .unwrap_or_else(|| hold(MachineTurn::shared()))
}

/// Waits until nothing else runs: for tests that measure, and for those that would disturb all others. It must be the
/// test's first step, since a test that shares the machine would wait for itself.
///
/// # Panics
///
/// If this test shares the machine already.
#[must_use]
pub fn alone() -> Arc<MachineTurn> {
    let held = HELD.with_borrow(Weak::upgrade);
    assert!(
        held.is_none(),
        "`alone()` comes before the first sandbox of a test"
    );
    hold(MachineTurn::alone())
}
