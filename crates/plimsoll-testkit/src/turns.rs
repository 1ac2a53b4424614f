//! Turns on this machine: a test that measures has it alone, or beside two others where all need little of it; the rest
//! share it.
//!
//! Most tests wait for processes, time-outs and small loads, and need no quiet: they run beside each other, as many as
//! there are test threads. A test whose assertions depend on time asks for the machine first. Those that do wait until
//! nothing shares it any more, and then run in succession: the fewer such changes, the less of the machine lies idle
//! while the last one that shares it ends.
//!
//! Whoever measures real programs starts them before its turn ([`measuring`]): several tests do so beside each other, and
//! then measure one after the other ([`alone_for`]), or three at a time ([`quietly`]).

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// Quiet tests at a time. Each takes a tenth of two processors or less; what is measured is void, or not asserted, where two
/// fifths of them are busy.
const QUIET_MAX: usize = 3;

/// What a turn keeps others from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Nothing,
    Shared,
    /// Programs are started for a measurement that follows.
    SetUp,
    Quiet,
    Alone,
}

/// Who has the machine, and who waits for it.
#[derive(Debug)]
struct Machine {
    sharing: usize,
    setting_up: usize,
    quiet: usize,
    is_alone: bool,
    /// Tests that wait to set up, to measure quietly, and to measure alone.
    waiting: [usize; 3],
    /// Whether tests that measure come first: since one of them had it or set up, until none is left.
    favours_measuring: bool,
}

impl Machine {
    const IDLE: Self = Self {
        sharing: 0,
        setting_up: 0,
        quiet: 0,
        is_alone: false,
        waiting: [0; 3],
        favours_measuring: false,
    };

    const fn is_measured(&self) -> bool {
        self.is_alone || self.quiet > 0
    }

    /// Whether a turn may begin now.
    const fn admits(&self, claim: Claim) -> bool {
        let is_still = !self.is_alone && self.sharing == 0 && self.setting_up == 0;
        let [_, waiting_quiet, waiting_alone] = self.waiting;
        match claim {
            Claim::Nothing => true,
            Claim::Shared => !self.favours_measuring,
            // All that can be set up is set up at once, when nobody is left who could measure meanwhile.
            Claim::SetUp => !self.is_measured() && waiting_quiet == 0 && waiting_alone == 0,
            Claim::Quiet => is_still && waiting_alone == 0 && self.quiet < QUIET_MAX,
            Claim::Alone => is_still && self.quiet == 0,
        }
    }

    /// The number of those that wait for such a turn; `None` where nobody counts them.
    fn waiting_for(&mut self, claim: Claim) -> Option<&mut usize> {
        match claim {
            Claim::Nothing | Claim::Shared => None,
            Claim::SetUp => Some(&mut self.waiting[0]),
            Claim::Quiet => Some(&mut self.waiting[1]),
            Claim::Alone => Some(&mut self.waiting[2]),
        }
    }

    /// A turn ends, and its test waits for the next, which may be none.
    fn leave(&mut self, claim: Claim, next: Claim) {
        match claim {
            Claim::Nothing => {}
            Claim::Shared => self.sharing -= 1,
            Claim::SetUp => self.setting_up -= 1,
            Claim::Quiet => self.quiet -= 1,
            Claim::Alone => self.is_alone = false,
        }
        if let Some(waiting) = self.waiting_for(next) {
            *waiting += 1;
        }
        let is_wanted = self.is_measured() || self.setting_up > 0 || self.waiting != [0; 3];
        self.favours_measuring &= is_wanted;
    }

    /// A turn begins that is admitted.
    fn begin(&mut self, claim: Claim) {
        if let Some(waiting) = self.waiting_for(claim) {
            *waiting -= 1;
            self.favours_measuring = true;
        }
        match claim {
            Claim::Nothing => {}
            Claim::Shared => self.sharing += 1,
            Claim::SetUp => self.setting_up += 1,
            Claim::Quiet => self.quiet += 1,
            Claim::Alone => self.is_alone = true,
        }
    }
}

