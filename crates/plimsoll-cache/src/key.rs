//! The primary cache key: scheme, host, path, and the parts of the query that the route selects.
//!
//! A key is bytes, `https://host/path?query`, that two requests share only when they mean the same to the origin.
//! Nothing that an origin might use is omitted: non-default ports stay, and so do fragments and the case of
//! percent-encodings. A request's key is hashed and compared piece by piece, without being built.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// Maximum number of query parameters that are sorted; a longer query is used unsorted.
const SORTED_MAX: usize = 64;

/// Tracking parameters, which change no page. A trailing `*` matches any suffix.
const TRACKING: [&str; 24] = [
    "utm_*",
    "mtm_*",
    "pk_*",
    "gclid",
    "gclsrc",
    "gbraid",
    "wbraid",
    "dclid",
    "fbclid",
    "msclkid",
    "twclid",
    "ttclid",
    "yclid",
    "ysclid",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "vero_id",
    "wickedid",
];

/// Parts of the query that belong to the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Query {
    /// All of it: a parameter that is omitted but used by the origin would let one client choose what others see.
    #[default]
    All,
    /// Nothing.
    Ignore,
    /// The parameters of these names.
    Only(Vec<String>),
    /// All except known tracking parameters.
    Tracking,
}

/// How a key is made from a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRule {
    /// Relevant parts of the query.
    pub query: Query,
    /// Whether parameters are sorted by name; those of one name keep their order.
    pub sorted: bool,
}

/// Seed of a cache's hashes: random, so that outsiders cannot construct collisions.
#[derive(Clone, Copy, Debug)]
pub struct Seed(pub u64, pub u64);

impl Seed {
    /// A hasher with this seed.
    pub(crate) fn hasher(self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0, self.1)
    }

    /// The hash of a key's bytes: what [`KeyRef::hash`] gives for the key.
    pub fn hash(self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher();
        hasher.write(key);
        hasher.finish()
    }
}

/// The key of a request, borrowed from it.
#[derive(Clone, Copy, Debug)]
pub struct KeyRef<'a> {
    secure: bool,
    host: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    rule: &'a KeyRule,
}

/// An owned key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CacheKey(Box<[u8]>);

impl CacheKey {
    /// Its bytes: `https://host/path?query`.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its bytes, owned.
    pub fn into_bytes(self) -> Box<[u8]> {
        self.0
    }

    /// The host and port in it.
    pub fn host(&self) -> &[u8] {
        let start = if self.0.starts_with(b"https") { 8 } else { 7 };
        let rest = self.0.get(start..).unwrap_or_default();
        let end = rest.iter().position(|&byte| byte == b'/');
        &rest[..end.unwrap_or(rest.len())]
    }
}

