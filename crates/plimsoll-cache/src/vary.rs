//! `Vary` (RFC 9111, 4.1): the secondary key, and the variants that share a primary one.
//!
//! Values are compared after normalization: lines of one field are joined, white space around commas is removed,
//! languages and codings are in lower case. The order of `Accept-Language` stays, because origins use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use httparse::Header;

use crate::fields::{lines, members};
use crate::policy::CachePolicy;
use crate::steering::{is_per_request, merge};

/// Maximum number of field names in a stored `Vary`.
pub const NAMES_MAX: usize = 16;

/// Maximum length of a secondary key, bytes.
pub const SELECTING_LEN_MAX: usize = 2_048;

/// Maximum number of variants per primary key.
pub const VARIANTS_MAX: usize = 16;

/// The `Vary` of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vary {
    /// Empty.
    Nothing,
    /// Fields of these names, in lower case, sorted, separated by commas.
    Fields(Box<str>),
    /// By unknown properties (`*`), by per-request fields (the client's address, a trace), or by more fields than are
    /// stored.
    Everything,
}

impl Vary {
    /// Parses that of a response.
    pub fn of(answer: &[Header<'_>]) -> Self {
        let mut names: Vec<String> = Vec::new();
        for member in lines(answer, "vary").flat_map(members) {
            let name = String::from_utf8_lossy(member).to_ascii_lowercase();
            if name == "*" || names.len() == NAMES_MAX || is_per_request(&name) {
                return Self::Everything;
            }
            names.push(name);
        }
        Self::by(names)
    }

    /// Adds fields.
    #[must_use]
    pub fn and(self, more: &[String]) -> Self {
        if more.is_empty() {
            return self;
        }
        let names = match &self {
            Self::Nothing => "",
            Self::Fields(names) => names,
            Self::Everything => return self,
        };
        let names = names.split(',').filter(|name| !name.is_empty());
        let more = more.iter().map(|name| name.to_ascii_lowercase());
        Self::by(names.map(str::to_owned).chain(more).collect())
    }

    fn by(mut names: Vec<String>) -> Self {
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Self::Nothing;
        }
        Self::Fields(names.join(",").into_boxed_str())
    }

    /// Whether it names a field.
    pub fn names(&self, field: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Fields(names) => names.split(',').any(|name| name == field),
            Self::Everything => true,
        }
    }
}

/// Writes a request's values of the fields `names` (as in [`Vary::Fields`]); equal requests write equal bytes. False
/// when they exceed [`SELECTING_LEN_MAX`]: such a request selects nothing.
pub fn write_selecting(
    out: &mut Vec<u8>,
    names: &str,
    request: &[Header<'_>],
    policy: &CachePolicy,
) -> bool {
    out.clear();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        match name {
            "accept-encoding" => match Codings::of(request) {
                Some(codings) => out.extend_from_slice(codings.as_str().as_bytes()),
                None => write_lines(out, name, request, true),
            },
            "accept-language" => write_lines(out, name, request, true),
            "cookie" => write_cookies(out, request, policy),
            _ => write_lines(out, name, request, false),
        }
        // No value contains a line feed, so the encoding of a list is unique.
        out.push(b'\n');
        if out.len() > SELECTING_LEN_MAX {
            return false;
        }
    }
    true
}

