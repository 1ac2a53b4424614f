//! Results of WebSockets, as sentences.

use std::fmt::Write as _;
use std::time::Duration;

use plimsoll_analysis::summary::cuts::CutSummary;
use plimsoll_analysis::summary::websockets::WebSocketSummary;
use plimsoll_model::plan::Load;
use plimsoll_model::websocket::{SocketCut, WebSocketLoad};

use crate::number::{count, duration, micros, percent, short};
use crate::report::Report;

/// Most causes, codes or errors listed per kind.
const KINDS_MAX: usize = 4;

/// WebSockets opened and failed.
pub(crate) fn opened(websocket: &WebSocketSummary) -> String {
    let mut texts = vec![format!("{} opened", count(websocket.connected))];
    if let Some(times) = &websocket.handshake_us {
        texts.push(format!(
            "handshake p50 {}, p99 {}",
            micros(times.p50),
            micros(times.p99)
        ));
    } else if websocket.connected > 0 {
        texts.push("none in the judged seconds".to_owned());
    }
    if websocket.failed() > 0 {
        let causes = kinds(websocket.failures.iter());
        texts.push(format!("{} failed ({causes})", count(websocket.failed())));
    }
    if websocket.closed() > 0 {
        let codes = kinds(websocket.close_codes.iter());
        texts.push(format!(
            "{} closed by the target (code {codes})",
            count(websocket.closed())
        ));
    }
    if websocket.reconnected + websocket.reconnects_failed > 0 {
        let mut text = format!("{} reopened", count(websocket.reconnected));
        if let Some(times) = &websocket.reconnect_us {
            let (p50, p99) = (micros(times.p50), micros(times.p99));
            let _ = write!(text, " (after p50 {p50}, p99 {p99})");
        }
        if websocket.reconnects_failed > 0 {
            let _ = write!(
                text,
                ", {} attempts failed",
                count(websocket.reconnects_failed)
            );
        }
        texts.push(text);
    }
    if !websocket.protocol_errors.is_empty() {
        texts.push(format!(
            "given up: {}",
            kinds(websocket.protocol_errors.iter())
        ));
    }
    texts.join(", ")
}

/// What became of WebSockets that were cut from this side, a fragment each; empty without any.
pub(crate) fn cuts(websocket: &WebSocketSummary) -> Vec<String> {
    let text = |cuts: &CutSummary| {
        let (number, back) = (count(cuts.count), |what: &str, us: Option<u64>| match us {
            Some(us) => format!("{what} back after {}", micros(us)),
            None => format!("{what} never back"),
        });
        let mut texts = vec![match cuts.cut {
            SocketCut::Dropped => format!("{number} dropped out of their network"),
            SocketCut::Disconnected(at_ms) => {
                let at = duration(Duration::from_millis(at_ms));
                format!("{number} disconnected at {at}")
            }
        }];
        texts.push(back("50 %", cuts.half_back_us));
        texts.push(back("99 %", cuts.p99_back_us));
        texts.push(format!(
            "{} attempts/s at most",
            count(cuts.attempts_per_second_max)
        ));
        for (number, what) in [
            (cuts.failed, "attempts failed"),
            (cuts.abandoned, "stay closed"),
        ] {
            if number > 0 {
                texts.push(format!("{} {what}", count(number)));
            }
        }
        texts.join(", ")
    };
    websocket.cuts.iter().map(text).collect()
}

/// Messages sent and answered; `None` when nothing was sent.
pub(crate) fn sent(websocket: &WebSocketSummary) -> Option<String> {
    if websocket.messages_out + websocket.unsent == 0 {
        return None;
    }
    let mut texts = vec![format!("{} sent", count(websocket.messages_out))];
    if websocket.answered + websocket.unanswered > 0 {
        texts.push(format!("{} answered", count(websocket.answered)));
    }
    if let Some(times) = &websocket.request_us {
        texts.push(format!(
            "p50 {}, p95 {}, p99 {}",
            micros(times.p50),
            micros(times.p95),
            micros(times.p99)
        ));
    }
    if websocket.unanswered > 0 {
        texts.push(format!("{} not in time", count(websocket.unanswered)));
    }
    if websocket.unsent > 0 {
        texts.push(format!("{} could not be sent", count(websocket.unsent)));
    }
    Some(texts.join(", "))
}

