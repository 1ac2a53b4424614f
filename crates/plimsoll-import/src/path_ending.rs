//! Endings of paths, by which files of pages are told from pages.

/// Endings of files that pages load.
const PAGE_FILES: [&str; 24] = [
    "css",
    "js",
    "mjs",
    "map",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "webp",
    "avif",
    "svg",
    "ico",
    "bmp",
    "woff",
    "woff2",
    "ttf",
    "otf",
    "eot",
    "mp3",
    "mp4",
    "webm",
    "wasm",
    "webmanifest",
    "cur",
];

/// What stands behind the dot of the last part of a path without a query, in small letters.
pub(crate) fn of(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let (_, ending) = name.rsplit_once('.')?;
    Some(ending.to_ascii_lowercase())
}

/// Whether files of this ending belong to pages.
pub(crate) fn is_page_file(ending: &str) -> bool {
    PAGE_FILES.contains(&ending)
}
