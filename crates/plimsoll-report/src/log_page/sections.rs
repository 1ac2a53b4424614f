//! Sections of the page: tables of what the day holds.

use maud::{Markup, html};
use plimsoll_logs::day::summary::Distribution;

use super::LogObject;
use super::page::clock_of_second;
use crate::number::{bytes, count, micros_of, percent, rate, short};
use crate::printable::printable;

/// Texts that a reader has to know before the numbers.
pub(super) fn notices(object: &LogObject) -> Vec<String> {
    let day = &object.day;
    let mut notices = Vec::new();
    if object.interrupted {
        notices
            .push("Reading was interrupted: this is the part of the log that was read.".to_owned());
    }
    if object.unreadable > 0 {
        notices.push(format!(
            "{} of {} lines could not be read.",
            count(object.unreadable),
            count(object.lines)
        ));
    }
    for jump in &day.clock.jumps {
        notices.push(format!(
            "The clock of the log was set back by {} after {}: requests of both passes are in the same minutes.",
            crate::number::seconds(u64::try_from(jump.back_s).unwrap_or(0)),
            clock_of_second(&jump.from)
        ));
    }
    if day.clock.late_lines > 0 {
        notices.push(format!(
            "{} of {} lines are more than a minute before one in front of them: a clock was wrong for a while, or requests took so long.",
            count(day.clock.late_lines),
            count(object.lines)
        ));
    }
    if day.requests_outside > 0 {
        notices.push(format!(
            "{} requests lie in more than 31 days and are in no minute.",
            count(day.requests_outside)
        ));
    }
    notices
}

/// All sections below the charts.
pub(super) fn all(object: &LogObject) -> Markup {
    html! {
        (section("funnel", "From page views to the service", &funnel(object)))
        (section("kinds", "Kinds, times and sizes", &kinds(object)))
        (section("busiest", "Busiest moments", &busiest(object)))
        (section("cache-size", "What the edge's cache would answer", &edge_cache(object)))
        (section("visits", "Visits", &visits(object)))
        (section("popularity", "Popularity", &popularity(object)))
        (section("statuses", "Statuses", &statuses(object)))
        (section("clients", "Crawlers and countries", &clients(object)))
        (section("haproxy", "HAProxy", &haproxy(object)))
        (section("upstream", "Servers behind the proxy", &upstream(object)))
    }
}

/// A section, unless it is empty.
fn section(id: &str, title: &str, content: &Markup) -> Markup {
    html! {
        @if !content.0.is_empty() {
            section aria-labelledby=(id) { h2 id=(id) { (title) } (content) }
        }
    }
}

/// A table whose first column are names.
fn table(headings: &[&str], rows: &[Vec<String>]) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label=(headings.first().copied().unwrap_or_default()) {
            table {
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody { @for row in rows { tr {
                    @for (index, cell) in row.iter().enumerate() {
                        @if index == 0 { th scope="row" { (printable(cell)) } } @else { td { (printable(cell)) } }
                    }
                } } }
            }
        }
    }
}

fn ms(value: f64) -> String {
    micros_of(value * 1e3)
}

fn percentiles(times: Option<&Distribution>, show: fn(f64) -> String) -> Vec<String> {
    match times {
        Some(times) => [times.p50, times.p95, times.p99, times.max]
            .map(show)
            .into(),
        None => vec!["–".to_owned(); 4],
    }
}

fn funnel(object: &LogObject) -> Markup {
    let funnel = &object.day.funnel;
    let of = |part: f64, whole: u64| percent(part / whole.max(1) as f64);
    let mut rows = vec![vec![
        "page views of people".to_owned(),
        count(funnel.page_views),
        String::new(),
    ]];
    if let Some(visits) = funnel.visits {
        rows.push(vec![
            "visits".to_owned(),
            count(visits),
            format!(
                "{} of the page views begin one",
                of(visits as f64, funnel.page_views)
            ),
        ]);
        if let (Some(share), Some(page)) = (funnel.landing_share, &funnel.landing_page) {
            rows.push(vec![
                "landings on the most frequent page".to_owned(),
                count(crate::number::whole(share * visits as f64)),
                format!("{} of the visits, on {page}", percent(share)),
            ]);
        }
    }
    if let Some(misses) = funnel.cache_misses {
        rows.push(vec![
            "misses of the cache".to_owned(),
            count(misses),
            format!("{} of the requests", of(misses as f64, funnel.requests)),
        ]);
    }
    rows.push(vec![
        "requests that reach the service".to_owned(),
        count(funnel.reach_service),
        format!(
            "{} of {} requests; {} in the busiest minute",
            percent(funnel.reach_service_share),
            count(funnel.requests),
            rate(funnel.reach_service_per_second)
        ),
    ]);
    table(&["step", "number", "share"], &rows)
}

