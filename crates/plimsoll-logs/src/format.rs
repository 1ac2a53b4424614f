//! Formats of access logs, by name or by a line of a server's configuration.

pub(crate) mod combined;
pub(crate) mod haproxy;
pub(crate) mod json;
pub(crate) mod pattern;
pub(crate) mod tail;
pub(crate) mod w3c;
pub(crate) mod wrapper;

use std::sync::Arc;

use combined::Combined;
use json::keys::Dialect;
use pattern::{PATTERN_LEN_MAX, Pattern};
use tail::Tail;
use w3c::W3cColumns;
use wrapper::{Unwrapper, Wrapper};

/// How a log is written.
#[derive(Clone, Debug)]
pub struct Format {
    name: &'static str,
    pub(crate) layout: Layout,
    /// What is around each line.
    wrapper: Option<Wrapper>,
}

/// How lines are read.
#[derive(Clone, Debug)]
pub(crate) enum Layout {
    Combined(Combined),
    Haproxy,
    W3c(W3cColumns),
    Json(Dialect),
    Logfmt,
    /// The first that fits a line; lines that begin with a brace are JSON of this dialect.
    Patterns(Arc<[Pattern]>, Option<Dialect>),
    /// Traefik and Plimsoll write either.
    CombinedOrJson(Combined, Dialect),
}

/// A format that `--format` names.
struct NamedFormat {
    name: &'static str,
    /// What it covers, for help texts.
    about: &'static str,
}

const NAMED: [NamedFormat; 16] = [
    named(
        "nginx",
        "combined, also with $http_x_forwarded_for and $request_time behind",
    ),
    named("ingress-nginx", "the default of ingress-nginx"),
    named("apache", "common, combined, vhost_combined, combinedio"),
    named("haproxy", "option httplog, option httpslog"),
    named("cloudfront", "standard logs"),
    named("iis", "W3C, with its #Fields lines"),
    named("w3c", "the W3C extended log format of others"),
    named("json", "a JSON object per line, by the names of its fields"),
    named("caddy", "JSON, duration in seconds"),
    named("traefik", "common or JSON"),
    named("alb", "Application and Classic Load Balancers of AWS"),
    named("google-lb", "JSON of Google's load balancers"),
    named("envoy", "the defaults of Envoy and Istio, or JSON"),
    named("pino", "JSON of pino-http"),
    named("logfmt", "key=value pairs"),
    named("plimsoll", "the edge's own logs, combined or JSON"),
];

const fn named(name: &'static str, about: &'static str) -> NamedFormat {
    NamedFormat { name, about }
}

/// Why a format cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Neither a name nor a line of configuration.
    #[error("unknown format `{found}`; valid: {}, or a line of configuration such as \"log_format main '$remote_addr …';\"", Format::names().join(", "))]
    Unknown {
        /// As written, shortened.
        found: String,
    },
    /// The format lacks what every request needs.
    #[error("the format ({format}) lacks {missing}: no request can be read by it")]
    Incomplete {
        /// The server whose configuration it is.
        format: &'static str,
        /// What is missing.
        missing: String,
    },
    /// Nothing separates two fields.
    #[error(
        "nothing separates {first} from {second} in the format: where one ends cannot be known"
    )]
    Adjacent {
        /// The first, as configured.
        first: String,
        /// The second, as configured.
        second: String,
    },
    /// A piece of the configuration is not understood.
    #[error("the format has {what} that is not valid at `{found}`")]
    Syntax {
        /// What.
        what: &'static str,
        /// As written, shortened.
        found: String,
    },
    /// The line of configuration is too long.
    #[error("the format is longer than 16 KiB or has more than 500 fields")]
    TooLong,
}

