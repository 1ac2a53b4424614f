//! URLs and what follows their host.

use std::borrow::Cow;

use super::{Decoded, Patched, REDACTED, is_secret};

/// A query without its `?`, the values of secret parameters replaced. Parameters end at `&` or `;`.
pub fn query(query: &str) -> Cow<'_, str> {
    let mut patched = Patched::default();
    parameters(query, (0, query.len()), true, &mut patched);
    patched.finish(query)
}

/// A request target (path, parameters of the path, query, fragment), the values of secret parameters replaced.
pub fn target(target: &str) -> Cow<'_, str> {
    if !target.contains('=') {
        return Cow::Borrowed(target);
    }
    let mut patched = Patched::default();
    parameters(target, (0, target.len()), false, &mut patched);
    patched.finish(target)
}

/// A URL, its login and the values of secret parameters replaced.
pub fn url(url: &str) -> Cow<'_, str> {
    let mut patched = Patched::default();
    let start = match url.find("://") {
        Some(at) => login(url, at + 3, url.len(), &mut patched),
        None => 0,
    };
    parameters(url, (start, url.len()), false, &mut patched);
    patched.finish(url)
}

/// Replaces the login of a URL whose authority begins at `start`; returns where the rest begins.
pub(super) fn login(text: &str, start: usize, end: usize, patched: &mut Patched) -> usize {
    let rest = &text[start..end];
    let authority_len = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..authority_len];
    let at = authority.rfind('@').or_else(|| {
        // `user:pass/word@host` is not a URL, but people type it: the text in the place of a port is not a number.
        let (_, port) = authority.rsplit_once(':')?;
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        (!is_port && !authority.starts_with('[')).then(|| rest.rfind('@'))?
    });
    match at {
        Some(at) => {
            patched.replace(text, (start, start + at), REDACTED);
            start + at + 1
        }
        None => start,
    }
}

/// Replaces the values of secret parameters between two positions. Before the first `?` there is a path, whose
/// parameters end at `/` too.
pub(super) fn parameters(
    text: &str,
    (from, to): (usize, usize),
    starts_in_query: bool,
    patched: &mut Patched,
) {
    let mut within_query = starts_in_query;
    let mut is_parameter = starts_in_query;
    let mut was_secret = false;
    let mut at = from;
    loop {
        let piece = &text[at..to];
        let ends = |c: char| matches!(c, '?' | '&' | ';' | '#') || (!within_query && c == '/');
        let len = piece.find(ends).unwrap_or(piece.len());
        let piece = &piece[..len];
        let equals = piece.find('=').filter(|_| is_parameter);
        match equals {
            Some(equals) => {
                let (name, value) = (&piece[..equals], &piece[equals + 1..]);
                was_secret =
                    !value.is_empty() && value != REDACTED && (is_secret(name) || hides(value));
                if was_secret {
                    patched.replace(text, (at + equals + 1, at + len), REDACTED);
                }
            }
            // The rest of a value with a `;` or `?` in it.
            None if was_secret && within_query && text[from..at].ends_with([';', '?']) => {
                patched.replace(text, (at, at + len), "");
            }
            None => was_secret = false,
        }
        at += len;
        let Some(mark) = text[at..to].chars().next() else {
            return;
        };
        within_query |= matches!(mark, '?' | '#');
        is_parameter = mark != '/';
        at += mark.len_utf8();
    }
}

/// Whether a value holds, encoded, another URL or query with a secret in it.
fn hides(value: &str) -> bool {
    if !value.contains('%') {
        return false;
    }
    let decoded: Vec<u8> = Decoded::of(Decoded::of(value.bytes())).collect();
    let decoded = String::from_utf8_lossy(&decoded);
    let names_secret = |piece: &str| {
        piece
            .split_once('=')
            .is_some_and(|(name, _)| is_secret(name))
    };
    let has_login = decoded.split_once("://").is_some_and(|(_, rest)| {
        rest.split(['/', '?', '#'])
            .next()
            .is_some_and(|host| host.contains('@'))
    });
    has_login
        || decoded
            .split(['?', '&', ';', '#', ',', '{', '"', ' '])
            .any(names_secret)
}
