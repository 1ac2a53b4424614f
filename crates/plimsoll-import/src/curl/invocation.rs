//! The options of a curl command.

use std::time::Duration;

use super::context::Context;
use super::options::{self, CurlOption, DataKind, Effect, HttpVersion, Known};
use super::shell::{ShellCommand, ShellWord};
use crate::script::{Marks, ScriptError};

mod config;

/// A value of a command line, with its byte in the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PlacedText {
    pub(super) at: usize,
    pub(super) text: String,
}

/// A value of the `--data` family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Datum {
    pub(super) kind: DataKind,
    pub(super) value: PlacedText,
}

/// A part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FormField {
    pub(super) value: PlacedText,
    /// `--form-string`: `@` and `;` mean themselves.
    pub(super) is_literal: bool,
}

/// What one set of options asks for: a curl command, or its part between two `--next`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of curl, and any of them may be given"
)]
pub(super) struct Transfer {
    pub(super) at: usize,
    pub(super) urls: Vec<PlacedText>,
    pub(super) method: Option<PlacedText>,
    pub(super) headers: Vec<PlacedText>,
    pub(super) data: Vec<Datum>,
    pub(super) form: Vec<FormField>,
    pub(super) uploads: Vec<PlacedText>,
    pub(super) in_query: bool,
    pub(super) head_only: bool,
    pub(super) agent: Option<PlacedText>,
    pub(super) referer: Option<PlacedText>,
    pub(super) cookies: Vec<PlacedText>,
    /// Whether answers' cookies are kept.
    pub(super) keeps_cookies: bool,
    pub(super) user: Option<PlacedText>,
    pub(super) bearer: Option<PlacedText>,
    pub(super) compressed: bool,
    pub(super) follows: bool,
    pub(super) redirects_max: Option<u32>,
    pub(super) timeout: Option<Duration>,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) http: Option<(usize, HttpVersion)>,
    pub(super) insecure: bool,
    pub(super) ca_file: Option<PlacedText>,
    pub(super) range: Option<PlacedText>,
    pub(super) query: Vec<PlacedText>,
    pub(super) path_as_is: bool,
    pub(super) glob_off: bool,
    pub(super) default_scheme: Option<String>,
    pub(super) source: Option<PlacedText>,
    /// Standard input, if the script has it.
    pub(super) input: Option<String>,
}

/// Reads the arguments of a curl command, without its own name.
pub(super) fn read(
    context: &mut Context<'_>,
    at: usize,
    command: &ShellCommand,
    arguments: &[ShellWord],
) -> Result<Vec<Transfer>, ScriptError> {
    let mut reader = ArgumentReader {
        context,
        current: Transfer {
            at,
            input: command.input.clone(),
            ..Transfer::default()
        },
        done: Vec::new(),
        configs: 0,
    };
    reader.words(arguments)?;
    reader.next(at);
    Ok(reader.done)
}

struct ArgumentReader<'c, 's> {
    context: &'c mut Context<'s>,
    current: Transfer,
    done: Vec<Transfer>,
    /// Configuration files that were read.
    configs: usize,
}

impl ArgumentReader<'_, '_> {
    fn words(&mut self, words: &[ShellWord]) -> Result<(), ScriptError> {
        let mut words = words.iter();
        let mut takes_options = true;
        while let Some(word) = words.next() {
            if word.text == "--" {
                takes_options = false;
            } else if takes_options && word.text.starts_with("--") {
                let name = &word.text[2..];
                let option = options::long(name).ok_or_else(|| self.unknown(word.at, name))?;
                let value = self.value(word, option, "", &mut words)?;
                self.apply(word.at, option, value)?;
            } else if takes_options && word.text.starts_with('-') && word.text.len() > 1 {
                self.letters(word, &mut words)?;
            } else {
                self.current.urls.push(PlacedText {
                    at: word.at,
                    text: word.text.clone(),
                });
            }
        }
        Ok(())
    }

