//! The purge API of the admin address, and queries about cache decisions.

use plimsoll_cache::disk::About;
use plimsoll_cache::invalidate::Label;
use plimsoll_cache::store::{HashedKey, How, Lookup as _};
use plimsoll_cache::{KeyRef, KeyRule, Moment};
use serde_json::{Value, json};

use super::disk::DiskView;
use super::store_rejection::line_of_head;
use super::{Cache, CachedResponse};

/// The target of a purge.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PurgeTarget {
    Url(PurgeUrl),
    Prefix(PurgeUrl),
    Tag(String),
    All,
}

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PurgeUrl {
    host: String,
    /// Path and query, with a slash at the start.
    target: String,
}

impl PurgeUrl {
    fn parse(text: &str) -> Result<Self, String> {
        let valid = "a URL such as https://www.example/news?page=2";
        let rest = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"))
            .ok_or_else(|| {
                format!("`{text}` does not begin with http:// or https://; valid: {valid}")
            })?;
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, target) = rest.split_at(at);
        let is_visible = text.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        if host.is_empty() || host.contains('@') || !is_visible {
            return Err(format!("`{text}` is not a valid URL; valid: {valid}"));
        }
        let slash = if target.starts_with('/') { "" } else { "/" };
        Ok(Self {
            host: host.to_owned(),
            target: format!("{slash}{target}"),
        })
    }

    /// Its keys with each scheme: the client's scheme is unknown when TLS ends before the edge.
    fn keys<'a>(&'a self, rule: &'a KeyRule) -> [KeyRef<'a>; 2] {
        [false, true].map(|secure| KeyRef::new(secure, &self.host, &self.target, rule))
    }
}

/// Whether the caller waits until the purge is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    IsWaitedFor,
    Follows,
}

/// A purge command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeOrder {
    what: PurgeTarget,
    how: How,
}

impl PurgeOrder {
    /// Parses `{"url": …}`, `{"prefix": …}`, `{"tag": …}` or `{"all": true}`, optionally with `"hard": true`.
    ///
    /// # Errors
    /// What is wrong, with the remedy.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        let valid =
            "one of \"url\", \"prefix\", \"tag\" or \"all\": true; optional: \"hard\": true";
        let invalid = |what: &str| format!("{what}; valid: {valid}");
        let order: Value = serde_json::from_slice(body).unwrap_or_default();
        let order = order
            .as_object()
            .ok_or_else(|| invalid("the body is not a JSON object"))?;
        let mut what = None;
        let mut how = How::Soft;
        for (word, value) in order {
            let text = value.as_str().filter(|text| !text.is_empty());
            let named = match (word.as_str(), text, value.as_bool()) {
                ("url", Some(url), _) => PurgeTarget::Url(PurgeUrl::parse(url)?),
                ("prefix", Some(url), _) => PurgeTarget::Prefix(PurgeUrl::parse(url)?),
                ("tag", Some(tag), _) => PurgeTarget::Tag(tag.to_owned()),
                ("all", _, Some(true)) => PurgeTarget::All,
                ("hard", _, Some(hard)) => {
                    how = if hard { How::Hard } else { How::Soft };
                    continue;
                }
                _ => {
                    return Err(invalid(&format!(
                        "`{word}` is unknown or has no valid value"
                    )));
                }
            };
            if what.replace(named).is_some() {
                return Err(invalid("more than one purge target"));
            }
        }
        let what = what.ok_or_else(|| invalid("the purge target is missing"))?;
        Ok(Self { what, how })
    }
}

impl PurgeOrder {
    /// A purge of one URL, from a request with the method `PURGE`.
    ///
    /// # Errors
    /// When the URL is not valid.
    pub(crate) fn of_page(host: &str, target: &str, how: How) -> Result<Self, String> {
        let what = PurgeTarget::Url(PurgeUrl::parse(&format!("http://{host}{target}"))?);
        Ok(Self { what, how })
    }
}

/// Contents and counters of the cache.
#[derive(Clone, Copy, Debug)]
pub struct CacheView {
    /// Capacity and use, bytes.
    pub size: u64,
    /// Size of all stored responses.
    pub bytes: u64,
    /// Stored responses.
    pub objects: u64,
    /// Evictions so far.
    pub evicted: u64,
    /// Fetches in progress.
    pub fetches: u64,
    /// Purges so far.
    pub purges: u64,
    /// The disk tier.
    pub disk: Option<DiskView>,
}

impl Cache {
    /// Purges. When this returns, no event loop serves what was purged, except while it is revalidated.
    pub fn purge(&self, order: &PurgeOrder, now: Moment) -> String {
        self.purge_as(order, now, Durability::IsWaitedFor)
    }

