//! What every connection of a loop needs of it, whatever it speaks: a buffer to read into, deadlines, memory, figures.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::EdgeClock;
use crate::deadline::{TICK_MS, Wheel};
use crate::loop_metrics::LoopMetrics;
use crate::memory::Memory;

/// Length of the buffer that everything is read into.
const SHARED_LEN: usize = 64 * 1024;
/// A second, ticks.
pub(crate) const SECOND_TICKS: u64 = 1000 / TICK_MS;

/// What one loop's connections share.
#[derive(Debug)]
pub(crate) struct LoopState {
    pub(crate) clock: EdgeClock,
    /// Borrowed only while bytes are read and handed on, never across a wait.
    pub(crate) shared: RefCell<Box<[u8]>>,
    pub(crate) wheel: RefCell<Wheel<Waker>>,
    pub(crate) figures: Arc<LoopMetrics>,
    /// What connections hold, and may hold.
    pub(crate) memory: Rc<Memory>,
    generation: Cell<u32>,
    /// About to end: connections close when their answers are given.
    draining: Cell<bool>,
    /// Wakes the clockwork when the first connection comes, or a deadline moves while it dozes.
    busy: Notify,
    /// The clockwork leaves out ticks at which nothing is due, or stands still for want of connections.
    is_dozing: Cell<bool>,
}

impl LoopState {
    /// Without connections, which may hold `memory_max` bytes together.
    pub(crate) fn new(clock: EdgeClock, memory_max: usize, figures: Arc<LoopMetrics>) -> Self {
        Self {
            clock,
            shared: RefCell::new(vec![0; SHARED_LEN].into_boxed_slice()),
            wheel: RefCell::new(Wheel::new()),
            figures,
            memory: Rc::new(Memory::new(memory_max)),
            generation: Cell::new(0),
            draining: Cell::new(false),
            busy: Notify::new(),
            is_dozing: Cell::new(false),
        }
    }

    /// Room for a connection's deadline.
    pub(crate) fn enter(&self) -> usize {
        self.rouse();
        let generation = self.generation.get().wrapping_add(1);
        self.generation.set(generation);
        self.wheel.borrow_mut().enter(generation)
    }

    /// Moves a deadline.
    #[inline]
    pub(crate) fn set_deadline(&self, key: usize, ticks: u64) {
        self.rouse();
        self.wheel.borrow_mut().set(key, ticks);
    }

    /// Whether the loop is about to end.
    #[inline]
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Lets connections end when their answers are given, and those that wait for a request at once.
    pub(crate) fn drain(&self) {
        self.draining.set(true);
        self.wheel.borrow_mut().wake_all(Waker::wake_by_ref);
    }

    /// Waits until the first connection comes.
    pub(crate) async fn doze(&self) {
        self.is_dozing.set(true);
        self.busy.notified().await;
        self.is_dozing.set(false);
    }

    /// Waits for the next tick. Where no deadline has moved since a second after `roused`, for the next at which something
    /// is due, or until one moves: thousands who only listen need no hundred ticks a second. Whether one has moved.
    pub(crate) async fn pass_time(&self, roused: u64) -> bool {
        let now = self.ticks();
        let to_second = SECOND_TICKS - now % SECOND_TICKS;
        let pause = if now >= roused + SECOND_TICKS {
            self.wheel.borrow().idle_for(to_second)
        } else {
            1
        };
        let sleep = tokio::time::sleep(Duration::from_millis(pause * TICK_MS));
        if pause == 1 {
            sleep.await;
            return false;
        }
        self.is_dozing.set(true);
        tokio::select! {
            () = sleep => {}
            () = self.busy.notified() => {}
        }
        !self.is_dozing.replace(false)
    }

    /// A deadline moves: it counts from now, and ticks are told again.
    #[inline]
    fn rouse(&self) {
        if self.is_dozing.replace(false) {
            self.wheel
                .borrow_mut()
                .advance(self.ticks(), Waker::wake_by_ref);
            self.busy.notify_one();
        }
    }

    /// Ticks since the clock was started.
    pub(crate) fn ticks(&self) -> u64 {
        self.clock.now() / (TICK_MS * 1_000_000)
    }
}
