//! Words that have a meaning, and how numbers and times are written.

use std::time::Duration;

/// Who uses a service.
pub(super) const PEOPLE: [&str; 44] = [
    "people",
    "users",
    "user",
    "persons",
    "person",
    "visitors",
    "visitor",
    "viewers",
    "candidates",
    "students",
    "pupils",
    "teachers",
    "customers",
    "readers",
    "clients",
    "players",
    "members",
    "shoppers",
    "buyers",
    "subscribers",
    "fans",
    "guests",
    "employees",
    "citizens",
    "voters",
    "attendees",
    "participants",
    "patients",
    "drivers",
    "listeners",
    "families",
    "devices",
    "phones",
    "browsers",
    "listeners",
    "editors",
    "authors",
    "applicants",
    "passengers",
    "followers",
    "spectators",
    "tenants",
    "consultants",
    "sellers",
];

/// What they do once, as nouns.
pub(super) const EVENTS: [&str; 24] = [
    "logins",
    "log-ins",
    "sign-ins",
    "signups",
    "sign-ups",
    "registrations",
    "orders",
    "purchases",
    "checkouts",
    "visits",
    "votes",
    "bookings",
    "payments",
    "submissions",
    "uploads",
    "downloads",
    "arrivals",
    "sales",
    "tickets",
    "transactions",
    "sessions",
    "searches",
    "applications",
    "journeys",
];

/// Requests.
pub(super) const REQUESTS: [&str; 15] = [
    "requests",
    "request",
    "req",
    "reqs",
    "hits",
    "calls",
    "queries",
    "pages",
    "pageviews",
    "views",
    "responses",
    "rps",
    "rpm",
    "qps",
    "gets",
];

/// Verbs, and what one of them is called; the first word decides.
pub(super) const VERBS: [(&str, &str); 18] = [
    ("log", "logins"),
    ("login", "logins"),
    ("sign", "sign-ins"),
    ("register", "registrations"),
    ("order", "orders"),
    ("buy", "purchases"),
    ("check", "checkouts"),
    ("visit", "visits"),
    ("vote", "votes"),
    ("book", "bookings"),
    ("pay", "payments"),
    ("submit", "submissions"),
    ("upload", "uploads"),
    ("download", "downloads"),
    ("search", "searches"),
    ("apply", "applications"),
    ("purchase", "purchases"),
    ("reserve", "bookings"),
];

/// Verbs of a pause.
pub(super) const PAUSES: [&str; 9] = [
    "pause", "pausing", "think", "thinking", "wait", "waiting", "rest", "read", "reading",
];
/// Verbs of a request each so often.
pub(super) const CLICKS: [&str; 8] = [
    "click",
    "clicking",
    "request",
    "requesting",
    "poll",
    "polling",
    "reload",
    "reloading",
];
/// Words before a time in which something is spread.
pub(super) const WITHIN: [&str; 9] = [
    "within", "in", "over", "during", "per", "a", "an", "every", "each",
];
/// What is held open.
pub(super) const SOCKETS: [&str; 10] = [
    "websocket",
    "websockets",
    "web-sockets",
    "sockets",
    "socket",
    "connections",
    "connection",
    "streams",
    "ws",
    "eventsources",
];
/// Words that change nothing at the beginning of a sentence.
pub(super) const ABOUT: [&str; 9] = [
    "about",
    "around",
    "roughly",
    "approximately",
    "nearly",
    "almost",
    "for",
    "the",
    "our",
];
/// Words that make users of a number of users at once, which it is anyway.
pub(super) const AT_ONCE: [&str; 12] = [
    "at",
    "once",
    "the",
    "same",
    "time",
    "online",
    "concurrently",
    "simultaneously",
    "concurrent",
    "simultaneous",
    "active",
    "together",
];

/// Milliseconds of a unit of time.
pub(super) fn unit_ms(word: &str) -> Option<f64> {
    Some(match word {
        "ms" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e3,
        "m" | "min" | "mins" | "minute" | "minutes" => 60e3,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600e3,
        "day" | "days" => 86_400e3,
        "week" | "weeks" => 7.0 * 86_400e3,
        _ => return None,
    })
}

/// A number with commas between thousands.
pub(super) fn count_text(count: f64) -> String {
    let text = count.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if fraction.is_empty() {
        grouped
    } else {
        format!("{grouped}.{fraction}")
    }
}

/// A time in the largest unit of which it is a whole number: `3 minutes`.
pub(super) fn duration_words(time: Duration) -> String {
    const UNITS: [(&str, u128); 5] = [
        ("day", 86_400_000),
        ("hour", 3_600_000),
        ("minute", 60_000),
        ("second", 1000),
        ("millisecond", 1),
    ];
    let ms = time.as_millis();
    let whole = UNITS.iter().find(|(_, unit)| ms.is_multiple_of(*unit));
    let (unit, len) = whole.unwrap_or(&("millisecond", 1));
    let count = ms / len;
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
