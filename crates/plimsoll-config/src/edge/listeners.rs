//! Listeners and their certificates.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::AcmeCertificate;
use super::file::required;
use crate::document::Shape::{ListOf, Of, OneOrMore, Text};
use crate::document::{
    DocumentNode, DocumentReader, MapFields, NodeKind, SettingsMap as _, file, settings, switch,
};

settings! {
    /// One listener.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ListenerConfig, LISTENER "listener" {
        /// Address and port: `0.0.0.0:443`.
        address: SocketAddr = ADDRESS, "address": Text => later;
        /// Certificates, selected by server name (SNI). Without a match, the first is used.
        tls: Vec<Certificate> = Vec::new(), "tls": ListOf(&Of(&CERTIFICATE)) => later;
        /// Whether connections of trusted peers start with a PROXY header.
        proxy_protocol: bool = false, "proxy_protocol": switch();
    }
}

settings! {
    /// A certificate and its private key.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Certificate, CERTIFICATE "certificate" {
        /// PEM file of the certificate chain.
        cert: PathBuf = PathBuf::new(), "cert": file("a PEM file"), unsaid;
        /// PEM file of the private key.
        key: PathBuf = PathBuf::new(), "key": file("a PEM file"), unsaid;
        /// Or the names of a certificate that is obtained by ACME; see the key `acme` of the file.
        "acme": OneOrMore(&Text);
    }
}

/// Default listening address.
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

impl ListenerConfig {
    /// A listener for plain HTTP.
    pub(super) fn at(address: SocketAddr) -> Self {
        Self {
            address,
            ..Self::defaults()
        }
    }
}

/// Reads `listen:`.
pub(super) fn listeners(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
    wanted: &mut Vec<AcmeCertificate>,
) -> Vec<ListenerConfig> {
    let Some(node) = fields.get("listen") else {
        return vec![ListenerConfig::defaults()];
    };
    let mut listeners: Vec<ListenerConfig> = Vec::new();
    for item in reader.one_or_more(node) {
        let Some(listener) = listener(reader, item, wanted) else {
            continue;
        };
        if listeners
            .iter()
            .any(|existing| existing.address == listener.address)
        {
            let message = format!("two listeners have the address {}", listener.address);
            reader.report(item, message, "each address once");
        }
        listeners.push(listener);
    }
    listeners
}

fn listener(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    wanted: &mut Vec<AcmeCertificate>,
) -> Option<ListenerConfig> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return address(reader, node).map(ListenerConfig::at);
    }
    let fields = reader.fields(node, &LISTENER)?;
    let certificates = fields
        .get("tls")
        .map_or(&[][..], |node| reader.list(node, "certificates"));
    let tls = certificates
        .iter()
        .filter_map(|node| certificate(reader, node, wanted))
        .collect();
    // All faults are reported, also where there is no address.
    let listener = ListenerConfig::read(reader, &fields);
    Some(ListenerConfig {
        address: required(reader, &fields, "address").and_then(|node| address(reader, node))?,
        tls,
        ..listener
    })
}

fn certificate(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    wanted: &mut Vec<AcmeCertificate>,
) -> Option<Certificate> {
    let fields = reader.fields(node, &CERTIFICATE)?;
    if let Some(names) = fields.get("acme") {
        if fields.get("cert").is_some() || fields.get("key").is_some() {
            let valid = "`acme`, or `cert` and `key`";
            reader.report(
                node,
                "`acme` and certificate files are mutually exclusive",
                valid,
            );
        }
        return super::acme::certificate(reader, names, wanted);
    }
    let (cert, key) = (
        required(reader, &fields, "cert"),
        required(reader, &fields, "key"),
    );
    let certificate = Certificate::read(reader, &fields);
    (cert.is_some() && key.is_some()).then_some(certificate)
}

/// An address with a port.
pub(super) fn address(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<SocketAddr> {
    let valid = "an address with a port, such as 0.0.0.0:8080 or [::]:443";
    let text = reader.word(node, valid)?;
    let address = text.parse().ok();
    if address.is_none() {
        reader.report(
            node,
            format!("`{text}` is not an address with a port"),
            valid,
        );
    }
    address
}
