//! The agent: it listens, lets in who was invited, and serves each reader on a thread of its own.

mod admission;
mod offset;
mod session;
mod stdio;
mod transport;

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use plimsoll_peer::{Channel, ServerStream};
use plimsoll_probe::{Probe, ProbePlan};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::ServerConfig;

use crate::clock::SteadyClock;
use crate::message::{AgentMessage, MESSAGE_MAX, Target, greet_reader};
use crate::store::IdentityStore;
use admission::{Admission, READERS_MAX, Ticket};
use session::SessionError;
use stdio::Stdio;
use transport::Transport as _;

/// How often a request to stop and handshakes that take too long are looked for.
const GLANCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};

/// How long a reader may be silent where it must speak, and may leave what it is sent unread.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// Receives what happens, for a log: it has no secrets and no readings.
pub type Report = Arc<dyn Fn(&str) + Send + Sync>;

impl ServerParts {
    /// Reports what anybody may cause, at most once a minute.
    fn report_refusal(&self, text: &str) {
        if self.admission.may_report_refusal(self.clock.now_ns()) {
            (self.report)(text);
        }
    }
}

/// An agent that listens.
pub struct AgentServer {
    listener: TcpListener,
    store: IdentityStore,
    shared: Arc<ServerParts>,
}

/// What the threads of an agent share.
struct ServerParts {
    name: String,
    admission: Arc<Admission>,
    report: Report,
    clock: SteadyClock,
}

impl AgentServer {
    /// An agent on a socket that listens, named for its readers.
    ///
    /// # Errors
    /// When the socket cannot be prepared.
    pub fn new(
        listener: TcpListener,
        store: IdentityStore,
        name: String,
        report: Report,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            store,
            shared: Arc::new(ServerParts {
                name,
                admission: Arc::default(),
                report,
                clock: SteadyClock::start(),
            }),
        })
    }

    /// Serves until `stop` is raised; then connections are closed. A probe that hangs is left behind.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn serve(mut self, stop: &AtomicBool) -> io::Result<()> {
        while !stop.load(Ordering::Relaxed) {
            self.shared.admission.sweep(self.shared.clock.now_ns());
            let mut polled = [PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut polled, Some(&GLANCE)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match self.listener.accept() {
                Ok((socket, _)) => self.admit(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    // Without descriptors the connection stays waiting, and would be reported at once again.
                    let text = format!("cannot accept a connection: {error}");
                    self.shared.report_refusal(&text);
                    let _ = poll(&mut [], Some(&GLANCE));
                }
            }
        }
        self.shared.admission.close();
        Ok(())
    }

    /// Starts the thread of a connection.
    fn admit(&mut self, socket: TcpStream) {
        let shared = Arc::clone(&self.shared);
        let config = match self.store.server_config() {
            Ok(config) => config,
            Err(error) => return shared.report_refusal(&format!("nobody is let in: {error}")),
        };
        let now = shared.clock.now_ns();
        let ticket = match prepare(&socket).and_then(|()| shared.admission.begin(&socket, now)) {
            Ok(ticket) => ticket,
            Err(error) => return shared.report_refusal(&format!("cannot serve a client: {error}")),
        };
        let started = thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || converse(socket, config, &ticket, &shared));
        if let Err(error) = started {
            (self.shared.report)(&format!("cannot start a thread: {error}"));
        }
    }
}

fn prepare(socket: &TcpStream) -> io::Result<()> {
    // The listener's mode is not inherited on Linux; elsewhere it is.
    socket.set_nonblocking(false)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(SILENCE_MAX))?;
    socket.set_write_timeout(Some(SILENCE_MAX))
}

/// The thread of a connection: handshake, then readings until it ends.
fn converse(socket: TcpStream, config: Arc<ServerConfig>, ticket: &Ticket, shared: &ServerParts) {
    let from = socket
        .peer_addr()
        .map_or_else(|_| "a client".to_owned(), |address| address.to_string());
    let channel = match Channel::<ServerStream>::accept(socket, config, MESSAGE_MAX) {
        Ok(channel) => channel,
        Err(error) => {
            return shared.report_refusal(&format!("refused {from}: {error}"));
        }
    };
    if !ticket.enter() {
        refuse(channel);
        return;
    }
    (shared.report)(&format!("serving {from}"));
    let ended = session::serve(channel, &shared.name, open);
    let text = match ended {
        Err(SessionError::Closed) | Ok(()) => format!("{from} has left"),
        Err(error) => format!("ended {from}: {error}"),
    };
    (shared.report)(&text);
}

/// Names the reason to an invited reader for whom there is no room.
fn refuse(mut channel: Channel<ServerStream>) {
    let reason = format!(
        "it serves {READERS_MAX} readers already, and no more at once; end one of them, or try later"
    );
    // Whether it arrives or not, the connection ends.
    let _ = greet_reader(&mut channel).map(|()| channel.send(&AgentMessage::Refused { reason }));
    let _ = channel.stream().sock.shutdown(Shutdown::Both);
}

/// Opens the probes. Where the target is not on this machine, the whole machine is read: it may be that of a database.
fn open(target: Target) -> Probe {
    let is_named = target.address.is_some() || !target.processes.is_empty();
    let whole = ProbePlan {
        auto: true,
        is_agent: true,
        ..ProbePlan::default()
    };
    if !is_named {
        return Probe::open(whole);
    }
    let probe = Probe::open(ProbePlan {
        target_address: target.address,
        process_names: target.processes,
        ..whole.clone()
    });
    if probe.is_same_machine() {
        probe
    } else {
        Probe::open(whole)
    }
}

/// Serves the one reader that started this program over `ssh`, on standard input and output, until it goes.
///
/// # Errors
/// When it speaks another version, or something else.
pub fn serve_stdio(name: &str) -> Result<(), String> {
    let mut stdio = Stdio::default();
    stdio
        .set_time_out(SILENCE_MAX)
        .map_err(|error| error.to_string())?;
    match session::serve(Channel::new(stdio, MESSAGE_MAX), name, open) {
        Ok(()) | Err(SessionError::Closed) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
