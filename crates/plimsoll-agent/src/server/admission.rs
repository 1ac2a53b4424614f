//! How many connections an agent has: few whose handshake is not done, few readers, and none for ever.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use plimsoll_model::lock::lock;

/// As many readers are served at once.
pub(super) const READERS_MAX: usize = 8;

/// As many handshakes may be going on; a further one ends the oldest. Who is invited needs milliseconds, and so passes.
const HANDSHAKES_MAX: usize = 16;

/// A handshake ends after this long, ns, however slowly its bytes arrive.
const HANDSHAKE_MAX_NS: i64 = 10_000_000_000;

/// Refusals are reported at most once in this time, ns: anybody may cause them.
const REFUSALS_EVERY_NS: i64 = 60_000_000_000;

/// All connections of an agent.
#[derive(Debug, Default)]
pub(super) struct Admission {
    clients: Mutex<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    /// In the order in which they came.
    all: Vec<Client>,
    next_id: u64,
    refusal_at_ns: Option<i64>,
}

#[derive(Debug)]
struct Client {
    id: u64,
    socket: TcpStream,
    since_ns: i64,
    is_reader: bool,
}

impl Admission {
    /// A connection that was accepted at `now_ns`.
    pub(super) fn begin(self: &Arc<Self>, socket: &TcpStream, now_ns: i64) -> io::Result<Ticket> {
        let socket = socket.try_clone()?;
        let mut clients = lock(&self.clients);
        let waiting = clients.all.iter().filter(|client| !client.is_reader);
        if waiting.count() >= HANDSHAKES_MAX
            && let Some(oldest) = clients.all.iter().position(|client| !client.is_reader)
        {
            end(&clients.all.remove(oldest));
        }
        let id = clients.next_id;
        clients.next_id += 1;
        clients.all.push(Client {
            id,
            socket,
            since_ns: now_ns,
            is_reader: false,
        });
        Ok(Ticket {
            admission: Arc::clone(self),
            id,
        })
    }

    /// Ends handshakes that take too long.
    pub(super) fn sweep(&self, now_ns: i64) {
        let clients = lock(&self.clients);
        let late = clients.all.iter().filter(|client| {
            !client.is_reader && now_ns.saturating_sub(client.since_ns) > HANDSHAKE_MAX_NS
        });
        late.for_each(end);
    }

    /// Ends all connections.
    pub(super) fn close(&self) {
        lock(&self.clients).all.iter().for_each(end);
    }

    /// Whether a refusal at this time is worth a line.
    pub(super) fn may_report_refusal(&self, now_ns: i64) -> bool {
        let mut clients = lock(&self.clients);
        let is_due = clients
            .refusal_at_ns
            .is_none_or(|at| now_ns.saturating_sub(at) >= REFUSALS_EVERY_NS);
        if is_due {
            clients.refusal_at_ns = Some(now_ns);
        }
        is_due
    }
}

/// Its thread notices it, and drops the ticket. The client may have gone already.
fn end(client: &Client) {
    let _ = client.socket.shutdown(Shutdown::Both);
}

/// A connection, for as long as its thread runs.
#[derive(Debug)]
pub(super) struct Ticket {
    admission: Arc<Admission>,
    id: u64,
}

impl Ticket {
    /// Makes it a reader, if there is room for one.
    pub(super) fn enter(&self) -> bool {
        let mut clients = lock(&self.admission.clients);
        let readers = clients.all.iter().filter(|client| client.is_reader);
        let has_room = readers.count() < READERS_MAX;
        let own = clients.all.iter_mut().find(|client| client.id == self.id);
        match own {
            Some(client) if has_room => {
                client.is_reader = true;
                true
            }
            _ => false,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut clients = lock(&self.admission.clients);
        clients.all.retain(|client| client.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    /// Both ends of a connection.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, client)
    }

    /// Whether the other side has ended it; waits for that.
    fn is_ended(client: &mut TcpStream) -> bool {
        client.read(&mut [0]).unwrap() == 0
    }

    #[test]
    fn readers_are_counted_and_leave_room() {
        let admission = Arc::new(Admission::default());
        let (socket, _client) = pair();
        let mut tickets: Vec<Ticket> = (0..=READERS_MAX)
            .map(|_| admission.begin(&socket, 0).unwrap())
            .collect();
        let last = tickets.pop().unwrap();
        assert!(tickets.iter().all(Ticket::enter));
        assert!(!last.enter());
        tickets.pop();
        assert!(last.enter());
        drop((tickets, last));
        assert!(lock(&admission.clients).all.is_empty());
    }

    #[test]
    fn slow_handshakes_end_and_readers_stay() {
        let admission = Arc::new(Admission::default());
        let (slow, mut slow_client) = pair();
        let (reader, reader_client) = pair();
        let _slow = admission.begin(&slow, 0).unwrap();
        let ticket = admission.begin(&reader, 0).unwrap();
        assert!(ticket.enter());
        admission.sweep(HANDSHAKE_MAX_NS);
        admission.sweep(HANDSHAKE_MAX_NS + 1);
        assert!(is_ended(&mut slow_client));
        reader_client.set_nonblocking(true).unwrap();
        let open = reader_client.peek(&mut [0]).unwrap_err();
        assert_eq!(open.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn too_many_handshakes_end_the_oldest() {
        let admission = Arc::new(Admission::default());
        let (oldest, mut oldest_client) = pair();
        let (other, _other_client) = pair();
        let _tickets: Vec<Ticket> = std::iter::once(&oldest)
            .chain(std::iter::repeat_n(&other, HANDSHAKES_MAX))
            .map(|socket| admission.begin(socket, 0).unwrap())
            .collect();
        assert!(is_ended(&mut oldest_client));
    }

    #[test]
    fn refusals_are_reported_once_a_minute() {
        let admission = Admission::default();
        let at = [0, 1, REFUSALS_EVERY_NS - 1, REFUSALS_EVERY_NS];
        let reported = at.map(|now| admission.may_report_refusal(now));
        assert_eq!(reported, [true, false, false, true]);
    }
}
