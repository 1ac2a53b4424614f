//! Connections from other machines to a port of this one: somebody uses the service, whatever it logs.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use crate::host::diag::Diag;
use crate::parse::socket::TcpSocket;

/// Connections in a list for which the next list is left out once.
const SOCKETS_PER_PAUSE: u32 = 2_000;

/// Follows the connections to a port.
#[derive(Debug)]
pub struct PortClients {
    diag: Diag,
    port: u16,
    /// Which connections count.
    is_counted: fn(&TcpSocket) -> bool,
    /// Bytes received over each until the last call, by its other end.
    known: HashMap<SocketAddr, Option<u64>>,
    /// Calls that are left out: a list of many connections takes time.
    pause: u32,
}

impl PortClients {
    /// Follows the connections from other machines to a port, from now on.
    ///
    /// # Errors
    /// When the kernel lists no sockets.
    pub fn open(port: u16) -> io::Result<Self> {
        Self::counting(port, is_from_elsewhere)
    }

    fn counting(port: u16, is_counted: fn(&TcpSocket) -> bool) -> io::Result<Self> {
        let mut clients = Self {
            diag: Diag::open()?,
            port,
            is_counted,
            known: HashMap::new(),
            pause: 0,
        };
        clients.active()?;
        clients.pause = 0;
        Ok(clients)
    }

    /// The other ends of connections that have sent something since the last call, or were open and closed meanwhile.
    ///
    /// # Errors
    /// When the kernel lists no sockets.
    pub fn active(&mut self) -> io::Result<Vec<SocketAddr>> {
        if self.pause > 0 {
            self.pause -= 1;
            return Ok(Vec::new());
        }
        let (mut sockets, mut now) = (0, HashMap::new());
        let is_counted = self.is_counted;
        self.diag.connections_to(self.port, |socket, received| {
            sockets += 1;
            if is_counted(&socket) {
                now.insert(socket.remote, received);
            }
        })?;
        self.pause = sockets / SOCKETS_PER_PAUSE;
        let is_active = |(remote, received): (&SocketAddr, &Option<u64>)| {
            let active = match (self.known.get(remote), received) {
                // One that has ended, and was not listed before.
                (None, None) => true,
                (None | Some(None), Some(received)) => *received > 0,
                (Some(Some(before)), Some(received)) => received > before,
                (Some(_), None) => false,
            };
            active.then_some(*remote)
        };
        let active = now.iter().filter_map(is_active).collect();
        self.known = now;
        Ok(active)
    }
}

/// Whether a connection comes from another machine: this one reaches its own address from the same address.
fn is_from_elsewhere(socket: &TcpSocket) -> bool {
    let remote = socket.remote.ip();
    !remote.is_loopback() && remote != socket.local.ip()
}

/// Whether an address is one of this machine.
pub fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_active_when_it_has_sent_something() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || {
            let client = TcpStream::connect(address).unwrap();
            let (server, _) = listener.accept().unwrap();
            (client, server)
        };
        let send = |(client, server): &mut (TcpStream, TcpStream)| {
            client.write_all(b"x").unwrap();
            server.read_exact(&mut [0]).unwrap();
        };
        let mut early = connect();
        send(&mut early);
        let mut clients = PortClients::counting(address.port(), |_| true).unwrap();
        assert_eq!(clients.active().unwrap(), [], "it was so before");
        let mut late = connect();
        assert_eq!(clients.active().unwrap(), [], "it has sent nothing");
        send(&mut late);
        assert_eq!(clients.active().unwrap(), [late.0.local_addr().unwrap()]);
        assert_eq!(clients.active().unwrap(), []);
        send(&mut early);
        assert_eq!(clients.active().unwrap(), [early.0.local_addr().unwrap()]);
        // The server ends it first, and keeps it in TIME_WAIT.
        let mut short = connect();
        send(&mut short);
        let remote = short.0.local_addr().unwrap();
        drop(short.1);
        assert_eq!(short.0.read(&mut [0]).unwrap(), 0);
        drop(short.0);
        assert_eq!(clients.active().unwrap(), [remote]);
        assert_eq!(clients.active().unwrap(), []);
        // Those of this machine are not of others.
        let mut others = PortClients::open(address.port()).unwrap();
        send(&mut late);
        assert_eq!(others.active().unwrap(), []);
    }

    #[test]
    fn other_machines_are_told_from_this_one() {
        let socket = |local: &str, remote: &str| TcpSocket {
            state: 1,
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
            receive_queue: 0,
            send_queue: 0,
            inode: 0,
        };
        let elsewhere = |local, remote| is_from_elsewhere(&socket(local, remote));
        assert!(elsewhere("192.0.2.7:80", "203.0.113.9:4000"));
        assert!(elsewhere("[2001:db8::7]:80", "[2001:db8::9]:4000"));
        assert!(!elsewhere("192.0.2.7:80", "192.0.2.7:4000"));
        assert!(!elsewhere("127.0.0.1:80", "127.0.0.1:4000"));
        assert!(!elsewhere("[::1]:80", "[::1]:4000"));
        assert!(is_own("127.0.0.1".parse().unwrap()));
        assert!(!is_own("203.0.113.9".parse().unwrap()));
    }
}