static MACHINE: Mutex<Machine> = Mutex::new(Machine::IDLE);
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
    claim: Mutex<Claim>,
}

impl MachineTurn {
    fn new(claim: Claim) -> Self {
        let turn = Self {
            claim: Mutex::new(Claim::Nothing),
        };
        turn.change(claim);
        turn
    }

    fn claim(&self) -> MutexGuard<'_, Claim> {
        self.claim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up what it has, and waits for the next. Nothing is held meanwhile, so that no two tests wait for each other.
    fn change(&self, next: Claim) {
        let mut claim = self.claim();
        let mut machine = machine();
        machine.leave(*claim, next);
        *claim = Claim::Nothing;
        CHANGED.notify_all();
        let mut machine = CHANGED
            .wait_while(machine, |it| !it.admits(next))
            .unwrap_or_else(PoisonError::into_inner);
        machine.begin(next);
        *claim = next;
    }
}

impl Drop for MachineTurn {
    fn drop(&mut self) {
        let claim = *self.claim();
        machine().leave(claim, Claim::Nothing);
        CHANGED.notify_all();
    }
}

fn hold(claim: Claim) -> Arc<MachineTurn> {
    let turn = Arc::new(MachineTurn::new(claim));
    HELD.set(Arc::downgrade(&turn));
    turn
}

/// The turn that this test has; otherwise it waits for one that it shares.
#[must_use]
pub fn held_or_shared() -> Arc<MachineTurn> {
    HELD.with_borrow(Weak::upgrade)
        .unwrap_or_else(|| hold(Claim::Shared))
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
    hold(Claim::Alone)
}

/// Waits until nothing else runs but other quiet tests: for a test whose load takes little of the machine. It must be the test's
/// first step.
///
/// # Panics
///
/// If this test shares the machine already.
#[must_use]
pub fn quiet() -> Arc<MachineTurn> {
    assert_first("quiet()");
    hold(Claim::Quiet)
}

/// For a test that starts programs and measures then: it starts them beside others that do so, while nothing is measured. It
/// must be the test's first step; [`alone_for`] or [`quietly`] follows.
///
/// # Panics
///
/// If this test shares the machine already.
#[must_use]
pub fn measuring() -> Arc<MachineTurn> {
    assert_first("measuring()");
    hold(Claim::SetUp)
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
    hold(Claim::Nothing)
}

/// Measures while nothing else runs. Then this test has no turn: what follows is the end of its programs.
pub fn alone_for<T>(measure: impl FnOnce() -> T) -> T {
    measure_with(Claim::Alone, measure)
}

/// The same while at most two other tests run, which measure as quietly.
pub fn quietly<T>(measure: impl FnOnce() -> T) -> T {
    measure_with(Claim::Quiet, measure)
}

fn measure_with<T>(claim: Claim, measure: impl FnOnce() -> T) -> T {
    let turn = HELD
        .with_borrow(Weak::upgrade)
        .unwrap_or_else(|| hold(Claim::Nothing));
    if *turn.claim() == Claim::Alone {
        return measure();
    }
    turn.change(claim);
    let measured = measure();
    turn.change(Claim::Nothing);
    measured
}

