//! The forms of a sentence.

use std::ops::Range;
use std::time::Duration;

use super::token::{Token, word_end};
use super::words::{
    ABOUT, AT_ONCE, CLICKS, EVENTS, PAUSES, PEOPLE, REQUESTS, SOCKETS, VERBS, WITHIN, unit_ms,
};
use super::{DemandSentence, LogDay, LogDemand, NoForm, RATE_MAX, USERS_MAX, WEEKDAYS, number};

/// Words of an activity or an occasion at most.
const FREE_WORDS_MAX: usize = 8;
/// Longest time of a sentence, ms: a year.
const TIME_MS_MAX: f64 = 366.0 * 86_400e3;

type Reading<T> = Result<T, NoForm>;

/// Reads tokens from the left.
pub(super) struct Reader<'a> {
    input: &'a str,
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(input: &'a str, tokens: &'a [Token]) -> Self {
        Self {
            input,
            tokens,
            at: 0,
        }
    }

    /// The first number that counts something, and the first time.
    pub(super) fn count_and_time(&self) -> (Option<f64>, Option<Duration>) {
        let (mut count, mut time) = (None, None);
        let mut at = 0;
        while at < self.tokens.len() {
            let mut ahead = Reader { at, ..*self };
            let is_number = ahead.number().is_some();
            let mut as_time = Reader { at, ..*self };
            if let Some(found) = as_time.time().ok().filter(|_| is_number) {
                time = time.or(Some(found));
                at = as_time.at;
            } else {
                let mut again = Reader { at, ..*self };
                count = count.or(again.number().map(|(value, _)| value));
                at = again.at.max(at + 1);
            }
        }
        (count, time)
    }

    pub(super) fn sentence(mut self) -> Reading<DemandSentence> {
        if self.tokens.is_empty() {
            return Err(self.unexpected("the sentence is empty"));
        }
        if self.is_of_log() {
            return self.of_log();
        }
        while self.accept(&ABOUT) {}
        let (count, place) = self.number_or("a number is missing")?;
        let form = self.counted(count, &place)?;
        match self.peek() {
            None => Ok(form),
            Some(_) => Err(self.unexpected("this is not understood")),
        }
    }

    fn peek(&self) -> Option<&'a str> {
        self.peek_at(0)
    }

    fn peek_at(&self, further: usize) -> Option<&'a str> {
        let token = self.tokens.get(self.at + further)?;
        Some(token.text.as_str())
    }

    fn accept(&mut self, words: &[&str]) -> bool {
        let is_next = self.peek().is_some_and(|word| words.contains(&word));
        self.at += usize::from(is_next);
        is_next
    }

    fn unexpected(&self, message: impl Into<String>) -> NoForm {
        let end = self.input.len();
        let span = self.tokens.get(self.at).map(|token| token.span.clone());
        NoForm {
            span: span.unwrap_or(end..end),
            message: message.into(),
        }
    }

    /// A number, which may be several tokens, and its place.
    fn number(&mut self) -> Option<(f64, Range<usize>)> {
        let first = self.tokens.get(self.at)?;
        let start = first.span.start;
        let mut value = if let Some(value) = number::digits(&first.text) {
            self.at += 1;
            let mut value = value;
            // `12 000`: groups of three digits.
            while !self.tokens[self.at - 1].ends_phrase
                && first.text.len() <= 3
                && value.fract() == 0.0
                && let Some(group) = self.peek().filter(|word| is_group(word))
                && let Some(more) = number::digits(group)
            {
                value = value * 1000.0 + more;
                self.at += 1;
            }
            value
        } else if let Some(value) = number::small(&first.text) {
            self.at += 1;
            value
        } else if matches!(first.text.as_str(), "a" | "an")
            && self
                .peek_at(1)
                .is_some_and(|next| number::scale(next).is_some() || next == "dozen")
        {
            self.at += 1;
            if self.accept(&["dozen"]) { 12.0 } else { 1.0 }
        } else {
            return None;
        };
        while !self.tokens[self.at - 1].ends_phrase
            && let Some(scale) = self.peek().and_then(number::scale)
        {
            value *= scale;
            self.at += 1;
        }
        Some((value, start..self.tokens[self.at - 1].span.end))
    }

    fn number_or(&mut self, message: &str) -> Reading<(f64, Range<usize>)> {
        let is_number = self
            .peek()
            .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let error = if is_number {
            self.unexpected("not a number: write 12,000 or 12000, and 1.5 with a point")
        } else {
            self.unexpected(message)
        };
        self.number().ok_or(error)
    }

    /// `3 minutes`, `ten seconds`, `an hour`, `half an hour`, `90s`, `1 hour and 30 minutes`; after `per` also `minute`.
    fn time(&mut self) -> Reading<Duration> {
        let start = self.at;
        let mut ms = 0.0;
        loop {
            let (part, is_bare) = self.time_part(self.at > start)?;
            ms += part;
            if is_bare || self.tokens[self.at - 1].ends_phrase {
                break;
            }
            let is_joined = self.peek() == Some("and");
            let has_more = |at: usize| {
                let number = self.peek_at(at).is_some_and(number::is_number);
                number
                    && self
                        .peek_at(at + 1)
                        .is_some_and(|unit| unit_ms(unit).is_some())
            };
            if !has_more(usize::from(is_joined)) {
                break;
            }
            self.at += usize::from(is_joined);
        }
        let span = self.tokens[start].span.start..self.tokens[self.at - 1].span.end;
        if !(1.0..=TIME_MS_MAX).contains(&ms) {
            let message = "a time is at least a millisecond and at most a year".to_owned();
            return Err(NoForm { span, message });
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between a millisecond and a year"
        )]
        let ms = ms.round() as u64;
        Ok(Duration::from_millis(ms))
    }

    /// Milliseconds of a number and a unit, and whether it was a unit alone.
    fn time_part(&mut self, is_further: bool) -> Reading<(f64, bool)> {
        let is_half = !is_further && self.accept(&["half"]);
        let factor = if is_half { 0.5 } else { 1.0 };
        let count = self.number();
        let is_bare = count.is_none() && !self.accept(&["a", "an"]);
        match self.peek().and_then(unit_ms) {
            Some(unit) => {
                self.at += 1;
                let value = count.as_ref().map_or(1.0, |(value, _)| *value);
                Ok((factor * value * unit, is_bare))
            }
            None if count.is_some() => Err(self.unexpected("the unit of the time is missing")),
            None => Err(self.unexpected("a time is expected here, such as 3 minutes")),
        }
    }

    /// What follows a number.
    fn counted(&mut self, count: f64, place: &Range<usize>) -> Reading<DemandSentence> {
        self.accept(&["of"]);
        self.accept(&["concurrent", "simultaneous", "open"]);
        let Some(word) = self.peek() else {
            return Err(self.unexpected("of what? people, requests or WebSockets"));
        };
        if word == "/" || matches!(word, "a" | "per") {
            return self.requests(count, place);
        }
        if SOCKETS.contains(&word) {
            self.at += 1;
            self.accept(&["open"]);
            return self.sockets(count, place, "users");
        }
        if REQUESTS.contains(&word) || (word == "page" && self.peek_at(1) == Some("views")) {
            self.at += 1 + usize::from(word == "page");
            if let Some(unit_s) = match word {
                "rps" | "qps" => Some(1),
                "rpm" => Some(60),
                _ => None,
            } {
                return requests(count, Duration::from_secs(unit_s), place);
            }
            return self.requests(count, place);
        }
        if EVENTS.contains(&word) {
            self.at += 1;
            if word == "sessions" && !self.is_spread() {
                return at_once(count, place, word);
            }
            return self.arrivals(count, place, word);
        }
        if PEOPLE.contains(&word) {
            self.at += 1;
            return self.people(count, place, word);
        }
        Err(self.unexpected("not a word for people, requests or WebSockets"))
    }

    /// Whether the next words are a time in which something is spread.
    fn is_spread(&self) -> bool {
        self.peek()
            .is_some_and(|word| word == "/" || WITHIN.contains(&word))
    }

    /// `within 3 minutes`, `a second`, `per hour`, `/s`.
    fn spread_over(&mut self) -> Reading<Duration> {
        if !self.is_spread() {
            return Err(self.unexpected(
                "over what time? such as `within 3 minutes`, `a second` or `per hour`",
            ));
        }
        let is_article = self.peek().is_some_and(|word| matches!(word, "a" | "an"));
        if !is_article {
            self.at += 1;
        }
        self.time()
    }

    fn requests(&mut self, count: f64, place: &Range<usize>) -> Reading<DemandSentence> {
        let within = self.spread_over()?;
        requests(count, within, place)
    }

    fn arrivals(
        &mut self,
        count: f64,
        place: &Range<usize>,
        event: &str,
    ) -> Reading<DemandSentence> {
        let within = self.spread_over()?;
        arrivals(count, event, within, place)
    }

    /// People: with a pause, with sockets, with what they do within a time, or at once.
    fn people(&mut self, count: f64, place: &Range<usize>, noun: &str) -> Reading<DemandSentence> {
        let after_noun = self.at;
        while self.accept(&AT_ONCE) {}
        if self.peek().is_none() {
            return at_once(count, place, noun);
        }
        if self.accept(&["with", "holding", "hold"]) {
            return self.with(count, place, noun);
        }
        let is_relative = self.accept(&["who", "that", "which"]);
        self.accept(&["each"]);
        if self.accept(&PAUSES) {
            return self.pausing(count, place, noun);
        }
        if self.accept(&CLICKS) {
            self.accept(&["once"]);
            if !self.accept(&["every", "each", "per"]) {
                return Err(self.unexpected("how often? such as `every 10 seconds`"));
            }
            let within = self.time()?;
            return requests(count, within, place);
        }
        if !is_relative {
            // `in 3 minutes` is no activity.
            self.at = after_noun;
        }
        self.activity(count, place)
    }

    /// `log in within 3 minutes`: words without a meaning of their own, then a time.
    fn activity(&mut self, count: f64, place: &Range<usize>) -> Reading<DemandSentence> {
        let first = self.peek().unwrap_or_default();
        let verb = VERBS.iter().find(|(verb, _)| *verb == first);
        let event = match (verb, self.peek_at(1)) {
            (Some(("sign", _)), Some("up")) => "sign-ups",
            (Some((_, event)), _) => event,
            (None, _) => "arrivals",
        };
        for _ in 0..=FREE_WORDS_MAX {
            if self.is_time_ahead() || self.is_time_begun() {
                return self.arrivals(count, place, event);
            }
            match self.peek() {
                None => {
                    return Err(self.unexpected(
                        "over what time? such as `within 3 minutes`, or at once: `who pause ten seconds`",
                    ));
                }
                Some(word) if has_meaning(word) => break,
                Some(_) => self.at += 1,
            }
        }
        Err(self.unexpected("this is not understood"))
    }

    /// Whether a word such as `within` and a time come next.
    fn is_time_ahead(&self) -> bool {
        if !self.is_spread() {
            return false;
        }
        let is_article = self.peek().is_some_and(|word| matches!(word, "a" | "an"));
        let mut ahead = Reader {
            at: self.at + usize::from(!is_article),
            ..*self
        };
        ahead.time().is_ok()
    }

    /// Whether a word such as `within` and a number come next, which must be a time.
    fn is_time_begun(&self) -> bool {
        let is_spread = matches!(self.peek(), Some("within" | "in" | "over" | "during"));
        is_spread && self.peek_at(1).is_some_and(number::is_number)
    }

    /// The pause of users: `ten seconds`, `for 5s between pages`.
    fn pausing(&mut self, count: f64, place: &Range<usize>, noun: &str) -> Reading<DemandSentence> {
        self.accept(&["for"]);
        self.accept(&ABOUT);
        let pause = self.time()?;
        if self.accept(&["between", "after", "before"]) {
            self.accept(&["each", "every", "two", "the"]);
            if !self.accept(&[
                "requests", "pages", "clicks", "request", "page", "click", "steps",
            ]) {
                return Err(self.unexpected("between what? such as `between requests`"));
            }
        }
        Ok(DemandSentence::Users {
            count: users(count, place)?,
            noun: noun.to_owned(),
            pause: Some(pause),
        })
    }

    /// `with open WebSockets`, `with a pause of ten seconds`.
    fn with(&mut self, count: f64, place: &Range<usize>, noun: &str) -> Reading<DemandSentence> {
        self.accept(&["a", "an", "one"]);
        if self.accept(&["pause", "pauses", "think"]) {
            self.accept(&["time"]);
            self.accept(&["of"]);
            return self.pausing(count, place, noun);
        }
        self.accept(&["open", "live"]);
        self.accept(&["event", "live"]);
        if self.accept(&SOCKETS) {
            self.accept(&["open", "each"]);
            return self.sockets(count, place, noun);
        }
        Err(self.unexpected("with what? `open WebSockets`, or `a pause of ten seconds`"))
    }

    fn sockets(&mut self, count: f64, place: &Range<usize>, noun: &str) -> Reading<DemandSentence> {
        let lasting = if self.accept(&["for", "during"]) {
            Some(self.time()?)
        } else {
            None
        };
        Ok(DemandSentence::Sockets {
            count: users(count, place)?,
            noun: noun.to_owned(),
            lasting,
        })
    }

    /// Whether the sentence is about a log: it has a factor, or a file that comes `from` somewhere.
    fn is_of_log(&self) -> bool {
        let texts = || self.tokens.iter().map(|token| token.text.as_str());
        texts().any(|text| matches!(text, "times" | "x" | "twice" | "thrice" | "from"))
            && !texts().any(|text| SOCKETS.contains(&text))
    }

    /// `a sale at nine, ten times a usual Monday from access.log`.
    fn of_log(&mut self) -> Reading<DemandSentence> {
        let mut at = self.occasion()?;
        let factor = self.factor()?;
        self.accept(&["as", "of"]);
        self.accept(&["much", "many"]);
        self.accept(&["as"]);
        let day = self.log_day()?;
        if !self.accept(&["from", "of", "in", "by"]) {
            return Err(self.unexpected("of which log? such as `from access.log`"));
        }
        self.accept(&["the"]);
        let file = self.file()?;
        if self.accept(&["at"]) {
            at = Some(self.clock_time()?);
        }
        if self.peek().is_some() {
            return Err(self.unexpected("this is not understood"));
        }
        Ok(DemandSentence::OfLog(LogDemand {
            factor,
            day,
            at,
            file,
        }))
    }

    /// Words before the factor, such as `a sale at nine`: only the time has a meaning.
    fn occasion(&mut self) -> Reading<Option<u16>> {
        for _ in 0..=FREE_WORDS_MAX {
            if self.is_factor() {
                return Ok(None);
            }
            if self.accept(&["at"]) {
                return self.clock_time().map(Some);
            }
            if self.peek().is_none_or(has_meaning) {
                break;
            }
            self.at += 1;
        }
        Err(self.unexpected("how many times as much? such as `ten times a usual Monday`"))
    }

    fn is_factor(&self) -> bool {
        let mut ahead = Reader { ..*self };
        ahead.factor().is_ok()
    }

    /// `ten times`, `10x`, `twice`.
    fn factor(&mut self) -> Reading<f64> {
        if self.accept(&["twice", "double"]) {
            return Ok(2.0);
        }
        if self.accept(&["thrice"]) {
            return Ok(3.0);
        }
        let (factor, span) = self.number_or("how many times as much? such as `ten times`")?;
        if !self.accept(&["times", "x", "fold"]) {
            return Err(self.unexpected("`times` is expected after the number"));
        }
        if !(1e-3..=1e6).contains(&factor) {
            let message = "a factor is from 0.001 to 1,000,000".to_owned();
            return Err(NoForm { span, message });
        }
        Ok(factor)
    }

    /// `a usual Monday`, `the busiest day`, `Monday`.
    fn log_day(&mut self) -> Reading<LogDay> {
        self.accept(&["a", "an", "the"]);
        let is_busiest = self.accept(&["busiest", "worst", "peak"]);
        if !is_busiest {
            self.accept(&["usual", "normal", "typical", "average", "ordinary"]);
        }
        let weekday = self.peek().and_then(weekday);
        if weekday.is_some() || matches!(self.peek(), Some("day" | "days")) {
            self.at += 1;
            return Ok(LogDay {
                is_busiest,
                weekday,
            });
        }
        Err(self.unexpected("of which day? `a usual day`, `the busiest day`, `a usual Monday`"))
    }

    /// A path: all up to the next space, or in double quotes.
    fn file(&mut self) -> Reading<String> {
        let Some(token) = self.tokens.get(self.at) else {
            return Err(self.unexpected("the name of the log is missing"));
        };
        let start = token.span.start;
        let end = word_end(self.input, start);
        while self
            .tokens
            .get(self.at)
            .is_some_and(|token| token.span.start < end)
        {
            self.at += 1;
        }
        let word = &self.input[start..end];
        let path = match word.strip_prefix('"').map(|rest| rest.split_once('"')) {
            Some(Some((path, _))) => path,
            _ => word.trim_end_matches([',', ';']),
        };
        if path.is_empty() || path.contains(['"', '\0']) {
            let message = "not the name of a log".to_owned();
            return Err(NoForm {
                span: start..end,
                message,
            });
        }
        Ok(path.to_owned())
    }

    /// `nine`, `9`, `9:30`, `9 am`, `noon`, `nine o'clock`: minutes since midnight.
    fn clock_time(&mut self) -> Reading<u16> {
        let error = self.unexpected("a time of the day is expected, such as nine, 9:30 or 9 pm");
        let Some(word) = self.peek() else {
            return Err(error);
        };
        self.at += 1;
        if let "noon" | "midnight" = word {
            return Ok(if word == "noon" { 720 } else { 0 });
        }
        let (hour, minute) = word.split_once(':').unwrap_or((word, "0"));
        let hour = number::small(hour).or_else(|| number::digits(hour));
        let minute = number::digits(minute).filter(|minute| *minute < 60.0);
        let (Some(mut hour), Some(minute)) = (hour, minute) else {
            return Err(error);
        };
        if !self.tokens[self.at - 1].ends_phrase {
            self.accept(&["o'clock", "oclock"]);
            let is_after = self.peek().is_some_and(|word| matches!(word, "pm" | "p.m"));
            if is_after || self.peek().is_some_and(|word| matches!(word, "am" | "a.m")) {
                self.at += 1;
                if !(1.0..=12.0).contains(&hour) {
                    return Err(error);
                }
                hour = hour % 12.0 + if is_after { 12.0 } else { 0.0 };
            }
        }
        if hour.fract() != 0.0 || minute.fract() != 0.0 || hour >= 24.0 {
            return Err(error);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a minute of the day"
        )]
        let minute = (hour * 60.0 + minute) as u16;
        Ok(minute)
    }
}

