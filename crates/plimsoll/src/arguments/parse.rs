//! Parsers of single values; each error names place, valid range and remedy.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use plimsoll_config::load::RateRange;
use plimsoll_config::plan::{HEADS, HEADS_VALID};
use plimsoll_config::sentence::{self as sentences, DemandSentence};
use plimsoll_config::{Problem, load, objective as objectives, status, units};
use plimsoll_model::objective::Objective;
use plimsoll_model::patience::PatienceBand;
use plimsoll_model::plan::GoodStatus;
use plimsoll_model::schedule::LoadPhase;

/// Bounds of the response classes, ms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Classes(pub(crate) [u64; 2]);

/// Bands of patience, in the order of their limits.
#[derive(Clone, Debug)]
pub(crate) struct Patience(pub(crate) Vec<PatienceBand>);

/// A whole number within a range.
pub(crate) fn within(
    range: RangeInclusive<u32>,
) -> impl Fn(&str) -> Result<u32, Problem> + Clone + Send + Sync + 'static {
    move |text| whole(text, &range)
}

/// A random seed.
pub(crate) fn seed(text: &str) -> Result<u64, Problem> {
    whole(text, &(0..=u64::MAX))
}

fn whole<T: FromStr + PartialOrd + Display>(
    text: &str,
    range: &RangeInclusive<T>,
) -> Result<T, Problem> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let valid = format!("a whole number from {} to {}", range.start(), range.end());
        let message = "not a whole number in the valid range";
        Problem::new(text, 0..text.len(), message, valid)
    })
}

/// An IP address with a port.
pub(crate) fn socket_address(text: &str) -> Result<SocketAddr, Problem> {
    const VALID: &str = "an IP address and a port, such as 127.0.0.1:8080 or [::1]:8080";
    let wrong = |_| Problem::new(text, 0..text.len(), "not an IP address with a port", VALID);
    text.parse().map_err(wrong)
}

/// An IP address.
pub(crate) fn ip_address(text: &str) -> Result<IpAddr, Problem> {
    const VALID: &str = "an IP address, such as 192.0.2.1 or ::1";
    let wrong = |_| Problem::new(text, 0..text.len(), "not an IP address", VALID);
    text.parse().map_err(wrong)
}

/// The help of a flag, with the default of the setting that it overrides.
pub(crate) fn with_default(help: &str, default: &str) -> String {
    format!("{help} [default: {default}]")
}

pub(crate) fn duration(text: &str) -> Result<Duration, Problem> {
    units::duration(text)
}

pub(crate) fn duration_above_zero(text: &str) -> Result<Duration, Problem> {
    units::duration_above_zero(text)
}

pub(crate) fn rate_above_zero(text: &str) -> Result<f64, Problem> {
    units::rate_above_zero(text)
}

pub(crate) fn rate_range(text: &str) -> Result<RateRange, Problem> {
    load::rate_range(text)
}

pub(crate) fn phase(text: &str) -> Result<LoadPhase, Problem> {
    load::phase(text)
}

/// A difference that does not matter.
pub(crate) fn margin(text: &str) -> Result<f64, Problem> {
    const VALID: &str = "above 0% and at most 50%, such as 3% or 0.03";
    let share = units::share(text)?;
    if share > 0.0 && share <= 0.5 {
        Ok(share)
    } else {
        Err(Problem::new(text, 0..text.len(), "out of range", VALID))
    }
}

pub(crate) fn objective(text: &str) -> Result<Objective, Problem> {
    objectives::objective(text)
}

pub(crate) fn good_status(text: &str) -> Result<GoodStatus, Problem> {
    status::statuses(text)
}

pub(crate) fn size(text: &str) -> Result<u64, Problem> {
    units::size(text)
}

/// A limit of heads, bytes.
pub(crate) fn head_size(text: &str) -> Result<u32, Problem> {
    let size = units::size(text)?;
    let limit = u32::try_from(size).ok().filter(|_| HEADS.contains(&size));
    limit.ok_or_else(|| {
        let message = "the limit of a head is out of range";
        Problem::new(text, 0..text.len(), message, HEADS_VALID)
    })
}

pub(crate) fn classes(text: &str) -> Result<Classes, Problem> {
    const VALID: &str = "two ascending durations, such as 800ms,1200ms";
    let whole = || Problem::new(text, 0..text.len(), "not two ascending durations", VALID);
    let (fast, slow) = text.split_once(',').ok_or_else(whole)?;
    let millis = |bound: &str| -> Result<u64, Problem> {
        let lasting = units::duration_above_zero(bound.trim()).map_err(|_| whole())?;
        u64::try_from(lasting.as_millis()).map_err(|_| whole())
    };
    let bounds = [millis(fast)?, millis(slow)?];
    if bounds[0] == 0 || bounds[0] >= bounds[1] {
        Err(whole())
    } else {
        Ok(Classes(bounds))
    }
}

