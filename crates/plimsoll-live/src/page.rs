//! The files of the page, in the binary.

use bytes::Bytes;

use crate::site::SiteResponse;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Path, media type, content. uPlot's licence is served with it.
const ASSETS: [(&str, &str, &str); 11] = [
    ("style.css", STYLE, include_str!("../page/style.css")),
    (
        "uPlot.min.css",
        STYLE,
        include_str!("../page/uplot/uPlot.min.css"),
    ),
    (
        "uPlot.iife.min.js",
        SCRIPT,
        include_str!("../page/uplot/uPlot.iife.min.js"),
    ),
    (
        "uPlot.LICENSE",
        "text/plain; charset=utf-8",
        include_str!("../page/uplot/LICENSE"),
    ),
    ("format.js", SCRIPT, include_str!("../page/format.js")),
    ("charts.js", SCRIPT, include_str!("../page/charts.js")),
    ("sections.js", SCRIPT, include_str!("../page/sections.js")),
    ("live.js", SCRIPT, include_str!("../page/live.js")),
    ("history.js", SCRIPT, include_str!("../page/history.js")),
    ("runs.js", SCRIPT, include_str!("../page/runs.js")),
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("../page/icon.svg"),
    ),
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
    let (_, kind, text) = ASSETS.iter().find(|(name, ..)| *name == path)?;
    Some(SiteResponse::ok(kind, Bytes::from_static(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let assets: usize = ASSETS.iter().map(|(_, _, text)| text.len()).sum();
        let pages =
            include_str!("../page/live.html").len() + include_str!("../page/runs.html").len();
        assert!(assets + pages < 300_000, "{}", assets + pages);
    }
}
