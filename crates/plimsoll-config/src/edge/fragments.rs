//! ESI: which pages a route assembles from fragments, and the limits of a page.

use std::time::Duration;

use crate::document::{SettingsMap as _, count, one_of, settings, size, time};

settings! {
    /// Assembly of pages from fragments (Edge Side Includes, ESI). `true` selects all defaults.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Fragments, FRAGMENTS "fragments" {
        /// Pages that are parsed: all HTML, or those with `Surrogate-Control: content="ESI/1.0"`. Default: HTML, and
        /// others with that header.
        pages: FragmentPages = FragmentPages::Html,
            "pages": one_of!["html" => FragmentPages::Html, "said" => FragmentPages::Said];
        /// Maximum fragments per client request, nested ones included.
        most: u32 = 64, "most": count(1..=1000);
        /// Maximum nesting depth.
        depth: u32 = 3, "depth": count(1..=10);
        /// Maximum size of a page that is parsed, {range}; larger pages are passed through unchanged.
        len_max: u64 = 1 << 20, "size": size(1 << 10..=64 << 20);
        /// Time-out of a fragment, after which the page continues without it.
        timeout: Duration = Duration::from_secs(10),
            "timeout": time().within(Duration::ZERO, Duration::from_hours(1), "1ms to 1h");
    }
}

/// Which pages are assembled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FragmentPages {
    /// All HTML, and others with `Surrogate-Control`.
    #[default]
    Html,
    /// Only pages with `Surrogate-Control`.
    Said,
}

impl Default for Fragments {
    fn default() -> Self {
        Self::defaults()
    }
}
