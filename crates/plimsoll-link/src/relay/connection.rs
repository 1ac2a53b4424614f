//! A connection from its second handshake to its end.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use rustix::net::{Shutdown, shutdown};
use tokio::net::TcpStream;
use tokio::task::coop::consume_budget;

use super::{OpenLink, Relay};
use crate::direction::Direction;
use crate::schedule::{ConnectionSchedule, FlowEnd, Room};

/// A client, its target, and what is on its way between them.
pub(super) struct Connection {
    relay: Rc<Relay>,
    link: Rc<OpenLink>,
    near: TcpStream,
    far: TcpStream,
    schedule: RefCell<ConnectionSchedule>,
    /// Per direction: its sender is known to have reset the connection, which its next read may show as a plain end.
    is_broken: [Cell<bool>; 2],
}

/// One end has reset the connection, and the other one is about to learn it.
struct ConnectionReset;

impl Connection {
    pub(super) fn new(
        (relay, link): (Rc<Relay>, Rc<OpenLink>),
        (near, far): (TcpStream, TcpStream),
        schedule: ConnectionSchedule,
    ) -> Self {
        Self {
            relay,
            link,
            near,
            far,
            schedule: RefCell::new(schedule),
            is_broken: [Cell::new(false), Cell::new(false)],
        }
    }

    /// Carries bytes until both directions have ended, or one end resets the connection.
    pub(super) async fn carry(self) {
        let ended = tokio::try_join!(
            self.carry_one_way(Direction::ToTarget),
            self.carry_one_way(Direction::FromTarget)
        );
        if ended.is_err() {
            self.link.totals.borrow_mut().reset += 1;
            // Dropped sockets then send a reset. The end that has sent one is gone already.
            let _ = (self.near.set_zero_linger(), self.far.set_zero_linger());
        }
    }

    /// Sender and receiver of a direction.
    fn ends(&self, direction: Direction) -> (&TcpStream, &TcpStream) {
        match direction {
            Direction::ToTarget => (&self.near, &self.far),
            Direction::FromTarget => (&self.far, &self.near),
        }
    }

    async fn carry_one_way(&self, direction: Direction) -> Result<(), ConnectionReset> {
        let (from, to) = self.ends(direction);
        let mut bytes = VecDeque::new();
        loop {
            // Where both ends keep up, nothing below ever waits.
            consume_budget().await;
            let now_ns = self.relay.clock.now();
            self.arrive(direction, now_ns);
            let Ok(is_full) = self.deliver(direction, to, &mut bytes) else {
                return self.report_reset(direction).await;
            };
            match self.schedule.borrow().ended(direction, now_ns) {
                Some(FlowEnd::Finished) => {
                    // A receiver that is gone needs no end.
                    let _ = shutdown(to, Shutdown::Write);
                    return Ok(());
                }
                Some(FlowEnd::Reset) => return Err(ConnectionReset),
                None => {}
            }
            let (room, wake_ns) = self.room(direction, now_ns);
            tokio::select! {
                biased;
                _ = from.readable(), if matches!(room, Room::Bytes(_)) => {
                    self.take(direction, room, &mut bytes);
                }
                _ = to.writable(), if is_full => {}
                () = self.relay.timers.until(wake_ns), if wake_ns < u64::MAX => {}
                // Nothing to wait for: what is held would never be delivered.
                else => return Err(ConnectionReset),
            }
        }
    }

    /// What may enter now, and when to look again in any case, ns; the maximum if never.
    fn room(&self, direction: Direction, now_ns: u64) -> (Room, u64) {
        let schedule = self.schedule.borrow();
        let link = self.link.schedule.borrow();
        let room = link.room(&schedule, direction, now_ns, self.relay.memory.spare());
        let next_ns = schedule.next_ns(direction);
        // An end that is there already waits for the bytes before it, and these for the receiver.
        let next_ns = next_ns.filter(|next_ns| *next_ns > now_ns);
        let wake_ns = next_ns.unwrap_or(u64::MAX);
        match room {
            Room::Until(room_ns) => (room, wake_ns.min(room_ns)),
            Room::Bytes(_) | Room::Full => (room, wake_ns),
        }
    }

