//! Listening sockets: bound here, or inherited from the parent process.

use std::io;
use std::net::{SocketAddr, TcpListener};

use plimsoll_config::edge::Admin;
use plimsoll_net::listener;

use super::{EdgeError, Hooks};

/// An inherited socket, already bound and listening.
#[derive(Debug)]
pub struct Handed {
    /// Its name, for messages.
    pub name: String,
    /// The socket.
    pub listener: TcpListener,
}

/// Inherited sockets that are not used yet, and their addresses.
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
        // An inherited socket has one accept queue; all loops share it.
        let all = (0..loops).map(|_| socket.listener.try_clone());
        let all = all.collect::<Result<_, _>>().map_err(unusable)?;
        Ok((all, at))
    }

    /// A socket that nothing accepts on would leave its clients waiting forever.
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

/// Whether a socket bound `at` an address matches a configured address. A systemd unit with only a port binds to all
/// IPv6 addresses, which includes IPv4.
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

/// Binds an address for all loops; returns the bound address.
pub(crate) fn bind(
    address: SocketAddr,
    loops: usize,
) -> Result<(Vec<TcpListener>, SocketAddr), EdgeError> {
    let listen_error = |source| EdgeError::Listen { address, source };
    let bound = listener::bind_for(address, loops).map_err(listen_error)?;
    let real = bound[0].local_addr().map_err(listen_error)?;
    Ok((bound, real))
}

/// The admin socket; `None` when it is optional and cannot be bound.
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
