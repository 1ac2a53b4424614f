//! Fallbacks learned from the origin: a fetched page, and responses marked as a shell.
//!
//! Kept in memory, shared by all loops. Each loop has a snapshot and replaces it when something was learned, so that
//! serving a fallback takes no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use plimsoll_config::edge::{Compress, LearnedFallback};
use plimsoll_net::clock::{Nanoseconds, nanoseconds};
use plimsoll_net::lock::lock;

use crate::message::compress::decompress;
use crate::respond::synthetic_response::FallbackPage;

/// Maximum number of shells of one route, for different paths.
const PAGES_MAX: usize = 16;

/// Learned pages of a route.
#[derive(Debug)]
pub struct LearnedFallbacks {
    /// The configuration in effect.
    pub config: LearnedFallback,
    version: AtomicU64,
    learnt: Mutex<Vec<Learnt>>,
}

/// A page and the paths that it covers.
#[derive(Clone, Debug)]
struct Learnt {
    scope: Scope,
    page: Arc<FallbackPage>,
    /// It is compressed, or not worth it.
    is_packed: bool,
    since: Nanoseconds,
}

/// Paths that a shell covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every page of the route.
    Any,
    /// This page.
    Exact(String),
    /// Every page below this path.
    Below(String),
}

impl Scope {
    /// Parses `/news/*`, `/news`, or `*`; `None` for anything else.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim();
        match text.strip_suffix('*') {
            Some("" | "/") => Some(Self::Any),
            Some(below) if below.starts_with('/') && below.ends_with('/') => {
                (!below.contains('*')).then(|| Self::Below(below.to_owned()))
            }
            None if text.starts_with('/') && !text.contains('*') => {
                Some(Self::Exact(text.to_owned()))
            }
            _ => None,
        }
    }

    fn holds(&self, path: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => path == exact,
            Self::Below(below) => path.starts_with(below) || below.strip_suffix('/') == Some(path),
        }
    }

    /// Specificity; the most specific pattern that matches a path wins.
    fn rank(&self) -> usize {
        match self {
            Self::Any => 0,
            Self::Below(below) => below.len(),
            Self::Exact(_) => usize::MAX,
        }
    }
}

/// A response of the origin that may be a shell.
#[derive(Debug)]
pub struct Candidate {
    /// Where it may stand in.
    pub scope: Scope,
    /// Value of `Content-Type`.
    pub media_type: String,
    /// As it was sent.
    pub coding: Vec<u8>,
    /// The page.
    pub content: Vec<u8>,
}

impl LearnedFallbacks {
    pub(crate) fn new(config: LearnedFallback) -> Self {
        Self {
            config,
            version: AtomicU64::new(0),
            learnt: Mutex::default(),
        }
    }

    /// Whether a response for these paths would be stored now: not more often than configured.
    pub(crate) fn wants(&self, scope: &Scope, now: Nanoseconds) -> bool {
        let learnt = lock(&self.learnt);
        match learnt.iter().find(|entry| entry.scope == *scope) {
            Some(entry) => now.saturating_sub(entry.since) >= nanoseconds(self.config.every),
            None => learnt.len() < PAGES_MAX,
        }
    }

    /// Stores a page in place of an earlier one for the same paths; whether it could be stored.
    pub fn keep(&self, candidate: Candidate, now: Nanoseconds) -> bool {
        let Candidate {
            scope,
            media_type,
            coding,
            content,
        } = candidate;
        let content = decompress(&coding, &content, self.config.len_max);
        let Some(content) = content.filter(|content| !content.is_empty()) else {
            return false;
        };
        let new = Learnt {
            scope,
            page: Arc::new(FallbackPage::new(&media_type, content)),
            is_packed: false,
            since: now,
        };
        let mut learnt = lock(&self.learnt);
        match learnt.iter().position(|entry| entry.scope == new.scope) {
            Some(at) => learnt[at] = new,
            None if learnt.len() < PAGES_MAX => learnt.push(new),
            None => return false,
        }
        learnt.sort_by_key(|entry| std::cmp::Reverse(entry.scope.rank()));
        self.version.fetch_add(1, Ordering::Release);
        true
    }

