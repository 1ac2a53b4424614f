//! Checks a configuration's certificates without starting.

use plimsoll_config::edge::EdgeConfig;
use plimsoll_net::clock;
use plimsoll_net::upstream::trust;
use rustls::pki_types::ServerName;

use super::{ByName, Obtained, TlsError, ending};

/// Findings.
#[derive(Debug, Default)]
pub struct Examined {
    /// Errors that keep the edge from starting.
    pub errors: Vec<TlsError>,
    /// Warnings: most likely unintended.
    pub warnings: Vec<String>,
}

/// Checks all certificates of a configuration, and the authorities for its servers.
pub fn examine(edge: &EdgeConfig) -> Examined {
    let mut examined = Examined::default();
    let now = clock::wall();
    let obtained = Obtained {
        acme: edge.acme.as_ref(),
        challenges: None,
    };
    for listener in &edge.listen {
        for certificate in &listener.tls {
            let alone = std::slice::from_ref(certificate);
            if let Err(error) = ByName::new(alone, None, obtained, now) {
                examined.errors.push(error);
            }
        }
        if let Ok(Some(ending)) = ending(listener, None, obtained, now) {
            examined.warnings.extend(ending.certificates.check(now));
            let place = listener.address.to_string();
            examined
                .warnings
                .extend(uncovered(edge, &place, &ending.certificates));
        }
    }
    for pool in &edge.pools {
        let mut servers = pool.servers.iter().filter(|server| server.tls).peekable();
        if servers.peek().is_some()
            && let Err(error) = trust::config(&pool.tls)
        {
            examined.errors.push(error);
        }
        let names = servers.filter_map(|server| trust::name(&pool.tls, &server.host).err());
        examined.errors.extend(names);
        if pool.tls.insecure {
            examined.warnings.push(insecure(&pool.name));
        }
    }
    examined
}

/// Warning about a pool with unverified servers.
pub fn insecure(pool: &str) -> String {
    format!(
        "warning: the certificates of the pool `{pool}` are NOT checked (`insecure: true`): anyone on the network path can read and change the traffic; set the issuing CA with `ca: FILE`"
    )
}

/// Hosts of routes that no certificate of a listener covers.
pub fn uncovered(edge: &EdgeConfig, listener: &str, certificates: &ByName) -> Vec<String> {
    let hosts = edge.routes.iter().flat_map(|route| &route.matches.hosts);
    let mut hosts: Vec<&String> = hosts.collect();
    hosts.sort();
    hosts.dedup();
    let acme = edge.acme.iter().flat_map(|acme| &acme.certificates);
    let wanted: Vec<&String> = acme.flat_map(|certificate| &certificate.names).collect();
    hosts
        .into_iter()
        .filter(|host| !wanted.contains(host))
        .filter(|host| {
            // One name below the wildcard represents all of them.
            let name = host.replacen("*.", "any.", 1);
            ServerName::try_from(name).is_ok_and(|name| !certificates.covers(&name))
        })
        .map(|host| {
            format!(
                "warning: the listener {listener} has no certificate for `{host}`, the host of a route; clients receive the first certificate and reject it"
            )
        })
        .collect()
}
