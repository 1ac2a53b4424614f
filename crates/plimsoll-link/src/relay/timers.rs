//! Timers of connections: one timer of the kernel, set for the first.
//!
//! Timers of the runtime end at whole milliseconds, which is as long as a short link is.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::net::unix::pipe;

use crate::clock::RelayClock;

const SECOND_NS: u64 = 1_000_000_000;

/// Who waits, by when.
pub(super) struct Timers {
    clock: RelayClock,
    /// It is read as a pipe is: the runtime's type for any descriptor has no safe constructor.
    kernel: pipe::Receiver,
    /// By moment (ns) and number of the alarm.
    waiting: RefCell<BTreeMap<(u64, u64), Waker>>,
    alarms: Cell<u64>,
    /// The moment for which the kernel's timer is set; the maximum if for none.
    set_ns: Cell<u64>,
}

impl Timers {
    /// Needs the runtime around it.
    pub(super) fn new(clock: RelayClock) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let kernel = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self {
            clock,
            kernel: pipe::Receiver::from_owned_fd_unchecked(kernel)?,
            waiting: RefCell::default(),
            alarms: Cell::new(0),
            set_ns: Cell::new(u64::MAX),
        })
    }

    /// Wakes all whose moment has come, as long as it is polled.
    pub(super) async fn run(&self) {
        while let Ok(()) = self.kernel.readable().await {
            let mut expirations = [0_u8; 8];
            // Read or not: it is set again for whoever still waits.
            let _ = self.kernel.try_read(&mut expirations);
            self.wake();
        }
    }

    fn wake(&self) {
        let now_ns = self.clock.now();
        self.set_ns.set(u64::MAX);
        while let Some(waker) = self.next_due(now_ns) {
            waker.wake();
        }
        let first = self.waiting.borrow().keys().next().map(|key| key.0);
        if let Some(first_ns) = first {
            self.set(first_ns);
        }
    }

    fn next_due(&self, now_ns: u64) -> Option<Waker> {
        let mut waiting = self.waiting.borrow_mut();
        let first = waiting.first_entry()?;
        (first.key().0 <= now_ns).then(|| first.remove())
    }

    /// Sets the kernel's timer, where it is not set for an earlier moment.
    fn set(&self, moment_ns: u64) {
        if moment_ns >= self.set_ns.get() {
            return;
        }
        // Zero would switch it off.
        let later_ns = moment_ns.saturating_sub(self.clock.now()).max(1);
        let seconds = i64::try_from(later_ns / SECOND_NS).unwrap_or(i64::MAX);
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let setting = Itimerspec {
            it_interval: never,
            it_value: Timespec {
                tv_sec: seconds,
                tv_nsec: (later_ns % SECOND_NS).cast_signed(),
            },
        };
        let flags = TimerfdTimerFlags::empty();
        if timerfd_settime(&self.kernel, flags, &setting).is_ok() {
            self.set_ns.set(moment_ns);
        }
    }

    /// Waits until a moment, ns.
    pub(super) fn until(&self, moment_ns: u64) -> Alarm<'_> {
        Alarm {
            timers: self,
            moment_ns,
            number: None,
        }
    }
}

/// Ends at a moment.
pub(super) struct Alarm<'t> {
    timers: &'t Timers,
    moment_ns: u64,
    /// Set while it waits.
    number: Option<u64>,
}

impl Future for Alarm<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let timers = self.timers;
        if timers.clock.now() >= self.moment_ns {
            return Poll::Ready(());
        }
        let number = *self.number.get_or_insert_with(|| {
            timers.alarms.set(timers.alarms.get() + 1);
            timers.alarms.get()
        });
        let key = (self.moment_ns, number);
        let waker = context.waker().clone();
        timers.waiting.borrow_mut().insert(key, waker);
        timers.set(self.moment_ns);
        Poll::Pending
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let key = (self.moment_ns, number);
            self.timers.waiting.borrow_mut().remove(&key);
        }
    }
}
