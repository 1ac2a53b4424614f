//! Reads the IP filter, the rate alert and the export of traces.

use std::time::Duration;

use url::Url;

use super::answer_keywords::{ACCESS, COUNTRIES, RATE_ALERT, TRACES};
use super::file::required;
use super::routes::edits;
use super::{Countries, Endpoint, IpFilterConfig, Network, Parents, RateAlert, Traces};
use crate::document::{DocumentNode, DocumentReader, MapFields, NodeKind};
use crate::units;

/// Maximum size of an address list, bytes.
const LIST_LEN_MAX: u64 = 32 << 20;
/// Maximum size of a country database, bytes.
const DATABASE_LEN_MAX: u64 = 512 << 20;
/// Invalid lines reported per list.
const WRONG_LINES_MAX: usize = 5;

/// Reads `access:`.
pub(super) fn access(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<IpFilterConfig> {
    let fields = reader.fields(node, &ACCESS)?;
    let mut access = IpFilterConfig {
        allow: networks(reader, &fields, "allow"),
        deny: networks(reader, &fields, "deny"),
        countries: fields
            .get("countries")
            .and_then(|node| countries(reader, node)),
    };
    for (word, list) in [
        ("allow_files", &mut access.allow),
        ("deny_files", &mut access.deny),
    ] {
        let files = fields
            .get(word)
            .map_or(&[][..], |node| reader.one_or_more(node));
        for node in files {
            listed(reader, node, list);
        }
    }
    refuses_somebody(reader, node, &fields);
    Some(access)
}

/// `allow` alone is ambiguous: most people expect it to deny all others. It is refused instead of guessed.
fn refuses_somebody(reader: &DocumentReader<'_>, node: &DocumentNode, fields: &MapFields<'_>) {
    let refusing = ["deny", "deny_files", "countries"];
    let has = |words: &[&str]| words.iter().any(|word| fields.get(word).is_some());
    if has(&["allow", "allow_files"]) && !has(&refusing) && !fields.misspells(&refusing) {
        let message = "`allow` alone has no effect: all other clients are allowed, too";
        reader.report(
            node,
            message,
            "`deny: all`, `deny_files` or `countries` in addition",
        );
    }
}

fn networks(reader: &DocumentReader<'_>, fields: &MapFields<'_>, word: &str) -> Vec<Network> {
    let valid = "an address, a range such as 10.0.0.0/8, or `all`";
    let Some(node) = fields.get(word) else {
        return Vec::new();
    };
    let mut networks = Vec::new();
    for item in reader.one_or_more(node) {
        match reader.word(item, valid).as_deref() {
            Some("all") => networks.extend(Network::all()),
            Some(text) => match Network::parse(text) {
                Some(network) => networks.push(network),
                None => reader.report(item, format!("`{text}` is not an address range"), valid),
            },
            None => {}
        }
    }
    networks
}

/// Reads a file of addresses, one per line.
fn listed(reader: &DocumentReader<'_>, node: &DocumentNode, list: &mut Vec<Network>) {
    let Some(name) = reader.word(node, "a file") else {
        return;
    };
    let Some(content) = reader.file(node, &name, LIST_LEN_MAX) else {
        return;
    };
    let mut wrong = 0;
    for (line, text) in (1..).zip(content.split(|&byte| byte == b'\n')) {
        let text = String::from_utf8_lossy(text);
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        match Network::parse(text) {
            Some(network) => list.push(network),
            None if wrong < WRONG_LINES_MAX => {
                wrong += 1;
                let message = format!("line {line} of `{name}`: `{text}` is not an address range");
                reader.report(
                    node,
                    message,
                    "one address or range such as 10.0.0.0/8 per line",
                );
            }
            None => return,
        }
    }
}

fn countries(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Countries> {
    let fields = reader.fields(node, &COUNTRIES)?;
    let database = required(reader, &fields, "database").and_then(|node| {
        let name = reader.word(node, "a MaxMind file")?;
        let content = reader.file(node, &name, DATABASE_LEN_MAX)?;
        match maxminddb::Reader::from_source(content.as_slice()) {
            Ok(mmdb) if mmdb.metadata().record_size == 0 => None,
            Ok(_) => Some((name, content)),
            Err(error) => {
                let message = format!("`{name}` is not a country database: {error}");
                reader.report(
                    node,
                    message,
                    "a MaxMind file such as GeoLite2-Country.mmdb",
                );
                None
            }
        }
    });
    let (key, node) = reader.exactly_one(&fields, &["allow", "deny"])?;
    let valid = "two letters (ISO 3166-1) such as DE, or `unknown`";
    let items = reader.one_or_more(node).iter();
    let listed = items.filter_map(|node| {
        let text = reader.word(node, valid)?;
        let is_code = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
        if !is_code && text != "unknown" {
            reader.report(node, format!("invalid country code `{text}`"), valid);
            return None;
        }
        Some(if is_code {
            text.to_ascii_uppercase()
        } else {
            String::new()
        })
    });
    let listed = listed.collect();
    let (name, database) = database?;
    Some(Countries {
        name,
        database: database.into(),
        allows: key.text == "allow",
        listed,
    })
}

/// Reads `alarm:`; `false` disables it.
pub(super) fn rate_alert(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<RateAlert> {
    if matches!(node.kind, NodeKind::Scalar { .. }) {
        return reader.switch(node)?.then(RateAlert::default);
    }
    let fields = reader.fields(node, &RATE_ALERT)?;
    let mut rate_alert = RateAlert::default();
    if let Some(every) = fields
        .get("every")
        .and_then(|node| reader.duration_above_zero(node))
    {
        rate_alert.every = every.max(Duration::from_millis(10));
    }
    let count = |word: &str, least, most| {
        let node = fields.get(word)?;
        reader.count32(node, least..=most)
    };
    rate_alert.history = count("history", 5, 10_000).unwrap_or(rate_alert.history);
    rate_alert.factor = count("factor", 1, 100).map_or(rate_alert.factor, f64::from);
    if let Some(node) = fields.get("least")
        && let Some(least) = reader.value(node, "a rate such as 1/s", units::rate)
    {
        rate_alert.least_per_second = least;
    }
    rate_alert.webhook = fields
        .get("webhook")
        .and_then(|node| endpoint(reader, node, &fields, "/"));
    Some(rate_alert)
}

/// Reads `traces:`.
pub(super) fn traces(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Traces> {
    let fields = reader.fields(node, &TRACES)?;
    let share = fields
        .get("share")
        .and_then(|node| reader.value(node, "a share such as 1%", units::share));
    let parents = [
        ("all", Parents::All),
        ("trusted", Parents::Trusted),
        ("none", Parents::None),
    ];
    let parents = fields
        .get("parents")
        .and_then(|node| reader.one_of(node, &parents));
    let service = fields
        .get("service")
        .and_then(|node| reader.word(node, "a service name"));
    let to = required(reader, &fields, "to")?;
    Some(Traces {
        to: endpoint(reader, to, &fields, "/v1/traces")?,
        share: share.unwrap_or(0.01),
        parents: parents.unwrap_or_default(),
        service: service.unwrap_or_else(|| "plimsoll-edge".to_owned()),
    })
}

/// A destination URL, with the headers from `fields`; `path` is the default path.
fn endpoint(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    fields: &MapFields<'_>,
    path: &str,
) -> Option<Endpoint> {
    let headers = sent_headers(reader, fields);
    let mut endpoint = url(reader, node, path)?;
    endpoint.headers = headers;
    Some(endpoint)
}

/// Headers of every request: `headers:`.
pub(super) fn sent_headers(
    reader: &DocumentReader<'_>,
    fields: &MapFields<'_>,
) -> Vec<(String, String)> {
    let headers = fields
        .get("headers")
        .map_or_else(Vec::new, |node| edits(reader, node));
    headers
        .into_iter()
        .filter_map(|edit| Some((edit.name, edit.value?)))
        .collect()
}

/// A destination URL; `path` is the default path.
pub(super) fn url(
    reader: &DocumentReader<'_>,
    node: &DocumentNode,
    path: &str,
) -> Option<Endpoint> {
    let valid = "an http:// or https:// URL without a login, such as http://127.0.0.1:4318";
    let text = reader.word(node, valid)?;
    let url = Url::parse(&text).ok();
    let url = url.filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    });
    let Some(url) = url else {
        reader.report(
            node,
            format!("`{text}` is not a valid destination URL"),
            valid,
        );
        return None;
    };
    let target = match url.path() {
        "" | "/" if url.query().is_none() => path.to_owned(),
        path => match url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        },
    };
    Some(Endpoint {
        secure: url.scheme() == "https",
        host: url.host_str()?.trim_matches(['[', ']']).to_owned(),
        port: url.port_or_known_default()?,
        target,
        headers: Vec::new(),
    })
}
