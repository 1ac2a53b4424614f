//! What the user wants: `KIND=TARGET`, and headers of such requests.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use plimsoll_model::redact;
use plimsoll_names::host;
use url::Url;

/// Kinds as they are written, for messages.
const KINDS: &str = "remote-write, scrape, otlp, influx, statsd, hlog, jsonl, grafana";
/// Port of `StatsD`.
const STATSD_PORT: u16 = 8125;

/// One `--export`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportRequest {
    pub(crate) destination: Destination,
    /// As it is shown: without secrets.
    shown: String,
}

/// Where the metrics go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Prometheus remote write.
    RemoteWrite(Url),
    /// A page that Prometheus scrapes.
    Scrape(SocketAddr),
    /// OTLP over HTTP.
    Otlp(Url),
    /// Line protocol of `InfluxDB` over HTTP.
    Influx(Url),
    /// The same into a file.
    InfluxFile(PathBuf),
    /// `StatsD` over UDP, with tags of `DogStatsD`.
    Statsd(SocketAddr, bool),
    /// `HdrHistogram` log.
    Hlog(PathBuf),
    /// JSON lines.
    Jsonl(PathBuf),
    /// Annotations of Grafana.
    Grafana(Url),
}

/// What is wrong with an `--export` or `--export-header`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It has no `=`.
    #[error("expected KIND=TARGET, for example jsonl=run.jsonl; valid kinds: {KINDS}")]
    Form,
    /// The kind does not exist.
    #[error("unknown kind `{0}`; valid: {KINDS}")]
    Kind(String),
    /// The target is not one of this kind.
    #[error("{kind}: {fault}; expected {expected}")]
    Target {
        /// The kind.
        kind: &'static str,
        /// What is wrong.
        fault: String,
        /// What is valid.
        expected: &'static str,
    },
    /// A header is not `KIND=NAME: VALUE`.
    #[error(
        "expected KIND=NAME: VALUE with one of the kinds remote-write, otlp, influx, grafana, for example 'grafana=Authorization: Bearer TOKEN'"
    )]
    Header,
}

impl FromStr for ExportRequest {
    type Err = RequestError;

    fn from_str(text: &str) -> Result<Self, RequestError> {
        let (kind, target) = text.split_once('=').ok_or(RequestError::Form)?;
        let destination = match kind {
            "remote-write" => {
                Destination::RemoteWrite(url("remote-write", target, "/api/v1/write")?)
            }
            "scrape" => Destination::Scrape(listen_address(target)?),
            "otlp" => Destination::Otlp(url("otlp", target, "/v1/metrics")?),
            "influx" if !is_url(target) => Destination::InfluxFile(path("influx", target)?),
            "influx" => Destination::Influx(influx(target)?),
            "statsd" => statsd(target)?,
            "hlog" => Destination::Hlog(path("hlog", target)?),
            "jsonl" => Destination::Jsonl(path("jsonl", target)?),
            "grafana" => Destination::Grafana(grafana(target)?),
            other => return Err(RequestError::Kind(other.to_owned())),
        };
        let shown = if is_url(target) {
            redact::url(target).into_owned()
        } else {
            target.to_owned()
        };
        Ok(Self {
            destination,
            shown: format!("{kind}={shown}"),
        })
    }
}

/// As it was written, without secrets.
impl std::fmt::Display for ExportRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl ExportRequest {
    /// Its kind, as written.
    pub(crate) fn kind(&self) -> &str {
        self.shown.split('=').next().unwrap_or_default()
    }
}

/// A header of the HTTP requests of a kind. Its value is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ExportHeader {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) value: String,
}

impl std::fmt::Debug for ExportHeader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}: {}", self.kind, self.name, redact::REDACTED)
    }
}

impl FromStr for ExportHeader {
    type Err = RequestError;

