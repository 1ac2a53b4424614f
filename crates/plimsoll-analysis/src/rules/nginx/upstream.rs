//! Rules about servers behind nginx, from the times in its access log.

use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::component::place;
use crate::diagnosis::measure::before;
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{Stretch3, View, bounded};

/// An answer's head that takes this long is slow, s; or this share of the tightest bound.
const SLOW_MIN_S: f64 = 0.050;
const SLOW_SHARE: f64 = 0.25;
/// How many times as long as at low load.
const SLOWER: f64 = 3.0;
/// Share of the time to the response head that connecting may take where the server itself is slow.
const CONNECT_SHARE: f64 = 0.1;
/// Connect time, s, and its ratio to low load, from which connecting is slow.
const CONNECT_MIN_S: f64 = 0.010;
const CONNECT_SLOWER: f64 = 10.0;

fn time(at: &str, phase: &str) -> String {
    metric::series(metric::NGINX_TIME, &[("at", at), ("phase", phase)])
}

/// Addresses of logs with times of a phase.
fn logs<'a>(view: &View<'a>, phase: &'a str) -> impl Iterator<Item = &'a str> {
    let own = view.series_of(metric::NGINX_TIME);
    own.filter(move |series| label(series, "phase") == Some(phase))
        .map(place)
}

/// X7: servers take connections at once, and long to answer.
pub(crate) fn slow(over: &Stretch3<'_>) -> Vec<Sign> {
    let view = &over.failing;
    let bound_s = view.context.bound_us.map(|bound| bound as f64 / 1e6);
    let slow_s = SLOW_MIN_S.max(SLOW_SHARE * bound_s.unwrap_or(0.0));
    let signs = logs(view, "header").filter_map(|at| {
        let header = time(at, "header");
        let now = view.mean(&header)?;
        let grew = before(over, |view| view.mean(&header)).is_none_or(|low| now >= SLOWER * low);
        let connect = view.mean(&time(at, "connect")).unwrap_or(0.0);
        let label_set = metric::series("", &[("at", at)]);
        Some(Sign::of(
            &label_set,
            now,
            now > slow_s && grew && connect <= CONNECT_SHARE * now,
        ))
    });
    signs.collect()
}

pub(crate) fn slow_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let [header, connect, whole] = ["header", "connect", "request"].map(|phase| time(at, phase));
    let ms = |series: &str| view.mean(series).map(|seconds| seconds * 1e3);
    let mut sentence = format!(
        "servers behind nginx took {:.0} ms to the first byte (95th percentile)",
        ms(&header).unwrap_or(0.0)
    );
    if let Some(low) = before(case.over, |view| view.mean(&header)) {
        append_clause(
            &mut sentence,
            format_args!(", {:.0} ms at low load", low * 1e3),
        );
    }
    if let Some(connect) = ms(&connect) {
        append_clause(
            &mut sentence,
            format_args!(
                ", and accepted connections within {connect:.0} ms: they are slow, not full"
            ),
        );
    }
    Words::new(format!("servers behind nginx are slow ({at})"), sentence)
        .with(case.line(&header, "time to a server's first byte, 95th percentile"))
        .with(case.line(&connect, "time to connect to a server, 95th percentile"))
        .with(case.line(&whole, "time of a request, 95th percentile"))
}

/// X3: connecting takes ten times as long as at low load.
pub(crate) fn slow_to_connect(over: &Stretch3<'_>) -> Vec<Sign> {
    let view = &over.failing;
    let signs = logs(view, "connect").filter_map(|at| {
        let connect = time(at, "connect");
        let now = view.mean(&connect)?;
        let low = before(over, |view| view.mean(&connect))?;
        let label_set = metric::series("", &[("at", at)]);
        Some(Sign::of(
            &label_set,
            now,
            now > CONNECT_MIN_S && now >= CONNECT_SLOWER * low,
        ))
    });
    signs.collect()
}

pub(crate) fn slow_to_connect_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let connect = time(at, "connect");
    let low = before(case.over, |view| view.mean(&connect)).unwrap_or(0.0);
    let sentence = format!(
        "nginx took {:.0} ms to connect to a server (95th percentile), and {:.0} ms at low load",
        view.mean(&connect).unwrap_or(0.0) * 1e3,
        low * 1e3
    );
    let line = case.line(&connect, "time to connect to a server, 95th percentile");
    Words::new(
        format!("an upstream of nginx accepts no connections ({at})"),
        sentence,
    )
    .with(bounded(line, Some(CONNECT_SLOWER * low)))
}
