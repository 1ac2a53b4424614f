//! The page of the edge, and the files that it loads.

use hyper::body::Bytes;
use plimsoll_page::Asset;

/// Files that only this page needs.
const OWN: [Asset; 2] = [
    Asset {
        name: "",
        media_type: plimsoll_page::HTML,
        text: include_str!("page/edge.html"),
    },
    Asset {
        name: "edge.js",
        media_type: plimsoll_page::SCRIPT,
        text: include_str!("page/edge.js"),
    },
];

/// The file at a path. They hold nothing about this edge, so that a browser gets them without the token, which the page
/// then asks for.
pub(super) fn asset(path: &str) -> Option<Asset> {
    let name = path.strip_prefix('/')?;
    let own = OWN.into_iter().find(|asset| asset.name == name);
    own.or_else(|| plimsoll_page::asset(name))
}

/// The content of a file.
pub(super) fn content(asset: Asset) -> Bytes {
    Bytes::from_static(asset.text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let all = OWN.into_iter().chain(plimsoll_page::ASSETS);
        let len: usize = all.map(|asset| asset.text.len()).sum();
        assert!(len < 300_000, "{len}");
    }
}
