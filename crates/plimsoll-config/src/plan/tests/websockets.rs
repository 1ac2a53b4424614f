//! Steps on WebSockets.

use plimsoll_model::journey::{Disconnect, Drops, Layout, Reconnect, Step, TextTemplate};

use super::*;
use crate::document::Shape;
use crate::plan::steps::STEP;
use crate::units;

fn steps(text: &str) -> Vec<Step> {
    let plan = read(&with_steps(text), &given(), &desktop());
    let plan = plan.unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    plan.scenario.unwrap().journeys.remove(0).steps
}

#[test]
fn a_preset_says_how_its_protocol_opens_and_what_is_written_goes_before() {
    let text =
        "  - ws: wss://other.example/socket.io/\n    preset: socket.io\n    first: 40/game,\n";
    let Step::Socket(socket) = &steps(text)[0] else {
        panic!("another step");
    };
    let url = socket.request.url.as_literal();
    let expected = "https://other.example/socket.io/?EIO=4&transport=websocket";
    assert_eq!(url, Some(expected));
    let first = socket
        .first
        .as_ref()
        .and_then(|message| message.text.as_literal());
    assert_eq!(first, Some("40/game,"));
    assert_eq!(socket.layout, Layout::AfterNumber);
    assert_eq!(socket.replies, [("2".to_owned(), "3".to_owned())]);
    assert_eq!(socket.ready.len(), 1);
}

#[test]
fn sockets_are_cut_one_by_one_and_at_a_moment() {
    let s = Duration::from_secs;
    let socket = |text: &str| match steps(text).remove(0) {
        Step::Socket(socket) => socket,
        other => panic!("{other:?}"),
    };
    let dropping = socket("  - { ws: /live, drop: 5%/min, for: 10s..60s }\n");
    let drops = Drops {
        per_second: 0.05 / 60.0,
        away: DurationDistribution::Uniform(s(10), s(60)),
    };
    assert_eq!(dropping.drops, Some(drops));
    assert_eq!(dropping.reconnect, Some(Reconnect::DEFAULT));
    let usual = socket("  - { sse: /live, drop: 60%/h }\n");
    assert_eq!(usual.drops.map(|drops| drops.away), Some(drops.away));
    let text = "  - ws: /live\n    reconnect: { after: 1s }\n    disconnect: [{ at: 60s, share: 100% }, { at: 90s, share: 0.5 }]\n";
    let stormy = socket(text);
    let moments = [(60, 1.0), (90, 0.5)];
    let moments = moments.map(|(at, share)| Disconnect { at: s(at), share });
    assert_eq!(stormy.disconnects, moments);
    let after = stormy.reconnect.map(|reconnect| reconnect.after);
    assert_eq!(after, Some(s(1)));
    let plain = socket("  - ws: /live\n");
    assert!(plain.drops.is_none() && plain.disconnects.is_empty() && plain.reconnect.is_none());
}

#[test]
fn polls_are_short_or_long() {
    let poll = |text: &str| match steps(text).remove(0) {
        Step::Poll(poll) => poll,
        other => panic!("{other:?}"),
    };
    let short = poll(
        "  - poll: /news\n    every: 3s\n    for: 10m\n    timeout: 5s\n    messages: { at: '$.items[*]', seq: $.id, stamp: $.at, channel: news }\n",
    );
    assert_eq!(short.interval, Some(Duration::from_secs(3)));
    assert_eq!(short.lasting, Some(Duration::from_mins(10)));
    assert_eq!(short.request.timeout, Some(Duration::from_secs(5)));
    assert_eq!(short.messages.as_deref(), Some("$.items[*]"));
    assert_eq!(short.timestamp.as_deref(), Some("$.at"));
    let channel = short.channel.as_ref().and_then(TextTemplate::as_literal);
    assert_eq!(channel, Some("news"));
    let long = poll("  - poll: /news\n");
    assert_eq!((long.interval, long.messages), (None, None));
    check(
        &with_steps("  - poll: /news\n    every: 0s\n"),
        (5, 12),
        "above zero",
    );
    check(
        &with_steps("  - poll: /news\n    messages: { path: $.a }\n"),
        (5, 17),
        "path",
    );
    check(
        &with_steps("  - get: /news\n    messages: { at: $.a }\n"),
        (5, 5),
        "messages",
    );
}

#[test]
fn true_reconnects_as_its_text_says() {
    let word = STEP.words.iter().find(|word| word.name == "reconnect");
    let Reconnect {
        after,
        up_to,
        times,
    } = Reconnect::DEFAULT;
    let [after, up_to] = [after, up_to].map(units::duration_text);
    let right = format!("`true`: after {after}, doubling up to {up_to}, {times} times.");
    assert!(word.unwrap().text().ends_with(&right), "{right}");
}

#[test]
fn every_preset_is_a_word_of_the_table() {
    let mut words = STEP.words.iter();
    let word = words.find(|word| word.name == "preset").unwrap();
    let Shape::OneOf(presets) = &word.shape else {
        panic!("another shape");
    };
    for preset in *presets {
        steps(&format!("  - ws: /live\n    preset: {preset}\n"));
    }
}