/// Messages received; `None` without any.
pub(crate) fn received(websocket: &WebSocketSummary) -> Option<String> {
    if websocket.messages_in == 0 {
        return None;
    }
    let broadcasts = &websocket.broadcasts;
    let mut texts = vec![format!(
        "{} messages received",
        count(websocket.messages_in)
    )];
    if let Some(reach) = broadcasts.reached.ratio() {
        texts.push(format!(
            "reach {} ({} of {} expected)",
            percent_exactly(reach),
            count(broadcasts.reached.received),
            count(broadcasts.reached.expected)
        ));
    }
    if let Some(times) = &websocket.broadcast_us {
        texts.push(format!(
            "broadcast p50 {}, p95 {}, p99 {}",
            micros(times.p50),
            micros(times.p95),
            micros(times.p99)
        ));
    }
    for (number, what) in [
        (broadcasts.reached.unreached, "subscribers received nothing"),
        (broadcasts.gaps, "numbers missing"),
        (broadcasts.duplicates, "duplicates"),
        (broadcasts.reordered, "out of order"),
    ] {
        if number > 0 {
            texts.push(format!("{} {what}", count(number)));
        }
    }
    if websocket.ahead > 0 {
        texts.push(format!(
            "{} arrived up to {} before their timestamp: the publisher's clock is ahead",
            count(websocket.ahead),
            micros(websocket.ahead_us_max)
        ));
    }
    Some(texts.join(", "))
}

/// Why no WebSocket or stream of a load was opened, and what to do; `None` when one was, or the load is another.
pub(crate) fn none_opened(report: &Report<'_>) -> Option<String> {
    let load = &report.run.header.plan.load;
    let held = load.websockets()?;
    let websocket = report.summary.websocket.as_ref();
    none_of(websocket?, held.is_stream)
}

fn none_of(websocket: &WebSocketSummary, is_stream: bool) -> Option<String> {
    if !websocket.opened_nothing() {
        return None;
    }
    let failures = websocket.failures.iter();
    let (most, _) = failures.max_by_key(|(_, number)| **number)?;
    Some(format!(
        "none of {} {} opened ({}); {}",
        count(websocket.failed()),
        kind_of(is_stream),
        kinds(websocket.failures.iter()),
        remedy(most, is_stream)
    ))
}

/// What to look at when handshakes fail for this cause.
fn remedy(cause: &str, is_stream: bool) -> &'static str {
    match cause {
        "status 401" | "status 403" | "status 407" => {
            "does it want a login or an Origin? give it with --header 'Authorization: …' or --header 'Origin: …'"
        }
        "status 429" => "it limits how many come: lower --connect-rate, or raise its limit",
        "not HTTP" => "does an HTTP server listen on this port?",
        "not switched" if is_stream => {
            "is this the path of an event stream (text/event-stream)? a WebSocket is opened by --ws"
        }
        "not switched" | "wrong accept key" => {
            "is this the path of a WebSocket, and does a proxy in between forward Upgrade? a stream of events is heard \
             by --sse"
        }
        "unasked protocol" => "ask for its protocol with --header 'Sec-WebSocket-Protocol: …'",
        cause if cause.starts_with("status 5") => "see the log of the service",
        cause if cause.starts_with("status ") && is_stream => {
            "is this the path of its event stream? it must answer with status 200"
        }
        cause if cause.starts_with("status ") => {
            "is this the path of its WebSockets? it must answer with status 101"
        }
        _ => "see the log of the service, and whether one opens alone: --connections 1",
    }
}

