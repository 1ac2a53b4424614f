//! TLS settings for upstream servers and the hub's message sources.

use crate::document::Shape::Text;
use crate::document::{DocumentNode, DocumentReader, SettingsMap as _, settings, switch, text};

/// Maximum size of a file of CA certificates, bytes.
const AUTHORITIES_LEN_MAX: u64 = 4 << 20;

settings! {
    /// TLS settings for `https://` servers.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct ServerTls, SERVER_TLS "server_tls" {
        /// PEM file of the trusted CA certificates. Default: those of the system.
        authorities: Option<Authorities> = None, "ca": Text => authorities;
        /// Server name that is sent (SNI) and that the certificate must match. Default: the host of the URL.
        name: Option<String> = None,
            "name": text("a host name such as app.example").that(is_host_name, "a host name");
        /// Disables verification of certificates: anyone on the network path can read and change the traffic.
        insecure: bool = false, "insecure": switch();
    }
}

/// CA certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorities {
    /// Source, for messages.
    pub name: String,
    /// PEM.
    pub pem: Vec<u8>,
}

/// Reads the TLS settings of upstream servers.
pub(super) fn server_tls(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<ServerTls> {
    let tls = ServerTls::from_map(reader, node)?;
    if tls.insecure && node.get("ca").is_some() {
        reader.report(
            node,
            "`ca` and `insecure` are mutually exclusive",
            "`ca: FILE` to verify certificates, or `insecure: true`",
        );
    }
    Some(tls)
}

fn authorities(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Authorities> {
    let name = reader.word(node, "a PEM file")?;
    let pem = reader.file(node, &name, AUTHORITIES_LEN_MAX)?;
    Some(Authorities { name, pem })
}

fn is_host_name(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}
