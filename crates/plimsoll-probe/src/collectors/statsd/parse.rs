//! Lines of StatsD, `name:value|type|@rate`, with the tags of DogStatsD, `|#tag:value,tag`, and those of Telegraf and
//! Graphite in the name, `name,tag=value` and `name;tag=value`.
//!
//! A datagram has any number of lines. A line that breaks the format is refused alone, with the reason.

use std::fmt;

/// Longest name, bytes.
pub const NAME_LEN_MAX: usize = 200;
/// Limit of the tags of a line.
pub const TAGS_MAX: usize = 24;
/// Longest text of all tags of a line together, bytes.
pub const TAGS_LEN_MAX: usize = 400;
/// Lowest sample rate: one event counts as a million at most.
const RATE_MIN: f64 = 1e-6;
/// How events and service checks of DogStatsD begin, which are no meters.
const OTHERS: [&[u8]; 2] = [b"_e{", b"_sc|"];

/// What a line measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatsdType {
    /// `c`: how often something happened.
    Counter,
    /// `g`: a level.
    Gauge,
    /// `ms`, `h` and `d`: values whose distribution counts.
    Distribution,
    /// `s`: elements, of which the distinct ones count.
    Set,
}

/// A value of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatsdValue<'a> {
    /// A number; finite.
    Number(f64),
    /// A gauge with a sign: its change; finite.
    Change(f64),
    /// An element of a set.
    Element(&'a str),
}

/// A line that reports values of a meter.
#[derive(Clone, Debug, PartialEq)]
pub struct StatsdLine<'a> {
    /// Its name, without tags.
    pub name: &'a str,
    /// Its type.
    pub kind: StatsdType,
    /// At least one value.
    pub values: Vec<StatsdValue<'a>>,
    /// Share of the events that the sender reports; above 0, at most 1.
    pub rate: f64,
    /// Tags and their values, sorted, each once.
    pub tags: Vec<(&'a str, &'a str)>,
}

/// Why a line is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatsdError {
    /// It is not UTF-8.
    NotText,
    /// Its name is empty, too long, or not printable.
    Name,
    /// A value is missing, or is not a number.
    Value,
    /// Its type is missing or unknown.
    Type,
    /// Its sample rate is not a share.
    Rate,
    /// It has too many tags, or they are too long or not printable.
    Tags,
}

impl fmt::Display for StatsdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText => f.write_str("a line must be UTF-8"),
            Self::Name => write!(
                f,
                "a name must have 1 to {NAME_LEN_MAX} bytes, without control characters"
            ),
            Self::Value => f.write_str("a value must be a finite number, as in `queue:320|g`"),
            Self::Type => f.write_str("the type must be c, g, ms, h, d or s, as in `queue:320|g`"),
            Self::Rate => f.write_str("a sample rate must be above 0 and at most 1, as in `|@0.1`"),
            Self::Tags => write!(
                f,
                "a line must have at most {TAGS_MAX} tags with {TAGS_LEN_MAX} bytes in all, without control characters"
            ),
        }
    }
}

impl std::error::Error for StatsdError {}

/// The lines of a datagram, each as it was sent and as it is understood. Empty lines, events and service checks are left
/// out.
pub fn lines(
    datagram: &[u8],
) -> impl Iterator<Item = (&[u8], Result<StatsdLine<'_>, StatsdError>)> {
    let lines = datagram.split(|&byte| byte == b'\n');
    lines
        .map(<[u8]>::trim_ascii)
        .filter(|sent| !sent.is_empty() && !OTHERS.iter().any(|begin| sent.starts_with(begin)))
        .map(|sent| (sent, line(sent)))
}

/// Parses one line.
fn line(sent: &[u8]) -> Result<StatsdLine<'_>, StatsdError> {
    let text = str::from_utf8(sent).map_err(|_| StatsdError::NotText)?;
    let mut fields = text.split('|');
    let (name, written) = fields
        .next()
        .and_then(|field| field.split_once(':'))
        .ok_or(StatsdError::Value)?;
    let kind = match fields.next().map(str::trim) {
        Some("c") => StatsdType::Counter,
        Some("g") => StatsdType::Gauge,
        Some("ms" | "h" | "d") => StatsdType::Distribution,
        Some("s") => StatsdType::Set,
        _ => return Err(StatsdError::Type),
    };
    let (name, mut tags) = name_and_tags(name);
    if !is_printable(name, 1, NAME_LEN_MAX) {
        return Err(StatsdError::Name);
    }
    let mut rate = 1.0;
    for field in fields {
        // Other fields, such as a container's id and a time, do not change what a line reports.
        match field.split_at_checked(1) {
            Some(("@", text)) => rate = share(text).ok_or(StatsdError::Rate)?,
            Some(("#", text)) => tags.extend(listed_tags(text)),
            _ => {}
        }
    }
    let len: usize = tags
        .iter()
        .map(|(tag, value)| tag.len() + value.len())
        .sum();
    let mut each = tags.iter();
    let are_printable = each.all(|(tag, value)| {
        is_printable(tag, 0, TAGS_LEN_MAX) && is_printable(value, 0, TAGS_LEN_MAX)
    });
    if tags.len() > TAGS_MAX || len > TAGS_LEN_MAX || !are_printable {
        return Err(StatsdError::Tags);
    }
    tags.sort_unstable();
    tags.dedup();
    Ok(StatsdLine {
        name,
        kind,
        values: values(kind, written)?,
        rate,
        tags,
    })
}