/// Three digits that continue a number.
fn is_group(word: &str) -> bool {
    word.len() == 3 && word.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a word would mean something elsewhere, so that leaving it out could change the demand.
fn has_meaning(word: &str) -> bool {
    const OTHER: [&str; 6] = ["not", "never", "each", "every", "times", "/"];
    number::is_number(word)
        || SOCKETS.contains(&word)
        || REQUESTS.contains(&word)
        || PEOPLE.contains(&word)
        || OTHER.contains(&word)
}

pub(super) fn weekday(word: &str) -> Option<u8> {
    let word = word.strip_suffix('s').unwrap_or(word);
    let index = WEEKDAYS
        .iter()
        .position(|name| name.eq_ignore_ascii_case(word))?;
    u8::try_from(index).ok()
}

fn users(count: f64, place: &Range<usize>) -> Reading<u32> {
    if !(1.0..=USERS_MAX).contains(&count) || count.fract() != 0.0 {
        return Err(NoForm {
            span: place.clone(),
            message: "a number of users is a whole number from 1 to 10,000,000".to_owned(),
        });
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number up to ten million"
    )]
    let count = count as u32;
    Ok(count)
}

/// Users at once, of whom the sentence does not tell how they pause.
fn at_once(count: f64, place: &Range<usize>, noun: &str) -> Reading<DemandSentence> {
    Ok(DemandSentence::Users {
        count: users(count, place)?,
        noun: noun.to_owned(),
        pause: None,
    })
}

fn spread(count: f64, within: Duration, place: &Range<usize>) -> Reading<()> {
    let rate = count / within.as_secs_f64();
    if rate > 0.0 && rate <= RATE_MAX && count <= 1e12 {
        return Ok(());
    }
    Err(NoForm {
        span: place.clone(),
        message: "a rate is above 0 and at most 10,000,000 a second".to_owned(),
    })
}

fn requests(count: f64, within: Duration, place: &Range<usize>) -> Reading<DemandSentence> {
    spread(count, within, place)?;
    Ok(DemandSentence::Requests { count, within })
}

fn arrivals(
    count: f64,
    event: &str,
    within: Duration,
    place: &Range<usize>,
) -> Reading<DemandSentence> {
    spread(count, within, place)?;
    Ok(DemandSentence::Arrivals {
        count,
        event: event.to_owned(),
        within,
    })
}