    /// Purges without waiting for the disk, for event loops: whether the purge survives a restart is not known yet.
    pub(crate) fn purge_at_once(&self, order: &PurgeOrder, now: Moment) {
        self.purge_as(order, now, Durability::Follows);
    }

    fn purge_as(&self, order: &PurgeOrder, now: Moment, durability: Durability) -> String {
        use std::sync::atomic::Ordering::Relaxed;
        self.purges.fetch_add(1, Relaxed);
        if order.how == How::Soft {
            self.purged_at.store(now.ms(), Relaxed);
        }
        let rules = self.rules();
        // Disk first: the disk tier checks later lookups against the purge.
        let is_written = self.purge_disk(order, &rules, now, durability);
        let purged = match &order.what {
            PurgeTarget::Url(url) => {
                for key in rules.iter().flat_map(|rule| url.keys(rule)) {
                    self.store.purge(&HashedKey::new(key, self.seed), order.how);
                }
                format!("stored responses for {}{}", url.host, url.target)
            }
            PurgeTarget::Prefix(url) => {
                for key in url.keys(&KeyRule::default()) {
                    self.store.purge_prefix(key.to_key().as_bytes(), order.how);
                }
                format!("stored responses below {}{}", url.host, url.target)
            }
            PurgeTarget::Tag(tag) => {
                let label = Label::tag(self.seed, tag.as_bytes());
                self.store.purge_tag(label.0, order.how);
                format!("stored responses with the tag `{tag}`")
            }
            PurgeTarget::All => {
                self.store.purge_everything(order.how);
                "all stored responses".to_owned()
            }
        };
        let warning = if is_written {
            ""
        } else {
            "; the purge could not be written to disk: empty the disk cache directory before the next start"
        };
        match order.how {
            How::Soft => {
                format!("{purged} are stale; each is served while it is revalidated{warning}")
            }
            How::Hard => format!("{purged} are deleted{warning}"),
        }
    }

    /// Purges the disk tier; whether the purge survives a restart.
    fn purge_disk(
        &self,
        order: &PurgeOrder,
        rules: &[KeyRule],
        now: Moment,
        durability: Durability,
    ) -> bool {
        let Some(disk) = &self.disk else {
            return true;
        };
        let purge = |what: &[About<'_>]| match durability {
            Durability::IsWaitedFor => disk.purge(what, order.how, now),
            Durability::Follows => {
                disk.purge_at_once(what, order.how, now);
                true
            }
        };
        match &order.what {
            PurgeTarget::Url(url) => {
                let keys = rules.iter().flat_map(|rule| url.keys(rule));
                let keys: Vec<_> = keys.map(|key| About::Key(key.hash(self.seed))).collect();
                purge(&keys)
            }
            PurgeTarget::Prefix(url) => {
                let whole = KeyRule::default();
                let keys = url.keys(&whole).map(|key| key.to_key());
                let prefixes = keys.each_ref().map(|key| About::Prefix(key.as_bytes()));
                purge(&prefixes)
            }
            PurgeTarget::Tag(tag) => purge(&[About::Tag(Label::tag(self.seed, tag.as_bytes()).0)]),
            PurgeTarget::All => purge(&[About::Everything]),
        }
    }

    /// The cache's state of a URL: its keys, its stored responses, and the reason if there are none.
    ///
    /// # Errors
    /// When the URL is not valid.
    pub fn why(&self, url: &str, now: Moment) -> Result<Value, String> {
        let url = PurgeUrl::parse(url)?;
        let mut found = Vec::new();
        let mut keys = Vec::new();
        let mut refused = Vec::new();
        for rule in &self.rules() {
            for key in url.keys(rule) {
                let text = String::from_utf8_lossy(key.to_key().as_bytes()).into_owned();
                if keys.contains(&text) {
                    continue;
                }
                let wanted = HashedKey::new(key, self.seed);
                self.store.get(&wanted, |page| {
                    found.push((text.clone(), view(page, now)));
                    false
                });
                if let Some(rejected) = self.refusal(wanted.hash()) {
                    refused.push(json!({
                        "key": text,
                        "rule": rejected.rule.text(),
                        "word": rejected.rule.word(),
                        "header": rejected.header,
                        "seconds_ago": now.since(rejected.at) / 1000,
                    }));
                }
                keys.push(text);
            }
        }
        let states: Vec<_> = found
            .iter()
            .filter_map(|(_, copy)| copy["state"].as_str())
            .collect();
        let verdict = if states.contains(&FRESH) {
            "a stored response is served"
        } else if states.contains(&STALE) {
            "the stored response is stale: the next request revalidates it"
        } else if !states.is_empty() {
            "the stored response is revalidated on every request"
        } else if refused.is_empty() {
            "not requested lately, evicted, or the route caches nothing"
        } else {
            "the last response was not stored"
        };
        let copies = found.into_iter().map(|(key, mut copy)| {
            copy["key"] = key.into();
            copy
        });
        Ok(json!({
            "format_version": "1.0",
            "keys": keys,
            "verdict": verdict,
            "copies": copies.collect::<Vec<_>>(),
            "refused": refused,
        }))
    }

