//! The sample site of the demo: a small news site, rendered on the server from an embedded SQLite file.
//!
//! It is built the way such sites are: a page is a tree of components, each teaser queries the database for its author,
//! section and number of comments and reads its article's Markdown for the excerpt and the reading time. So a page
//! costs CPU in proportion to the DOM nodes rendered, and the number of nodes is the only setting
//! (the rest is left to the browser). No work is done for the sake of its cost, and nothing sleeps.
//!
//! One thread handles HTTP; a configurable number of workers renders, fed from a bounded queue. A request that finds
//! the queue full gets `503`. It is a demo's target without further safety: no TLS, no writes, no sessions.

mod dom;
mod markdown;
mod pages;
mod prose;
mod server;
mod store;
mod workers;

use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::thread::JoinHandle;

use tokio::sync::watch;

/// Valid numbers of DOM nodes per page: below, the frame of the page does not fit; above, the articles run out.
pub const NODES: RangeInclusive<u32> = 60..=3_000;

/// Valid numbers of workers.
pub const WORKERS: RangeInclusive<usize> = 1..=256;

/// Settings of the site.
#[derive(Clone, Debug)]
pub struct SitePlan {
    /// Its address; port 0 takes a free one.
    pub listen: SocketAddr,
    /// DOM nodes rendered per page, at most; see [`NODES`].
    pub nodes: u32,
    /// Threads that render; see [`WORKERS`].
    pub workers: usize,
    /// Existing folder that holds the database file, which is created at the first start.
    pub folder: PathBuf,
}

/// Why the site cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The number of nodes is out of range.
    #[error("{requested} nodes per page: valid are {} to {}", NODES.start(), NODES.end())]
    Nodes {
        /// The requested number.
        requested: u32,
    },
    /// The number of workers is out of range.
    #[error("{requested} workers: valid are {} to {}", WORKERS.start(), WORKERS.end())]
    Workers {
        /// The requested number.
        requested: usize,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {address}: choose a free port of this host, or port 0 for any")]
    Listen {
        /// The requested address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The articles cannot be written or read.
    #[error("cannot use the database {}: the folder must exist and be writable", path.display())]
    Store {
        /// The database file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// A thread or descriptor is not available.
    #[error("cannot start the site's threads: raise the limits on processes and descriptors")]
    Threads {
        /// The system's error.
        source: io::Error,
    },
}

/// A running site; stops when dropped.
#[derive(Debug)]
pub struct SiteHandle {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    server: Option<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
}

/// Creates the articles if needed, and serves until the returned handle is stopped or dropped.
///
/// The site answers when this returns.
///
/// # Errors
/// When the plan is out of range, the address in use, or the folder not writable.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a plan is handed over: the site may outlive its maker"
)]
pub fn serve(plan: SitePlan) -> Result<SiteHandle, SiteError> {
    if !NODES.contains(&plan.nodes) {
        return Err(SiteError::Nodes {
            requested: plan.nodes,
        });
    }
    if !WORKERS.contains(&plan.workers) {
        return Err(SiteError::Workers {
            requested: plan.workers,
        });
    }
    let path = store::prepare(&plan.folder)?;
    let (queue, queue_end) = workers::queue(plan.workers);
    let workers = workers::start(&queue_end, &path, plan.workers, plan.nodes)?;
    let listener = server::listen(plan.listen).map_err(|source| SiteError::Listen {
        address: plan.listen,
        source,
    })?;
    let threads = |source| SiteError::Threads { source };
    let address = listener.local_addr().map_err(threads)?;
    let (stop, stopped) = watch::channel(false);
    let server = server::start(listener, queue, stopped).map_err(threads)?;
    Ok(SiteHandle {
        address,
        stop,
        server: Some(server),
        workers,
    })
}

impl SiteHandle {
    /// The address of the site.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Blocks while the site serves, which is until the process ends.
    pub fn wait(mut self) {
        self.join();
    }

    /// Stops accepting, aborts requests in flight and returns when all threads have ended.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // The receiver is gone if the server has ended already.
        let _ = self.stop.send(true);
        self.join();
    }

    /// The workers end when the server has dropped their queue.
    fn join(&mut self) {
        for thread in self.server.take().into_iter().chain(self.workers.drain(..)) {
            let outcome = thread.join();
            if !std::thread::panicking() {
                outcome.expect("the site's threads do not panic");
            }
        }
    }
}

impl Drop for SiteHandle {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests;
