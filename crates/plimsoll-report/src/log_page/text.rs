//! The day of a log on the terminal.

use std::fmt::Write as _;

use plimsoll_logs::day::summary::{BusiestStretch, Distribution};

use super::LogObject;
use super::page::{clock_of_second, sentence};
use super::sections;
use crate::number::{bytes, count, micros_of, percent, rate, short};
use crate::printable::printable;
use crate::text::Style;

/// Rows of a list.
const ROWS_MAX: usize = 5;
/// Longest URL that is shown, characters.
const URL_LEN_MAX: usize = 48;

/// The summary in lines of about 100 columns.
pub fn summary(object: &LogObject, colour: bool) -> String {
    let style = Style { colour };
    let mut lines = vec![style.paint("1", &sentence(object)), String::new()];
    for notice in sections::notices(object) {
        lines.push(style.paint("33", &notice));
    }
    lines.push(style.labelled("format", &printable(&object.format)));
    lines.push(style.labelled(
        "lines",
        &format!(
            "{}, {} unreadable",
            count(object.lines),
            count(object.unreadable)
        ),
    ));
    lines.extend(traffic(object, style));
    lines.extend(demand(object, style));
    lines.extend(popular(object, style));
    lines.extend(edge_cache(object, style));
    lines.extend(servers(object, style));
    lines.extend(cpu(object, style));
    lines.join("\n") + "\n"
}

fn times(times: &Distribution) -> String {
    format!(
        "p50 {}, p95 {}, p99 {}, max {}",
        micros_of(times.p50 * 1e3),
        micros_of(times.p95 * 1e3),
        micros_of(times.p99 * 1e3),
        micros_of(times.max * 1e3)
    )
}

/// Names with counts, most first: `200 1,234, 404 12`.
fn most<'a>(counts: impl Iterator<Item = (&'a String, u64)>) -> String {
    let mut counts: Vec<(&String, u64)> = counts.filter(|(_, number)| *number > 0).collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let shown = counts
        .iter()
        .take(2 * ROWS_MAX)
        .map(|(name, number)| format!("{} {}", printable(name), count(*number)));
    shown.collect::<Vec<_>>().join(", ")
}

fn traffic(object: &LogObject, style: Style) -> Vec<String> {
    let day = &object.day;
    let kinds = day.kinds.iter().map(|(name, number)| (name, *number));
    let statuses = day.statuses.iter().map(|(name, number)| (name, *number));
    let mut lines = vec![
        style.labelled("kinds", &most(kinds)),
        style.labelled("statuses", &most(statuses)),
    ];
    if let Some(all) = &day.response_time_ms {
        lines.push(style.labelled("response", &times(all)));
        for (name, kind) in &day.kind_details {
            if let Some(of_kind) = &kind.response_time_ms {
                lines.push(style.labelled("", &format!("{name}: {}", times(of_kind))));
            }
        }
    }
    if let Some(sizes) = &day.bytes.by_request {
        let mut text = format!(
            "{} in all, median {}",
            bytes(day.bytes.total),
            bytes(crate::number::whole(sizes.p50))
        );
        if let Some(ratio) = day.bytes.compression_ratio {
            let _ = write!(text, ", compressed answers to one byte of {}", short(ratio));
        }
        lines.push(style.labelled("bytes", &text));
    }
    for (name, stretch) in [
        ("second", &day.busiest.second),
        ("minute", &day.busiest.minute),
        ("hour", &day.busiest.hour),
    ] {
        let label = if name == "second" { "busiest" } else { "" };
        lines.push(style.labelled(label, &busiest(name, stretch)));
    }
    lines
}

fn busiest(name: &str, stretch: &BusiestStretch) -> String {
    format!(
        "{name} {}: {} requests, {}, {} times the mean",
        clock_of_second(&stretch.at),
        count(stretch.requests),
        rate(stretch.per_second),
        short(stretch.times_mean)
    )
}

fn demand(object: &LogObject, style: Style) -> Vec<String> {
    let (day, funnel) = (&object.day, &object.day.funnel);
    let mut lines = Vec::new();
    if let Some(cache) = &day.cache {
        let text = format!(
            "{} answered by the cache (hit {}, stale {}, revalidated {}, miss {}, bypass {})",
            percent(cache.hit_share),
            count(cache.hit),
            count(cache.stale),
            count(cache.revalidated),
            count(cache.miss),
            count(cache.bypass)
        );
        lines.push(style.labelled("cache", &text));
    }
    lines.push(style.labelled(
        "funnel",
        &format!("{} page views", count(funnel.page_views)),
    ));
    match funnel.visits {
        Some(visits) => lines.push(style.labelled("", &format!("→ {} visits", count(visits)))),
        None => lines.push(style.labelled("", "→ no visits: the log has no addresses of clients")),
    }
    if let (Some(share), Some(page)) = (funnel.landing_share, &funnel.landing_page) {
        lines.push(style.labelled(
            "",
            &format!("→ {} of them land on {}", percent(share), cut(page)),
        ));
    }
    if let Some(misses) = funnel.cache_misses {
        lines.push(style.labelled("", &format!("→ {} misses of the cache", count(misses))));
    }
    let reach = format!(
        "→ {} requests reach the service ({}), {} in the busiest minute",
        count(funnel.reach_service),
        percent(funnel.reach_service_share),
        rate(funnel.reach_service_per_second)
    );
    lines.push(style.labelled("", &reach));
    if let Some(crawlers) = &day.crawlers {
        let names = most(crawlers.names.iter().map(|(name, number)| (name, *number)));
        let text = format!("{} of the requests; {names}", percent(crawlers.share));
        lines.push(style.labelled("crawlers", text.trim_end_matches("; ")));
    }
    if let Some(countries) = &day.countries {
        let countries = countries.iter().map(|(name, number)| (name, *number));
        lines.push(style.labelled("countries", &most(countries)));
    }
    lines
}

