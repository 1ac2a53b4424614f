//! Turns on this machine: a test that measures has it alone, all others share it.
//!
//! Most tests wait for processes, time-outs and small loads, and need no quiet: they run beside each other, as many as
//! there are test threads. A test whose assertions depend on time asks for the machine first. Those that do wait until
//! nothing shares it any more, and then run one after the other: the fewer such changes, the less of the machine lies idle
//! while the last one that shares it ends.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// Who has the machine, and who waits for it.
#[derive(Default)]
struct Machine {
    sharing: usize,
    is_alone: bool,
    /// Tests that want it alone.
    waiting: usize,
    /// Whether those come first: since one of them had it, until none is left.
    favours_waiting: bool,
}

static MACHINE: Mutex<Machine> = Mutex::new(Machine {
    sharing: 0,
    is_alone: false,
    waiting: 0,
    favours_waiting: false,
});
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// The turn of the test on this thread.
    static HELD: RefCell<Weak<MachineTurn>> = const { RefCell::new(Weak::new()) };
}

fn machine() -> MutexGuard<'static, Machine> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a turn keeps others from.
#[derive(Debug)]
enum Claim {
    Nothing,
    Shared,
    Alone,
}

/// A turn on the machine, which ends when its last holder drops it.
#[derive(Debug)]
pub struct MachineTurn {
    claim: Claim,
}

impl MachineTurn {
    fn shared() -> Self {
        let mut machine = CHANGED
            .wait_while(machine(), |it| it.is_alone || it.favours_waiting)
            .unwrap_or_else(PoisonError::into_inner);
        machine.sharing += 1;
        Self {
            claim: Claim::Shared,
        }
    }

    fn alone() -> Self {
        let mut machine = machine();
        machine.waiting += 1;
        let mut machine = CHANGED
            .wait_while(machine, |it| it.is_alone || it.sharing > 0)
            .unwrap_or_else(PoisonError::into_inner);
        machine.waiting -= 1;
        machine.is_alone = true;
        machine.favours_waiting = true;
        Self {
            claim: Claim::Alone,
        }
    }
}

impl Drop for MachineTurn {
    fn drop(&mut self) {
        let mut machine = machine();
        match self.claim {
            Claim::Nothing => {}
            Claim::Shared => machine.sharing -= 1,
            Claim::Alone => {
                machine.is_alone = false;
                machine.favours_waiting = machine.waiting > 0;
            }
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
    assert_first("alone()");
    hold(MachineTurn::alone())
}

/// Waits for nothing and lets nothing wait: for a test that takes minutes and little of the machine, and asserts what
/// stands other work beside it. It must be the test's first step.
///
/// # Panics
///
/// If this test shares the machine already.
#[must_use]
pub fn beside_all() -> Arc<MachineTurn> {
    assert_first("beside_all()");
    hold(MachineTurn {
        claim: Claim::Nothing,
    })
}

fn assert_first(function: &str) {
    let held = HELD.with_borrow(Weak::upgrade);
    assert!(
        held.is_none(),
        "`{function}` comes before the first sandbox of a test"
    );
}
