//! An agent on a thread.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_agent::{AgentServer, AgentSpec, IdentityStore, Report, invitation_ends};
use plimsoll_peer::Token;
use tempfile::TempDir;

/// Longer than any test.
pub(crate) const DAY: Duration = Duration::from_hours(24);

/// An agent that serves until it is dropped.
pub(crate) struct RunningAgent {
    folder: TempDir,
    name: &'static str,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    reports: Arc<Mutex<Vec<String>>>,
}

impl RunningAgent {
    /// On a free port; nobody is invited.
    pub(crate) fn start(name: &'static str) -> Self {
        let mut agent = Self {
            folder: tempfile::tempdir().unwrap(),
            name,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            stop: Arc::default(),
            thread: None,
            reports: Arc::default(),
        };
        agent.serve();
        agent
    }

    /// Serves on the same port, after it has ended.
    pub(crate) fn serve(&mut self) {
        let listener = TcpListener::bind(self.address).unwrap();
        self.address = listener.local_addr().unwrap();
        let store = IdentityStore::new(self.folder.path().join("agent.json"));
        let reports = Arc::clone(&self.reports);
        let report: Report = Arc::new(move |text| reports.lock().unwrap().push(text.to_owned()));
        let server = AgentServer::new(listener, store, self.name.to_owned(), report).unwrap();
        self.stop = Arc::default();
        let stop = Arc::clone(&self.stop);
        self.thread = Some(std::thread::spawn(move || server.serve(&stop).unwrap()));
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A token that holds for so long.
    pub(crate) fn invite(&self, lasting: Duration) -> Token {
        let store = IdentityStore::new(self.folder.path().join("agent.json"));
        store.invite(invitation_ends(lasting)).unwrap()
    }

    /// How it is read with these tokens.
    pub(crate) fn spec(&self, tokens: Vec<Token>) -> AgentSpec {
        AgentSpec::new(self.address.to_string().parse().unwrap(), tokens)
    }

    pub(crate) fn reports(&self) -> Vec<String> {
        self.reports.lock().unwrap().clone()
    }

    /// Ends it; connections are closed.
    pub(crate) fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns when so much time has passed.
pub(crate) fn after(wait: Duration) {
    let (_sender, receiver) = sync_channel::<()>(0);
    let _ = receiver.recv_timeout(wait);
}
