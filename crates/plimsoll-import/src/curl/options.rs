//! All options of curl 8: those that an import understands, those that change no request, and those that a plan lacks.

mod lost;
mod silent;

use self::lost::LOST;
use self::silent::SILENT;

/// An option of curl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CurlOption {
    /// Without its dashes.
    pub(super) name: &'static str,
    /// Whether a value follows.
    pub(super) takes_value: bool,
    pub(super) effect: Effect,
    /// Whether it was written as `--no-NAME`.
    pub(super) is_off: bool,
}

/// What an option does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Silent,
    /// Something that a plan cannot express: why, and what to do instead.
    Lost(&'static str, &'static str),
    Known(Known),
}

/// The options that an import understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Url,
    Method,
    Header,
    Data(DataKind),
    Form,
    FormString,
    Get,
    Head,
    Upload,
    Agent,
    Referer,
    Cookie,
    CookieJar,
    User,
    Bearer,
    Compressed,
    Location,
    MaxRedirects,
    MaxTime,
    ConnectTimeout,
    Http(HttpVersion),
    Insecure,
    CaFile,
    Range,
    ContinueAt,
    TimeCondition,
    UrlQuery,
    PathAsIs,
    GlobOff,
    Next,
    Config,
    DefaultScheme,
    Source,
}

/// How an option of the `--data` family reads its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataKind {
    /// `--data`: `@FILE` without its line breaks.
    Text,
    /// `--data-raw`: `@` means itself.
    Raw,
    /// `--data-binary`: `@FILE` as it is.
    Binary,
    UrlEncode,
    /// `--json`: as `--data-binary`, and two headers.
    Json,
}

/// What an option says about the version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpVersion {
    One,
    Two,
    TwoAtOnce,
}

