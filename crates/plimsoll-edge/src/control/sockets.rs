//! Sockets that clients come in by: bound here, or handed over by whoever started the process.

use std::io;
use std::net::{SocketAddr, TcpListener};

use plimsoll_config::edge::Admin;

use super::{EdgeError, Hooks};
use crate::listen;

/// A socket that whoever started the process has bound and listens on already.
#[derive(Debug)]
pub struct Handed {
    /// What it is called there, for messages.
    pub name: String,
    /// The socket.
    pub listener: TcpListener,
}

/// Those that nobody has taken yet, and where they are bound.
pub(crate) struct InheritedSockets(Vec<(Handed, SocketAddr)>);

impl InheritedSockets {
    pub(crate) fn new(handed: Vec<Handed>) -> Result<Self, EdgeError> {
        let bound = handed.into_iter().map(|socket| {
            let address = socket.listener.local_addr();
            let address =
                address.map_err(|error| handed_error(&socket.name, "?", error.to_string()))?;
            Ok((socket, address))
        });
        bound.collect::<Result<_, _>>().map(Self)
    }

    /// The sockets of an address for all loops, and where they are bound.
    pub(crate) fn take_or_bind(
        &mut self,
        address: SocketAddr,
        loops: usize,
    ) -> Result<(Vec<TcpListener>, SocketAddr), EdgeError> {
        let found = self.0.iter().position(|(_, at)| is_for(*at, address));
        let Some(found) = found else {
            return bind(address, loops);
        };
        let (socket, at) = self.0.swap_remove(found);
        let unusable =
            |error: io::Error| handed_error(&socket.name, &at.to_string(), error.to_string());
        socket.listener.set_nonblocking(true).map_err(unusable)?;
        // All loops take from the one queue of connections that there is.
        let all = (0..loops).map(|_| socket.listener.try_clone());
        let all = all.collect::<Result<_, _>>().map_err(unusable)?;
        Ok((all, at))
    }

    /// A socket that nobody takes would be a place where clients wait for ever.
    pub(crate) fn must_be_taken(self) -> Result<(), EdgeError> {
        match self.0.first() {
            None => Ok(()),
            Some((socket, at)) => Err(handed_error(
                &socket.name,
                &at.to_string(),
                "no configured listener has this address".to_owned(),
            )),
        }
    }
}

/// Whether a socket that is bound `at` an address is meant by one of the configuration. A unit of systemd that says
/// only a port is bound to all addresses of IPv6, which take IPv4 as well.
fn is_for(at: SocketAddr, address: SocketAddr) -> bool {
    let is_same = at.ip() == address.ip();
    let is_any = at.ip().is_unspecified() && address.ip().is_unspecified();
    at.port() == address.port() && (is_same || is_any)
}

fn handed_error(name: &str, address: &str, why: String) -> EdgeError {
    EdgeError::Handed {
        name: name.to_owned(),
        address: address.to_owned(),
        why,
    }
}

/// Binds an address for all loops; where it is bound.
pub(crate) fn bind(
    address: SocketAddr,
    loops: usize,
) -> Result<(Vec<TcpListener>, SocketAddr), EdgeError> {
    let listen_error = |source| EdgeError::Listen { address, source };
    let bound = listen::bind(address, loops).map_err(listen_error)?;
    let real = bound[0].local_addr().map_err(listen_error)?;
    Ok((bound, real))
}

/// The admin socket; `None` when it may be missing and is.
pub(crate) fn of_admin(
    admin: &Admin,
    handed: &mut InheritedSockets,
    hooks: &Hooks,
) -> Result<Option<TcpListener>, EdgeError> {
    let address = admin.address;
    if !address.ip().is_loopback() && admin.token.is_none() {
        return Err(EdgeError::AdminOpen(address));
    }
    match handed.take_or_bind(address, 1) {
        Ok((mut bound, _)) => Ok(bound.pop()),
        Err(EdgeError::Listen { source, .. }) if admin.must_bind => {
            Err(EdgeError::Admin { address, source })
        }
        Err(EdgeError::Listen { source, .. }) => {
            (hooks.report)(&format!(
                "warning: admin address off: cannot listen on {address}: {source}; choose a free one with --admin"
            ));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
