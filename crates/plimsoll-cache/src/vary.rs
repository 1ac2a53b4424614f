//! `Vary` (RFC 9111, 4.1): the secondary key of a copy, and the few copies that share a primary one.
//!
//! Values are compared after what cannot matter is taken out: lines of one field are joined, white space around commas
//! goes, languages and codings are in small letters. The order of `Accept-Language` stays, because origins use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use httparse::Header;

use crate::fields::{lines, members};
use crate::policy::CachePolicy;
use crate::steering::{is_per_request, merge};

/// Most field names in a `Vary` that is kept.
pub const NAMES_MAX: usize = 16;

/// Most bytes of a secondary key.
pub const SELECTING_LEN_MAX: usize = 2_048;

/// Most copies of one primary key.
pub const VARIANTS_MAX: usize = 16;

/// What an answer varies by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vary {
    /// By nothing.
    Nothing,
    /// By the fields of these names, in small letters, sorted, with commas between.
    Fields(Box<str>),
    /// By what no request shows (`*`), by what no two requests share (the client's address, a trace), or by more than is
    /// kept.
    Everything,
}

impl Vary {
    /// Of an answer.
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

    /// By the fields of these names too.
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

/// Writes what a request says in the fields of `names` (as in [`Vary::Fields`]), so that two requests that say the same
/// write the same. False when it is longer than [`SELECTING_LEN_MAX`]: such a request has no copy.
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
        // No value holds a line feed, so that no two lists of values are written alike.
        out.push(b'\n');
        if out.len() > SELECTING_LEN_MAX {
            return false;
        }
    }
    true
}

/// The lines of a field as one list. A field that is not there differs from an empty one.
fn write_lines(out: &mut Vec<u8>, name: &str, request: &[Header<'_>], lowers: bool) {
    let start = out.len();
    // Servers that hand fields on as variables take both spellings of a name for one.
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

/// The cookies that count, in their order.
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

/// The codings that a client accepts, of those that anybody uses.
///
/// A copy is fetched with [`Codings::as_str`] instead of what the client wrote: then the origin never sees a coding
/// that is not in here, and clients that write the same in other words share a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codings(u8);

/// The known codings, and what is written for each set of them.
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
    /// Of a request. `None` when its wish cannot be said so: it refuses a plain answer, or likes one coding better.
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

    /// The list of them; empty for none.
    pub fn as_str(self) -> &'static str {
        SETS[usize::from(self.0)]
    }
}

/// The one language that a request prefers to all others; `None` when it says nothing of that, or likes several as much.
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

/// A weight (RFC 9110, 12.4.2) in thousandths; `None` when it is none.
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

/// One of the copies that share a primary key.
#[derive(Debug)]
struct Variant<T> {
    names: Box<str>,
    selecting: Box<[u8]>,
    used: AtomicBool,
    copy: T,
}

/// The copies that share a primary key, newest first. It is never changed: a new copy makes a new list.
///
/// When there are [`VARIANTS_MAX`], the oldest that nobody asked for since the last one went makes room, so that a
/// flood of variants that are asked for once leaves those that are asked for often.
#[derive(Clone, Debug)]
pub struct Variants<T>(Vec<Arc<Variant<T>>>);

impl<T> Default for Variants<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Variants<T> {
    /// The newest copy that this request selects. `room` is written over.
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

    /// A list with one more copy, which takes the place of the one that the same requests select. The same list when the
    /// request says too much in the fields that count.
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
            // A copy that varies by nothing stands for all: those before it would never be found again.
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

    /// A list without the copies that are not wanted.
    #[must_use]
    pub fn without(&self, mut is_unwanted: impl FnMut(&T) -> bool) -> Self {
        let kept = self
            .0
            .iter()
            .filter(|variant| !is_unwanted(&variant.copy))
            .cloned();
        Self(kept.collect())
    }

    /// All copies, newest first.
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

    /// Bytes that the list takes besides the copies.
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

/// Drops the oldest that was not used since the last was dropped.
fn evict_unused<T>(variants: &mut Vec<Arc<Variant<T>>>) {
    let unused = variants
        .iter()
        .rposition(|variant| !variant.used.swap(false, Ordering::Relaxed));
    let at = unused.unwrap_or(variants.len() - 1);
    variants.remove(at);
}

#[cfg(test)]
mod tests;