type KnownRow = (&'static str, char, bool, Known);

/// No short name.
const NONE: char = '\0';

const KNOWN: [KnownRow; 42] = [
    ("url", NONE, true, Known::Url),
    ("request", 'X', true, Known::Method),
    ("header", 'H', true, Known::Header),
    ("data", 'd', true, Known::Data(DataKind::Text)),
    ("data-ascii", NONE, true, Known::Data(DataKind::Text)),
    ("data-raw", NONE, true, Known::Data(DataKind::Raw)),
    ("data-binary", NONE, true, Known::Data(DataKind::Binary)),
    (
        "data-urlencode",
        NONE,
        true,
        Known::Data(DataKind::UrlEncode),
    ),
    ("json", NONE, true, Known::Data(DataKind::Json)),
    ("form", 'F', true, Known::Form),
    ("form-string", NONE, true, Known::FormString),
    ("get", 'G', false, Known::Get),
    ("head", 'I', false, Known::Head),
    ("upload-file", 'T', true, Known::Upload),
    ("user-agent", 'A', true, Known::Agent),
    ("referer", 'e', true, Known::Referer),
    ("cookie", 'b', true, Known::Cookie),
    ("cookie-jar", 'c', true, Known::CookieJar),
    ("user", 'u', true, Known::User),
    ("oauth2-bearer", NONE, true, Known::Bearer),
    ("compressed", NONE, false, Known::Compressed),
    ("location", 'L', false, Known::Location),
    ("location-trusted", NONE, false, Known::Location),
    ("follow", NONE, false, Known::Location),
    ("max-redirs", NONE, true, Known::MaxRedirects),
    ("max-time", 'm', true, Known::MaxTime),
    ("connect-timeout", NONE, true, Known::ConnectTimeout),
    ("http1.1", NONE, false, Known::Http(HttpVersion::One)),
    ("http2", NONE, false, Known::Http(HttpVersion::Two)),
    (
        "http2-prior-knowledge",
        NONE,
        false,
        Known::Http(HttpVersion::TwoAtOnce),
    ),
    ("insecure", 'k', false, Known::Insecure),
    ("cacert", NONE, true, Known::CaFile),
    ("range", 'r', true, Known::Range),
    ("continue-at", 'C', true, Known::ContinueAt),
    ("time-cond", 'z', true, Known::TimeCondition),
    ("url-query", NONE, true, Known::UrlQuery),
    ("path-as-is", NONE, false, Known::PathAsIs),
    ("globoff", 'g', false, Known::GlobOff),
    ("next", ':', false, Known::Next),
    ("config", 'K', true, Known::Config),
    ("proto-default", NONE, true, Known::DefaultScheme),
    ("interface", NONE, true, Known::Source),
];

/// All options as long name, short name, whether a value follows, effect.
fn all() -> impl Iterator<Item = (&'static str, char, bool, Effect)> {
    let known = KNOWN
        .iter()
        .map(|&(name, short, takes, known)| (name, short, takes, Effect::Known(known)));
    let silent = SILENT
        .iter()
        .map(|&(name, short, takes)| (name, short, takes, Effect::Silent));
    let lost = LOST.iter().flat_map(|&(why, remedy, list)| {
        list.iter()
            .map(move |&(name, short, takes)| (name, short, takes, Effect::Lost(why, remedy)))
    });
    known.chain(silent).chain(lost)
}

/// The option of a letter, `-X`.
pub(super) fn short(letter: char) -> Option<CurlOption> {
    all()
        .find(|(_, short, ..)| *short == letter && letter != NONE)
        .map(|(name, _, takes_value, effect)| CurlOption {
            name,
            takes_value,
            effect,
            is_off: false,
        })
}

/// The option of a long name without its dashes: whole, behind `no-`, or its unambiguous beginning, as curl takes it.
pub(super) fn long(name: &str) -> Option<CurlOption> {
    if let Some(option) = whole(name) {
        return Some(option);
    }
    if let Some(option) = name.strip_prefix("no-").and_then(whole)
        && !option.takes_value
    {
        let is_off = true;
        return Some(CurlOption { is_off, ..option });
    }
    if let Some(option) = name.strip_prefix("expand-").and_then(whole)
        && option.takes_value
    {
        let why = "variables of curl are not replaced";
        let effect = Effect::Lost(why, "write the whole value into the option");
        return Some(CurlOption { effect, ..option });
    }
    if name.len() < 3 {
        return None;
    }
    let mut fitting = all().filter(|(long, ..)| long.starts_with(name));
    let first = fitting.next()?.0;
    fitting.next().is_none().then(|| whole(first)).flatten()
}

fn whole(name: &str) -> Option<CurlOption> {
    all()
        .find(|(long, ..)| *long == name)
        .map(|(name, _, takes_value, effect)| CurlOption {
            name,
            takes_value,
            effect,
            is_off: false,
        })
}

/// The name most like an unknown one.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let shared = |long: &str| {
        long.bytes()
            .zip(name.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    all()
        .map(|(long, ..)| long)
        .filter(|long| shared(long) >= 3)
        .max_by_key(|long| (shared(long), usize::MAX - long.len()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;

    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names = BTreeSet::new();
        let mut letters = BTreeSet::new();
        for (name, letter, ..) in all() {
            assert!(names.insert(name), "{name}");
            assert!(letter == NONE || letters.insert(letter), "-{letter}");
        }
    }

    #[test]
    fn names_are_found_as_curl_finds_them() {
        assert_eq!(short('d').unwrap().name, "data");
        assert_eq!(long("compressed").unwrap().name, "compressed");
        assert_eq!(long("insec").unwrap().name, "insecure");
        assert!(long("no-location").unwrap().is_off);
        assert!(!long("no-buffer").unwrap().takes_value);
        assert_eq!(long("data-"), None);
        assert_eq!(long("lokation"), None);
        assert_eq!(nearest("compresed"), Some("compressed"));
    }

    /// The curl of this machine lists its own options; none may be unknown, and all take a value as it says.
    #[test]
    fn every_option_of_the_installed_curl_is_known() {
        let output = Command::new("curl").args(["--help", "all"]).output();
        let text = output.unwrap().stdout;
        let mut count = 0;
        for line in String::from_utf8(text).unwrap().lines() {
            let Some(at) = line.find("--") else { continue };
            let mut words = line[at + 2..].split(' ');
            let name = words.next().unwrap();
            let takes_value = words
                .next()
                .is_some_and(|word| word.starts_with(['<', '[']));
            if name == "help" {
                // Its value is optional.
                continue;
            }
            let option = long(name).unwrap_or_else(|| panic!("--{name} is not in the tables"));
            assert_eq!(option.takes_value, takes_value, "--{name}");
            if let Some(letter) = line[..at].trim().strip_prefix('-') {
                let letter = letter.chars().next().unwrap();
                assert_eq!(short(letter).unwrap().name, option.name, "-{letter}");
            }
            count += 1;
        }
        assert!(count > 200, "{count}");
    }
}
