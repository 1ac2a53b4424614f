//! The connections to a component's listen address on this machine, for components without metrics.

use plimsoll_model::component::ComponentAddress;

use super::link::ScrapeError;
use crate::host::diag::Diag;
use crate::kernel_files;
use crate::parse::socket::{LISTEN, unix_listener};

/// The listen address of a component.
#[derive(Debug)]
pub(super) struct ListenerProbe {
    place: ComponentAddress,
    diag: Option<Diag>,
}

/// State of its connections.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Connections {
    /// Accepted by the component; unknown for a Unix socket.
    pub(super) taken: Option<u32>,
    /// In the accept queue.
    pub(super) waiting: u32,
}

impl ListenerProbe {
    pub(super) fn new(place: ComponentAddress) -> Self {
        Self { place, diag: None }
    }

    /// Counts the connections; fails where nothing listens.
    pub(super) fn connections(&mut self) -> Result<Connections, ScrapeError> {
        let diag = match &mut self.diag {
            Some(diag) => diag,
            closed => closed.insert(Diag::open()?),
        };
        let counts = match &self.place {
            ComponentAddress::Tcp { port, .. } => of_port(diag, *port)?,
            ComponentAddress::Socket(path) => {
                let table = kernel_files::text("/proc/net/unix")?;
                let queue = match unix_listener(&table, &path.to_string_lossy()) {
                    Some(inode) => diag.unix_queue(inode)?,
                    None => None,
                };
                queue.map(|(waiting, _)| Connections {
                    taken: None,
                    waiting,
                })
            }
            _ => None,
        };
        counts
            .ok_or_else(|| ScrapeError::Absent("nothing listens there on this machine".to_owned()))
    }
}

fn of_port(diag: &mut Diag, port: u16) -> Result<Option<Connections>, ScrapeError> {
    let (mut listeners, mut waiting, mut taken) = (0, 0_u32, 0);
    diag.tcp_of_port(port, |socket| match (socket.state, socket.inode) {
        (LISTEN, _) => {
            waiting = waiting.saturating_add(socket.receive_queue);
            listeners += 1;
        }
        // Not accepted yet; the listener counts it.
        (_, 0) => {}
        _ => taken += 1,
    })?;
    Ok((listeners > 0).then_some(Connections {
        taken: Some(taken),
        waiting,
    }))
}
