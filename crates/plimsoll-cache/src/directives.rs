//! `Cache-Control` of responses and requests (RFC 9111, 5.2), `CDN-Cache-Control` (RFC 9213), and `Pragma`.
//!
//! An ambiguous field is read in the way that stores less: a lifetime that is not a number is none, of several the
//! shortest counts, and a response with an unclosed quoted string is not stored.

use httparse::Header;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

use crate::fields::{decimal, has, is_closed, lines, members};

/// Maximum number of field names accepted in `private="…"` and `no-cache="…"`; a response that lists more is private as
/// a whole.
const WITHHELD_MAX: usize = 32;

/// Cache directives of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the directives of the standard, each on its own"
)]
pub struct Directives {
    /// Whether they come from `CDN-Cache-Control`; then `Cache-Control` and `Expires` are ignored.
    pub targeted: bool,
    /// `max-age`, seconds.
    pub max_age: Option<u32>,
    /// `s-maxage`, seconds.
    pub s_maxage: Option<u32>,
    /// `stale-while-revalidate` (RFC 5861), seconds.
    pub stale_while_revalidate: Option<u32>,
    /// `stale-if-error` (RFC 5861), seconds.
    pub stale_if_error: Option<u32>,
    /// `no-store`.
    pub no_store: bool,
    /// `no-cache` without field names.
    pub no_cache: bool,
    /// `private` without field names.
    pub private: bool,
    /// `public`.
    pub public: bool,
    /// `must-revalidate`.
    pub must_revalidate: bool,
    /// `proxy-revalidate`.
    pub proxy_revalidate: bool,
    /// `must-understand`.
    pub must_understand: bool,
    /// Whether a quoted string is unclosed, so that the meaning of the rest is unknown.
    pub malformed: bool,
    /// Fields that must not be stored, in lower case: those of `private="…"` and `no-cache="…"`.
    pub withheld: Vec<String>,
}

