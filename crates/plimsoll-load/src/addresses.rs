//! Addresses of this machine from which a target can be reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};

use nix::ifaddrs::getifaddrs;

/// Addresses of this machine from which connections to a target may come: the one that the system would choose, then
/// the others of the same interface and family. Empty when the system does not report it.
pub fn sources_toward(target: SocketAddr) -> Vec<IpAddr> {
    let Some(chosen) = chosen(target) else {
        return Vec::new();
    };
    let all = getifaddrs().into_iter().flatten().filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().copied().map(SocketAddrV4::from);
        let v6 = address.as_sockaddr_in6().copied().map(SocketAddrV6::from);
        let v4 = v4.map(|v4| IpAddr::from(*v4.ip()));
        let ip = v4.or_else(|| Some((*v6?.ip()).into()))?;
        Some((interface.interface_name, ip))
    });
    beside(chosen, &all.collect::<Vec<_>>())
}

/// The address that the system would choose. No packet is sent.
fn chosen(target: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = match target {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(target).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// The chosen address first, then the others of its interface and family with the same scope.
fn beside(chosen: IpAddr, all: &[(String, IpAddr)]) -> Vec<IpAddr> {
    let own = all.iter().find(|(_, ip)| *ip == chosen);
    let interface = own.map(|(name, _)| name);
    let others = all.iter().filter(|(name, ip)| {
        let is_of_kind = ip.is_ipv4() == chosen.is_ipv4() && is_local(*ip) == is_local(chosen);
        Some(name) == interface && *ip != chosen && is_of_kind
    });
    let mut found = vec![chosen];
    found.extend(others.map(|&(_, ip)| ip));
    found
}

/// Whether an address is link-local.
fn is_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_same_interface_are_found() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let all = [
            ("lo", "127.0.0.1"),
            ("eth0", "10.0.0.2"),
            ("eth0", "fe80::1"),
            ("eth0", "2001:db8::1"),
            ("eth0", "10.0.0.3"),
            ("eth0", "169.254.0.3"),
            ("eth0", "2001:db8::2"),
            ("eth1", "10.0.0.4"),
        ];
        let all = all.map(|(name, text)| (name.to_owned(), ip(text)));
        let of = |chosen: &str| beside(ip(chosen), &all);
        assert_eq!(of("10.0.0.3"), [ip("10.0.0.3"), ip("10.0.0.2")]);
        assert_eq!(of("2001:db8::1"), [ip("2001:db8::1"), ip("2001:db8::2")]);
        assert_eq!(of("10.0.0.9"), [ip("10.0.0.9")], "one that went meanwhile");
    }

    #[test]
    fn this_machine_reaches_itself() {
        let found = sources_toward("127.0.0.1:9".parse().unwrap());
        assert_eq!(found.first(), Some(&Ipv4Addr::LOCALHOST.into()));
    }
}
