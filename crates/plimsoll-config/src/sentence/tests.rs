use proptest::prelude::*;

use super::*;

/// Sentences, and their plain forms.
const READ: [(&str, &str); 28] = [
    (
        "12,000 people log in within 3 minutes",
        "12,000 logins within 3 minutes",
    ),
    (
        "about 12 000 students sign in in 3 min",
        "12,000 sign-ins within 3 minutes",
    ),
    ("12000 logins in 3m", "12,000 logins within 3 minutes"),
    (
        "twelve thousand candidates submit their work within an hour and thirty minutes",
        "12,000 submissions within 90 minutes",
    ),
    (
        "12k people open the start page in half an hour",
        "12,000 arrivals within 30 minutes",
    ),
    ("5,000 orders an hour", "5,000 orders within 1 hour"),
    ("2 million visits per day", "2,000,000 visits within 1 day"),
    (
        "a hundred sessions per minute",
        "100 sessions within 1 minute",
    ),
    (
        "3,000 users who pause ten seconds",
        "3,000 users who pause 10 seconds",
    ),
    (
        "3000 customers each pausing for about 1.5s between pages",
        "3,000 customers who pause 1500 milliseconds",
    ),
    (
        "3,000 users with a pause of 10s",
        "3,000 users who pause 10 seconds",
    ),
    (
        "3,000 users who click every 10 seconds",
        "3,000 requests within 10 seconds",
    ),
    ("3,000 concurrent users", "3,000 users"),
    ("3000-users", "3,000 users"),
    ("500 readers at the same time", "500 readers"),
    ("300 sessions", "300 sessions"),
    ("200 requests a second", "200 requests within 1 second"),
    ("200/s", "200 requests within 1 second"),
    ("200 req/s", "200 requests within 1 second"),
    ("200 rps", "200 requests within 1 second"),
    (
        "12,000 page views per minute",
        "12,000 requests within 1 minute",
    ),
    (
        "1,500 requests every 10 seconds",
        "1,500 requests within 10 seconds",
    ),
    (
        "500 viewers with open WebSockets for an hour",
        "500 viewers with open WebSockets for 1 hour",
    ),
    ("500 open websockets", "500 users with open WebSockets"),
    (
        "500 players with one connection each for 90 minutes",
        "500 players with open WebSockets for 90 minutes",
    ),
    (
        "a sale at nine, ten times a usual Monday from access.log",
        "10 times a usual Monday from \"access.log\" at 09:00",
    ),
    (
        "twice the busiest day of /var/log/Nginx/access.log.1",
        "2 times the busiest day from \"/var/log/Nginx/access.log.1\"",
    ),
    (
        "1.5x a usual day from \"my logs/a.log\" at 9:30 pm",
        "1.5 times a usual day from \"my logs/a.log\" at 21:30",
    ),
];

/// Texts, the place that is not understood, and the nearest form; without a form where the text is one.
const REFUSED: [(&str, &str, &str); 20] = [
    ("", "", "3,000 requests a second"),
    ("many people", "many", "3,000 people who pause ten seconds"),
    ("12,000 people", "", ""),
    (
        "12,000 people log in",
        "",
        "12,000 people log in within 3 minutes",
    ),
    (
        "12,000 people log in within 3",
        "",
        "12,000 people log in within 3 minutes",
    ),
    (
        "12,000 poeple log in within 3 minutes",
        "poeple",
        "12,000 people log in within 3 minutes",
    ),
    (
        "12,000 people send 5 requests each within 3 minutes",
        "5",
        "12,000 requests a second",
    ),
    (
        "12,000 people do not log in within 3 minutes",
        "not",
        "12,000 people log in within 3 minutes",
    ),
    ("1,5 requests a second", "1,5", "3,000 requests a second"),
    ("200 requests", "", "200 requests a second"),
    ("200", "", "200 requests a second"),
    ("0 users", "0", "3,000 users who pause ten seconds"),
    ("1.5 users", "1.5", "3,000 users who pause ten seconds"),
    ("90 logins", "", "90 logins within 3 minutes"),
    (
        "3000 users who pause",
        "",
        "3,000 users who pause ten seconds",
    ),
    (
        "500 viewers with flags",
        "flags",
        "500 viewers who pause ten seconds",
    ),
    (
        "ten times a Moonday from access.log",
        "moonday",
        "10 times a usual day from access.log",
    ),
    (
        "ten times a usual Monday",
        "",
        "10 times a usual Monday from access.log",
    ),
    (
        "a sale at 25, ten times a usual Monday from a.log",
        "25",
        "10 times a usual Monday from a.log",
    ),
    (
        "200 requests a second tomorrow",
        "tomorrow",
        "200 requests a second",
    ),
];

/// The plain form of a sentence.
fn plain(text: &str) -> String {
    match sentence(text) {
        Ok(sentence) => sentence.to_string(),
        Err(problem) => panic!("{problem}"),
    }
}

#[test]
fn each_form_has_one_meaning() {
    for (text, right) in READ {
        assert_eq!(plain(text), right, "{text}");
        assert_eq!(sentence(&plain(text)), sentence(text), "{text}");
    }
}

#[test]
fn what_is_no_form_is_refused_with_the_nearest() {
    for (text, place, nearest) in REFUSED {
        if nearest.is_empty() {
            assert_eq!(plain(text), text);
            continue;
        }
        let problem = sentence(text).unwrap_err();
        assert_eq!(
            problem.input[problem.span.clone()].to_lowercase(),
            place,
            "{text}: {problem}"
        );
        assert_eq!(
            problem.nearest.as_deref(),
            Some(nearest),
            "{text}: {problem}"
        );
    }
}

#[test]
fn every_example_is_a_form() {
    for example in FORMS {
        assert!(sentence(example).is_ok(), "{example}");
    }
}

/// Words that occur in sentences, and some that do not.
fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "12,000",
        "3",
        "a",
        "an",
        "half",
        "ten",
        "hundred",
        "k",
        "people",
        "users",
        "who",
        "pause",
        "each",
        "every",
        "within",
        "in",
        "minutes",
        "second",
        "/",
        "requests",
        "logins",
        "with",
        "open",
        "WebSockets",
        "for",
        "times",
        "twice",
        "usual",
        "busiest",
        "Monday",
        "day",
        "from",
        "access.log",
        "\"a b\"",
        "at",
        "nine",
        "9:30",
        "pm",
        "log",
        "and",
        "not",
        "ü",
        ",",
    ])
}

proptest! {
    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(word(), 0..12)) {
        check(&words.join(" "));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
        check(&text);
    }
}

/// What is read means the same in its plain form; what is refused names a place and a form that is read.
fn check(text: &str) {
    match sentence(text) {
        Ok(read) => assert_eq!(sentence(&read.to_string()), Ok(read), "{text}"),
        Err(problem) => {
            assert!(problem.input.get(problem.span.clone()).is_some(), "{text}");
            let nearest = problem.nearest.unwrap();
            assert!(sentence(&nearest).is_ok(), "{text}: {nearest}");
        }
    }
}
