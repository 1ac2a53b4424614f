//! Header lines of forwarded heads: which end at the edge, which the route edits, and how the others are copied.

use plimsoll_cache::steering::{identifies_client, merge, steers};
use plimsoll_config::edge::HeaderEdit;
use plimsoll_wire::head::Header;

/// Copies the lines that `keeps` accepts; adjacent lines in one piece.
pub(crate) fn copy(
    out: &mut Vec<u8>,
    bytes: &[u8],
    headers: &[Header<'_>],
    mut keeps: impl FnMut(&Header<'_>) -> bool,
) {
    let place = |header: &Header<'_>| header.name.as_ptr() as usize - bytes.as_ptr() as usize;
    // The head ends with an empty line.
    let end = bytes.len() - 2;
    let mut run: Option<usize> = None;
    for header in headers {
        if keeps(header) {
            run.get_or_insert_with(|| place(header));
        } else if let Some(start) = run.take() {
            out.extend_from_slice(&bytes[start..place(header)]);
        }
    }
    if let Some(start) = run {
        out.extend_from_slice(&bytes[start..end]);
    }
}

/// Whether a `Connection` value names other headers.
pub(crate) fn names_others(value: &[u8]) -> bool {
    tokens(value).any(|token| {
        !token.is_empty()
            && !token.eq_ignore_ascii_case(b"close")
            && !token.eq_ignore_ascii_case(b"keep-alive")
            && !token.eq_ignore_ascii_case(b"upgrade")
    })
}

/// Whether `Connection` names this header. Headers for framing and routing cannot be named, nor those of a trusted
/// proxy: otherwise its client could remove them.
pub(crate) fn is_named_by_connection(name: &str, headers: &[Header<'_>]) -> bool {
    let kept = [
        "host",
        "content-length",
        "transfer-encoding",
        "upgrade",
        "forwarded",
    ];
    if kept.iter().any(|kept| merge(name, kept)) || steers(name) || identifies_client(name) {
        return false;
    }
    headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("connection"))
        .any(|header| tokens(header.value).any(|token| token.eq_ignore_ascii_case(name.as_bytes())))
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// Whether the route sets or removes a header.
pub(crate) fn is_edited(name: &str, edits: &[HeaderEdit]) -> bool {
    edits.iter().any(|edit| merge(&edit.name, name))
}

/// Writes the headers that the route sets.
pub(crate) fn apply(out: &mut Vec<u8>, edits: &[HeaderEdit]) {
    for edit in edits {
        if let Some(value) = &edit.value {
            for piece in [edit.name.as_str(), ": ", value, "\r\n"] {
                out.extend_from_slice(piece.as_bytes());
            }
        }
    }
}
