//! Opens connections: addresses and source addresses in turn, TCP or a unix socket.

use std::net::{IpAddr, SocketAddr};

use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{Plan, Target};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::error::LoadError;
use crate::tls::Tls;

/// Addresses that connections go to and come from.
#[derive(Debug)]
pub(crate) struct TargetTransport {
    unix: Option<SocketAddrUnix>,
    addresses: Vec<SocketAddr>,
    /// Source addresses by family: v4, v6.
    sources: [Vec<IpAddr>; 2],
    tls: Option<Tls>,
}

/// Why a connection cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DialFailure {
    /// No local port is free.
    Ports,
    /// No descriptor, or no kernel memory for a socket, is free.
    Descriptors,
    /// The unix socket's backlog is full.
    BacklogFull,
    /// The target refused or is unreachable.
    Failed(Outcome),
}

/// One loop's rotation through the addresses.
#[derive(Debug)]
pub(crate) struct AddressCursor {
    address: usize,
    source: usize,
}

impl AddressCursor {
    /// The rotation of a loop that starts at the `index`-th address.
    pub(crate) fn at(index: usize) -> Self {
        Self {
            address: index,
            source: index,
        }
    }
}

impl TargetTransport {
    /// To one of a plan's targets.
    pub(crate) fn new(target: &Target, plan: &Plan) -> Result<Self, LoadError> {
        let unix = target.unix_socket.as_ref().map(|path| {
            SocketAddrUnix::new(path).map_err(|source| LoadError::System {
                action: "use the path of the unix socket",
                source: source.into(),
            })
        });
        let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) = plan
            .transport
            .sources
            .iter()
            .copied()
            .partition(IpAddr::is_ipv4);
        let transport = Self {
            unix: unix.transpose()?,
            addresses: target.addresses.clone(),
            sources: [v4, v6],
            tls: Tls::new(target, plan)?,
        };
        if transport.unix.is_none() && !plan.transport.sources.is_empty() {
            transport.check_sources()?;
        }
        Ok(transport)
    }

    /// Each address needs a source address of its own family.
    fn check_sources(&self) -> Result<(), LoadError> {
        for address in &self.addresses {
            if self.sources[usize::from(address.is_ipv6())].is_empty() {
                return Err(LoadError::Plan {
                    place: "source addresses",
                    found: format!("none of the address family of {address}"),
                    range: "at least one per address family of the target",
                });
            }
        }
        Ok(())
    }

    /// Its TLS, where the target has it.
    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// Opens a connection. It is established when the socket becomes writable.
    pub(crate) fn dial(&self, cursor: &mut AddressCursor) -> Result<OwnedFd, DialFailure> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        if let Some(unix) = &self.unix {
            let socket =
                rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
                    .map_err(socket_error)?;
            return match rustix::net::connect(&socket, unix) {
                Ok(()) => Ok(socket),
                Err(Errno::AGAIN) => Err(DialFailure::BacklogFull),
                Err(error) => Err(connect_error(error)),
            };
        }
        let address = self.addresses[cursor.address % self.addresses.len()];
        cursor.address = cursor.address.wrapping_add(1);
        let family = if address.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)
            .map_err(socket_error)?;
        sockopt::set_tcp_nodelay(&socket, true).map_err(socket_error)?;
        let sources = &self.sources[usize::from(address.is_ipv6())];
        if !sources.is_empty() {
            let source = sources[cursor.source % sources.len()];
            cursor.source = cursor.source.wrapping_add(1);
            // The port is chosen at connect, by the whole four-tuple: each destination can use all ports.
            setsockopt(&socket, IpBindAddressNoPort, &true)
                .map_err(|error| connect_error(Errno::from_raw_os_error(error as i32)))?;
            rustix::net::bind(&socket, &SocketAddr::new(source, 0)).map_err(connect_error)?;
        }
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(connect_error(error)),
        }
    }
}

fn socket_error(error: Errno) -> DialFailure {
    match error {
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => DialFailure::Descriptors,
        error => connect_error(error),
    }
}

fn connect_error(error: Errno) -> DialFailure {
    match error {
        Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => DialFailure::Ports,
        error => DialFailure::Failed(connect_outcome(error)),
    }
}

/// The outcome of a failed connect for its request.
pub(crate) fn connect_outcome(error: Errno) -> Outcome {
    match error {
        Errno::TIMEDOUT => Outcome::ConnectTimeout,
        Errno::CONNRESET | Errno::PIPE => Outcome::Reset,
        // No route, no such socket, no permission: the same for the request as a refusal.
        _ => Outcome::ConnectRefused,
    }
}
