//! How the edge stands, in a sentence.

use plimsoll_net::reason::Reason;

use super::condition::{ConditionKind, Conditions};
use super::format::{about, count, percent, since, time};
use super::report::WrongCondition;
use super::window::Answers;

/// Shares below this are not worth a word in the sentence.
const SHARE_MIN: f64 = 0.001;

/// What the sentence is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing<'a> {
    /// The moment, s since 1970.
    pub(super) at: f64,
    pub(super) answers: Answers,
    /// What the servers carry at most, req/s.
    pub(super) capacity: Option<f64>,
    /// The most frequent reason of fallbacks, and of refusals.
    pub(super) fallback_cause: Option<Reason>,
    pub(super) refusal_cause: Option<Reason>,
    /// 99th percentile of the last minute, ms.
    pub(super) p99_ms: Option<f64>,
    /// What is wrong, what matters most first.
    pub(super) wrong: &'a [WrongCondition],
}

/// `Carrying 812 of about 1,040 req/s; 3 % get the fallback because the queue is full since 14:02 UTC.`
pub(super) fn sentence(standing: &Standing<'_>, conditions: &Conditions) -> String {
    let answers = standing.answers;
    let mut parts = vec![carrying(&answers, standing.capacity)];
    let all = answers.all();
    let share = |rate: f64| if all > 0.0 { rate / all } else { 0.0 };
    let mut has_reason = false;
    for (rate, verb, cause) in [
        (
            answers.fallback,
            "get the fallback",
            standing.fallback_cause,
        ),
        (answers.refused, "are turned away", standing.refusal_cause),
    ] {
        if share(rate) < SHARE_MIN {
            continue;
        }
        let why = cause.and_then(because);
        let why = why.map(|(words, kind)| {
            has_reason = true;
            let begun = kinds(kind).find_map(|kind| conditions.since(kind));
            let begun = begun.map(|begun| format!(" since {}", since(begun, standing.at)));
            format!(" because {words}{}", begun.unwrap_or_default())
        });
        parts.push(format!(
            "{} {verb}{}",
            percent(share(rate)),
            why.unwrap_or_default()
        ));
    }
    if share(answers.failed) >= SHARE_MIN {
        parts.push(format!(
            "{} fail at the servers",
            percent(share(answers.failed))
        ));
    }
    if !has_reason && let Some(first) = standing.wrong.first() {
        let begun = since(first.since, standing.at);
        parts.push(format!("{} since {begun}", lower_first(&first.text)));
    }
    if parts.len() == 1
        && answers.offered > 0.0
        && let Some(p99) = standing.p99_ms
    {
        parts.push(format!("99 % are answered within {}", time(p99)));
    }
    format!("{}.", parts.join("; "))
}

fn carrying(answers: &Answers, capacity: Option<f64>) -> String {
    if answers.offered <= 0.0 && answers.all() <= 0.0 {
        return "Idle: no request in the last ten seconds".to_owned();
    }
    let of = capacity.map_or_else(String::new, |most| format!(" of about {}", about(most)));
    let by_server = (answers.server - answers.failed).max(0.0);
    if answers.cache > 0.0 {
        // What the servers carry at most says nothing about what the cache answers.
        return format!(
            "Carrying {} req/s: the cache answers {}, the servers {}{of}",
            count(answers.carried()),
            count(answers.cache),
            count(by_server),
        );
    }
    format!("Carrying {}{of} req/s", count(by_server))
}

/// Why there is no room, and the condition that began with it.
fn because(reason: Reason) -> Option<(&'static str, ConditionKind)> {
    match reason {
        Reason::QueueFull => Some(("the queue is full", ConditionKind::QueueFull)),
        Reason::QueueTimeout => Some(("no server had room in time", ConditionKind::QueueTimeout)),
        Reason::Shed => Some(("other requests go first", ConditionKind::Shed)),
        Reason::NoServer => Some(("no server answers", ConditionKind::NoServer)),
        _ => None,
    }
}

/// The conditions that may have begun with it, the first that holds counts.
fn kinds(kind: ConditionKind) -> impl Iterator<Item = ConditionKind> {
    let also = match kind {
        ConditionKind::NoServer => Some(ConditionKind::PoolDown),
        ConditionKind::Shed => Some(ConditionKind::MemoryFull),
        _ => None,
    };
    also.into_iter().chain([kind])
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::super::condition::FoundCondition;
    use super::*;

    /// 2026-11-27 14:02 UTC.
    const BEGAN: f64 = 1_795_788_120.0;

    fn holds(kind: ConditionKind, text: &str) -> (Conditions, Vec<WrongCondition>) {
        let mut conditions = Conditions::default();
        let found = FoundCondition {
            kind,
            subject: String::new(),
            text: text.to_owned(),
            remedy: String::new(),
        };
        let wrong = conditions.follow(vec![found], BEGAN);
        (conditions, wrong)
    }

    #[test]
    fn overload_is_told_with_its_reason_and_its_beginning() {
        let (conditions, wrong) = holds(ConditionKind::QueueFull, "The queue is full");
        let standing = Standing {
            at: BEGAN + 300.0,
            answers: Answers {
                offered: 837.0,
                server: 812.0,
                fallback: 25.0,
                ..Answers::default()
            },
            capacity: Some(1_043.0),
            fallback_cause: Some(Reason::QueueFull),
            wrong: &wrong,
            ..Standing::default()
        };
        assert_eq!(
            sentence(&standing, &conditions),
            "Carrying 812 of about 1,040 req/s; 3 % get the fallback because the queue is full since 14:02 UTC."
        );
        let unknown = Standing {
            capacity: None,
            ..standing
        };
        assert!(sentence(&unknown, &conditions).starts_with("Carrying 812 req/s; 3 %"));
        let dropped = Standing {
            answers: Answers {
                fallback: 0.0,
                refused: 203.0,
                ..standing.answers
            },
            fallback_cause: None,
            refusal_cause: Some(Reason::QueueFull),
            ..standing
        };
        assert!(
            sentence(&dropped, &conditions)
                .ends_with("20 % are turned away because the queue is full since 14:02 UTC.")
        );
    }

    #[test]
    fn what_is_well_is_told_in_short() {
        let conditions = Conditions::default();
        let standing = Standing {
            at: BEGAN,
            answers: Answers {
                offered: 812.0,
                server: 300.0,
                cache: 512.0,
                ..Answers::default()
            },
            capacity: Some(400.0),
            p99_ms: Some(84.0),
            ..Standing::default()
        };
        assert_eq!(
            sentence(&standing, &conditions),
            "Carrying 812 req/s: the cache answers 512, the servers 300 of about 400; 99 % are answered within 84 ms."
        );
        let idle = Standing {
            at: BEGAN,
            ..Standing::default()
        };
        assert_eq!(
            sentence(&idle, &conditions),
            "Idle: no request in the last ten seconds."
        );
    }

    #[test]
    fn a_fault_without_refusals_is_told_as_such() {
        let (conditions, wrong) = holds(
            ConditionKind::ServerDown,
            "Server b of pool app fails its health checks",
        );
        let standing = Standing {
            at: BEGAN + 60.0,
            answers: Answers {
                offered: 10.0,
                server: 10.0,
                failed: 1.0,
                ..Answers::default()
            },
            wrong: &wrong,
            p99_ms: Some(84.0),
            ..Standing::default()
        };
        assert_eq!(
            sentence(&standing, &conditions),
            "Carrying 9 req/s; 10 % fail at the servers; server b of pool app fails its health checks since 14:02 UTC."
        );
    }
}