fn is_printable(text: &str, len_min: usize, len_max: usize) -> bool {
    (len_min..=len_max).contains(&text.len()) && !text.contains(char::is_control)
}

/// A name, and the tags that Telegraf and Graphite put behind it.
fn name_and_tags(text: &str) -> (&str, Vec<(&str, &str)>) {
    let Some(end) = text.find([',', ';']) else {
        return (text.trim(), Vec::new());
    };
    let (name, rest) = (&text[..end], &text[end + 1..]);
    let separator = if text[end..].starts_with(',') {
        ','
    } else {
        ';'
    };
    let pairs = rest.split(separator);
    let tags: Option<Vec<_>> = pairs.map(|pair| pair.split_once('=')).collect();
    match tags {
        Some(tags) => (name.trim(), tags),
        // A name that has this character, and no tags.
        None => (text.trim(), Vec::new()),
    }
}

/// The tags of DogStatsD.
fn listed_tags(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let tags = text.split(',').map(str::trim);
    tags.filter(|tag| !tag.is_empty())
        .map(|tag| tag.split_once(':').unwrap_or((tag, "")))
}

fn values(kind: StatsdType, written: &str) -> Result<Vec<StatsdValue<'_>>, StatsdError> {
    if kind == StatsdType::Set {
        // An element may contain a colon.
        let is_right = is_printable(written, 1, NAME_LEN_MAX);
        return is_right
            .then(|| vec![StatsdValue::Element(written)])
            .ok_or(StatsdError::Value);
    }
    let value = |text: &str| {
        let number = number(text)?;
        let has_sign = kind == StatsdType::Gauge && text.trim().starts_with(['+', '-']);
        Some(if has_sign {
            StatsdValue::Change(number)
        } else {
            StatsdValue::Number(number)
        })
    };
    let values: Option<Vec<_>> = written.split(':').map(value).collect();
    values.ok_or(StatsdError::Value)
}

fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

