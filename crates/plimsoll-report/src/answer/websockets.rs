//! What became of WebSockets, in sentences.

use std::fmt::Write as _;
use std::time::Duration;

use plimsoll_analysis::summary::websockets::WebSocketSummary;
use plimsoll_model::plan::Load;
use plimsoll_model::websocket::WebSocketLoad;

use crate::number::{count, micros, percent, short};

/// Causes, codes or faults that are told of each kind.
const KINDS_MAX: usize = 4;

/// How many were opened, and which were not.
pub(crate) fn opened(seen: &WebSocketSummary) -> String {
    let mut texts = vec![format!("{} opened", count(seen.connected))];
    if let Some(times) = &seen.handshake_us {
        texts.push(format!(
            "handshake p50 {}, p99 {}",
            micros(times.p50),
            micros(times.p99)
        ));
    }
    if seen.failed() > 0 {
        let causes = kinds(seen.failures.iter());
        texts.push(format!("{} failed ({causes})", count(seen.failed())));
    }
    if seen.closed() > 0 {
        let codes = kinds(seen.close_codes.iter());
        texts.push(format!(
            "{} closed by the target (code {codes})",
            count(seen.closed())
        ));
    }
    if seen.reconnected + seen.reconnects_failed > 0 {
        let mut text = format!("{} opened again", count(seen.reconnected));
        if let Some(times) = &seen.reconnect_us {
            let (p50, p99) = (micros(times.p50), micros(times.p99));
            let _ = write!(text, " (after p50 {p50}, p99 {p99})");
        }
        if seen.reconnects_failed > 0 {
            let _ = write!(text, ", {} tries failed", count(seen.reconnects_failed));
        }
        texts.push(text);
    }
    if !seen.faults.is_empty() {
        texts.push(format!("given up: {}", kinds(seen.faults.iter())));
    }
    texts.join(", ")
}

/// What was sent and answered; `None` when nothing was sent.
pub(crate) fn asked(seen: &WebSocketSummary) -> Option<String> {
    if seen.messages_out + seen.unsent == 0 {
        return None;
    }
    let mut texts = vec![format!("{} sent", count(seen.messages_out))];
    if seen.answered + seen.unanswered > 0 {
        texts.push(format!("{} answered", count(seen.answered)));
    }
    if let Some(times) = &seen.request_us {
        texts.push(format!(
            "p50 {}, p95 {}, p99 {}",
            micros(times.p50),
            micros(times.p95),
            micros(times.p99)
        ));
    }
    if seen.unanswered > 0 {
        texts.push(format!("{} not in time", count(seen.unanswered)));
    }
    if seen.unsent > 0 {
        texts.push(format!("{} could not be sent", count(seen.unsent)));
    }
    Some(texts.join(", "))
}

/// Who got what; `None` when nothing came.
pub(crate) fn heard(seen: &WebSocketSummary) -> Option<String> {
    if seen.messages_in == 0 {
        return None;
    }
    let broadcasts = &seen.broadcasts;
    let mut texts = vec![format!("{} messages came", count(seen.messages_in))];
    if let Some(reach) = broadcasts.reached.ratio() {
        texts.push(format!(
            "reach {} ({} of {} expected)",
            percent_exactly(reach),
            count(broadcasts.reached.received),
            count(broadcasts.reached.expected)
        ));
    }
    if let Some(times) = &seen.broadcast_us {
        texts.push(format!(
            "broadcast p50 {}, p95 {}, p99 {}",
            micros(times.p50),
            micros(times.p95),
            micros(times.p99)
        ));
    }
    for (number, what) in [
        (broadcasts.reached.unreached, "subscribers got nothing"),
        (broadcasts.gaps, "numbers missing"),
        (broadcasts.duplicates, "duplicates"),
        (broadcasts.reordered, "out of order"),
    ] {
        if number > 0 {
            texts.push(format!("{} {what}", count(number)));
        }
    }
    if seen.ahead > 0 {
        texts.push(format!(
            "{} came up to {} before their stamp: the publisher's clock is ahead",
            count(seen.ahead),
            micros(seen.ahead_us_max)
        ));
    }
    Some(texts.join(", "))
}

/// A share of which the last hundredth matters: 99.99 % is not 100 %.
pub(super) fn percent_exactly(share: f64) -> String {
    let is_all_but = share < 1.0 && share > 0.999;
    if is_all_but {
        // Cut and not rounded: one that was missed is missed.
        format!("{:.4} %", (share * 1e6).floor() / 1e4)
    } else {
        percent(share)
    }
}

fn kinds<'a, Kind: std::fmt::Display + 'a>(
    counts: impl Iterator<Item = (&'a Kind, &'a u64)>,
) -> String {
    let all: Vec<String> = counts
        .map(|(kind, &number)| format!("{kind}: {}", count(number)))
        .collect();
    let mut text = all
        .iter()
        .take(KINDS_MAX)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if all.len() > KINDS_MAX {
        let _ = write!(text, ", and {} more", all.len() - KINDS_MAX);
    }
    text
}

/// The answer of a run: what was opened, and what came of it, as a fragment.
pub(super) fn sentence(seen: &WebSocketSummary, load: &Load) -> String {
    let mut text = format!(
        "opened {} of {} {}",
        count(seen.connected),
        count(seen.connected + seen.failed()),
        kind(load)
    );
    if seen.closed() > 0 {
        let _ = write!(text, ", and closed {} of them", count(seen.closed()));
    }
    if let Some(reach) = seen.broadcasts.reached.ratio() {
        let _ = write!(text, "; broadcasts reached {}", percent_exactly(reach));
    }
    for (what, times) in [
        ("broadcast", &seen.broadcast_us),
        ("request", &seen.request_us),
        ("handshake", &seen.handshake_us),
    ] {
        if let Some(times) = times {
            let _ = write!(
                text,
                "; {what} p95 {}, p99 {}",
                micros(times.p95),
                micros(times.p99)
            );
        }
    }
    text
}

/// What people call that which a load keeps open: WebSockets, unless it opens nothing but streams of events.
pub(crate) fn kind(load: &Load) -> &'static str {
    kind_of(matches!(load, Load::WebSockets(load) if load.is_stream))
}

fn kind_of(is_stream: bool) -> &'static str {
    if is_stream {
        "streams of events"
    } else {
        "WebSockets"
    }
}

/// What is asked of each, as a fragment.
pub(crate) fn load(load: &WebSocketLoad) -> String {
    let mut text = format!(
        "{} {} at {}/s, held for {}",
        count(u64::from(load.connections)),
        kind_of(load.is_stream),
        short(load.per_second),
        duration(load.hold)
    );
    if let Some(message) = &load.message {
        let how = match message.every {
            Some(every) => format!("every {}", duration(every)),
            None => "once".to_owned(),
        };
        let _ = write!(text, ", a message {how}");
    }
    text
}

fn duration(duration: Duration) -> String {
    micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_is_not_rounded_away() {
        assert_eq!(percent_exactly(1.0), percent(1.0));
        assert_eq!(percent_exactly(1.0 - 1e-9), "99.9999 %");
        assert_eq!(percent_exactly(0.99991), "99.9910 %");
        assert_eq!(percent_exactly(0.5), percent(0.5));
    }
}
