//! The admin endpoint and the access log.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use super::file::required;
use super::listeners::address;
use crate::document::Shape::Text;
use crate::document::{DocumentNode, DocumentReader, NodeKind, SettingsMap as _, one_of, settings};

settings! {
    /// The admin endpoint.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Admin, ADMIN "admin" {
        /// Address and port.
        address: SocketAddr = ADDRESS, "address": Text => later;
        /// Whether the edge refuses to start without it.
        must_bind: bool = true;
        /// Bearer token of the endpoint: `{{ env('EDGE_TOKEN') }}`. It also authorizes `PURGE` requests at the public
        /// URL of a page.
        token: Option<String> = None, "token": Text => token;
    }
}

settings! {
    /// Access log.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AccessLog, LOG "access_log" {
        /// A file, or `-`.
        path: Option<PathBuf> = None, "file": Text => later;
        /// Format of a line.
        format: LogFormat = LogFormat::Json,
            "format": one_of!["json" => LogFormat::Json, "combined" => LogFormat::Combined];
    }
}

/// Default admin address.
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9191);

/// Format of a line of the access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object.
    #[default]
    Json,
    /// The combined format of web servers.
    Combined,
}

/// Reads `admin:`, an address or a map with options.
pub(super) fn admin(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Admin> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return Some(Admin {
            address: address(reader, node)?,
            ..Admin::defaults()
        });
    }
    let fields = reader.fields(node, &ADMIN)?;
    let admin = Admin::read(reader, &fields);
    Some(Admin {
        address: required(reader, &fields, "address").and_then(|node| address(reader, node))?,
        ..admin
    })
}

/// A bearer token.
pub(super) fn token(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<String> {
    let valid = "at least 8 visible ASCII characters";
    let token = reader.word(node, valid)?;
    let is_token = token.len() >= 8 && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_token {
        reader.report(
            node,
            "the token is too short or has invalid characters",
            valid,
        );
    }
    is_token.then_some(token)
}

/// Reads `access_log:`, a file, `-`, `off`, or a map with options.
pub(super) fn access_log(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<AccessLog> {
    const VALID: &str = "a file, `-` or `off`";
    let path = |text: String| (text != "-").then(|| PathBuf::from(text));
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        let text = reader.word(node, VALID)?;
        return (text != "off").then(|| AccessLog {
            path: path(text),
            ..AccessLog::defaults()
        });
    }
    let fields = reader.fields(node, &LOG)?;
    let log = AccessLog::read(reader, &fields);
    let file = required(reader, &fields, "file").and_then(|node| reader.word(node, VALID));
    Some(AccessLog {
        path: path(file?),
        ..log
    })
}