fn kinds(object: &LogObject) -> Markup {
    let rows: Vec<Vec<String>> = object
        .day
        .kind_details
        .iter()
        .filter(|(_, kind)| kind.requests > 0)
        .map(|(name, kind)| {
            let mut row = vec![name.clone(), count(kind.requests), percent(kind.share)];
            row.extend(percentiles(kind.response_time_ms.as_ref(), ms));
            let size = kind
                .bytes
                .as_ref()
                .map(|sizes| crate::number::whole(sizes.p50));
            row.push(size.map_or_else(|| "–".to_owned(), bytes));
            row.push(kind.cache_hit_share.map_or_else(|| "–".to_owned(), percent));
            row
        })
        .collect();
    let sent = &object.day.bytes;
    html! {
        (table(&["kind", "requests", "share", "p50", "p95", "p99", "max", "median size", "hits of the cache"], &rows))
        @if let (Some(compressed), Some(ratio)) = (sent.compressed, sent.compression_ratio) {
            p.muted { (count(compressed)) " answers were compressed, to one byte of " (short(ratio)) " on average." }
        }
    }
}

fn busiest(object: &LogObject) -> Markup {
    let busiest = &object.day.busiest;
    let row = |name: &str, stretch: &plimsoll_logs::day::summary::BusiestStretch| {
        vec![
            name.to_owned(),
            clock_of_second(&stretch.at),
            count(stretch.requests),
            rate(stretch.per_second),
            short(stretch.times_mean),
        ]
    };
    let rows = [
        row("second", &busiest.second),
        row("minute", &busiest.minute),
        row("hour", &busiest.hour),
    ];
    table(
        &["busiest", "at (UTC)", "requests", "rate", "times the mean"],
        &rows,
    )
}

fn edge_cache(object: &LogObject) -> Markup {
    let Some(cache) = &object.day.edge_cache else {
        return html! {};
    };
    let rows: Vec<Vec<String>> = cache
        .sizes
        .iter()
        .map(|size| {
            vec![
                bytes(size.bytes),
                percent(size.hit_share),
                match size.hit_share_error {
                    error if error > 0.0 => format!("± {}", percent(error)),
                    _ => "exact".to_owned(),
                },
                size.cold_fill_minutes
                    .map_or_else(|| "–".to_owned(), |minutes| format!("{minutes} min")),
            ]
        })
        .collect();
    let freshness = match cache.lifetime_s {
        Some(lifetime_s) => format!("for {}", crate::number::seconds(lifetime_s.into())),
        None => "as long as it is stored".to_owned(),
    };
    html! {
        p.lead {
            "The log replayed through the policy of the edge's cache. " (count(cache.cacheable)) " requests could be answered \
             from it; a response counts as fresh " (freshness) ", and as the same for everybody."
        }
        (table(&["memory", "share of all requests", "error", "cold fill"], &rows))
    }
}

fn visits(object: &LogObject) -> Markup {
    let Some(visits) = &object.day.visit_details else {
        return html! { p { "The log has no addresses of clients, so that visits cannot be told apart." } };
    };
    let rows: Vec<Vec<String>> = visits
        .landing_pages
        .iter()
        .map(|page| vec![page.path.clone(), count(page.visits), percent(page.share)])
        .collect();
    html! {
        p.lead {
            "Clients are told apart by " (visits.by) "; a visit ends after "
            (crate::number::seconds(visits.pause_s.unsigned_abs())) " without a request. "
            (count(visits.clients)) " clients (± " (percent(visits.clients_error)) ")"
            @if visits.error > 0.0 { ", visits ± " (percent(visits.error)) }
            "."
            @if visits.requests_without_client > 0 {
                " " (count(visits.requests_without_client)) " requests have no address and belong to no visit."
            }
        }
        @if !rows.is_empty() { (table(&["landing page", "visits", "share"], &rows)) }
    }
}

