//! Links that lead to themselves: a connection would beget another until nothing is left.

use std::net::{IpAddr, SocketAddr, UdpSocket};

/// The first link from which links lead back to itself, by its index. Each link is where it listens and where it leads.
///
/// Links may be chained: only a circle is refused. A circle over other programs is not found here; the number of
/// connections bounds it.
pub(crate) fn find(links: &[(SocketAddr, SocketAddr)]) -> Option<usize> {
    (0..links.len()).find(|&start| {
        let mut at = start;
        // Each link leads to one: after as many steps as there are links, a walk has ended or goes in circles.
        for _ in 0..links.len() {
            let Some(next) = next(links, links[at].1) else {
                return false;
            };
            if next == start {
                return true;
            }
            at = next;
        }
        false
    })
}

/// The link that listens at an address.
fn next(links: &[(SocketAddr, SocketAddr)], to: SocketAddr) -> Option<usize> {
    links.iter().position(|(listen, _)| reaches(to, *listen))
}

/// Whether a connection to `to` arrives at a listener.
fn reaches(to: SocketAddr, listen: SocketAddr) -> bool {
    let (ip, own) = (to.ip().to_canonical(), listen.ip().to_canonical());
    // `::` listens for IPv4 too.
    let is_any = own.is_unspecified() && (own.is_ipv6() || ip.is_ipv4());
    let is_here = ip == own || ip.is_unspecified() || (is_any && is_local(ip));
    to.port() == listen.port() && is_here
}

/// Whether an address belongs to this machine: the kernel binds nothing else.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(links: &[(&str, &str)], expected: Option<usize>) {
        let links: Vec<(SocketAddr, SocketAddr)> = links
            .iter()
            .map(|(listen, to)| (listen.parse().unwrap(), to.parse().unwrap()))
            .collect();
        assert_eq!(find(&links), expected, "{links:?}");
    }

    #[test]
    fn circles_are_found_and_chains_are_not() {
        check(&[("127.0.0.1:7000", "127.0.0.1:3000")], None);
        check(&[("127.0.0.1:7000", "127.0.0.1:7000")], Some(0));
        check(&[("127.0.0.1:7000", "127.0.0.2:7000")], None);
        check(&[("0.0.0.0:7000", "127.0.0.2:7000")], Some(0));
        check(&[("[::]:7000", "127.0.0.2:7000")], Some(0));
        check(&[("0.0.0.0:7000", "192.0.2.1:7000")], None);
        check(&[("127.0.0.1:7000", "0.0.0.0:7000")], Some(0));
        check(&[("127.0.0.1:7000", "[::ffff:127.0.0.1]:7000")], Some(0));
        let chain = [
            ("127.0.0.1:7000", "127.0.0.1:7001"),
            ("127.0.0.1:7001", "127.0.0.1:3000"),
        ];
        check(&chain, None);
        // The first leads into a circle, of which it is no part.
        let circle = [
            ("127.0.0.1:7000", "127.0.0.1:7001"),
            ("127.0.0.1:7001", "127.0.0.1:7002"),
            ("127.0.0.1:7002", "127.0.0.1:7001"),
        ];
        check(&circle, Some(1));
    }
}