    /// Compresses pages learned since the last call. Too slow for event loops.
    pub(crate) fn pack(&self, compress: &Compress) {
        loop {
            let learnt = lock(&self.learnt);
            let next = learnt.iter().find(|entry| !entry.is_packed);
            let Some(plain) = next.map(|entry| Arc::clone(&entry.page)) else {
                return;
            };
            drop(learnt);
            let packed = Arc::new(plain.packed(compress));
            let mut learnt = lock(&self.learnt);
            // Another page may have replaced it meanwhile.
            let mut pages = learnt.iter_mut();
            if let Some(entry) = pages.find(|entry| Arc::ptr_eq(&entry.page, &plain)) {
                (entry.page, entry.is_packed) = (packed, true);
                self.version.fetch_add(1, Ordering::Release);
            }
        }
    }
}

/// One loop's snapshot of the learned pages.
#[derive(Debug, Default)]
pub(crate) struct LearnedSnapshot {
    version: u64,
    learnt: Vec<Learnt>,
}

/// The learned page for a path, if any.
pub(crate) fn find(
    learned_fallbacks: &LearnedFallbacks,
    snapshot: &Mutex<LearnedSnapshot>,
    path: &str,
) -> Option<Arc<FallbackPage>> {
    let version = learned_fallbacks.version.load(Ordering::Acquire);
    if version == 0 {
        return None;
    }
    let mut snapshot = lock(snapshot);
    if snapshot.version != version {
        snapshot.learnt.clone_from(&lock(&learned_fallbacks.learnt));
        snapshot.version = version;
    }
    let found = snapshot.learnt.iter().find(|entry| entry.scope.holds(path));
    found.map(|entry| Arc::clone(&entry.page))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn candidate(scope: &str, content: &str) -> Candidate {
        Candidate {
            scope: Scope::parse(scope.as_bytes()).unwrap(),
            media_type: "text/html".to_owned(),
            coding: Vec::new(),
            content: content.as_bytes().to_vec(),
        }
    }

    #[test]
    fn the_narrowest_page_stands_for_a_path() {
        let learned_fallbacks = LearnedFallbacks::new(LearnedFallback {
            captured: None,
            header: None,
            len_max: 10,
            every: Duration::from_secs(1),
        });
        let snapshot = Mutex::default();
        assert!(find(&learned_fallbacks, &snapshot, "/a").is_none());
        for (scope, content) in [("*", "any"), ("/news/*", "news"), ("/news/a", "a")] {
            assert!(learned_fallbacks.keep(candidate(scope, content), 0));
        }
        assert!(!learned_fallbacks.keep(candidate("*", "longer than ten"), 0));
        assert!(!learned_fallbacks.keep(candidate("*", ""), 0));
        for (path, content) in [
            ("/", "any"),
            ("/news", "news"),
            ("/news/b", "news"),
            ("/news/a", "a"),
            ("/newspaper", "any"),
        ] {
            let page = find(&learned_fallbacks, &snapshot, path).unwrap();
            assert_eq!(page.content(), content.as_bytes(), "{path}");
        }
        let any = Scope::Any;
        assert!(
            !learned_fallbacks.wants(&any, 999_999_999)
                && learned_fallbacks.wants(&any, 1_000_000_000)
        );
        assert!(learned_fallbacks.keep(candidate("*", "new"), 1_000_000_000));
        assert_eq!(
            find(&learned_fallbacks, &snapshot, "/").unwrap().content(),
            b"new"
        );
        for number in 0..20 {
            learned_fallbacks.keep(candidate(&format!("/{number}"), "x"), 0);
        }
        assert_eq!(lock(&learned_fallbacks.learnt).len(), PAGES_MAX);
        assert!(!learned_fallbacks.wants(&Scope::Exact("/other".to_owned()), 0));
    }

    #[test]
    fn scopes_are_paths() {
        for wrong in ["", "news/*", "/a*", "/*/b", "/a/*b/*"] {
            assert_eq!(Scope::parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(Scope::parse(b" /* "), Some(Scope::Any));
    }
}