/// The lines of a field as one list. A missing field differs from an empty one.
fn write_lines(out: &mut Vec<u8>, name: &str, request: &[Header<'_>], lowers: bool) {
    let start = out.len();
    // Servers that pass fields on as variables treat both spellings of a name alike.
    let lines = request.iter().filter(|header| merge(header.name, name));
    for line in lines.map(|header| header.value.trim_ascii()) {
        let mut is_first = true;
        out.push(if out.len() == start { b':' } else { b',' });
        for member in members(line) {
            if !is_first {
                out.push(b',');
            }
            is_first = false;
            out.extend_from_slice(member);
        }
    }
    if lowers {
        out[start..].make_ascii_lowercase();
    }
}

/// The significant cookies, in their order.
fn write_cookies(out: &mut Vec<u8>, request: &[Header<'_>], policy: &CachePolicy) {
    let pairs = lines(request, "cookie").flat_map(|line| line.split(|&byte| byte == b';'));
    for pair in pairs.map(<[u8]>::trim_ascii) {
        let name = pair.split(|&byte| byte == b'=').next().unwrap_or_default();
        let name = name.trim_ascii();
        let is_ignored = policy
            .cookies_ignored
            .iter()
            .any(|ignored| ignored.as_bytes() == name);
        if !pair.is_empty() && !is_ignored {
            out.extend_from_slice(pair);
            out.push(b';');
        }
    }
}

/// The commonly used codings that a client accepts.
///
/// A fetch sends [`Codings::as_str`] instead of the client's field: the origin never receives an unknown coding, and
/// clients with equivalent fields share a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codings(u8);

/// The known codings, and the field value for each set of them.
const KNOWN: [&str; 4] = ["br", "deflate", "gzip", "zstd"];
const SETS: [&str; 16] = [
    "",
    "br",
    "deflate",
    "br, deflate",
    "gzip",
    "br, gzip",
    "deflate, gzip",
    "br, deflate, gzip",
    "zstd",
    "br, zstd",
    "deflate, zstd",
    "br, deflate, zstd",
    "gzip, zstd",
    "br, gzip, zstd",
    "deflate, gzip, zstd",
    "br, deflate, gzip, zstd",
];

impl Codings {
    /// Parses that of a request. `None` when the field cannot be normalized: it refuses identity, or has weights.
    pub fn of(request: &[Header<'_>]) -> Option<Self> {
        let mut codings = 0;
        for member in lines(request, "accept-encoding").flat_map(members) {
            let (name, weight) = weighted(member);
            let is_wanted = match weight {
                Weight::Full => true,
                Weight::None if name.eq_ignore_ascii_case(b"identity") || name == b"*" => {
                    return None;
                }
                Weight::None => false,
                Weight::Less => return None,
            };
            let name = match name {
                b"*" | b"x-gzip" => b"gzip",
                name => name,
            };
            let known = KNOWN
                .iter()
                .position(|known| known.as_bytes().eq_ignore_ascii_case(name));
            if let Some(bit) = known.filter(|_| is_wanted) {
                codings |= 1 << bit;
            }
        }
        Some(Self(codings))
    }

    /// The field value; empty for none.
    pub fn as_str(self) -> &'static str {
        SETS[usize::from(self.0)]
    }
}

/// The single most preferred language of a request; `None` without a preference, or with several equal ones.
pub fn preferred_language<'b>(request: &[Header<'b>]) -> Option<&'b [u8]> {
    let mut best: Option<(&[u8], u16)> = None;
    let mut is_shared = false;
    for member in lines(request, "accept-language").flat_map(members) {
        let mut parameters = member.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let name = parameters.next().unwrap_or_default();
        let weight = match parameters.next() {
            None => 1_000,
            Some([b'q' | b'Q', b'=', weight @ ..]) => thousandths(weight)?,
            Some(_) => return None,
        };
        match best {
            Some((_, most)) if weight < most => {}
            Some((_, most)) if weight == most => is_shared = true,
            _ => {
                best = Some((name, weight));
                is_shared = false;
            }
        }
    }
    best.filter(|(name, weight)| !is_shared && *weight > 0 && !name.contains(&b'*'))
        .map(|(name, _)| name)
}

/// A weight (RFC 9110, 12.4.2) in thousandths; `None` when it is invalid.
fn thousandths(weight: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(weight).ok()?;
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let is_weight = rest.len() <= 3 && rest.bytes().all(|byte| byte.is_ascii_digit());
    let rest = format!("{rest:0<3}").parse::<u16>().ok();
    match (whole, rest.filter(|_| is_weight)?) {
        ("1", 0) => Some(1_000),
        ("0", rest) => Some(rest),
        _ => None,
    }
}

enum Weight {
    Full,
    Less,
    None,
}

