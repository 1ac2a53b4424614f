//! IP filter by address and country.

use std::sync::Arc;

use plimsoll_model::byte_order_mark;

use super::Network;
use super::file::required;
use crate::document::Shape::{Of, OneOrMore, Text};
use crate::document::{
    DocumentNode, DocumentReader, KeywordTable, MapFields, SettingsMap as _, settings, word,
};

/// Maximum size of an address list, bytes.
const LIST_LEN_MAX: u64 = 32 << 20;
/// Maximum size of a country database, bytes.
const DATABASE_LEN_MAX: u64 = 512 << 20;
/// Invalid lines reported per list.
const WRONG_LINES_MAX: usize = 5;

settings! {
    /// IP filter by address and country. Lists are reloaded with the configuration.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct IpFilterConfig, ACCESS "access" {
        /// Addresses that are always allowed: `10.0.0.0/8`. Needs a rule that denies, such as `deny: all`.
        allow: Vec<Network> = Vec::new(), "allow": OneOrMore(&Text) => networks;
        /// Addresses that are denied; `all` matches every client.
        deny: Vec<Network> = Vec::new(), "deny": OneOrMore(&Text) => networks;
        /// Files of allowed addresses: one address or range per line; `#` starts a comment.
        "allow_files": OneOrMore(&Text);
        /// Files of denied addresses.
        "deny_files": OneOrMore(&Text);
        /// Filter by country.
        countries: Option<Countries> = None, "countries": Of(&COUNTRIES) => countries;
    }
}

/// A country filter.
#[derive(Clone, PartialEq, Eq)]
pub struct Countries {
    /// File name of the database, for messages.
    pub name: String,
    /// Its content.
    pub database: Arc<[u8]>,
    /// Whether the listed countries are allowed, or all others.
    pub allows: bool,
    /// Two-letter codes; an empty one matches addresses without a country.
    pub listed: Vec<String>,
}

impl std::fmt::Debug for Countries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Countries")
            .field("name", &self.name)
            .field("allows", &self.allows)
            .field("listed", &self.listed)
            .finish_non_exhaustive()
    }
}

/// Keys of the country filter.
pub(crate) static COUNTRIES: KeywordTable = KeywordTable {
    name: "countries",
    meaning: "Country filter by client address.",
    words: &[
        word!("database", Text, "MaxMind country database (`.mmdb`)."),
        word!(
            "allow",
            OneOrMore(&Text),
            "Allowed countries by two-letter code (ISO 3166-1): `DE`; `unknown` matches addresses without a country."
        ),
        word!("deny", OneOrMore(&Text), "Denied countries."),
    ],
};

/// Reads `access:`.
pub(super) fn access(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<IpFilterConfig> {
    let fields = reader.fields(node, &ACCESS)?;
    let mut access = IpFilterConfig::read(reader, &fields);
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

#[expect(clippy::unnecessary_wraps, reason = "the signature of readers")]
fn networks(reader: &DocumentReader<'_>, node: &DocumentNode) -> Option<Vec<Network>> {
    let valid = "an address, a range such as 10.0.0.0/8, or `all`";
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
    Some(networks)
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
    let content = byte_order_mark::skip(&content);
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
