//! Classifies spans by OpenTelemetry's semantic conventions, current and old.

use plimsoll_model::component::ComponentKind;

use super::parse::{OtlpSpan, SpanKind};
use crate::collectors::statements::shapes::shape;

/// Longest name of a route or a component, bytes.
const NAME_LEN_MAX: usize = 100;
/// Digits and letters from which a piece of a path that holds a digit is an id.
const ID_LEN_MIN: usize = 8;
/// Status of gRPC: its quota is used up; it is not available.
const GRPC_EXHAUSTED: &str = "8";
const GRPC_UNAVAILABLE: &str = "14";

/// The class of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SpanRole {
    /// The request itself, as its service carried it out.
    Entry,
    /// A statement.
    Database,
    /// Getting a connection to a store.
    Connecting,
    /// A command to a cache.
    Cache,
    /// A call of another service over HTTP.
    Http,
    /// A call of another service by other means.
    Rpc,
    /// A message that was sent.
    Messaging,
    /// A step of the service's own.
    Step,
}

impl SpanRole {
    /// Its name in series.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Entry => "itself",
            Self::Database => "database",
            Self::Connecting => "connecting",
            Self::Cache => "cache",
            Self::Http => "http",
            Self::Rpc => "rpc",
            Self::Messaging => "messaging",
            Self::Step => "step",
        }
    }

    /// Whether it waits for another service that is not a database or cache.
    pub(super) fn is_remote(self) -> bool {
        matches!(self, Self::Http | Self::Rpc | Self::Messaging)
    }
}

/// A statement that begins or ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionBoundary {
    Begin,
    End,
}

/// A call that was temporarily refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallRefusal {
    /// Status 429, or a used-up quota of gRPC.
    TooMany,
    /// Status 503, or unavailable.
    Unavailable,
}

/// What is recorded of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpanMeaning {
    pub(super) role: SpanRole,
    /// Route of an entry; else the called component, or the operation.
    pub(super) name: String,
    /// Form of a statement of a database.
    pub(super) statement: Option<String>,
    pub(super) frame: Option<TransactionBoundary>,
    pub(super) is_failed: bool,
    pub(super) refusal: Option<CallRefusal>,
}

/// Reads it.
pub(super) fn of(span: &OtlpSpan) -> SpanMeaning {
    let role = role(span);
    let statement = match role {
        SpanRole::Database => statement(span),
        _ => None,
    };
    let name = match role {
        SpanRole::Entry => route(span),
        SpanRole::Database | SpanRole::Cache => store(span),
        SpanRole::Connecting => format!("{}; connecting", store(span)),
        SpanRole::Http => callee(span).unwrap_or_else(|| plain(&span.name)),
        SpanRole::Rpc => {
            let service = span.first(&["rpc.service"]).map(str::to_owned);
            service
                .or_else(|| callee(span))
                .unwrap_or_else(|| plain(&span.name))
        }
        SpanRole::Messaging => messages(span),
        SpanRole::Step => plain(&span.name),
    };
    SpanMeaning {
        role,
        name: shortened(name),
        frame: statement.as_deref().and_then(frame),
        statement,
        is_failed: is_failed(span, role),
        refusal: refusal(span, role),
    }
}

fn role(span: &OtlpSpan) -> SpanRole {
    let is_entry = match span.kind {
        SpanKind::Server | SpanKind::Consumer => true,
        // A span without parent and callee is a piece of work by itself.
        SpanKind::Internal => span.parent == 0 && system(span).is_none(),
        SpanKind::Client | SpanKind::Producer => false,
    };
    if is_entry {
        return SpanRole::Entry;
    }
    if let Some(system) = system(span) {
        let connects = span.name.to_ascii_lowercase().contains("connect");
        return if connects && text(span).is_none() {
            SpanRole::Connecting
        } else if ComponentKind::of_span_system(system).is_some_and(ComponentKind::is_cache) {
            SpanRole::Cache
        } else {
            SpanRole::Database
        };
    }
    let calls = span.kind == SpanKind::Client;
    if span.first(&["messaging.system"]).is_some() || span.kind == SpanKind::Producer {
        SpanRole::Messaging
    } else if span.first(&["rpc.system", "rpc.system.name"]).is_some() && calls {
        SpanRole::Rpc
    } else if calls && method(span).is_some() {
        SpanRole::Http
    } else if calls && callee(span).is_some() {
        SpanRole::Rpc
    } else {
        SpanRole::Step
    }
}

fn system(span: &OtlpSpan) -> Option<&str> {
    span.first(&["db.system.name", "db.system"])
}

fn method(span: &OtlpSpan) -> Option<&str> {
    span.first(&["http.request.method", "http.method"])
}

/// A statement's text.
fn text(span: &OtlpSpan) -> Option<&str> {
    span.first(&["db.query.text", "db.statement"])
}

/// The form of a statement; without a text, its known attributes.
fn statement(span: &OtlpSpan) -> Option<String> {
    let of_text = text(span).or_else(|| span.first(&["db.query.summary"]));
    let of_call = || {
        let operation = span.first(&["db.operation.name", "db.operation"])?;
        let table = span.first(&["db.collection.name", "db.sql.table"]);
        Some(shape(&format!("{operation} {}", table.unwrap_or_default())))
    };
    let form = of_text.map(shape).or_else(of_call)?;
    (!form.is_empty()).then_some(form)
}