fn popularity(object: &LogObject) -> Markup {
    let popularity = &object.day.popularity;
    let rows: Vec<Vec<String>> = popularity
        .top
        .iter()
        .map(|url| vec![url.url.clone(), count(url.requests), percent(url.share)])
        .collect();
    let mut shares: Vec<(u64, f64)> = popularity
        .top_shares
        .iter()
        .filter_map(|(ranks, share)| Some((ranks.parse().ok()?, *share)))
        .collect();
    shares.sort_by_key(|share| share.0);
    html! {
        p.lead {
            (count(popularity.distinct_urls)) " different URLs (± " (percent(popularity.distinct_urls_error)) "). "
            @for (ranks, share) in &shares { "The first " (count(*ranks)) " have " (percent(*share)) ". " }
            @if let Some(zipf) = &popularity.zipf {
                "Zipf's exponent is " (short(zipf.exponent)) " ± " (short(zipf.error)) " over " (count(zipf.ranks))
                " ranks, which differ from the law by " (percent(zipf.deviation)) " at most."
            } @else {
                "Too few URLs have 20 requests for an exponent of Zipf's law."
            }
            @if popularity.count_error > 0 { " Counts may be too low by " (count(popularity.count_error)) "." }
        }
        @if !rows.is_empty() { (table(&["URL", "requests", "share"], &rows)) }
    }
}

fn statuses(object: &LogObject) -> Markup {
    let rows: Vec<Vec<String>> = object
        .day
        .statuses
        .iter()
        .map(|(status, number)| {
            vec![
                if status == "0" {
                    "no answer".to_owned()
                } else {
                    status.clone()
                },
                count(*number),
                percent(*number as f64 / object.day.requests.max(1) as f64),
            ]
        })
        .collect();
    table(&["status", "requests", "share"], &rows)
}

fn clients(object: &LogObject) -> Markup {
    let mut countries: Vec<(&String, &u64)> = object.day.countries.iter().flatten().collect();
    countries.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let rows: Vec<Vec<String>> = countries
        .into_iter()
        .take(30)
        .map(|(code, requests)| vec![code.clone(), count(*requests)])
        .collect();
    html! {
        @if let Some(crawlers) = &object.day.crawlers {
            p.lead {
                (percent(crawlers.share)) " of the requests come from programs: " (count(crawlers.by_agent))
                " by the name of their agent, " (count(crawlers.by_robots_txt)) " after they read robots.txt, "
                (count(crawlers.by_pace)) " by their pace."
            }
            @let mut names: Vec<Vec<String>> = crawlers.names.iter()
                .map(|(name, requests)| vec![name.clone(), count(*requests)]).collect();
            @let () = names.truncate(20);
            @if !names.is_empty() { (table(&["crawler", "requests"], &names)) }
        }
        @if !rows.is_empty() { (table(&["country", "requests"], &rows)) }
    }
}

fn haproxy(object: &LogObject) -> Markup {
    let Some(haproxy) = &object.day.haproxy else {
        return html! {};
    };
    let terminations: Vec<Vec<String>> = object
        .day
        .termination
        .iter()
        .flatten()
        .map(|(code, state)| vec![code.clone(), count(state.count), state.meaning.clone()])
        .collect();
    let stages = [
        ("request complete", &haproxy.request_ms),
        ("in queues", &haproxy.queue_ms),
        ("connect", &haproxy.connect_ms),
        ("response", &haproxy.response_ms),
        ("in all", &haproxy.total_ms),
    ];
    let servers: Vec<Vec<String>> = haproxy
        .servers
        .iter()
        .map(|server| {
            let mut row = vec![
                format!("{}/{}", server.backend, server.server),
                count(server.requests),
                count(server.server_errors),
                count(server.failures),
                count(server.retries),
                count(server.queue_max.into()),
            ];
            row.extend(percentiles(server.response_ms.as_ref(), ms));
            row
        })
        .collect();
    html! {
        (table(&["state", "requests", "meaning"], &terminations))
        (stage_table(&stages))
        (table(&["server", "requests", "5xx", "failures", "retries", "longest queue", "p50", "p95", "p99", "max"], &servers))
    }
}

fn upstream(object: &LogObject) -> Markup {
    let Some(upstream) = &object.day.upstream else {
        return html! {};
    };
    let stages = [
        ("connect", &upstream.connect_ms),
        ("head of the answer", &upstream.header_ms),
        ("end of the answer", &upstream.response_ms),
    ];
    html! {
        p.lead {
            (count(upstream.requests)) " requests reached a server; for " (count(upstream.tried_several))
            " of them several were tried."
        }
        (stage_table(&stages))
    }
}

fn stage_table(stages: &[(&str, &Option<Distribution>)]) -> Markup {
    let rows: Vec<Vec<String>> = stages
        .iter()
        .filter(|(_, times)| times.is_some())
        .map(|(name, times)| {
            let mut row = vec![(*name).to_owned()];
            row.extend(percentiles(times.as_ref(), ms));
            row
        })
        .collect();
    html! { @if !rows.is_empty() { (table(&["stage", "p50", "p95", "p99", "max"], &rows)) } }
}
