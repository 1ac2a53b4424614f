//! Options about connections: a plan has one value of each for all its requests.

use super::context::Context;
use super::files;
use super::invocation::Transfer;
use super::options::HttpVersion;
use crate::yaml::{YamlEntry, YamlNode};

/// The plan's `transport`.
pub(super) fn read(context: &mut Context<'_>, transfers: &[Transfer]) -> Vec<YamlEntry> {
    let mut entries = Vec::new();
    entries.extend(version(context, transfers));
    if transfers.iter().any(|transfer| transfer.insecure) {
        entries.push(YamlEntry::new("insecure", YamlNode::plain(true)));
    }
    if let Some(file) = transfers
        .iter()
        .find_map(|transfer| transfer.ca_file.as_ref())
        && let Some(name) = files::part(context, file.at, &file.text)
    {
        entries.push(YamlEntry::new("ca_file", YamlNode::text(name)));
    }
    let connect = transfers
        .iter()
        .filter_map(|transfer| transfer.connect_timeout)
        .max();
    if let Some(time) = connect {
        let time = crate::script::draft::duration(time);
        entries.push(YamlEntry::new("connect_timeout", YamlNode::plain(time)));
    }
    entries.extend(source(context, transfers));
    entries
}

/// The version of HTTP. By itself curl offers HTTP/2 to servers with TLS, as `http: 2` does.
fn version(context: &mut Context<'_>, transfers: &[Transfer]) -> Option<YamlEntry> {
    let asked = |version| {
        let mut transfers = transfers.iter();
        transfers.find_map(|transfer| transfer.http.filter(|(_, http)| *http == version))
    };
    let has_tls = transfers.iter().any(|transfer| {
        let mut urls = transfer.urls.iter();
        urls.any(|url| url.text.to_ascii_lowercase().starts_with("https:"))
    });
    let chosen = [HttpVersion::TwoAtOnce, HttpVersion::Two, HttpVersion::One]
        .into_iter()
        .find_map(asked);
    for transfer in transfers {
        if let (Some((_, chosen)), Some((at, other))) = (chosen, transfer.http)
            && other != chosen
        {
            context.lose(
                at,
                "the version of HTTP",
                "a plan has one for all requests, and another command asks for another",
                "make a plan of each",
            );
        }
    }
    let plain = transfers.iter().find_map(|transfer| {
        let (at, version) = transfer.http?;
        let mut urls = transfer.urls.iter();
        let is_plain = urls.any(|url| url.text.to_ascii_lowercase().starts_with("http:"));
        (version == HttpVersion::Two && is_plain).then_some(at)
    });
    if let Some(at) = plain {
        context.lose(
            at,
            "--http2 without TLS",
            "a plan does not upgrade a connection to HTTP/2",
            "write --http2-prior-knowledge if the server speaks it",
        );
    }
    let value = match chosen.map(|(_, version)| version) {
        Some(HttpVersion::TwoAtOnce) => "prior-knowledge",
        Some(HttpVersion::Two) => "2",
        Some(HttpVersion::One) => "1",
        None if has_tls => "2",
        None => return None,
    };
    Some(YamlEntry::new("http", YamlNode::plain(value)))
}

/// `--interface ADDRESS`; a name of a device is lost.
fn source(context: &mut Context<'_>, transfers: &[Transfer]) -> Option<YamlEntry> {
    let source = transfers
        .iter()
        .find_map(|transfer| transfer.source.as_ref())?;
    let address = source
        .text
        .trim_start_matches("host!")
        .trim_start_matches("ip!");
    if address.parse::<std::net::IpAddr>().is_ok() {
        return Some(YamlEntry::new("sources", YamlNode::text(address)));
    }
    context.lose(
        source.at,
        &format!("--interface {}", source.text),
        "a plan connects from addresses, not from devices",
        "write its address: transport: { sources: 192.0.2.1 }",
    );
    None
}
