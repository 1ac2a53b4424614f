//! A demand as people write it: `12,000 people log in within 3 minutes`.
//!
//! The grammar is small on purpose: each form has one meaning, and any other text is refused with the nearest form. A
//! sentence that was understood is printed in its plain form by `Display`, which means the same when it is read again.
//! `docs/guides/sentences.md` lists the forms.

mod forms;
mod nearest;
mod number;
#[cfg(test)]
mod tests;
mod token;
mod words;

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use crate::Problem;
use forms::Reader;
use words::{count_text, duration_words};

/// Most requests or arrivals of a sentence per second.
const RATE_MAX: f64 = 1e7;
/// Most users of a sentence.
const USERS_MAX: f64 = 1e7;
/// Longest sentence, bytes.
const LEN_MAX: usize = 1000;

/// Examples of all forms, for messages and help.
pub const FORMS: [&str; 6] = [
    "12,000 people log in within 3 minutes",
    "3,000 users who pause ten seconds",
    "200 requests a second",
    "5,000 orders an hour",
    "500 viewers with open WebSockets for an hour",
    "a sale at nine, ten times a usual Monday from access.log",
];

/// The demand that a sentence asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum DemandSentence {
    /// Users who arrive, do their journey once and leave.
    Arrivals {
        /// How many.
        count: f64,
        /// What each does, in the plural: `logins`, `orders`, `arrivals`.
        event: String,
        /// The time over which they are spread evenly.
        within: Duration,
    },
    /// Requests, whoever sends them.
    Requests {
        /// How many.
        count: f64,
        /// The time over which they are spread evenly.
        within: Duration,
    },
    /// Users at once.
    Users {
        /// How many.
        count: u32,
        /// What they are called: `users`, `viewers`.
        noun: String,
        /// Pause of each between a response and its next request.
        pause: Option<Duration>,
    },
    /// Users who each hold a WebSocket.
    Sockets {
        /// How many.
        count: u32,
        /// What they are called: `users`, `viewers`.
        noun: String,
        /// How long each holds it.
        lasting: Option<Duration>,
    },
    /// A multiple of what a log holds.
    OfLog(LogDemand),
}

/// A multiple of the demand of a log's day.
#[derive(Clone, Debug, PartialEq)]
pub struct LogDemand {
    /// How many times as much.
    pub factor: f64,
    /// Which day.
    pub day: LogDay,
    /// The hour that begins at this minute of the day; `None` for the whole day.
    pub at: Option<u16>,
    /// Path of the access log.
    pub file: String,
}

/// A day of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogDay {
    /// The busiest of such days; otherwise a usual one: the median.
    pub is_busiest: bool,
    /// Day of the week from Monday, 0 to 6; `None` for any.
    pub weekday: Option<u8>,
}

/// Names of the days of the week.
pub const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

impl fmt::Display for LogDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_busiest {
            "the busiest"
        } else {
            "a usual"
        };
        let weekday = self.weekday.and_then(|day| WEEKDAYS.get(usize::from(day)));
        write!(f, "{kind} {}", weekday.unwrap_or(&"day"))
    }
}

impl fmt::Display for DemandSentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arrivals {
                count,
                event,
                within,
            } => write!(
                f,
                "{} {event} within {}",
                count_text(*count),
                duration_words(*within)
            ),
            Self::Requests { count, within } => write!(
                f,
                "{} requests within {}",
                count_text(*count),
                duration_words(*within)
            ),
            Self::Users { count, noun, pause } => {
                write!(f, "{} {noun}", count_text(f64::from(*count)))?;
                pause.map_or(Ok(()), |pause| {
                    write!(f, " who pause {}", duration_words(pause))
                })
            }
            Self::Sockets {
                count,
                noun,
                lasting,
            } => {
                let count = count_text(f64::from(*count));
                write!(f, "{count} {noun} with open WebSockets")?;
                lasting.map_or(Ok(()), |time| write!(f, " for {}", duration_words(time)))
            }
            Self::OfLog(log) => {
                write!(
                    f,
                    "{} times {} from \"{}\"",
                    count_text(log.factor),
                    log.day,
                    log.file
                )?;
                log.at
                    .map_or(Ok(()), |at| write!(f, " at {:02}:{:02}", at / 60, at % 60))
            }
        }
    }
}

/// A text that is no form: where, and why.
#[derive(Debug)]
struct NoForm {
    span: Range<usize>,
    message: String,
}

/// Reads a sentence.
///
/// # Errors
/// When it is none of the forms: the place that is not understood, examples, and the nearest form with the numbers and
/// words that were understood.
pub fn sentence(text: &str) -> Result<DemandSentence, Problem> {
    if text.len() > LEN_MAX {
        let message = format!("longer than {LEN_MAX} bytes");
        // The text is not repeated.
        return Err(Problem::new("", 0..0, message, valid()));
    }
    let tokens = token::tokens(text);
    Reader::new(text, &tokens).sentence().map_err(|error| {
        let mut problem = Problem::new(text, error.span, error.message, valid());
        problem.nearest = Some(nearest::form(text, &tokens));
        problem
    })
}

/// What is valid, by examples.
fn valid() -> String {
    format!(
        "{} (docs/guides/sentences.md has all forms)",
        quoted(&FORMS)
    )
}

fn quoted(texts: &[&str]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("'{text}'")).collect();
    quoted.join(", ")
}
