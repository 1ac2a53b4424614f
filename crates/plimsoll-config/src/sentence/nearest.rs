//! The form that is nearest to a text: its shape by the words that were understood, with the text's own numbers.

use super::WEEKDAYS;
use super::forms::{Reader, weekday};
use super::number;
use super::token::{Token, tokens};
use super::words::{
    CLICKS, EVENTS, PAUSES, PEOPLE, REQUESTS, SOCKETS, VERBS, count_text, duration_words,
};

/// Letters of a word that may be wrong.
const MISSPELT_MAX: usize = 2;
/// What is used where the text has none.
const COUNT: &str = "3,000";
const TIME: &str = "3 minutes";
const PAUSE: &str = "ten seconds";

/// A sentence of one of the forms.
pub(super) fn form(input: &str, words: &[Token]) -> String {
    let form = shaped(input, words);
    // A number of the text may be out of range in this form.
    if is_read(&form) {
        form
    } else {
        format!("{COUNT} users who pause {PAUSE}")
    }
}

fn is_read(form: &str) -> bool {
    Reader::new(form, &tokens(form)).sentence().is_ok()
}

fn shaped(input: &str, tokens: &[Token]) -> String {
    let has = |words: &[&str]| {
        tokens
            .iter()
            .any(|token| near(&token.text, words).is_some())
    };
    let is_of_log = tokens.iter().any(|token| {
        matches!(token.text.as_str(), "times" | "twice" | "usual" | "busiest")
            || weekday(&token.text).is_some()
            || is_file(&token.text)
    });
    if is_of_log {
        return of_log(input, tokens);
    }
    let (count, time) = Reader::new(input, tokens).count_and_time();
    let count = count.filter(|count| *count > 0.0);
    let count = count.map_or_else(|| COUNT.to_owned(), count_text);
    let time = time.map(duration_words);
    let people = tokens.iter().find_map(|token| near(&token.text, &PEOPLE));
    let people = people.unwrap_or("users");
    let has_exactly = |words: &[&str]| {
        let mut texts = tokens.iter().map(|token| token.text.as_str());
        texts.any(|text| words.contains(&text))
    };
    if has_exactly(&REQUESTS) && !has_exactly(&PAUSES) {
        return format!("{count} requests a second");
    }
    if has(&SOCKETS) {
        let time = time.unwrap_or_else(|| "1 hour".to_owned());
        return format!("{count} {people} with open WebSockets for {time}");
    }
    if has(&PAUSES) || has(&CLICKS) {
        let time = time.unwrap_or_else(|| PAUSE.to_owned());
        return format!("{count} {people} who pause {time}");
    }
    if let Some(event) = tokens.iter().find_map(|token| near(&token.text, &EVENTS)) {
        let time = time.unwrap_or_else(|| TIME.to_owned());
        return format!("{count} {event} within {time}");
    }
    let is_of_people = tokens
        .iter()
        .any(|token| near(&token.text, &PEOPLE).is_some());
    match time {
        _ if has(&REQUESTS) && !is_of_people => format!("{count} requests a second"),
        Some(time) => format!("{count} {people} log in within {time}"),
        None if has(&VERBS.map(|(verb, _)| verb)) => {
            format!("{count} {people} log in within {TIME}")
        }
        None if is_of_people => format!("{count} {people} who pause {PAUSE}"),
        None => format!("{count} requests a second"),
    }
}

/// The word itself, or the one that it misspells.
fn near<'a>(word: &str, words: &[&'a str]) -> Option<&'a str> {
    let own = words.iter().find(|candidate| **candidate == word);
    // A short word is near to many others.
    let others = words.iter().filter(|_| word.len() >= 5);
    own.or_else(|| {
        others
            .map(|other| (strsim::damerau_levenshtein(word, other), other))
            .filter(|(distance, _)| *distance <= MISSPELT_MAX)
            .min()
            .map(|(_, other)| other)
    })
    .copied()
}

fn is_file(word: &str) -> bool {
    [".log", ".gz", ".zst", ".json"]
        .iter()
        .any(|ending| word.ends_with(ending))
}

fn of_log(input: &str, tokens: &[Token]) -> String {
    let day = tokens.iter().find_map(|token| weekday(&token.text));
    let day = day.and_then(|day| WEEKDAYS.get(usize::from(day)));
    let file = tokens.iter().find(|token| is_file(&token.text));
    let file = file.map_or("access.log", |token| {
        input[token.span.clone()].trim_matches('"')
    });
    let factor = tokens.windows(2).find_map(|pair| {
        let value = number::digits(&pair[0].text).or_else(|| number::small(&pair[0].text))?;
        matches!(pair[1].text.as_str(), "times" | "x").then(|| count_text(value))
    });
    format!(
        "{} times a usual {} from {file}",
        factor.unwrap_or_else(|| "10".to_owned()),
        day.unwrap_or(&"day")
    )
}
