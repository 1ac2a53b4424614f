//! Resolves the addresses of a name.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::{Duration, SystemTime};

use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::{Resolver, TokioResolver};

/// Files that configure name resolution.
const FILES: [&str; 2] = ["/etc/hosts", "/etc/resolv.conf"];
/// Time to live of an answer without one: from a file, or from the system resolver.
const DEFAULT_TTL: Duration = Duration::from_secs(30);
/// A time to live above this comes from a file, not from a name server.
const FROM_FILE_S: u32 = 86_400;
/// Time limit of one query.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The addresses of a name, and their time to live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DnsAnswer {
    /// Sorted, without duplicates.
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) lasting: Duration,
}

/// Queries the configured name servers, or those of the system.
pub(crate) struct DnsResolver {
    servers: Vec<SocketAddr>,
    resolver: Option<TokioResolver>,
    /// Modification times of the files that the resolver was built from.
    made_from: [Option<SystemTime>; 2],
}

impl DnsResolver {
    pub(crate) fn new(servers: Vec<SocketAddr>) -> Self {
        Self {
            servers,
            resolver: None,
            made_from: [None; 2],
        }
    }

    /// Uses other name servers from now on.
    pub(crate) fn follow(&mut self, servers: Vec<SocketAddr>) {
        if servers != self.servers {
            *self = Self::new(servers);
        }
    }

    /// Resolves a name; an answer without addresses is an error.
    pub(crate) async fn find(&mut self, host: &str) -> Result<DnsAnswer, String> {
        let asked = self.query(host).await;
        match asked {
            Err(why) if self.servers.is_empty() => system(host).await.ok_or(why),
            asked => asked,
        }
    }

    async fn query(&mut self, host: &str) -> Result<DnsAnswer, String> {
        let resolver = self.resolver()?;
        let answer = resolver
            .lookup_ip(host)
            .await
            .map_err(|error| error.to_string())?;
        let addresses = sorted(answer.iter());
        if addresses.is_empty() {
            return Err("no address found".to_owned());
        }
        let records = answer.as_lookup().answers().iter();
        let least = records.map(|record| record.ttl).min().unwrap_or(0);
        let lasting = if least >= FROM_FILE_S {
            DEFAULT_TTL
        } else {
            Duration::from_secs(least.into())
        };
        Ok(DnsAnswer { addresses, lasting })
    }

    /// The resolver, rebuilt when the files it was built from have changed.
    fn resolver(&mut self) -> Result<&TokioResolver, String> {
        let now = FILES.map(changed);
        if self.resolver.is_none() || now != self.made_from {
            self.made_from = now;
            self.resolver = Some(make(&self.servers)?);
        }
        self.resolver.as_ref().ok_or_else(String::new)
    }
}

fn changed(file: &str) -> Option<SystemTime> {
    let about = std::fs::metadata(Path::new(file)).ok()?;
    about.modified().ok()
}

fn make(servers: &[SocketAddr]) -> Result<TokioResolver, String> {
    let mut builder = if servers.is_empty() {
        TokioResolver::builder_tokio().map_err(|error| error.to_string())?
    } else {
        let servers = servers.iter().map(|server| {
            let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
            let connections = connections.map(|mut connection| {
                connection.port = server.port();
                connection
            });
            NameServerConfig::new(server.ip(), true, connections.into())
        });
        let config = ResolverConfig::from_parts(None, Vec::new(), servers.collect());
        Resolver::builder_with_config(config, TokioRuntimeProvider::default())
    };
    let options = builder.options_mut();
    // Caching is off: the caller tracks the time to live, also for answers that did not change.
    options.cache_size = 0;
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.timeout = options.timeout.min(TIMEOUT);
    builder.build().map_err(|error| error.to_string())
}

/// Queries the system resolver.
async fn system(host: &str) -> Option<DnsAnswer> {
    let found = plimsoll_names::host::lookup(host, 0).await.ok()?;
    let addresses = sorted(found.iter().map(SocketAddr::ip));
    (!addresses.is_empty()).then_some(DnsAnswer {
        addresses,
        lasting: DEFAULT_TTL,
    })
}

fn sorted(addresses: impl Iterator<Item = IpAddr>) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = addresses.collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}
