//! `/etc/hosts`, and the name servers of `/etc/resolv.conf`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::{Resolver, system_conf};

/// Time limit of one query; the C library's is the same.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The addresses of a name, those first that this machine has a route to.
pub(crate) async fn lookup(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let (config, options) = system_conf::read_system_conf().unwrap_or_else(|_| unconfigured());
    query(config, options, host, port).await
}

/// Without the file or without a name server in it, the C library queries this machine too (resolv.conf(5)).
fn unconfigured() -> (ResolverConfig, ResolverOpts) {
    let here = NameServerConfig::udp_and_tcp(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let config = ResolverConfig::from_parts(None, Vec::new(), vec![here]);
    (config, ResolverOpts::default())
}

async fn query(
    config: ResolverConfig,
    mut options: ResolverOpts,
    host: &str,
    port: u16,
) -> io::Result<Vec<SocketAddr>> {
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.timeout = options.timeout.min(TIMEOUT);
    let provider = TokioRuntimeProvider::default();
    let builder = Resolver::builder_with_config(config, provider).with_options(options);
    let resolver = builder.build().map_err(io::Error::other)?;
    let found = resolver.lookup_ip(host).await.map_err(io::Error::other)?;
    let addresses = found.iter().map(|address| SocketAddr::new(address, port));
    let mut addresses: Vec<SocketAddr> = addresses.collect();
    addresses.sort_by_key(|address| (!is_routed(*address), address.is_ipv4()));
    addresses.dedup();
    if addresses.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "the name has no address",
        ));
    }
    Ok(addresses)
}

/// Whether this machine has a route to an address. A connection of UDP sends nothing.
fn is_routed(address: SocketAddr) -> bool {
    let any: IpAddr = if address.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    UdpSocket::bind(SocketAddr::new(any, 0)).is_ok_and(|socket| socket.connect(address).is_ok())
}

#[cfg(test)]
mod tests {
    use hickory_resolver::config::ConnectionConfig;
    use plimsoll_testkit::dns::Dns;

    use super::*;

    fn found(dns: &Dns, host: &str) -> io::Result<Vec<SocketAddr>> {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
        let connections = connections.map(|mut connection| {
            connection.port = dns.address.port();
            connection
        });
        let server = NameServerConfig::new(dns.address.ip(), true, connections.into());
        let search = vec!["test.".parse().unwrap()];
        let config = ResolverConfig::from_parts(None, search, vec![server]);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(query(config, ResolverOpts::default(), host, 8080))
    }

    #[test]
    fn a_real_name_server_is_queried_and_search_domains_are_tried() {
        let dns = Dns::start("127.0.0.2 shop.test\n127.0.0.3 shop.test\n");
        let expected = [2, 3].map(|last| SocketAddr::from(([127, 0, 0, last], 8080)));
        for name in ["shop.test", "shop.test.", "shop"] {
            let mut addresses = found(&dns, name).unwrap();
            addresses.sort_unstable();
            assert_eq!(addresses, expected, "{name}");
        }
        let error = found(&dns, "gone.test").unwrap_err();
        assert!(error.to_string().contains("gone.test"), "{error}");
    }
}