fn share(text: &str) -> Option<f64> {
    number(text).filter(|rate| (RATE_MIN..=1.0).contains(rate))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::StatsdType::{Counter, Distribution, Gauge, Set};
    use super::StatsdValue::{Change, Element, Number};
    use super::*;

    fn parsed(text: &str) -> StatsdLine<'_> {
        line(text.as_bytes()).expect(text)
    }

    /// The examples of the descriptions of StatsD and of DogStatsD.
    #[test]
    fn lines_as_their_descriptions_have_them() {
        for (text, name, kind, values, rate) in [
            ("gorets:1|c", "gorets", Counter, vec![Number(1.0)], 1.0),
            ("gorets:1|c|@0.1", "gorets", Counter, vec![Number(1.0)], 0.1),
            (
                "glork:320|ms|@0.1",
                "glork",
                Distribution,
                vec![Number(320.0)],
                0.1,
            ),
            ("gaugor:333|g", "gaugor", Gauge, vec![Number(333.0)], 1.0),
            ("gaugor:-10|g", "gaugor", Gauge, vec![Change(-10.0)], 1.0),
            ("gaugor:+4|g", "gaugor", Gauge, vec![Change(4.0)], 1.0),
            ("uniques:765|s", "uniques", Set, vec![Element("765")], 1.0),
            ("users:a:b|s", "users", Set, vec![Element("a:b")], 1.0),
            (
                "fuel.level:0.5|g",
                "fuel.level",
                Gauge,
                vec![Number(0.5)],
                1.0,
            ),
            (
                "song.length:240|h|@0.5",
                "song.length",
                Distribution,
                vec![Number(240.0)],
                0.5,
            ),
            (
                "page.size:1.5:2:-3|d",
                "page.size",
                Distribution,
                vec![Number(1.5), Number(2.0), Number(-3.0)],
                1.0,
            ),
            ("undone:-1|c", "undone", Counter, vec![Number(-1.0)], 1.0),
        ] {
            let line = parsed(text);
            assert_eq!((line.name, line.kind), (name, kind), "{text}");
            assert_eq!((line.values, line.tags), (values, Vec::new()), "{text}");
            assert!((line.rate - rate).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn tags_are_read_wherever_they_stand() {
        let right = vec![("country", "china"), ("vip", "")];
        for text in [
            "users.online:1|c|#country:china,vip",
            "users.online:1|c|#vip, country:china,,vip|@0.5|c:83c0a99c0a54|T1656581400",
            "users.online,country=china,vip=:1|c",
            "users.online;vip=;country=china:1|c",
            "users.online,vip=:1|c|#country:china",
        ] {
            let line = parsed(text);
            assert_eq!(
                (line.name, line.tags),
                ("users.online", right.clone()),
                "{text}"
            );
        }
        // A name that only looks as if it had tags.
        assert_eq!(parsed("a,b:1|c").name, "a,b");
        assert_eq!(
            parsed("url:1|c|#at:http://a:1/").tags,
            [("at", "http://a:1/")]
        );
    }

    #[test]
    fn a_datagram_has_many_lines_and_a_bad_one_costs_no_other() {
        let sent = b"a:1|c\r\n\nb:2|g\n_e{5,4}:title|text\n_sc|redis|0\nc:x|g\nd:3|q\n\xff:1|c\n";
        let read: Vec<_> = lines(sent)
            .map(|(_, line)| line.map(|line| line.name))
            .collect();
        let right = [
            Ok("a"),
            Ok("b"),
            Err(StatsdError::Value),
            Err(StatsdError::Type),
            Err(StatsdError::NotText),
        ];
        assert_eq!(read, right);
        assert_eq!(lines(b"").count(), 0);
    }

    #[test]
    fn what_breaks_the_format_is_refused_with_the_reason() {
        let (name, tag) = ("n".repeat(NAME_LEN_MAX + 1), "t".repeat(TAGS_LEN_MAX + 1));
        let many: Vec<String> = (0..=TAGS_MAX).map(|index| index.to_string()).collect();
        for (text, error) in [
            ("gorets".to_owned(), StatsdError::Value),
            ("gorets:|c".to_owned(), StatsdError::Value),
            ("gorets:1:|c".to_owned(), StatsdError::Value),
            ("gorets:NaN|c".to_owned(), StatsdError::Value),
            ("gorets:1e999|g".to_owned(), StatsdError::Value),
            ("gorets:|s".to_owned(), StatsdError::Value),
            ("gorets:1".to_owned(), StatsdError::Type),
            ("gorets:1|c:2|c".to_owned(), StatsdError::Type),
            (":1|c".to_owned(), StatsdError::Name),
            (format!("{name}:1|c"), StatsdError::Name),
            ("a\u{7}b:1|c".to_owned(), StatsdError::Name),
            ("gorets:1|c|@0".to_owned(), StatsdError::Rate),
            ("gorets:1|c|@1.5".to_owned(), StatsdError::Rate),
            ("gorets:1|c|@".to_owned(), StatsdError::Rate),
            (format!("gorets:1|c|#{tag}"), StatsdError::Tags),
            (format!("gorets:1|c|#{}", many.join(",")), StatsdError::Tags),
            ("gorets:1|c|#a:\u{1b}".to_owned(), StatsdError::Tags),
        ] {
            assert_eq!(line(text.as_bytes()), Err(error), "{text}");
            assert!(error.to_string().contains("must"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_datagram_is_too_strange(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            text in "[a:|@#,;=+.0-9-]{0,40}|\\PC{0,40}",
        ) {
            for datagram in [&bytes[..], text.as_bytes()] {
                for line in lines(datagram).filter_map(|(_, line)| line.ok()) {
                    prop_assert!((1..=NAME_LEN_MAX).contains(&line.name.len()));
                    prop_assert!(line.rate > 0.0 && line.rate <= 1.0 && !line.values.is_empty());
                    prop_assert!(line.tags.len() <= TAGS_MAX && line.tags.is_sorted());
                }
            }
        }

        #[test]
        fn what_is_sent_is_what_is_read(
            name in "[a-z_.]{1,20}",
            values in proptest::collection::vec(0.0..1e9_f64, 1..4),
            tags in proptest::collection::btree_map("[a-z]{1,8}", "[a-z:.]{0,8}", 0..4),
        ) {
            let written: Vec<String> = values.iter().map(f64::to_string).collect();
            let listed: Vec<String> = tags.iter().map(|(tag, value)| format!("{tag}:{value}")).collect();
            let text = format!("{name}:{}|d|#{}", written.join(":"), listed.join(","));
            let line = parsed(&text);
            let numbers: Vec<_> = values.into_iter().map(Number).collect();
            let pairs: Vec<_> = tags.iter().map(|(tag, value)| (tag.as_str(), value.as_str())).collect();
            prop_assert_eq!((line.name, line.values, line.tags), (name.as_str(), numbers, pairs));
        }
    }
}