/// A member's name and its `;q=`.
fn weighted(member: &[u8]) -> (&[u8], Weight) {
    let mut parameters = member.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    let name = parameters.next().unwrap_or_default();
    let weight = parameters.find_map(|parameter| match parameter {
        [b'q' | b'Q', b'=', weight @ ..] => Some(weight),
        _ => None,
    });
    let weight = match weight {
        None | Some(b"1" | b"1." | b"1.0" | b"1.00" | b"1.000") => Weight::Full,
        Some(b"0" | b"0." | b"0.0" | b"0.00" | b"0.000") => Weight::None,
        Some(_) => Weight::Less,
    };
    (name, weight)
}

/// One of the variants that share a primary key.
#[derive(Debug)]
struct Variant<T> {
    names: Box<str>,
    selecting: Box<[u8]>,
    used: AtomicBool,
    copy: T,
}

/// The variants that share a primary key, newest first. Immutable: a new variant makes a new list.
///
/// At [`VARIANTS_MAX`], the oldest that was unused since the last removal is dropped, so that a flood of variants
/// requested once does not evict those in use.
#[derive(Clone, Debug)]
pub struct Variants<T>(Vec<Arc<Variant<T>>>);

impl<T> Default for Variants<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Variants<T> {
    /// The newest variant that this request selects. `room` is scratch space.
    pub fn find(
        &self,
        request: &[Header<'_>],
        policy: &CachePolicy,
        room: &mut Vec<u8>,
    ) -> Option<&T> {
        let mut written_for: Option<(&str, bool)> = None;
        let found = self.0.iter().find(|variant| {
            if variant.names.is_empty() {
                return true;
            }
            let is_complete = match written_for {
                Some((names, is_complete)) if names == &*variant.names => is_complete,
                _ => write_selecting(room, &variant.names, request, policy),
            };
            written_for = Some((&variant.names, is_complete));
            is_complete && *variant.selecting == **room
        })?;
        if self.0.len() > 1 && !found.used.load(Ordering::Relaxed) {
            found.used.store(true, Ordering::Relaxed);
        }
        Some(&found.copy)
    }

    /// A list with one more variant, which replaces the one that the same requests select. The same list when the
    /// request's values exceed the limit.
    #[must_use]
    pub fn with(&self, vary: &Vary, request: &[Header<'_>], policy: &CachePolicy, copy: T) -> Self {
        let names: Box<str> = match vary {
            Vary::Nothing => Box::default(),
            Vary::Fields(names) => names.clone(),
            Vary::Everything => return self.share(),
        };
        let mut selecting = Vec::new();
        if !write_selecting(&mut selecting, &names, request, policy) {
            return self.share();
        }
        let is_replaced = |variant: &Variant<T>| {
            // A variant without `Vary` matches everything: earlier ones would never be found again.
            names.is_empty() || (variant.names == names && *variant.selecting == *selecting)
        };
        let mut kept: Vec<_> = self
            .0
            .iter()
            .filter(|variant| !is_replaced(variant))
            .cloned()
            .collect();
        if kept.len() >= VARIANTS_MAX {
            evict_unused(&mut kept);
        }
        kept.insert(
            0,
            Arc::new(Variant {
                names,
                selecting: selecting.into_boxed_slice(),
                used: AtomicBool::new(false),
                copy,
            }),
        );
        Self(kept)
    }

    /// A list without unwanted variants.
    #[must_use]
    pub fn without(&self, mut is_unwanted: impl FnMut(&T) -> bool) -> Self {
        let kept = self
            .0
            .iter()
            .filter(|variant| !is_unwanted(&variant.copy))
            .cloned();
        Self(kept.collect())
    }

    /// All variants, newest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|variant| &variant.copy)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of the list without the variants.
    pub fn weight(&self) -> usize {
        let fixed = size_of::<Variant<T>>() + 2 * size_of::<usize>() + size_of::<usize>();
        self.0
            .iter()
            .map(|variant| fixed + variant.names.len() + variant.selecting.len())
            .sum()
    }

    fn share(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Drops the oldest that was unused since the last drop.
fn evict_unused<T>(variants: &mut Vec<Arc<Variant<T>>>) {
    let unused = variants
        .iter()
        .rposition(|variant| !variant.used.swap(false, Ordering::Relaxed));
    let at = unused.unwrap_or(variants.len() - 1);
    variants.remove(at);
}

#[cfg(test)]
mod tests;