fn assert_first(function: &str) {
    let held = HELD.with_borrow(Weak::upgrade);
    assert!(
        held.is_none(),
        "`{function}` comes before the first sandbox of a test"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a test wait for a turn; whether it begins at once.
    fn begins(machine: &mut Machine, claim: Claim) -> bool {
        machine.leave(Claim::Nothing, claim);
        begins_waiting(machine, claim)
    }

    /// The same of one that waits already.
    fn begins_waiting(machine: &mut Machine, claim: Claim) -> bool {
        let is_admitted = machine.admits(claim);
        if is_admitted {
            machine.begin(claim);
        }
        is_admitted
    }

    fn ends(machine: &mut Machine, claim: Claim) {
        machine.leave(claim, Claim::Nothing);
    }

    #[test]
    fn tests_alone_wait_for_those_that_share_and_run_in_succession() {
        let mut machine = Machine::IDLE;
        assert!(begins(&mut machine, Claim::Shared));
        assert!(!begins(&mut machine, Claim::Alone));
        assert!(!begins(&mut machine, Claim::Alone));
        assert!(begins(&mut machine, Claim::Shared), "they wait");
        ends(&mut machine, Claim::Shared);
        assert!(!machine.admits(Claim::Alone));
        ends(&mut machine, Claim::Shared);
        assert!(begins_waiting(&mut machine, Claim::Alone));
        assert!(!machine.admits(Claim::Alone));
        ends(&mut machine, Claim::Alone);
        assert!(!machine.admits(Claim::Shared), "the other comes first");
        assert!(begins_waiting(&mut machine, Claim::Alone));
        ends(&mut machine, Claim::Alone);
        assert!(begins(&mut machine, Claim::Shared));
    }

    #[test]
    fn quiet_tests_run_three_at_a_time_after_those_alone() {
        let mut machine = Machine::IDLE;
        for _ in 0..QUIET_MAX {
            assert!(begins(&mut machine, Claim::Quiet));
        }
        assert!(!begins(&mut machine, Claim::Quiet));
        assert!(!begins(&mut machine, Claim::Alone));
        assert!(!machine.admits(Claim::Shared));
        for _ in 0..QUIET_MAX {
            assert!(!machine.admits(Claim::Quiet), "one waits to be alone");
            assert!(!machine.admits(Claim::Alone));
            ends(&mut machine, Claim::Quiet);
        }
        assert!(begins_waiting(&mut machine, Claim::Alone));
        assert!(!machine.admits(Claim::Quiet));
        ends(&mut machine, Claim::Alone);
        assert!(begins_waiting(&mut machine, Claim::Quiet));
        ends(&mut machine, Claim::Quiet);
        assert!(machine.admits(Claim::Shared));
    }

    #[test]
    fn what_is_set_up_together_is_measured_before_others_share() {
        let mut machine = Machine::IDLE;
        assert!(begins(&mut machine, Claim::SetUp));
        assert!(begins(&mut machine, Claim::SetUp));
        assert!(!machine.admits(Claim::Shared));
        machine.leave(Claim::SetUp, Claim::Quiet);
        assert!(!machine.admits(Claim::Quiet), "another is set up");
        machine.leave(Claim::SetUp, Claim::Quiet);
        assert!(begins_waiting(&mut machine, Claim::Quiet));
        assert!(!begins(&mut machine, Claim::SetUp), "one is measured");
        assert!(begins_waiting(&mut machine, Claim::Quiet));
        ends(&mut machine, Claim::Quiet);
        ends(&mut machine, Claim::Quiet);
        assert!(!machine.admits(Claim::Shared));
        assert!(begins_waiting(&mut machine, Claim::SetUp));
        machine.leave(Claim::SetUp, Claim::Alone);
        assert!(begins_waiting(&mut machine, Claim::Alone));
        ends(&mut machine, Claim::Alone);
        assert!(machine.admits(Claim::Shared));
    }

    /// On real threads: whatever the order, nobody waits for ever, and a test that panics gives its turn back.
    #[test]
    fn every_test_has_its_turn() {
        std::thread::scope(|scope| {
            for number in 0..24 {
                scope.spawn(move || match number % 4 {
                    0 => drop(alone()),
                    1 => drop(held_or_shared()),
                    2 => {
                        let _turn = measuring();
                        alone_for(|| ());
                    }
                    _ => {
                        let _turn = measuring();
                        let fails = || quietly::<()>(|| panic!("it fails"));
                        assert!(std::panic::catch_unwind(fails).is_err());
                    }
                });
            }
        });
        let _turn = alone();
        assert_eq!(quietly(|| 1), 1, "it has the machine already");
    }
}
