//! Reads what surrounds a trial: readiness, health, and the load before it.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_model::experiment::{CertificateTrust, LevelText, Readiness, ReadyCheck, Warm};

use super::commands::command;
use super::scope::ExperimentScope;
use crate::document::Shape::{OneOrMore, Text};
use crate::document::{
    DocumentNode, DocumentReader, NodeKind, SettingsMap as _, file, settings, switch, time,
};

settings! {
    /// A check that the service is ready; one of http, tcp, command.
    struct ReadySettings, READY "ready" {
        /// URL that answers with a good status.
        "http": Text;
        /// Address, `host:port`, that accepts connections.
        "tcp": Text;
        /// Command that ends with exit code 0.
        "command": OneOrMore(&Text);
        /// Time limit.
        within: Duration = Duration::from_mins(1), "within": time().within(
            Duration::from_millis(1),
            Duration::from_hours(1),
            "1ms to 1h"
        );
        /// Whether `http` accepts invalid certificates.
        insecure: bool = false, "insecure": switch(), unsaid;
        /// PEM file of the CA certificates that `http` trusts. Default: those of the system.
        ca_file: Option<PathBuf> = None, "ca_file": file("a PEM file");
    }
}

settings! {
    /// Load until the response time is steady.
    struct WarmSettings, WARM "warm" {
        /// Longest duration.
        steady: Duration = STEADY_TIME, "steady": time();
    }
}

/// Default longest load until the response time is steady.
const STEADY_TIME: Duration = Duration::from_mins(5);

const URL_VALID: &str = "a URL such as http://127.0.0.1:8080/health";
const ADDRESS_VALID: &str = "host:port, such as 127.0.0.1:8080";

/// Reads `ready:` and `health:`.
pub(super) fn ready_check(
    scope: &ExperimentScope<'_, '_>,
    node: &DocumentNode,
) -> Option<ReadyCheck> {
    let reader = scope.reader;
    if let NodeKind::Scalar { text, .. } = &node.kind {
        let readiness = if text.contains("://") {
            http(scope, node).map(Readiness::Http)
        } else {
            tcp(scope, node).map(Readiness::Tcp)
        };
        return Some(ReadyCheck {
            readiness: readiness?,
            within: ReadySettings::defaults().within,
            trust: CertificateTrust::default(),
        });
    }
    let fields = reader.fields(node, &READY)?;
    let settings = ReadySettings::read(reader, &fields);
    let (key, value) = reader.exactly_one(&fields, &["http", "tcp", "command"])?;
    let has_trust = settings.insecure || settings.ca_file.is_some();
    if has_trust && key.text != "http" {
        let message = format!("`{}` has no certificate to check", key.text);
        let valid = "`insecure` and `ca_file` beside `http` with an https:// URL";
        reader.report(node, message, valid);
        return None;
    }
    let readiness = match key.text.as_str() {
        "http" => Readiness::Http(http(scope, value)?),
        "tcp" => Readiness::Tcp(tcp(scope, value)?),
        _ => Readiness::Command(command(scope, value)?),
    };
    Some(ReadyCheck {
        readiness,
        within: settings.within,
        trust: CertificateTrust {
            insecure: settings.insecure,
            ca_file: settings.ca_file,
        },
    })
}

/// A URL. With levels in it, its scheme is checked alone.
fn http(scope: &ExperimentScope<'_, '_>, node: &DocumentNode) -> Option<LevelText> {
    let text = scope.reader.scalar(node, URL_VALID)?;
    let has_scheme = ["http://", "https://", "{{"]
        .iter()
        .any(|start| text.starts_with(*start));
    let is_url = text.contains("{{") || url::Url::parse(text).is_ok();
    if !has_scheme || !is_url {
        let message = format!("`{text}` is not a URL");
        scope.reader.report(node, message, URL_VALID);
        return None;
    }
    scope.text(node, URL_VALID)
}

/// An address with a port. With levels in it, nothing is checked.
fn tcp(scope: &ExperimentScope<'_, '_>, node: &DocumentNode) -> Option<LevelText> {
    let text = scope.reader.scalar(node, ADDRESS_VALID)?;
    let has_port = text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    if !has_port && !text.contains("{{") {
        let message = format!("`{text}` is not an address with a port");
        scope.reader.report(node, message, ADDRESS_VALID);
        return None;
    }
    scope.text(node, ADDRESS_VALID)
}

/// Reads `warm:`.
pub(super) fn warm(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Warm> {
    match &node.kind {
        NodeKind::Scalar { text, .. } if text == "steady" => Some(Warm::Steady(STEADY_TIME)),
        NodeKind::Scalar { .. } => reader.duration_above_zero(node).map(Warm::For),
        NodeKind::Map(_) | NodeKind::List(_) => {
            let settings = WarmSettings::from_map(reader, node)?;
            Some(Warm::Steady(settings.steady))
        }
    }
}