fn cut(url: &str) -> String {
    let url = printable(url);
    match url.char_indices().nth(URL_LEN_MAX) {
        Some((end, _)) => format!("{}…", &url[..end]),
        None => url,
    }
}

fn popular(object: &LogObject, style: Style) -> Vec<String> {
    let popularity = &object.day.popularity;
    let mut text = format!("{} different", count(popularity.distinct_urls));
    if let Some(zipf) = &popularity.zipf {
        let _ = write!(
            text,
            ", Zipf's exponent {} ± {}",
            short(zipf.exponent),
            short(zipf.error)
        );
    }
    let mut lines = vec![style.labelled("URLs", &text)];
    for url in popularity.top.iter().take(ROWS_MAX) {
        let row = format!("{:>7} {}", percent(url.share), cut(&url.url));
        lines.push(style.labelled("", &row));
    }
    lines
}

fn edge_cache(object: &LogObject, style: Style) -> Vec<String> {
    let sizes = object.day.edge_cache.iter().flat_map(|cache| &cache.sizes);
    let mut lines = Vec::new();
    for size in sizes {
        let mut text = format!(
            "{} would answer {}",
            bytes(size.bytes),
            percent(size.hit_share)
        );
        if size.hit_share_error > 0.0 {
            let _ = write!(text, " ± {}", percent(size.hit_share_error));
        }
        if let Some(minutes) = size.cold_fill_minutes {
            let _ = write!(text, ", cold fill {minutes} min");
        }
        let label = if lines.is_empty() { "edge cache" } else { "" };
        lines.push(style.labelled(label, &text));
    }
    lines
}

fn servers(object: &LogObject, style: Style) -> Vec<String> {
    let day = &object.day;
    let mut lines = Vec::new();
    for (code, state) in day.termination.iter().flatten() {
        let label = if lines.is_empty() { "HAProxy" } else { "" };
        let text = format!("{code} {}: {}", count(state.count), state.meaning);
        lines.push(style.labelled(label, &text));
    }
    let stages = day.haproxy.iter().flat_map(|haproxy| {
        [
            ("queue", &haproxy.queue_ms),
            ("connect", &haproxy.connect_ms),
            ("answer", &haproxy.response_ms),
        ]
    });
    let behind = day.upstream.iter().flat_map(|upstream| {
        [
            ("connect", &upstream.connect_ms),
            ("head", &upstream.header_ms),
            ("upstream", &upstream.response_ms),
        ]
    });
    for (name, distribution) in stages.chain(behind) {
        if let Some(distribution) = distribution {
            lines.push(style.labelled(name, &times(distribution)));
        }
    }
    for server in day.haproxy.iter().flat_map(|haproxy| &haproxy.servers) {
        let text = format!(
            "{}/{}: {} requests, {} with 5xx, {} failures",
            printable(&server.backend),
            printable(&server.server),
            count(server.requests),
            count(server.server_errors),
            count(server.failures)
        );
        lines.push(style.labelled("server", &text));
    }
    lines
}

fn cpu(object: &LogObject, style: Style) -> Vec<String> {
    let series = object.cpu.iter().flatten().map(|series| {
        let busy: Vec<f64> = series.minutes.iter().map(|minute| minute.busy).collect();
        if busy.is_empty() {
            let text = format!(
                "{}: none of its minutes is one of the log: check that both are of the same hours",
                printable(&series.name)
            );
            return style.labelled("CPU", &text);
        }
        let mean = busy.iter().sum::<f64>() / busy.len() as f64;
        let highest = busy.iter().copied().fold(0.0, f64::max);
        let mut text = format!(
            "{}: mean {}, at most {} over {} min of the log",
            printable(&series.name),
            percent(mean),
            percent(highest),
            busy.len()
        );
        if let Some(correlation) = series.correlation {
            let _ = write!(text, ", correlation with requests {}", short(correlation));
        }
        style.labelled("CPU", &text)
    });
    series.collect()
}