/// Steps, with or without a `ws` before them; the place of the error, and a fragment of the message.
const MISTAKES: &[(bool, &str, (usize, usize), &str)] = &[
    (
        false,
        "  - send: a\n    await: b\n",
        (3, 1),
        "the messages have no WebSocket",
    ),
    (
        true,
        "    presett: stomp\n",
        (5, 5),
        "did you mean `preset`",
    ),
    (
        true,
        "    preset: socketio\n",
        (5, 13),
        "did you mean `socket.io`",
    ),
    (
        true,
        "    headers: { Upgrade: x }\n",
        (5, 16),
        "set by the handshake",
    ),
    (
        true,
        "    protocol: [a b]\n",
        (5, 16),
        "is not a subprotocol name",
    ),
    (true, "    compress: ja\n", (5, 15), "unknown value `ja`"),
    (
        true,
        "    reconnect: { after: 10s, up_to: 1s }\n",
        (5, 16),
        "shorter than the first",
    ),
    (
        true,
        "    reconnect: { times: 0 }\n",
        (5, 25),
        "out of range",
    ),
    (
        true,
        "    beat: { every: 5s }\n",
        (5, 11),
        "an interval and a text",
    ),
    (true, "    drop: 5%\n", (5, 11), "the time is missing"),
    (true, "    drop: 5%/day\n", (5, 11), "unknown unit of time"),
    (true, "    drop: 0%/min\n", (5, 11), "no user would drop"),
    (
        true,
        "    for: 10s\n",
        (5, 5),
        "`for` has no effect without `drop`",
    ),
    (
        true,
        "    disconnect: { share: 50% }\n",
        (5, 17),
        "`at` is missing",
    ),
    (
        true,
        "    disconnect: { at: 60s, share: 0% }\n",
        (5, 17),
        "no WebSocket would be cut",
    ),
    (
        true,
        "    reconnect: false\n    disconnect: { at: 60s }\n",
        (5, 16),
        "with `disconnect` lost WebSockets come back",
    ),
    (true, "  - close: 1006\n", (5, 12), "not a close code"),
    (
        true,
        "  - send: { jsn: 1 }\n",
        (5, 13),
        "did you mean `json`",
    ),
    (
        true,
        "  - send: { binary: '%%' }\n",
        (5, 21),
        "invalid base64",
    ),
    (
        true,
        "  - send: { text: a, template: true }\n",
        (5, 22),
        "not allowed with `text`",
    ),
    (
        true,
        "  - send: '{{ nme }}'\n",
        (5, 15),
        "unknown name `nme`",
    ),
    (
        true,
        "  - send: a\n    capture: { x: 'y' }\n",
        (6, 5),
        "without `await`",
    ),
    (
        true,
        "  - await: { json: { id: 5 } }\n",
        (5, 22),
        "did you mean `$.id`",
    ),
    (
        true,
        "  - await: { regex: '(' }\n",
        (5, 21),
        "not a regular expression",
    ),
    (true, "  - await: {}\n", (5, 12), "the value is empty"),
    (
        true,
        "  - subscribe: { seq: seq }\n",
        (5, 23),
        "did you mean `$.seq`",
    ),
    (
        true,
        "  - subscribe: { stmp: $.a }\n",
        (5, 18),
        "did you mean `stamp`",
    ),
    (
        true,
        "  - every: 10\n    steps: [{ send: a }]\n",
        (5, 14),
        "unit",
    ),
    (true, "  - every: 10s\n", (5, 5), "has no `steps`"),
    (true, "  - hold: 0s\n", (5, 11), "above zero"),
    (
        true,
        "  - ws: /b\n    send: a\n",
        (6, 5),
        "mutually exclusive",
    ),
    (
        false,
        "  - get: ws://site/live\n",
        (4, 10),
        "unsupported scheme",
    ),
];

#[test]
fn mistakes_in_talks_have_their_places() {
    for (is_behind, steps, place, words) in MISTAKES {
        let socket = if *is_behind { "  - ws: /live\n" } else { "" };
        check(&with_steps(&format!("{socket}{steps}")), *place, words);
    }
}

#[test]
fn what_cannot_stand_beside_sockets_is_told() {
    let plan = |more: &str| {
        format!(
            "target: http://site\nload: {{ users: 1, hold: 1s }}\n{more}\nsteps: [{{ ws: /live }}]\n"
        )
    };
    for (more, place, words) in [
        ("transport: { http: 2 }", (3, 20), "HTTP/1.1"),
        (
            "thresholds: { step WS /live: reach > 9% }",
            (3, 30),
            "not by scope",
        ),
        (
            "abort: [{ when: 'broadcast p99 > 5s' }]",
            (3, 17),
            "only known at the end",
        ),
        ("objective: reach < 99%", (3, 18), "lower bound"),
    ] {
        let diagnostics = refused(&plan(more));
        let first = &diagnostics.list()[0];
        assert_eq!((first.line, first.column), place, "{diagnostics}");
        assert!(first.to_string().contains(words), "{diagnostics}");
    }
}

#[test]
fn users_come_at_a_rate() {
    let text = "target: http://site\nload: { users: 24000, connect: 120/s, hold: 90m }\nsteps: [{ ws: /live }]\n";
    let plan =
        read(text, &given(), &desktop()).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let Some(LoadPlan::Fixed(load)) = plan.load else {
        panic!("no load");
    };
    assert_eq!(load.lasting(), Duration::from_secs(200 + 90 * 60));
    check(
        &text.replace("connect: 120/s", "connect: 120/s, within: 3m"),
        (2, 23),
        "mutually exclusive",
    );
    check(&text.replace("120/s", "0/s"), (2, 32), "above zero");
}