pub(crate) fn patience(text: &str) -> Result<Patience, Problem> {
    plimsoll_config::patience::bands(text).map(Patience)
}

/// A name that is safe in a file name.
pub(crate) fn short_name(text: &str) -> Result<String, Problem> {
    let wrong = text
        .char_indices()
        .find(|(_, c)| !(c.is_ascii_alphanumeric() || "-_.".contains(*c)));
    match wrong {
        _ if text.is_empty() || text.len() > 64 || text.starts_with('.') => Err(Problem::new(
            text,
            0..text.len(),
            "not a short name",
            "1 to 64 letters, digits, `-`, `_` and `.`, not starting with `.`",
        )),
        Some((at, c)) => Err(Problem::new(
            text,
            at..at + c.len_utf8(),
            "this character is not allowed in a file name",
            "letters, digits, `-`, `_` and `.`",
        )),
        None => Ok(text.to_owned()),
    }
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandWords(pub(crate) Vec<String>);

/// Splits a command at spaces, except inside quotes. There is no shell.
pub(crate) fn command_words(text: &str) -> Result<CommandWords, Problem> {
    const VALID: &str = "a program and its arguments, such as 'redis-cli CONFIG SET maxclients 500'; spaces within '…' or \"…\" belong to \
         one argument, and \\ takes the next character as it is";
    let problem = |what: &str| Err(Problem::new(text, 0..text.len(), what, VALID));
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => match characters.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => return problem("`\\` at the end escapes nothing"),
            },
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return problem("unclosed quote");
    }
    words.extend(word);
    if words.first().is_none_or(String::is_empty) {
        return problem("program is missing");
    }
    Ok(CommandWords(words))
}

/// A demand as it was written, and what it means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WrittenSentence {
    pub(crate) text: String,
    pub(crate) demand: DemandSentence,
}

/// The sentence of `--for`.
pub(crate) fn sentence(text: &str) -> Result<WrittenSentence, Problem> {
    Ok(WrittenSentence {
        text: text.to_owned(),
        demand: sentences::sentence(text)?,
    })
}

/// For whom `check` judges.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ForWhom {
    /// A number of users.
    Users(u64),
    /// A sentence.
    Sentence(WrittenSentence),
}

/// A number of users, or a sentence.
pub(crate) fn for_whom(text: &str) -> Result<ForWhom, Problem> {
    if let Ok(users) = users(text) {
        return Ok(ForWhom::Users(users));
    }
    sentence(text)
        .map(ForWhom::Sentence)
        .map_err(|problem| Problem {
            valid: format!("a number of users such as 3000-users, {}", problem.valid),
            ..problem
        })
}

/// How many users: `3000-users`, `3,000 users`, `3000`.
pub(crate) fn users(text: &str) -> Result<u64, Problem> {
    const VALID: &str = "a number of users from 1 to 1000000000, such as 3000-users";
    let number = text
        .trim()
        .trim_end_matches("users")
        .trim_end_matches("user");
    let number = number.trim_end_matches(['-', ' ']).replace(['_', ','], "");
    let count = number.parse::<u64>().ok();
    count
        .filter(|count| (1..=1_000_000_000).contains(count))
        .ok_or_else(|| Problem::new(text, 0..text.len(), "not a number of users", VALID))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_words_without_a_shell() {
        for (text, right) in [
            (
                "redis-cli -p 7 CONFIG SET a 1",
                "redis-cli|-p|7|CONFIG|SET|a|1",
            ),
            ("  sh -c 'echo $x; exit 1' ", "sh|-c|echo $x; exit 1"),
            (r#"a "b \"c\" d" e\ f '' "#, r#"a|b "c" d|e f|"#),
            (r"a 'b\c'", r"a|b\c"),
        ] {
            assert_eq!(command_words(text).unwrap().0.join("|"), right, "{text}");
        }
        for wrong in ["", "  ", "''", "a 'b", "a \"b", "a \\"] {
            assert!(command_words(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn classes_ascend() {
        assert_eq!(classes("100ms,2s").unwrap().0, [100, 2000]);
        for wrong in ["", "800ms", "2s,1s", "1s,1s", "a,b", "0,1s"] {
            assert!(classes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_stay_in_their_folder() {
        assert!(short_name("front-page_2.1").is_ok());
        for wrong in ["", "../x", "a/b", ".hidden", "ä"] {
            assert!(short_name(wrong).is_err(), "{wrong}");
        }
    }
}
