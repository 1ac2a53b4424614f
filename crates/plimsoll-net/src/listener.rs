//! Listening sockets, bound before anything starts.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Accept backlog in the kernel.
const BACKLOG: i32 = 4096;

/// Binds an address, and listens there without blocking. An address of IPv6 that stands for all takes those of IPv4 too.
///
/// # Errors
/// When the address cannot be bound.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    bind_socket(address, false)
}

/// Binds an address once for each loop, which share its port.
///
/// # Errors
/// When the address cannot be bound.
pub fn bind_for(address: SocketAddr, loops: usize) -> io::Result<Vec<TcpListener>> {
    let mut listeners = Vec::with_capacity(loops);
    let mut address = address;
    if loops > 1 && address.port() != 0 {
        // Sockets with SO_REUSEPORT share the port with any process of the same user too; binding one without it first
        // detects another owner. A port that the kernel chooses has none, and given back for a moment it may get one.
        bind(address)?;
    }
    for _ in 0..loops {
        let listener = bind_socket(address, loops > 1)?;
        address = listener.local_addr()?;
        listeners.push(listener);
    }
    Ok(listeners)
}

fn bind_socket(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_not_shared_silently() {
        let first = bind_for(SocketAddr::from(([127, 0, 0, 1], 0)), 1).unwrap();
        let address = first[0].local_addr().unwrap();
        assert!(bind(address).is_err());
        assert!(bind_for(address, 2).is_err());
        let several = bind_for(SocketAddr::from(([127, 0, 0, 1], 0)), 3).unwrap();
        let address = several[0].local_addr().unwrap();
        assert!(
            several
                .iter()
                .all(|listener| listener.local_addr().unwrap() == address)
        );
    }
}