    fn from_str(text: &str) -> Result<Self, RequestError> {
        let (kind, header) = text.split_once('=').ok_or(RequestError::Header)?;
        let (name, value) = header.split_once(':').ok_or(RequestError::Header)?;
        let (name, value) = (name.trim(), value.trim());
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.!#$%&'*+^`|~".contains(c);
        let takes = ["remote-write", "otlp", "influx", "grafana"].contains(&kind);
        let is_value = value.chars().all(|c| !c.is_control());
        if !takes || name.is_empty() || !name.chars().all(is_name) || !is_value {
            return Err(RequestError::Header);
        }
        Ok(Self {
            kind: kind.to_owned(),
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

fn is_url(target: &str) -> bool {
    target.contains("://")
}

fn target_error(kind: &'static str, fault: &str, expected: &'static str) -> RequestError {
    RequestError::Target {
        kind,
        fault: fault.to_owned(),
        expected,
    }
}

/// A URL; without a path it gets `default_path`.
fn url(kind: &'static str, target: &str, default_path: &str) -> Result<Url, RequestError> {
    let expected = "a URL such as http://127.0.0.1:9090";
    let mut url =
        Url::parse(target).map_err(|error| target_error(kind, &error.to_string(), expected))?;
    if !["http", "https"].contains(&url.scheme()) || url.host().is_none() {
        return Err(target_error(
            kind,
            "the scheme is not http or https",
            expected,
        ));
    }
    if url.path() == "/" {
        url.set_path(default_path);
    }
    Ok(url)
}

fn influx(target: &str) -> Result<Url, RequestError> {
    let mut url = url("influx", target, "/write")?;
    if url.query().is_none() {
        url.set_query(Some("db=plimsoll"));
    }
    Ok(url)
}

fn grafana(target: &str) -> Result<Url, RequestError> {
    let mut url = url("grafana", target, "/")?;
    let path = format!("{}/api/annotations", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

fn path(kind: &'static str, target: &str) -> Result<PathBuf, RequestError> {
    if target.is_empty() {
        return Err(target_error(kind, "the name is empty", "a file"));
    }
    Ok(target.into())
}

/// `PORT` on the loopback interface, or `ADDRESS:PORT`.
fn listen_address(target: &str) -> Result<SocketAddr, RequestError> {
    if let Ok(port) = target.trim_start_matches(':').parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    resolve(
        "scrape",
        target,
        "PORT or ADDRESS:PORT, such as 9464 or 0.0.0.0:9464",
    )
}

/// `HOST[:PORT][?tags]`.
fn statsd(target: &str) -> Result<Destination, RequestError> {
    let (address, has_tags) = match target.strip_suffix("?tags") {
        Some(address) => (address, true),
        None => (target, false),
    };
    let expected = "HOST or HOST:PORT, such as 127.0.0.1:8125, with ?tags for DogStatsD";
    let address = match address.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => resolve("statsd", address, expected)?,
        _ => resolve("statsd", &format!("{address}:{STATSD_PORT}"), expected)?,
    };
    Ok(Destination::Statsd(address, has_tags))
}

fn resolve(
    kind: &'static str,
    target: &str,
    expected: &'static str,
) -> Result<SocketAddr, RequestError> {
    let addresses = host::resolve_authority(target)
        .map_err(|error| target_error(kind, &format!("{target}: {error}"), expected))?;
    let none = || target_error(kind, &format!("{target} has no address"), expected);
    addresses.into_iter().next().ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<ExportRequest, String> {
        text.parse::<ExportRequest>()
            .map_err(|error| error.to_string())
    }

    #[test]
    fn paths_that_are_missing_are_those_of_the_protocol() {
        for (text, expected) in [
            (
                "remote-write=http://127.0.0.1:9090",
                "http://127.0.0.1:9090/api/v1/write",
            ),
            (
                "otlp=https://collector:4318",
                "https://collector:4318/v1/metrics",
            ),
            ("influx=http://db:8086", "http://db:8086/write?db=plimsoll"),
            (
                "influx=http://db:8086/api/v2/write?org=o&bucket=b",
                "http://db:8086/api/v2/write?org=o&bucket=b",
            ),
            (
                "grafana=http://g:3000/sub/",
                "http://g:3000/sub/api/annotations",
            ),
        ] {
            match parsed(text).unwrap().destination {
                Destination::RemoteWrite(url)
                | Destination::Otlp(url)
                | Destination::Influx(url)
                | Destination::Grafana(url) => assert_eq!(url.as_str(), expected),
                other => panic!("{other:?}"),
            }
        }
        for text in ["scrape=9464", "scrape=:9464", "scrape=127.0.0.1:9464"] {
            let address = SocketAddr::from(([127, 0, 0, 1], 9464));
            assert_eq!(
                parsed(text).unwrap().destination,
                Destination::Scrape(address)
            );
        }
        for (text, tags) in [
            ("statsd=127.0.0.1", false),
            ("statsd=127.0.0.1:8125?tags", true),
        ] {
            let address = SocketAddr::from(([127, 0, 0, 1], 8125));
            assert_eq!(
                parsed(text).unwrap().destination,
                Destination::Statsd(address, tags)
            );
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_valid() {
        for (text, expected) in [
            ("jsonl", "expected KIND=TARGET"),
            (
                "kafka=x",
                "unknown kind `kafka`; valid: remote-write, scrape",
            ),
            (
                "otlp=localhost:4318",
                "otlp: the scheme is not http or https; expected a URL",
            ),
            ("remote-write=nowhere", "remote-write: relative URL"),
            ("scrape=70000", "scrape: 70000"),
            ("hlog=", "hlog: the name is empty"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let request =
            parsed("influx=http://me:hidden-word@db:8086/write?db=x&p=y&token=hidden-word");
        let shown = format!("{}", request.unwrap());
        assert!(
            !shown.contains("hidden-word") && shown.starts_with("influx=http://"),
            "{shown}"
        );
        let header: ExportHeader = "grafana=Authorization: Bearer hidden-word".parse().unwrap();
        assert_eq!(header.value, "Bearer hidden-word");
        assert!(!format!("{header:?}").contains("hidden-word"));
        for wrong in [
            "Authorization: x",
            "statsd=A: b",
            "otlp=: b",
            "otlp=A b: c",
            "otlp=A: b\r\nC: d",
        ] {
            assert!(wrong.parse::<ExportHeader>().is_err(), "{wrong}");
        }
    }
}
