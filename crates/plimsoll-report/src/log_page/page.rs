//! The day of a log as one self-contained HTML file, without addresses and without values of queries.

use maud::{Markup, html};

use super::{LogObject, sections, traffic};
use crate::html::{StaticPage, page_banner};
use crate::number::{bytes, count, micros_of, percent, rate, short};
use crate::printable::printable;

/// The whole file.
pub fn render(object: &LogObject) -> String {
    let main = html! {
        (notices(object))
        (answer(object))
        (traffic::section(object))
        (sections::all(object))
    };
    StaticPage {
        title: "log".to_owned(),
        is_experiment: false,
        banner: banner(object),
        main,
        made_from: "the log alone",
        command: "plimsoll log",
    }
    .render()
}

/// `2026-11-26 10:00` of a moment in RFC 3339.
pub(super) fn clock(at: &str) -> String {
    match (at.get(..10), at.get(11..16)) {
        (Some(day), Some(clock)) => format!("{day} {clock}"),
        _ => printable(at),
    }
}

/// The same with seconds.
pub(super) fn clock_of_second(at: &str) -> String {
    match (at.get(..10), at.get(11..19)) {
        (Some(day), Some(clock)) => format!("{day} {clock}"),
        _ => printable(at),
    }
}

fn banner(object: &LogObject) -> Markup {
    page_banner(&html! {
        div {
            strong { "Plimsoll" }
            span { "log, format " (printable(&object.format)) }
        }
        time datetime=(object.day.from) { (clock(&object.day.from)) " to " (clock(&object.day.to)) " UTC" }
    })
}

fn notices(object: &LogObject) -> Markup {
    html! { @for notice in sections::notices(object) { p.notice { (notice) } } }
}

/// The result in one sentence.
pub(super) fn sentence(object: &LogObject) -> String {
    let day = &object.day;
    let busiest = &day.busiest.minute;
    format!(
        "{} requests from {} to {} UTC: {} on average, {} in the busiest minute ({} times the mean).",
        count(day.requests),
        clock(&day.from),
        clock(&day.to),
        rate(day.requests_per_second),
        rate(busiest.per_second),
        short(busiest.times_mean),
    )
}

fn answer(object: &LogObject) -> Markup {
    html! {
        section.answer aria-labelledby="answer" {
            h1 #answer tabindex="-1" { (crate::text::unbroken(&sentence(object))) }
            dl.facts {
                @for (name, value, note) in facts(object) {
                    div { dt { (name) } dd { (value) @if !note.is_empty() { small { (note) } } } }
                }
            }
        }
    }
}

fn facts(object: &LogObject) -> Vec<(&'static str, String, String)> {
    let day = &object.day;
    let funnel = &day.funnel;
    let mut facts = Vec::new();
    if let Some(times) = &day.response_time_ms {
        let rest = format!(
            "p50 {}, p99 {}",
            micros_of(times.p50 * 1e3),
            micros_of(times.p99 * 1e3)
        );
        facts.push(("p95", micros_of(times.p95 * 1e3), rest));
    }
    let errors: u64 = day
        .statuses
        .iter()
        .filter(|(status, _)| status.starts_with('5') && status.len() == 3)
        .map(|status| status.1)
        .sum();
    let share = percent(errors as f64 / day.requests.max(1) as f64);
    facts.push(("server errors", count(errors), share));
    if let Some(visits) = funnel.visits {
        let per_visit = day
            .visit_details
            .as_ref()
            .and_then(|details| details.page_views_per_visit);
        let note = per_visit.map_or_else(String::new, |views| {
            format!("{} page views each", short(views))
        });
        facts.push(("visits", count(visits), note));
    }
    facts.push((
        "reach the service",
        rate(funnel.reach_service_per_second),
        format!(
            "in its busiest minute; {} of all requests",
            percent(funnel.reach_service_share)
        ),
    ));
    if let Some(cache) = &day.cache {
        facts.push((
            "answered by the cache",
            percent(cache.hit_share),
            format!("of {} requests", count(cache.requests)),
        ));
    }
    if day.bytes.by_request.is_some() {
        facts.push(("sent", bytes(day.bytes.total), String::new()));
    }
    facts
}
