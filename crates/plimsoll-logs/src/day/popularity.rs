//! Which URLs are requested how often.

use std::collections::BTreeMap;

use super::distinct::Distinct;
use super::frequent::{Frequent, FrequentItem};
use super::hash::{hash, join};
use super::kind::RequestKind;
use super::summary::{PopularUrl, PopularitySummary, ZipfSummary};
use super::zipf;
use crate::entry::LogEntry;

/// Counters of URLs: seven eighths of 2^18, which fill their table.
const URLS_MAX: usize = 229_000;
/// URLs that are listed.
const LISTED_MAX: usize = 20;
/// Ranks among which the listed ones are found after their queries were hidden.
const SEARCHED_MAX: usize = 2_000;
/// One in so many requests must be for a page, or URLs of all kinds are ranked.
const PAGES_MIN: u64 = 20;

/// Counts URLs.
#[derive(Debug)]
pub(super) struct Popularity {
    urls: Frequent,
    distinct: Distinct,
    by_kind: [u64; RequestKind::ALL.len()],
    /// Hash of the first host; others are shown in front of their paths.
    host: Option<u64>,
}

impl Popularity {
    pub(super) fn new() -> Self {
        Self {
            urls: Frequent::new(URLS_MAX),
            distinct: Distinct::new(),
            by_kind: [0; RequestKind::ALL.len()],
            host: None,
        }
    }

    /// Counts the URL of a request and returns its hash.
    pub(super) fn take(&mut self, entry: &LogEntry<'_>, kind: RequestKind) -> u64 {
        let path = hash(entry.path.as_bytes());
        let (url, host) = match entry.host.as_deref() {
            Some(host) => {
                let of_host = hash(host.as_bytes());
                let is_first = *self.host.get_or_insert(of_host) == of_host;
                (join(of_host, path), if is_first { "" } else { host })
            }
            None => (path, ""),
        };
        self.distinct.add(url);
        if matches!(&*entry.method, "GET" | "HEAD") {
            self.by_kind[kind as usize] += 1;
            self.urls.add(url, [host, &entry.path], kind as u8, 1);
        }
        url
    }

    pub(super) fn finish(self) -> PopularitySummary {
        let (distinct_urls, count_error) = (self.distinct.count(), self.urls.error());
        let total = self.urls.total();
        let pages = self.by_kind[RequestKind::Page as usize];
        let of_pages = pages * PAGES_MIN >= total && pages > 0;
        let requests = if of_pages { pages } else { total };
        let mut items = self.urls.ranked();
        if of_pages {
            items.retain(|item| item.class == RequestKind::Page as u8);
        }
        PopularitySummary {
            of: if of_pages { "pages" } else { "requests" }.to_owned(),
            requests,
            distinct_urls,
            distinct_urls_error: Distinct::ERROR,
            top_shares: top_shares(&items, requests),
            top: top(&items, requests),
            count_error,
            zipf: fitted(&items, count_error),
        }
    }
}

fn top_shares(items: &[FrequentItem], requests: u64) -> BTreeMap<String, f64> {
    let share = |ranks: usize| {
        let counts = items.iter().take(ranks).map(|item| item.count);
        counts.sum::<u64>() as f64 / requests.max(1) as f64
    };
    [1, 10, 100, 1_000, 10_000]
        .into_iter()
        .filter(|ranks| *ranks == 1 || *ranks <= items.len())
        .map(|ranks| (ranks.to_string(), share(ranks)))
        .collect()
}

fn top(items: &[FrequentItem], requests: u64) -> Vec<PopularUrl> {
    let mut by_text: BTreeMap<String, u64> = BTreeMap::new();
    for item in items.iter().take(SEARCHED_MAX) {
        if let Some(text) = &item.text {
            *by_text.entry(without_values(text)).or_default() += item.count;
        }
    }
    let mut urls: Vec<(String, u64)> = by_text.into_iter().collect();
    urls.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    urls.truncate(LISTED_MAX);
    let urls = urls.into_iter().map(|(url, count)| PopularUrl {
        url,
        requests: count,
        share: count as f64 / requests.max(1) as f64,
    });
    urls.collect()
}

/// Counts of which chance or the sketch decides the order are left out.
fn fitted(items: &[FrequentItem], error: u64) -> Option<ZipfSummary> {
    // What is frequent was there from the start, and lost the whole error.
    let reliable = items.iter().take_while(|item| item.count >= 4 * error);
    let counts: Vec<u64> = reliable.map(|item| item.count + error).collect();
    zipf::fit(&counts).map(|fit| ZipfSummary {
        exponent: fit.exponent,
        error: fit.error,
        ranks: fit.ranks as u64,
        deviation: fit.deviation,
    })
}

/// A URL with `…` in place of the values of its query and of parameters of its path.
pub(super) fn without_values(url: &str) -> String {
    let (path, query) = match url.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (url, None),
    };
    let mut shown = match path.split_once(';') {
        Some((path, _)) => format!("{path};…"),
        None => path.to_owned(),
    };
    if let Some(query) = query {
        let names = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) => format!("{name}=…"),
            // Without a name it may be a value.
            None => "…".to_owned(),
        });
        shown.push('?');
        shown.push_str(&names.collect::<Vec<_>>().join("&"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_queries_are_not_shown() {
        for (url, shown) in [
            ("/a/b", "/a/b"),
            ("/search?q=secret&page=2", "/search?q=…&page=…"),
            ("/x?token", "/x?…"),
            ("/x;jsessionid=12/y", "/x;…"),
            ("/x?", "/x?…"),
        ] {
            assert_eq!(without_values(url), shown);
        }
    }

    #[test]
    fn urls_of_one_form_are_listed_once() {
        let mut popularity = Popularity::new();
        for number in 0..50 {
            let entry = LogEntry {
                method: "GET".into(),
                path: format!("/search?q={number}").into(),
                ..LogEntry::default()
            };
            popularity.take(&entry, RequestKind::Page);
        }
        let summary = popularity.finish();
        assert_eq!(summary.top.len(), 1);
        assert_eq!((summary.top[0].requests, summary.distinct_urls), (50, 50));
        assert_eq!(summary.of, "pages");
    }
}