/// A share whose last hundredth matters: 99.99 % is not 100 %.
pub(super) fn percent_exactly(share: f64) -> String {
    let is_all_but = share < 1.0 && share > 0.999;
    if is_all_but {
        // Rounded down: one missed message counts as missed.
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

/// The result of a run: WebSockets opened and their messages, as a fragment.
pub(super) fn sentence(websocket: &WebSocketSummary, load: &Load) -> String {
    let mut text = format!(
        "opened {} of {} {}",
        count(websocket.connected),
        count(websocket.connected + websocket.failed()),
        kind(load)
    );
    if websocket.connected > 0 && websocket.handshake_us.is_none() {
        text.push_str(", all in the warm-up");
    }
    if websocket.closed() > 0 {
        let _ = write!(text, ", and closed {} of them", count(websocket.closed()));
    }
    if let Some(reach) = websocket.broadcasts.reached.ratio() {
        let _ = write!(text, "; broadcasts reached {}", percent_exactly(reach));
    }
    for (what, times) in [
        ("broadcast", &websocket.broadcast_us),
        ("request", &websocket.request_us),
        ("handshake", &websocket.handshake_us),
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

/// The result of a run whose users received messages by long polling alone, as a fragment.
pub(super) fn polled(websocket: &WebSocketSummary) -> String {
    let mut text = format!(
        "answered polls with {} messages",
        count(websocket.messages_in)
    );
    if let Some(reach) = websocket.broadcasts.reached.ratio() {
        let _ = write!(text, "; broadcasts reached {}", percent_exactly(reach));
    }
    if let Some(times) = &websocket.broadcast_us {
        let (p95, p99) = (micros(times.p95), micros(times.p99));
        let _ = write!(text, "; broadcast p95 {p95}, p99 {p99}");
    }
    text
}

/// The name of the connections: WebSockets, or event streams if there is nothing else.
pub(crate) fn kind(load: &Load) -> &'static str {
    kind_of(matches!(load, Load::WebSockets(load) if load.is_stream))
}

fn kind_of(is_stream: bool) -> &'static str {
    if is_stream {
        "event streams"
    } else {
        "WebSockets"
    }
}

/// The schedule of a load, as a fragment.
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

    #[test]
    fn a_mass_disconnect_has_the_time_until_all_are_back() {
        let storm = CutSummary {
            cut: SocketCut::Disconnected(60_000),
            count: 1000,
            back: 985,
            half_back_us: Some(620_000),
            p99_back_us: None,
            attempts: 1400,
            attempts_per_second_max: 812,
            failed: 415,
            abandoned: 0,
        };
        let websocket = WebSocketSummary {
            cuts: vec![storm],
            ..WebSocketSummary::default()
        };
        assert_eq!(
            cuts(&websocket),
            [
                "1,000 disconnected at 60 s, 50 % back after 620 ms, 99 % never back, 812 attempts/s at most, 415 attempts failed"
            ]
        );
    }

    #[test]
    fn a_load_that_opened_nothing_names_the_remedy_of_its_most_common_cause() {
        let mut websocket = WebSocketSummary::default();
        assert_eq!(none_of(&websocket, false), None);
        for (cause, number, is_stream, wanted) in [
            (
                "status 503",
                2,
                false,
                "none of 2 WebSockets opened (status 503: 2); see the log of the service",
            ),
            (
                "status 403",
                3,
                false,
                "none of 5 WebSockets opened (status 403: 3, status 503: 2); does it want a login",
            ),
            (
                "not switched",
                9,
                true,
                "is this the path of an event stream",
            ),
            ("status 404", 99, false, "with status 101"),
        ] {
            websocket.failures.insert(cause.to_owned(), number);
            let text = none_of(&websocket, is_stream).unwrap();
            assert!(text.contains(wanted), "{text}");
        }
        websocket.connected = 1;
        assert_eq!(none_of(&websocket, false), None);
    }
}