    fn arrive(&self, direction: Direction, now_ns: u64) {
        let mut schedule = self.schedule.borrow_mut();
        let before = schedule.held(direction);
        if let Some(arrived) = schedule.arrive(direction, now_ns) {
            let mut totals = self.link.totals.borrow_mut();
            totals.of(direction).arrive(arrived.late_ns);
            self.relay.memory.change(before, schedule.held(direction));
        }
    }

    /// Writes what has arrived; whether the receiver takes no more.
    fn deliver(
        &self,
        direction: Direction,
        to: &TcpStream,
        bytes: &mut VecDeque<u8>,
    ) -> io::Result<bool> {
        loop {
            let mut schedule = self.schedule.borrow_mut();
            let arrived_len = schedule.arrived_len(direction);
            if arrived_len == 0 {
                if bytes.is_empty() {
                    // Idle connections hold no memory.
                    *bytes = VecDeque::new();
                }
                return Ok(false);
            }
            let (front, _) = bytes.as_slices();
            let len = usize::try_from(arrived_len).unwrap_or(usize::MAX);
            match to.try_write(&front[..front.len().min(len)]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes.drain(..count);
                    let before = schedule.held(direction);
                    schedule.deliver(direction, count as u64);
                    self.relay.memory.change(before, schedule.held(direction));
                    let mut totals = self.link.totals.borrow_mut();
                    totals.of(direction).len += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what has room.
    fn take(&self, direction: Direction, room: Room, bytes: &mut VecDeque<u8>) {
        let Room::Bytes(room) = room else {
            return;
        };
        let (from, _) = self.ends(direction);
        let mut buffer = self.relay.buffer.borrow_mut();
        let len = usize::try_from(room).unwrap_or(usize::MAX);
        let len = len.min(buffer.len());
        let read = from.try_read(&mut buffer[..len]);
        let now_ns = self.relay.clock.now();
        let mut schedule = self.schedule.borrow_mut();
        match read {
            Ok(0) if self.is_broken[direction.index()].get() => {
                schedule.end(direction, now_ns, FlowEnd::Reset);
            }
            Ok(0) => schedule.end(direction, now_ns, FlowEnd::Finished),
            Ok(count) => {
                bytes.extend(&buffer[..count]);
                let before = schedule.held(direction);
                let mut link = self.link.schedule.borrow_mut();
                let entered = link.enter(&mut schedule, direction, now_ns, count as u64);
                self.relay.memory.change(before, schedule.held(direction));
                self.link.totals.borrow_mut().of(direction).enter(entered);
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => schedule.end(direction, now_ns, FlowEnd::Reset),
        }
    }

    /// The receiver of a direction has reset the connection. Its sender learns it behind all that the receiver has sent
    /// before: by the other direction, or after half of a round trip where that has ended.
    async fn report_reset(&self, direction: Direction) -> Result<(), ConnectionReset> {
        if self.is_broken[direction.index()].get() {
            // So has its sender: nobody is left to learn it, and the other direction waits for this one.
            return Err(ConnectionReset);
        }
        let back = direction.opposite();
        self.is_broken[back.index()].set(true);
        if !self.schedule.borrow().is_ended(back) {
            return std::future::pending().await;
        }
        let now_ns = self.relay.clock.now();
        let arrives_ns = self.schedule.borrow().reset_arrives_ns(back, now_ns);
        self.relay.timers.until(arrives_ns).await;
        Err(ConnectionReset)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let schedule = self.schedule.borrow();
        for direction in Direction::ALL {
            self.relay.memory.change(schedule.held(direction), 0);
        }
    }
}
