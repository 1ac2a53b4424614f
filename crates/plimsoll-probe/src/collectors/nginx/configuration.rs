//! The configuration of nginx: its status pages and connection limits.

use super::tree::Directive;

/// A page of `stub_status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusPage {
    /// Addresses as written behind `listen`; empty for the default.
    pub(super) listen: Vec<String>,
    /// Path of the location.
    pub(super) path: String,
}

/// The settings of a configuration.
#[derive(Debug, Default)]
pub(super) struct NginxConfig<'t> {
    /// Status pages.
    pub(super) pages: Vec<StatusPage>,
    /// `worker_connections`.
    pub(super) worker_connections: Option<&'t Directive>,
    /// `worker_processes`.
    pub(super) worker_processes: Option<&'t Directive>,
}

/// Finds them in a configuration.
pub(super) fn read(directives: &[Directive]) -> NginxConfig<'_> {
    let mut read = NginxConfig::default();
    for directive in directives {
        match directive.name() {
            "worker_processes" => read.worker_processes = Some(directive),
            "events" => {
                let mut inner = directive.inner.iter().rev();
                let connections = inner.find(|inner| inner.name() == "worker_connections");
                read.worker_connections = connections.or(read.worker_connections);
            }
            _ => {}
        }
    }
    add_pages(directives, None, None, &mut read.pages);
    read
}

/// Adds status pages inside the innermost location and server around them.
fn add_pages(
    inside: &[Directive],
    location: Option<&Directive>,
    server: Option<&Directive>,
    pages: &mut Vec<StatusPage>,
) {
    for directive in inside {
        let (mut location, mut server) = (location, server);
        match directive.name() {
            "location" => location = Some(directive),
            "server" => server = Some(directive),
            "stub_status" => pages.extend(server.and_then(|server| page(location, server))),
            _ => {}
        }
        add_pages(&directive.inner, location, server, pages);
    }
}

/// A status page in a location, or of the whole server.
fn page(location: Option<&Directive>, server: &Directive) -> Option<StatusPage> {
    let path = match location.map(|location| &location.words[1..]) {
        None => "/".to_owned(),
        Some([path]) => path.clone(),
        Some([how, path]) if how == "=" || how == "^~" => path.clone(),
        // A regular expression is not a single path.
        Some(_) => return None,
    };
    let listens = server.inner.iter().filter(|inner| inner.name() == "listen");
    Some(StatusPage {
        listen: listens.map(|listen| listen.value().to_owned()).collect(),
        path,
    })
}