    /// Several short options in one word; the rest of the word behind one that takes a value is its value.
    fn letters<'w>(
        &mut self,
        word: &ShellWord,
        words: &mut impl Iterator<Item = &'w ShellWord>,
    ) -> Result<(), ScriptError> {
        let mut letters = word.text[1..].chars();
        while let Some(letter) = letters.next() {
            let option = options::short(letter)
                .ok_or_else(|| self.unknown(word.at, &format!("-{letter}")))?;
            let rest = letters.as_str();
            let value = self.value(word, option, rest, words)?;
            let is_taken = value.is_some();
            self.apply(word.at, option, value)?;
            if is_taken {
                break;
            }
        }
        Ok(())
    }

    /// The value of an option: the rest of its word, else the next word; `None` if it takes none.
    fn value<'w>(
        &self,
        word: &ShellWord,
        option: CurlOption,
        rest: &str,
        words: &mut impl Iterator<Item = &'w ShellWord>,
    ) -> Result<Option<PlacedText>, ScriptError> {
        if !option.takes_value {
            return Ok(None);
        }
        if !rest.is_empty() {
            return Ok(Some(PlacedText {
                at: word.at,
                text: rest.to_owned(),
            }));
        }
        match words.next() {
            Some(next) => Ok(Some(PlacedText {
                at: next.at,
                text: next.text.clone(),
            })),
            None => Err(self.context.script.error(
                word.at,
                format!("the option --{} has no value", option.name),
                "write the value behind it",
            )),
        }
    }

    fn unknown(&self, at: usize, name: &str) -> ScriptError {
        let shown = self.context.marks.shown(name);
        let dashes = if name.starts_with('-') { "" } else { "--" };
        let remedy = if let Some((option, _)) = name.split_once('=')
            && options::long(option).is_some()
        {
            format!("write the value as a word of its own: --{option} VALUE")
        } else if let Some(near) = options::nearest(name) {
            format!("did you mean --{near}?")
        } else {
            "see `curl --help all` for the options of curl".to_owned()
        };
        let message = format!("`{dashes}{shown}` is not an option of curl");
        self.context.script.error(at, message, remedy)
    }

    /// Ends the current transfer, as `--next` does.
    fn next(&mut self, at: usize) {
        let input = self.current.input.clone();
        let ended = std::mem::replace(
            &mut self.current,
            Transfer {
                at,
                input,
                ..Transfer::default()
            },
        );
        self.done.push(ended);
    }

    fn apply(
        &mut self,
        at: usize,
        option: CurlOption,
        value: Option<PlacedText>,
    ) -> Result<(), ScriptError> {
        let known = match option.effect {
            Effect::Silent => return Ok(()),
            Effect::Lost(..) if option.is_off => return Ok(()),
            Effect::Lost(why, remedy) => {
                let what = match &value {
                    Some(value) if !is_sensitive(option.name) => {
                        format!("--{} {}", option.name, value.text)
                    }
                    _ => format!("--{}", option.name),
                };
                self.context.lose(at, &what, why, remedy);
                return Ok(());
            }
            Effect::Known(known) => known,
        };
        match value {
            None => self.switch(at, known, !option.is_off),
            Some(value) => self.set(option.name, known, value)?,
        }
        Ok(())
    }

    fn switch(&mut self, at: usize, known: Known, is_on: bool) {
        let current = &mut self.current;
        match known {
            Known::Get => current.in_query = is_on,
            Known::Head => current.head_only = is_on,
            Known::Compressed => current.compressed = is_on,
            Known::Location => current.follows = is_on,
            Known::Http(version) => current.http = is_on.then_some((at, version)),
            Known::Insecure => current.insecure = is_on,
            Known::PathAsIs => current.path_as_is = is_on,
            Known::GlobOff => current.glob_off = is_on,
            _ => self.next(at),
        }
    }

    fn set(&mut self, name: &str, known: Known, value: PlacedText) -> Result<(), ScriptError> {
        let current = &mut self.current;
        match known {
            Known::Url => current.urls.push(value),
            Known::Method => current.method = Some(value),
            Known::Header => current.headers.push(value),
            Known::Data(kind) => current.data.push(Datum { kind, value }),
            Known::Form | Known::FormString => current.form.push(FormField {
                value,
                is_literal: known == Known::FormString,
            }),
            Known::Upload => current.uploads.push(value),
            Known::Agent => current.agent = Some(value),
            Known::Referer => current.referer = Some(value),
            Known::Cookie if value.text.contains('=') || Marks::are_in(&value.text) => {
                current.cookies.push(value);
            }
            Known::Cookie => self.cookie_file(&value),
            Known::CookieJar => {
                current.keeps_cookies = true;
                self.context.jars.push(value.text);
            }
            Known::User => current.user = Some(value),
            Known::Bearer => current.bearer = Some(value),
            Known::MaxRedirects => {
                let most = self.redirects(&value);
                self.current.redirects_max = most;
            }
            Known::MaxTime => {
                let time = self.duration(name, &value);
                self.current.timeout = time;
            }
            Known::ConnectTimeout => {
                let time = self.duration(name, &value);
                self.current.connect_timeout = time;
            }
            Known::CaFile => current.ca_file = Some(value),
            Known::Range => current.range = Some(value),
            Known::ContinueAt if value.text == "-" => {}
            Known::ContinueAt => {
                current.range = Some(PlacedText {
                    text: format!("{}-", value.text),
                    ..value
                });
            }
            Known::TimeCondition => self.time_condition(&value),
            Known::UrlQuery => current.query.push(value),
            Known::DefaultScheme => current.default_scheme = Some(value.text),
            Known::Source => current.source = Some(value),
            Known::Config => self.config(&value)?,
            _ => {}
        }
        Ok(())
    }

    /// `-b FILE`: cookies that an earlier command stored are the plan's own; others are lost.
    fn cookie_file(&mut self, value: &PlacedText) {
        self.current.keeps_cookies = true;
        let is_own = self.context.jars.contains(&value.text);
        if !is_own && self.context.script.files.bytes(&value.text).is_ok() {
            self.context.lose(
                value.at,
                &format!("the cookies in {}", value.text),
                "a plan begins without cookies",
                "log in with a step, or add the header Cookie",
            );
        }
    }

    /// `-z DATE`, `-z -DATE`: a header. Dates of other forms, and files whose times curl takes, are lost.
    fn time_condition(&mut self, value: &PlacedText) {
        let (name, date) = match value.text.strip_prefix('-') {
            Some(date) => ("If-Unmodified-Since", date),
            None => (
                "If-Modified-Since",
                value.text.strip_prefix('=').unwrap_or(&value.text),
            ),
        };
        let Some(date) = http_date(date.trim()) else {
            self.context.lose(
                value.at,
                &format!("--time-cond {}", value.text),
                "it is not a date of HTTP or ISO 8601; times of files are not read",
                "write the header If-Modified-Since into the plan",
            );
            return;
        };
        self.current.headers.push(PlacedText {
            text: format!("{name}: {date}"),
            at: value.at,
        });
    }

    /// Most redirects; `-1` is no limit.
    fn redirects(&mut self, value: &PlacedText) -> Option<u32> {
        let number = value.text.trim().parse::<i64>().ok();
        if number.is_none() {
            self.context.lose(
                value.at,
                &format!("--max-redirs {}", value.text),
                "it is not a number",
                "write `follow: 10` into the step",
            );
        }
        number.and_then(|number| u32::try_from(number).ok())
    }

    fn duration(&mut self, name: &str, value: &PlacedText) -> Option<Duration> {
        let seconds = value.text.trim().parse::<f64>().ok();
        let time = seconds
            .filter(|seconds| *seconds >= 0.0)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|time| *time <= Duration::from_hours(24));
        if time.is_none() {
            self.context.lose(
                value.at,
                &format!("--{name} {}", value.text),
                "it is not a number of seconds up to a day",
                "write `timeout: 30s` into the step",
            );
        }
        // Zero means no limit.
        time.filter(|time| time.as_millis() > 0)
    }
}

/// The form of HTTP (RFC 9110, 5.6.7) of a date in that form or in ISO 8601.
fn http_date(text: &str) -> Option<String> {
    let zoned = jiff::fmt::rfc2822::parse(text).map(|zoned| zoned.timestamp());
    let timestamp = zoned
        .ok()
        .or_else(|| text.parse().ok())
        .or_else(|| midnight(text))?;
    Some(timestamp.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
}

fn midnight(date: &str) -> Option<jiff::Timestamp> {
    let date: jiff::civil::Date = date.parse().ok()?;
    let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(midnight.timestamp())
}

/// Whether the value of an option must not be shown.
fn is_sensitive(name: &str) -> bool {
    name.contains("pass") || matches!(name, "proxy-user" | "proxy" | "cert" | "proxy-header")
}