impl FormatError {
    pub(crate) fn syntax(what: &'static str, found: &str) -> Self {
        Self::Syntax {
            what,
            found: shortened(found),
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

impl Format {
    /// A format by its name, or by a line of configuration: nginx' `log_format`, Apache's `LogFormat`, `HAProxy`'s
    /// `log-format`, a format string of Envoy.
    ///
    /// # Errors
    /// When it is neither, or the configured format lacks the time, the request or the status.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let text = text.trim();
        if text.len() > PATTERN_LEN_MAX {
            return Err(FormatError::TooLong);
        }
        let known = NAMED
            .iter()
            .find(|named| named.name.eq_ignore_ascii_case(text));
        if let Some(known) = known {
            return Ok(Self::named(known.name));
        }
        let (name, pattern) = configured(text)?;
        Ok(Self::new(
            name,
            Layout::Patterns(Arc::from(vec![pattern]), None),
        ))
    }

    /// Names of all formats.
    pub fn names() -> Vec<&'static str> {
        NAMED.iter().map(|named| named.name).collect()
    }

    /// Names of all formats with what each covers.
    pub fn described() -> impl Iterator<Item = (&'static str, &'static str)> {
        NAMED.iter().map(|named| (named.name, named.about))
    }

    /// Its name; of a line of configuration, that of the server.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The same without lines of JSON.
    pub(crate) fn without_json(self) -> Self {
        let layout = match self.layout {
            Layout::Patterns(patterns, _) => Layout::Patterns(patterns, None),
            Layout::CombinedOrJson(combined, _) => Layout::Combined(combined),
            layout => layout,
        };
        Self { layout, ..self }
    }

    pub(crate) fn new(name: &'static str, layout: Layout) -> Self {
        Self {
            name,
            layout,
            wrapper: None,
        }
    }

    /// The same format in a wrapper.
    pub(crate) fn wrapped_in(self, wrapper: Wrapper) -> Self {
        let wrapper = Some(wrapper);
        Self { wrapper, ..self }
    }

    /// Takes each line of a log out of what container runtimes and syslog write around it; a reader gets what is inside.
    pub fn unwrapper(&self) -> Unwrapper {
        Unwrapper::new(self.wrapper)
    }

    /// The layout of a name, before lines were looked at.
    pub(crate) fn named(name: &'static str) -> Self {
        let combined = |tail, is_begin| Combined { tail, is_begin };
        let layout = match name {
            "ingress-nginx" => Layout::Combined(combined(Tail::Ingress, false)),
            "apache" => Layout::Combined(combined(Tail::Ignored, true)),
            "haproxy" => Layout::Haproxy,
            "cloudfront" | "iis" | "w3c" => Layout::W3c(W3cColumns::of(name)),
            "json" => Layout::Json(Dialect::Unknown),
            "caddy" => Layout::Json(Dialect::Caddy),
            "traefik" => Layout::CombinedOrJson(combined(Tail::Traefik, true), Dialect::Traefik),
            "alb" => patterns(pattern::builtin::amazon(), None),
            "google-lb" => Layout::Json(Dialect::GoogleLoadBalancer),
            "envoy" => patterns(pattern::builtin::envoy(), Some(Dialect::Envoy)),
            "pino" => Layout::Json(Dialect::Pino),
            "logfmt" => Layout::Logfmt,
            "plimsoll" => Layout::CombinedOrJson(combined(Tail::Plimsoll, true), Dialect::Plimsoll),
            _ => Layout::Combined(combined(Tail::Ignored, false)),
        };
        Self::new(name, layout)
    }
}

/// Built-in patterns always compile; the tests check it.
fn patterns(built: Result<Vec<Pattern>, FormatError>, dialect: Option<Dialect>) -> Layout {
    Layout::Patterns(Arc::from(built.unwrap_or_default()), dialect)
}

/// The server whose configuration this is, and the compiled format.
fn configured(text: &str) -> Result<(&'static str, Pattern), FormatError> {
    let has = |part: &str| text.contains(part);
    let starts = |part: &str| text.starts_with(part);
    let is_envoy = has("%START_TIME") || has("%REQ(") || has("%RESPONSE_CODE%");
    let is_haproxy = starts("log-format")
        || [
            "%ci", "%ST", "%HM", "%HU", "%HP", "%tr", "%{+Q}", "%[", "%TR/",
        ]
        .iter()
        .any(|part| has(part));
    if starts("log_format") || (has("$") && !has("%")) {
        Ok(("nginx", pattern::nginx::compile(text)?))
    } else if ["LogFormat", "CustomLog", "GlobalLog"]
        .into_iter()
        .any(starts)
    {
        Ok(("apache", pattern::apache::compile(text)?))
    } else if is_envoy {
        Ok(("envoy", pattern::envoy::compile(text)?))
    } else if is_haproxy {
        Ok(("haproxy", pattern::haproxy::compile(text)?))
    } else if has("%") {
        Ok(("apache", pattern::apache::compile(text)?))
    } else {
        Err(FormatError::Unknown {
            found: shortened(text),
        })
    }
}

#[cfg(test)]
mod tests;