    /// Contents and counters.
    pub fn figures(&self) -> CacheView {
        let figures = self.store.metrics();
        CacheView {
            size: self.size,
            bytes: figures.bytes as u64,
            objects: figures.objects as u64,
            evicted: figures.evicted_total,
            fetches: figures.fills as u64,
            purges: self.purges.load(std::sync::atomic::Ordering::Relaxed),
            disk: self.disk.as_ref().map(|disk| disk.view()),
        }
    }

    /// Contents, as JSON.
    pub fn view(&self, now: Moment) -> Value {
        let figures = self.store.metrics();
        let most = self.store.hottest_objects(10).into_iter().map(|entry| {
            let mut item = view(entry.object.value(), now);
            item["key"] = String::from_utf8_lossy(entry.object.key()).into();
            item["hits"] = entry.hits.into();
            item
        });
        json!({
            "size": self.size,
            "bytes": figures.bytes,
            "objects": figures.objects,
            "evicted": figures.evicted_total,
            "fetches": figures.fills,
            "passes": figures.passes,
            "purges": self.purges.load(std::sync::atomic::Ordering::Relaxed),
            "most_asked": most.collect::<Vec<_>>(),
            "disk": self.disk.as_ref().map(|disk| disk.view().json()),
        })
    }
}

/// States of a stored response.
const FRESH: &str = "fresh";
const STALE: &str = "stale";

/// A stored response, as JSON.
fn view(page: &CachedResponse, now: Moment) -> Value {
    let stored = &page.metadata.stored;
    let terms = stored.terms();
    let seconds = |until: Moment| {
        i64::try_from(until.since(now) / 1000).unwrap_or_default()
            - i64::try_from(now.since(until) / 1000).unwrap_or_default()
    };
    let ttl = seconds(terms.plain_until.max(terms.fresh_until));
    json!({
        "status": stored.status(),
        "bytes": page.len(),
        "age": stored.age(now),
        "ttl": ttl,
        "state": if terms.no_cache { "asked for every time" } else if ttl > 0 { FRESH } else { STALE },
        "lifetime": terms.plain.seconds.max(terms.explicit.seconds),
        "lifetime_from": terms.plain.source.word(),
        "header": line_of_head(stored.head(), terms.plain.source.fields()),
        "stale_while_revalidate": terms.stale_while_revalidate,
        "stale_if_error": terms.stale_if_error,
        "varies_by": page.metadata.names(),
        "etag": stored.etag().map(|tag| String::from_utf8_lossy(tag).into_owned()),
        "fragments": page.mosaic().map_or_else(Vec::new, |mosaic| {
            mosaic.pieces.include_tags().map(|tag| tag.src.to_string()).collect()
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read() {
        let read = |text: &str| PurgeOrder::read(text.as_bytes());
        let all = read(r#"{"all": true, "hard": true}"#).unwrap();
        assert_eq!(
            all,
            PurgeOrder {
                what: PurgeTarget::All,
                how: How::Hard
            }
        );
        let page = read(r#"{"url": "https://A.example?x"}"#).unwrap();
        let url = PurgeUrl {
            host: "A.example".to_owned(),
            target: "/?x".to_owned(),
        };
        assert_eq!(
            page,
            PurgeOrder {
                what: PurgeTarget::Url(url),
                how: How::Soft
            }
        );
        assert!(read(r#"{"tag": "news"}"#).is_ok());
        for wrong in [
            "",
            "[]",
            "{}",
            r#"{"all": false}"#,
            r#"{"tag": ""}"#,
            r#"{"url": "/news"}"#,
            r#"{"url": "https://"}"#,
            r#"{"url": "https://a b"}"#,
            r#"{"tag": "a", "all": true}"#,
            r#"{"hard": true}"#,
            r#"{"everything": true}"#,
        ] {
            let why = read(wrong).unwrap_err();
            assert!(why.contains("valid:"), "{wrong}: {why}");
        }
    }
}