impl<'a> KeyRef<'a> {
    /// The key of a request: over TLS or not, for a host (with its port, if written) and a target that starts with a
    /// slash or is empty.
    pub fn new(secure: bool, host: &'a str, target: &'a str, rule: &'a KeyRule) -> Self {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        Self {
            secure,
            host: without_own_port(host, secure),
            path: if path.is_empty() { "/" } else { path },
            query,
            rule,
        }
    }

    /// Whether the request came over TLS.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// The host as written, without the scheme's default port.
    pub fn host(&self) -> &'a str {
        self.host
    }

    /// The target that the key stands for, when it differs from the requested one: without irrelevant parameters, in
    /// key order. Sent to the origin, it ensures that nothing outside the key ends up in a stored response.
    pub fn target(&self) -> Option<String> {
        let query = self.query?;
        if self.rule.query == Query::All && !self.rule.sorted {
            return None;
        }
        let mut kept = Vec::with_capacity(query.len() + 1);
        self.query_pieces(&mut |piece| {
            kept.extend_from_slice(piece);
            true
        });
        if kept.strip_prefix(b"?") == Some(query.as_bytes()) {
            return None;
        }
        let kept = String::from_utf8(kept).ok()?;
        Some(format!("{}{kept}", self.path))
    }

    /// The path as written.
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// Whether a field such as `Content-Location` names the requested target: path and query byte for byte, alone or
    /// behind scheme and host.
    pub fn is_named_by(&self, uri: &[u8]) -> bool {
        let rest = match uri.first() {
            Some(b'/') if !uri.starts_with(b"//") => Some(uri),
            _ => self.behind_host(uri),
        };
        let Some(rest) = rest else {
            return false;
        };
        let path = match rest {
            [] | [b'?', ..] => &[b"/", rest].concat(),
            rest => rest,
        };
        match self.query {
            None => path == self.path.as_bytes(),
            Some(query) => {
                path.strip_prefix(self.path.as_bytes())
                    .and_then(|rest| rest.strip_prefix(b"?"))
                    == Some(query.as_bytes())
            }
        }
    }

    /// The rest of an absolute URI behind scheme and host, when they are this key's.
    fn behind_host<'u>(&self, uri: &'u [u8]) -> Option<&'u [u8]> {
        let scheme: &[u8] = if self.secure { b"https://" } else { b"http://" };
        let (start, rest) = uri.split_at_checked(scheme.len())?;
        if !start.eq_ignore_ascii_case(scheme) {
            return None;
        }
        let end = rest.iter().position(|byte| b"/?#".contains(byte));
        let (host, rest) = rest.split_at(end.unwrap_or(rest.len()));
        let host = std::str::from_utf8(host).ok()?;
        without_own_port(host, self.secure)
            .eq_ignore_ascii_case(self.host)
            .then_some(rest)
    }

    /// The hash under a seed.
    pub fn hash(&self, seed: Seed) -> u64 {
        let mut hasher = seed.hasher();
        self.pieces(&mut |piece| {
            hasher.write(piece);
            true
        });
        hasher.finish()
    }

    /// Whether an owned key equals this one, byte for byte.
    pub fn is(&self, key: &CacheKey) -> bool {
        self.is_written(key.as_bytes())
    }

    /// Whether these are the bytes of this key.
    pub fn is_written(&self, key: &[u8]) -> bool {
        let mut rest = key;
        let all_match = self.pieces(&mut |piece| match rest.split_at_checked(piece.len()) {
            Some((start, after)) if start == piece => {
                rest = after;
                true
            }
            _ => false,
        });
        all_match && rest.is_empty()
    }

    /// An owned key.
    pub fn to_key(&self) -> CacheKey {
        let mut bytes = Vec::with_capacity(
            16 + self.host.len() + self.path.len() + self.query.map_or(0, str::len),
        );
        self.pieces(&mut |piece| {
            bytes.extend_from_slice(piece);
            true
        });
        CacheKey(bytes.into_boxed_slice())
    }

    /// Emits the key's bytes in order until a piece is refused; whether all were accepted.
    fn pieces(&self, take: &mut impl FnMut(&[u8]) -> bool) -> bool {
        let scheme: &[u8] = if self.secure { b"https://" } else { b"http://" };
        if !take(scheme) || !lowered(self.host.as_bytes(), take) || !take(self.path.as_bytes()) {
            return false;
        }
        self.query_pieces(take)
    }

    /// Emits the query part of the key.
    fn query_pieces(&self, take: &mut impl FnMut(&[u8]) -> bool) -> bool {
        let Some(query) = self.query else {
            return true;
        };
        match (&self.rule.query, self.rule.sorted) {
            (Query::Ignore, _) => true,
            (Query::All, false) => take(b"?") && take(query.as_bytes()),
            (kept, sorted) => parameters(query, kept, sorted, take),
        }
    }
}

/// Emits the relevant parameters.
fn parameters(
    query: &str,
    kept: &Query,
    sorted: bool,
    take: &mut impl FnMut(&[u8]) -> bool,
) -> bool {
    let mut is_first = true;
    let mut emit = |parameter: &str| {
        let sign: &[u8] = if is_first { b"?" } else { b"&" };
        is_first = false;
        take(sign) && take(parameter.as_bytes())
    };
    let mut relevant = query.split('&').filter(|parameter| counts(parameter, kept));
    if !sorted || relevant.clone().count() > SORTED_MAX {
        return relevant.all(emit);
    }
    let mut room = [(0_usize, ""); SORTED_MAX];
    let mut count = 0;
    for parameter in relevant {
        room[count] = (count, parameter);
        count += 1;
    }
    let ordered = &mut room[..count];
    // Sorting in place needs no memory; the position keeps those of one name in order.
    ordered.sort_unstable_by(|(place, parameter), (other_place, other)| {
        (name_of(parameter), place).cmp(&(name_of(other), other_place))
    });
    ordered.iter().all(|(_, parameter)| emit(parameter))
}

/// Whether a parameter is part of the key.
fn counts(parameter: &str, kept: &Query) -> bool {
    // Some origins treat a semicolon as an ampersand: a parameter hidden behind it counts.
    if parameter.contains(';') {
        return true;
    }
    let name = name_of(parameter);
    match kept {
        Query::All => true,
        Query::Ignore => false,
        Query::Only(names) => names.iter().any(|kept| kept == name),
        Query::Tracking => !TRACKING
            .iter()
            .any(|tracking| match tracking.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == *tracking,
            }),
    }
}

fn name_of(parameter: &str) -> &str {
    parameter
        .split_once('=')
        .map_or(parameter, |(name, _)| name)
}

/// Emits bytes in lower case.
fn lowered(bytes: &[u8], take: &mut impl FnMut(&[u8]) -> bool) -> bool {
    if !bytes.iter().any(u8::is_ascii_uppercase) {
        return take(bytes);
    }
    bytes.chunks(64).all(|chunk| {
        let mut room = [0; 64];
        let room = &mut room[..chunk.len()];
        room.copy_from_slice(chunk);
        room.make_ascii_lowercase();
        take(room)
    })
}

/// A host without its scheme's default port.
fn without_own_port(host: &str, secure: bool) -> &str {
    let own = if secure { ":443" } else { ":80" };
    let bare = host.strip_suffix(own).unwrap_or(host);
    bare.strip_suffix(':').unwrap_or(bare)
}

#[cfg(test)]
mod tests;