fn frame(statement: &str) -> Option<TransactionBoundary> {
    let first = statement.split([' ', ';']).next().unwrap_or_default();
    match first.to_ascii_uppercase().as_str() {
        "BEGIN" | "START" => Some(TransactionBoundary::Begin),
        "COMMIT" | "ROLLBACK" | "END" => Some(TransactionBoundary::End),
        _ => None,
    }
}

/// A store and where it is: `postgresql 127.0.0.1:5432`.
fn store(span: &OtlpSpan) -> String {
    let system = system(span).unwrap_or("?");
    let place = callee(span).or_else(|| {
        let name = span.first(&["db.namespace", "db.name"])?;
        Some(name.to_owned())
    });
    match place {
        Some(place) => format!("{system} {place}"),
        None => system.to_owned(),
    }
}

/// The called component: its address with the port, or its name.
fn callee(span: &OtlpSpan) -> Option<String> {
    let host = span.first(&[
        "server.address",
        "net.peer.name",
        "service.peer.name",
        "peer.service",
        "http.host",
        "net.peer.ip",
        "net.sock.peer.addr",
        "network.peer.address",
    ]);
    let port = span.first(&["server.port", "net.peer.port", "network.peer.port"]);
    match (host, port) {
        (Some(host), _) if host.contains(':') && !host.contains("::") => Some(host.to_owned()),
        (Some(host), Some(port)) => Some(format!("{host}:{port}")),
        (Some(host), None) => Some(host.to_owned()),
        (None, _) => {
            let url = span.first(&["url.full", "http.url"])?;
            let rest = url.split_once("://")?.1;
            let authority = rest.split(['/', '?', '#']).next()?;
            // A password may precede it.
            let host = authority.rsplit('@').next()?;
            (!host.is_empty()).then(|| host.to_owned())
        }
    }
}

fn messages(span: &OtlpSpan) -> String {
    let system = span.first(&["messaging.system"]).unwrap_or("messages");
    let to = span.first(&["messaging.destination.name", "messaging.destination"]);
    match to {
        Some(to) => format!("{system} {}", plain(to)),
        None => system.to_owned(),
    }
}

/// The request's target, without the parts that differ from request to request.
fn route(span: &OtlpSpan) -> String {
    if let Some(method) = method(span) {
        let path = span.first(&["http.route", "url.path", "http.target"]);
        let path = path.map(str::to_owned).or_else(|| {
            let url = span.first(&["url.full", "http.url"])?;
            let rest = url.split_once("://")?.1;
            Some(
                rest.find('/')
                    .map_or("/", |slash| &rest[slash..])
                    .to_owned(),
            )
        });
        return match path {
            Some(path) => format!("{method} {}", plain(&path)),
            None => method.to_owned(),
        };
    }
    if let Some(service) = span.first(&["rpc.service"]) {
        let method = span.first(&["rpc.method"]).unwrap_or("?");
        return format!("{service}/{method}");
    }
    if span.first(&["messaging.system"]).is_some() {
        return messages(span);
    }
    plain(&span.name)
}

/// A path or a name without ids: numbers and id-like words become `:id`, `{x}` becomes `:x`.
fn plain(name: &str) -> String {
    let path = name.split('?').next().unwrap_or_default();
    let pieces = path.split('/').map(|piece| {
        if let Some(inner) = piece.strip_prefix('{') {
            return format!(":{}", inner.trim_end_matches('}'));
        }
        let is_digits = !piece.is_empty() && piece.bytes().all(|byte| byte.is_ascii_digit());
        let is_hex = piece.len() >= ID_LEN_MIN
            && piece.bytes().any(|byte| byte.is_ascii_digit())
            && piece
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if is_digits || is_hex {
            ":id".to_owned()
        } else {
            piece.to_owned()
        }
    });
    pieces.collect::<Vec<_>>().join("/")
}

fn shortened(name: String) -> String {
    if name.len() <= NAME_LEN_MAX {
        return name;
    }
    let end = name.floor_char_boundary(NAME_LEN_MAX);
    format!("{}…", &name[..end])
}

fn status(span: &OtlpSpan) -> Option<&str> {
    span.first(&["http.response.status_code", "http.status_code"])
}

fn is_failed(span: &OtlpSpan, role: SpanRole) -> bool {
    let by_status = status(span).is_some_and(|status| {
        // A client error is not a failure of the service.
        status.starts_with('5') || role != SpanRole::Entry && status.starts_with('4')
    });
    span.is_error || by_status
}

fn refusal(span: &OtlpSpan, role: SpanRole) -> Option<CallRefusal> {
    if !role.is_remote() {
        return None;
    }
    match (status(span), span.first(&["rpc.grpc.status_code"])) {
        (Some("429"), _) | (_, Some(GRPC_EXHAUSTED)) => Some(CallRefusal::TooMany),
        (Some("503"), _) | (_, Some(GRPC_UNAVAILABLE)) => Some(CallRefusal::Unavailable),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