impl Directives {
    /// Directives of a response: of `CDN-Cache-Control` where it is valid and not empty, of `Cache-Control` otherwise.
    pub fn of(answer: &[Header<'_>]) -> Self {
        if let Some(targeted) = Self::targeted(answer) {
            return targeted;
        }
        let mut directives = Self::default();
        for line in lines(answer, "cache-control") {
            directives.malformed |= !is_closed(line);
            for member in members(line) {
                directives.take(&Directive::of(member));
            }
        }
        directives
    }

    /// Directives of `CDN-Cache-Control`, a structured-field dictionary (RFC 9213, 2.1). An invalid one is ignored.
    fn targeted(answer: &[Header<'_>]) -> Option<Self> {
        if !has(answer, "cdn-cache-control") {
            return None;
        }
        let line = lines(answer, "cdn-cache-control")
            .collect::<Vec<_>>()
            .join(&b", "[..]);
        let dictionary: Dictionary = Parser::new(&line).parse().ok()?;
        if dictionary.is_empty() {
            return None;
        }
        let mut directives = Self {
            targeted: true,
            ..Self::default()
        };
        for (name, entry) in &dictionary {
            let value = match entry {
                ListEntry::Item(item) => &item.bare_item,
                ListEntry::InnerList(_) => &BareItem::Boolean(true),
            };
            let argument = match value {
                BareItem::Boolean(false) => continue,
                BareItem::Boolean(true) => Argument::None,
                BareItem::Integer(number) => Argument::Number(match i64::from(*number) {
                    ..0 => None,
                    number => Some(u32::try_from(number).unwrap_or(u32::MAX)),
                }),
                BareItem::String(list) if ["private", "no-cache"].contains(&name.as_str()) => {
                    Argument::Fields(list.as_str().as_bytes())
                }
                // Wrong type for any directive: treated like a non-number.
                _ => Argument::Number(None),
            };
            directives.take(&Directive {
                name: name.as_str().as_bytes(),
                argument,
            });
        }
        Some(directives)
    }

    /// Whether a response to an authenticated request may serve other requests (RFC 9111, 3.5).
    pub fn allows_authorized(&self) -> bool {
        self.public || self.must_revalidate || self.s_maxage.is_some()
    }

    fn take(&mut self, directive: &Directive<'_>) {
        let argument = &directive.argument;
        let is = |name: &str| directive.name.eq_ignore_ascii_case(name.as_bytes());
        match directive.name.len() {
            6 if is("public") => self.public = true,
            7 if is("max-age") => least(&mut self.max_age, argument.lifetime()),
            7 if is("private") => self.private |= self.is_unqualified(argument),
            8 if is("s-maxage") => least(&mut self.s_maxage, argument.lifetime()),
            8 if is("no-store") => self.no_store = true,
            8 if is("no-cache") => self.no_cache |= self.is_unqualified(argument),
            14 if is("stale-if-error") => {
                least(&mut self.stale_if_error, argument.lifetime());
            }
            15 if is("must-revalidate") => self.must_revalidate = true,
            15 if is("must-understand") => self.must_understand = true,
            16 if is("proxy-revalidate") => self.proxy_revalidate = true,
            22 if is("stale-while-revalidate") => {
                least(&mut self.stale_while_revalidate, argument.lifetime());
            }
            _ => {}
        }
    }

    /// Collects the field names of `private` or `no-cache`; true when the directive covers the whole response.
    fn is_unqualified(&mut self, argument: &Argument<'_>) -> bool {
        let Argument::Fields(list) = argument else {
            return true;
        };
        let before = self.withheld.len();
        for name in members(list) {
            let Ok(name) = std::str::from_utf8(name) else {
                return true;
            };
            if self.withheld.len() == WITHHELD_MAX {
                return true;
            }
            self.withheld.push(name.to_ascii_lowercase());
        }
        self.withheld.len() == before
    }
}

/// Cache directives of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    /// `no-cache`, or `Pragma: no-cache` without `Cache-Control`.
    pub no_cache: bool,
    /// `no-store`.
    pub no_store: bool,
    /// `only-if-cached`.
    pub only_if_cached: bool,
    /// `max-age`, seconds.
    pub max_age: Option<u32>,
    /// `min-fresh`, seconds.
    pub min_fresh: Option<u32>,
    /// `max-stale`, seconds; without a number, any.
    pub max_stale: Option<u32>,
}

impl RequestDirectives {
    /// Directives of a request. Invalid ones are ignored.
    pub fn of(request: &[Header<'_>]) -> Self {
        let mut directives = Self::default();
        let mut is_pragma_alone = true;
        for line in lines(request, "cache-control") {
            is_pragma_alone = false;
            for member in members(line) {
                directives.take(&Directive::of(member));
            }
        }
        if is_pragma_alone {
            directives.no_cache = lines(request, "pragma")
                .flat_map(members)
                .any(|member| member.eq_ignore_ascii_case(b"no-cache"));
        }
        directives
    }

    fn take(&mut self, directive: &Directive<'_>) {
        let is = |name: &str| directive.name.eq_ignore_ascii_case(name.as_bytes());
        let argument = &directive.argument;
        match directive.name.len() {
            7 if is("max-age") => {
                self.max_age = argument.number().or(self.max_age);
            }
            8 if is("no-cache") => self.no_cache = true,
            8 if is("no-store") => self.no_store = true,
            9 if is("min-fresh") => {
                self.min_fresh = argument.number().or(self.min_fresh);
            }
            9 if is("max-stale") => {
                self.max_stale = match argument {
                    Argument::None => Some(u32::MAX),
                    _ => argument.number(),
                };
            }
            14 if is("only-if-cached") => self.only_if_cached = true,
            _ => {}
        }
    }
}

struct Directive<'a> {
    name: &'a [u8],
    argument: Argument<'a>,
}

enum Argument<'a> {
    None,
    /// A number, or an invalid one.
    Number(Option<u32>),
    /// A quoted string.
    Fields(&'a [u8]),
}

impl<'a> Directive<'a> {
    fn of(member: &'a [u8]) -> Self {
        let Some(equals) = member.iter().position(|&byte| byte == b'=') else {
            return Self {
                name: member,
                argument: Argument::None,
            };
        };
        let (name, value) = (&member[..equals], &member[equals + 1..]);
        let argument = match value {
            [b'"', quoted @ .., b'"'] => Argument::Fields(quoted),
            // White space around the sign breaks the grammar: the directive is recognized if it prohibits, its number
            // is not used.
            _ if name.trim_ascii_end().len() < name.len() => Argument::Number(None),
            _ => Argument::Number(decimal(value)),
        };
        Self {
            name: name.trim_ascii_end(),
            argument,
        }
    }
}

impl Argument<'_> {
    /// The number, quoted or not.
    fn number(&self) -> Option<u32> {
        match self {
            Argument::Number(number) => *number,
            Argument::Fields(digits) => decimal(digits),
            Argument::None => None,
        }
    }

    /// The number as a lifetime: an unreadable one is none (RFC 9111, 4.2.1).
    fn lifetime(&self) -> u32 {
        self.number().unwrap_or(0)
    }
}

fn least(so_far: &mut Option<u32>, seconds: u32) {
    *so_far = Some(so_far.map_or(seconds, |before| before.min(seconds)));
}

#[cfg(test)]
mod tests;
