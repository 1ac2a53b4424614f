//! Resolution of server names: when a configuration is read, and again whenever the time to live of an answer has
//! passed.
//!
//! `/etc/hosts` and `/etc/resolv.conf` are honoured, and read again when they change. If neither has an answer, the
//! system resolver is used (multicast DNS, directories), unless the configuration names its own name servers. A failed
//! lookup changes nothing: the previous addresses are better than none.

mod finder;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use plimsoll_config::edge::ServerConfig;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::control::ServerNames;
use crate::upstream_registry::{ADDRESSES_MAX, HostPort};
use finder::DnsResolver;

/// Shortest and longest time between two lookups of a name.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_hours(1));
/// Longest time between two failed lookups.
const RETRY_MAX: Duration = Duration::from_secs(30);
/// Time limit for probing the two address families of a name.
const TRY: Duration = Duration::from_secs(2);

/// The addresses of a server that is given by name, from `resolvers` if any, otherwise from those of the system.
///
/// # Errors
/// The reason, as text.
pub fn resolve_server(
    server: &ServerConfig,
    resolvers: &[SocketAddr],
) -> Result<Vec<SocketAddr>, String> {
    let (host, port, resolvers) = (server.host.clone(), server.port, resolvers.to_vec());
    // On a thread of its own: the caller may run inside an event loop.
    let thread = std::thread::Builder::new()
        .name("edge-lookup".to_owned())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| error.to_string())?;
            runtime.block_on(async move {
                let mut finder = DnsResolver::new(resolvers);
                let found = finder.find(&host).await?;
                Ok(pick_family(&found.addresses, port, None).await)
            })
        })
        .map_err(|error| error.to_string())?;
    let found: Result<Vec<SocketAddr>, String> = thread
        .join()
        .unwrap_or_else(|_| Err("the lookup thread ended unexpectedly".to_owned()));
    found.map_err(|why| format!("cannot resolve the host `{}`: {why}", server.host))
}

/// Background task: resolves all names, again and again.
pub(crate) async fn keep(names: ServerNames) {
    let mut kept: JoinSet<HostPort> = JoinSet::new();
    let mut busy = std::collections::BTreeSet::new();
    loop {
        for name in names.all() {
            if busy.insert(name.clone()) {
                let names = names.clone();
                kept.spawn(async move {
                    refresh_name(&names, &name).await;
                    name
                });
            }
        }
        tokio::select! {
            () = names.changed() => {}
            Some(Ok(over)) = kept.join_next(), if !kept.is_empty() => {
                busy.remove(&over);
            }
        }
    }
}

/// Resolves one name as long as a server has it.
async fn refresh_name(names: &ServerNames, name: &HostPort) {
    let mut finder = DnsResolver::new(names.resolvers());
    let mut resolved: Vec<IpAddr> = Vec::new();
    let mut addresses: Vec<SocketAddr> = Vec::new();
    let mut failing: Option<Duration> = None;
    // The name was just resolved when the configuration was read; its time to live is unknown.
    let mut wait = AGAIN.0;
    loop {
        tokio::time::sleep(wait).await;
        if !names.all().contains(name) {
            return;
        }
        finder.follow(names.resolvers());
        match finder.find(&name.0).await {
            Ok(found) => {
                if failing.take().is_some() {
                    names.report(&format!("the name {} resolves again", name.0));
                }
                if resolved != found.addresses {
                    let family = names.family(name);
                    addresses = pick_family(&found.addresses, name.1, family).await;
                    resolved = found.addresses;
                }
                // A reload may have resolved it meanwhile, to other addresses of the same answer.
                names.moved(name, &addresses);
                wait = found.lasting.clamp(AGAIN.0, AGAIN.1);
            }
            Err(why) => {
                if failing.is_none() {
                    names.report(&format!(
                        "cannot resolve the name {}: {why}; its previous addresses stay in use",
                        name.0
                    ));
                }
                wait = failing.map_or(AGAIN.0, |before| (before * 2).min(RETRY_MAX));
                failing = Some(wait);
            }
        }
    }
}

/// The addresses of one family. A name such as localhost has one of each family for the same server, which must not
/// count twice: chooses the family that accepts connections, otherwise that of `before`, otherwise the first.
async fn pick_family(found: &[IpAddr], port: u16, before: Option<bool>) -> Vec<SocketAddr> {
    let addresses = found.iter().map(|&address| SocketAddr::new(address, port));
    let addresses: Vec<SocketAddr> = addresses.take(ADDRESSES_MAX).collect();
    let is_mixed =
        addresses.iter().any(SocketAddr::is_ipv6) && addresses.iter().any(SocketAddr::is_ipv4);
    if !is_mixed {
        return addresses;
    }
    let mut family = before.unwrap_or_else(|| addresses[0].is_ipv6());
    for address in &addresses {
        let connecting = TcpStream::connect(address);
        if matches!(tokio::time::timeout(TRY, connecting).await, Ok(Ok(_))) {
            family = address.is_ipv6();
            break;
        }
    }
    addresses
        .into_iter()
        .filter(|address| address.is_ipv6() == family)
        .collect()
}
