//! The files of the page, in the binary.

use bytes::Bytes;
use plimsoll_page::{HTML, SCRIPT};

use crate::site::SiteResponse;

/// Path, media type, content of the files that only pages of runs need.
const ASSETS: [(&str, &str, &str); 4] = [
    ("sections.js", SCRIPT, include_str!("../page/sections.js")),
    ("live.js", SCRIPT, include_str!("../page/live.js")),
    ("history.js", SCRIPT, include_str!("../page/history.js")),
    ("runs.js", SCRIPT, include_str!("../page/runs.js")),
];

/// The page of a run, live or recorded.
pub fn live() -> SiteResponse {
    SiteResponse::ok(
        HTML,
        Bytes::from_static(include_bytes!("../page/live.html")),
    )
}

/// The page of a folder of runs.
pub fn runs() -> SiteResponse {
    SiteResponse::ok(
        HTML,
        Bytes::from_static(include_bytes!("../page/runs.html")),
    )
}

/// A file that pages load, by its name.
pub fn asset(path: &str) -> Option<SiteResponse> {
    let own = ASSETS.iter().find(|(name, ..)| *name == path);
    let (kind, text) = match own {
        Some((_, kind, text)) => (*kind, *text),
        None => plimsoll_page::asset(path).map(|shared| (shared.media_type, shared.text))?,
    };
    Some(SiteResponse::ok(kind, Bytes::from_static(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let shared = plimsoll_page::ASSETS.iter().map(|shared| shared.text.len());
        let assets = ASSETS.iter().map(|(_, _, text)| text.len()).chain(shared);
        let assets: usize = assets.sum();
        let pages =
            include_str!("../page/live.html").len() + include_str!("../page/runs.html").len();
        assert!(assets + pages < 300_000, "{}", assets + pages);
    }
}
