//! Two network namespaces with a cable between them, as two machines have: one of a service, and one of those who use it.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};

use super::namespace::{ip, made, move_into, of_name};
use crate::port;

/// Addresses of both ends of the cable; no other namespace sees them.
const SERVICE: Ipv4Addr = Ipv4Addr::new(10, 203, 113, 2);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 203, 113, 1);

/// The service's namespace, in which the thread stays until this is dropped, and that of its clients.
#[derive(Debug)]
pub struct NamespacePair {
    service: String,
    client: String,
    home: File,
}

impl NamespacePair {
    /// Makes both, and enters the service's: threads and processes that are started from now on are in it, and
    /// [`port::unused`] gives addresses that clients reach. `None`, with a message, where that is not possible.
    #[must_use]
    pub fn enter() -> Option<Self> {
        let home = File::open("/proc/thread-self/ns/net").expect("a thread has a namespace");
        let service = made()?;
        let Some(client) = made() else {
            ip(&["netns", "del", &service]);
            return None;
        };
        let pair = Self {
            service,
            client,
            home,
        };
        if !pair.connect() {
            crate::not_tried::not_tried(
                "two network namespaces cannot be connected here; needs the kernel's veth",
            );
            return None;
        }
        move_into(&of_name(&pair.service));
        port::listen_at(IpAddr::V4(SERVICE));
        Some(pair)
    }

    /// The address of the service's namespace.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        IpAddr::V4(SERVICE)
    }

    /// Does something in the clients' namespace; what is started there stays there.
    pub fn as_client<T>(&self, work: impl FnOnce() -> T) -> T {
        move_into(&of_name(&self.client));
        // If it panics, the thread goes home when this is dropped.
        let result = work();
        move_into(&of_name(&self.service));
        result
    }

    /// Lays the cable; whether that was possible.
    fn connect(&self) -> bool {
        let (service, client) = (self.service.as_str(), self.client.as_str());
        let end = ["link", "add", "service", "netns", service, "type", "veth"];
        let other = ["peer", "name", "client", "netns", client];
        ip(&[&end[..], &other].concat())
            && is_up(service, "service", SERVICE)
            && is_up(client, "client", CLIENT)
    }
}

impl Drop for NamespacePair {
    fn drop(&mut self) {
        port::listen_at(IpAddr::V4(Ipv4Addr::LOCALHOST));
        move_into(&self.home);
        // The cable ends with either.
        for name in [&self.service, &self.client] {
            ip(&["netns", "del", name]);
        }
    }
}

/// Gives an end of the cable its address, and brings it and loopback up; whether that was possible.
fn is_up(namespace: &str, device: &str, address: Ipv4Addr) -> bool {
    let address = format!("{address}/30");
    let commands = [
        &["addr", "add", &address, "dev", device][..],
        &["link", "set", device, "up"],
        &["link", "set", "lo", "up"],
    ];
    commands
        .iter()
        .all(|command| ip(&[&["-n", namespace][..], command].concat()))
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn clients_reach_the_service_by_its_address_only() {
        let Some(pair) = NamespacePair::enter() else {
            return;
        };
        let address = port::unused();
        assert_eq!(address.ip(), pair.address());
        let _listener = TcpListener::bind(address).unwrap();
        let inner = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let inner: SocketAddr = inner.local_addr().unwrap();
        pair.as_client(|| {
            let connected = TcpStream::connect(address).unwrap();
            assert_eq!(connected.local_addr().unwrap().ip(), CLIENT);
            // Loopback is another one there.
            assert!(TcpStream::connect(inner).is_err());
        });
        drop(pair);
        assert!(port::unused().ip().is_loopback());
    }
}
