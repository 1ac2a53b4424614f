//! State that every connection of a loop needs, whatever its protocol: read buffer, deadlines, memory, metrics.

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

/// Length of the shared read buffer.
const SHARED_LEN: usize = 64 * 1024;
/// Ticks per second.
pub const SECOND_TICKS: u64 = 1000 / TICK_MS;
/// Ticks by which a loop is late when it has much to do. One that is later did not run.
const LATE_MAX: u64 = SECOND_TICKS / 2;

/// State shared by the connections of one loop.
#[derive(Debug)]
pub struct LoopState {
    /// Time since the edge was started.
    pub clock: EdgeClock,
    /// Borrowed only while bytes are read and handed on, never across an await.
    pub shared: RefCell<Box<[u8]>>,
    /// Deadlines of all connections.
    pub wheel: RefCell<Wheel<Waker>>,
    /// Metrics of the loop.
    pub figures: Arc<LoopMetrics>,
    /// Memory used by connections, and its limit.
    pub memory: Rc<Memory>,
    generation: Cell<u32>,
    /// Shutting down: connections close after their responses.
    draining: Cell<bool>,
    /// Wakes the ticker when the first connection arrives, or when a deadline moves while it dozes.
    busy: Notify,
    /// The ticker skips ticks without due deadlines, or pauses without connections.
    is_dozing: Cell<bool>,
    /// Ticks that the ticker waits for at most.
    pause: Cell<u64>,
}

impl LoopState {
    /// Without connections; together they may hold `memory_max` bytes.
    pub fn new(clock: EdgeClock, memory_max: usize, figures: Arc<LoopMetrics>) -> Self {
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
            pause: Cell::new(1),
        }
    }

    /// Registers a connection's deadline.
    pub fn enter(&self) -> usize {
        self.rouse();
        let generation = self.generation.get().wrapping_add(1);
        self.generation.set(generation);
        self.wheel.borrow_mut().enter(generation)
    }

    /// Moves a deadline.
    #[inline]
    pub fn set_deadline(&self, key: usize, ticks: u64) {
        self.rouse();
        self.wheel.borrow_mut().set(key, ticks);
    }

    /// Whether the loop is shutting down.
    #[inline]
    pub fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Lets connections close after their responses, and idle ones at once.
    pub fn drain(&self) {
        self.draining.set(true);
        self.wheel.borrow_mut().wake_all(Waker::wake_by_ref);
    }

    /// Waits until the first connection comes.
    pub async fn doze(&self) {
        self.is_dozing.set(true);
        self.busy.notified().await;
        self.is_dozing.set(false);
    }

    /// Waits for the next tick. If no deadline has moved within a second after `roused`, waits for the next due
    /// deadline or until one moves: thousands of idle subscribers need no hundred ticks a second. Returns whether a
    /// deadline moved.
    pub async fn pass_time(&self, roused: u64) -> bool {
        let now = self.ticks();
        let to_second = SECOND_TICKS - now % SECOND_TICKS;
        let pause = if now >= roused + SECOND_TICKS {
            self.wheel.borrow().idle_for(to_second)
        } else {
            1
        };
        self.pause.set(pause);
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

    /// A deadline moved: its time counts from now, and regular ticks resume.
    #[inline]
    fn rouse(&self) {
        if self.is_dozing.replace(false) {
            self.wake_expired();
            self.busy.notify_one();
        }
    }

    /// Wakes the connections whose deadlines have passed; the tick.
    pub fn wake_expired(&self) -> u64 {
        let (now, most) = (self.ticks(), self.pause.get() + LATE_MAX);
        let mut wheel = self.wheel.borrow_mut();
        wheel.advance_within(now, most, Waker::wake_by_ref);
        now
    }

    /// Ticks since the clock started.
    pub fn ticks(&self) -> u64 {
        self.clock.now() / (TICK_MS * 1_000_000)
    }
}
