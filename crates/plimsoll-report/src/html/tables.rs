//! Tables of the page: outcomes and statuses, percentiles of response times, trials, plan and machine.

use std::collections::BTreeMap;

use maud::{Markup, html};
use plimsoll_analysis::summary::{Classes, trial_classes};
use plimsoll_model::plan::{Facts, Load, Plan};
use plimsoll_model::trial::Trial;

use super::repeat;
use crate::answer;
use crate::chart::axis::clock;
use crate::chart::load::{load_of, rate_of, trials_of};
use crate::number::{bytes, count, duration, micros, percent, rate, seconds, short, whole};
use crate::printable::printable;
use crate::report::Report;
use crate::text::outcome_limit;

/// Response classes by offered rate: one row for a plain run, one for each rate of a search.
pub(super) fn classes_by_rate(report: &Report<'_>) -> Vec<(f64, Classes)> {
    if report.trials.is_empty() {
        let classes = report.summary.classes;
        return if classes.total() == 0 {
            Vec::new()
        } else {
            vec![(report.summary.offered, classes)]
        };
    }
    // Rates are keyed in thousandths of a request a second: floats do not order.
    let key = |rate: f64| whole(rate * 1e3);
    let mut rows: BTreeMap<u64, Classes> = BTreeMap::new();
    for trial in trials_of(report).filter(|trial| !trial.verdict.is_void()) {
        let classes = trial_classes(report.run, trial);
        rows.entry(key(rate_of(trial)))
            .and_modify(|row| row.merge(&classes))
            .or_insert(classes);
    }
    rows.into_iter()
        .map(|(rate, classes)| (rate as f64 / 1e3, classes))
        .collect()
}

/// Every trial in the order of time.
pub(super) fn trials_table(report: &Report<'_>) -> Markup {
    let time = |trial: &Trial, us: u64| {
        if trial.requests > trial.errors {
            micros(us)
        } else {
            "–".to_owned()
        }
    };
    html! {
        table {
            thead { tr {
                @for name in ["trial", "at", "for", "offered", "verdict", "p50", "p95", "p99", "failed", "completed"] {
                    th scope="col" { (name) }
                }
            } }
            tbody {
                @for trial in report.trials.iter() {
                    tr {
                        th scope="row" { (trial.index) }
                        td { (clock(trial.start_second)) }
                        td { (trial.spec.kind.name()) }
                        td { (load_of(trial)) }
                        td.text { (trial.verdict.name())
                            @if let Some(why) = answer::trial_reason(&trial.verdict) { small { (why) } } }
                        td { (time(trial, trial.response_us.p50)) }
                        td { (time(trial, trial.response_us.p95)) }
                        td { (time(trial, trial.response_us.p99)) }
                        td { (count(trial.errors)) " of " (count(trial.requests)) }
                        td { (short(trial.throughput)) "/s" }
                    }
                }
            }
        }
    }
}

/// Outcomes, statuses, times, and resources of the generator.
pub(super) fn outcomes_section(report: &Report<'_>) -> Markup {
    let summary = &report.summary;
    if summary.requests == 0 {
        return html! {};
    }
    let share = |number: u64| percent(number as f64 / summary.requests as f64);
    let times = [
        ("response time", &summary.response_us),
        ("service time", &summary.service_us),
    ];
    html! {
        section aria-labelledby="outcomes-heading" {
            h2 #outcomes-heading { "Requests" }
            @if report.is_search() { p.lead { "Over the judged seconds of all valid trials together." } }
            div.columns {
                table {
                    caption { "Outcomes" }
                    tbody { @for (outcome, number) in summary.outcomes.iter().filter(|pair| pair.1 > 0) {
                        tr { th scope="row" {
                            (outcome.name())
                            @if let Some(limit) = outcome_limit(report, outcome) { " (" (limit) ")" }
                        } td { (count(number)) } td { (share(number)) } }
                    } }
                }
                table {
                    caption { "HTTP status" }
                    tbody { @for (status, &number) in &summary.status {
                        tr { th scope="row" { (status) } td { (count(number)) } td { (share(number)) } }
                    } }
                }
                @if report.run.header.plan.transport.http2.is_some() { table {
                    caption { "Protocol" }
                    tbody { @for (protocol, number) in summary.protocols() {
                        tr { th scope="row" { (protocol) } td { (count(number)) } td { (share(number)) } }
                    } }
                } }
                (generator_table(report))
            }
            @if !report.is_search() {
                div.scroll tabindex="0" role="group" aria-label="Percentiles" { table {
                    caption { "Good answers" }
                    thead { tr { td {} @for name in ["p50", "p90", "p95", "p99", "p99.9", "max", "mean"] { th scope="col" { (name) } } } }
                    tbody { @for (name, times) in times { @if let Some(times) = times {
                        tr {
                            th scope="row" { (name) }
                            @for us in [times.p50, times.p90, times.p95, times.p99, times.p999, times.max] { td { (micros(us)) } }
                            td { (short(times.mean / 1e3)) " ms" }
                        }
                    } } }
                } }
            }
        }
    }
}

fn generator_table(report: &Report<'_>) -> Markup {
    let generator = &report.summary.generator;
    let rows = [
        (
            "CPU per request",
            generator
                .cpu_us_per_request
                .map(|us| format!("{} µs", short(us))),
        ),
        ("lag, p99", generator.lag_us_p99.map(micros)),
        ("memory at most", generator.rss_bytes.map(bytes)),
    ];
    html! {
        table {
            caption { "The generator itself" }
            tbody { @for (name, value) in rows { @if let Some(value) = value {
                tr { th scope="row" { (name) } td { (value) } }
            } } }
        }
    }
}

/// Plan, host, versions, seed, and the command that repeats it.
pub(super) fn setup_section(report: &Report<'_>) -> Markup {
    let header = &report.run.header;
    html! {
        section aria-labelledby="setup-heading" {
            h2 #setup-heading { "How it was measured" }
            div.columns {
                (facts_table("Plan", &plan_facts(&header.plan, report.is_search())))
                (facts_table("Machine of the generator", &pairs(&header.host)))
                (facts_table("Versions", &pairs(&header.versions)))
            }
            h3 { "Repeat it" }
            pre tabindex="0" role="group" aria-label="Command that repeats the measurement" { code { (repeat::command(report)) } }
        }
    }
}

fn pairs(facts: &Facts) -> Vec<(String, String)> {
    facts
        .iter()
        .map(|(name, value)| (name.replace('_', " "), value.clone()))
        .collect()
}

fn facts_table(caption: &str, facts: &[(String, String)]) -> Markup {
    html! {
        @if !facts.is_empty() {
            table.facts-table {
                caption { (caption) }
                tbody { @for (name, value) in facts {
                    tr { th scope="row" { (printable(name)) } td.text { (printable(value)) } }
                } }
            }
        }
    }
}

fn plan_facts(plan: &Plan, searched: bool) -> Vec<(String, String)> {
    let mut facts = vec![("target", plan.target.url.clone())];
    let addresses: Vec<String> = plan
        .target
        .addresses
        .iter()
        .map(ToString::to_string)
        .collect();
    if !addresses.is_empty() {
        facts.push(("addresses", addresses.join(", ")));
    }
    if let Some(socket) = &plan.target.unix_socket {
        facts.push(("unix socket", socket.to_string_lossy().into_owned()));
    }
    facts.push(describe_workload(plan));
    if let Some(required) = &plan.required {
        facts.push(("asked for", required.sentence.clone()));
        facts.push(("read as", required.read_as.clone()));
    }
    for (name, value) in plan.request.headers.iter().take(12) {
        facts.push(("header", format!("{name}: {value}")));
    }
    if !searched {
        facts.push(("load", load_text(&plan.load)));
    }
    let transport = &plan.transport;
    facts.push(("time-out", duration(transport.timeout)));
    facts.push((
        "connections at most",
        count(u64::from(transport.connections_max)),
    ));
    facts.push((
        "connections are",
        match transport.requests_per_connection {
            0 => "kept open".to_owned(),
            1 => "new for each request".to_owned(),
            number => format!("closed after {number} requests"),
        },
    ));
    if let Some(http2) = transport.http2 {
        let asked = if http2.prior_knowledge {
            "HTTP/2, in the clear too"
        } else {
            "HTTP/2 over TLS where the target chooses it"
        };
        let streams = http2.streams;
        facts.push((
            "protocol",
            format!("{asked}; {streams} at once on a connection at most"),
        ));
    }
    if let Load::Open { spacing, .. } = &plan.load {
        facts.push(("arrivals", format!("{spacing:?}").to_lowercase()));
    }
    facts.push(("event loops", plan.cores.to_string()));
    if !plan.warmup.is_zero() {
        facts.push(("warm-up", duration(plan.warmup)));
    }
    facts.push(("seed", plan.seed.0.to_string()));
    facts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The journeys, or the content of each request.
fn describe_workload(plan: &Plan) -> (&'static str, String) {
    if let Some(scenario) = &plan.scenario {
        let journeys = scenario.journeys.iter();
        let texts = journeys.map(|journey| format!("{} (weight {})", journey.name, journey.weight));
        return ("journeys", texts.collect::<Vec<_>>().join(", "));
    }
    let paths = match plan.request.paths.as_slice() {
        [path] => path.clone(),
        paths => format!("{} URLs", count(paths.len() as u64)),
    };
    ("request", format!("{} {paths}", plan.request.method))
}

fn load_text(load: &Load) -> String {
    match load {
        Load::Open { phases, .. } => {
            let texts = phases.iter().take(6).map(|phase| {
                let lasting = micros(phase.lasting_ns / 1000);
                if (phase.from - phase.to).abs() < f64::EPSILON {
                    format!("{} for {lasting}", rate(phase.from))
                } else {
                    format!("{} to {} in {lasting}", rate(phase.from), rate(phase.to))
                }
            });
            let more = if phases.len() > 6 {
                format!(", and {} more", phases.len() - 6)
            } else {
                String::new()
            };
            texts.collect::<Vec<_>>().join(", ") + &more
        }
        Load::Closed {
            connections,
            think,
            lasting,
        } => {
            let pause = if think.is_zero() {
                String::new()
            } else {
                format!(", {} think time", duration(*think))
            };
            format!(
                "{connections} connections{pause} for {}",
                seconds(lasting.as_secs())
            )
        }
        Load::WebSockets(load) => answer::websocket_load(load),
        Load::Users { phases, .. } => {
            let texts = phases.iter().take(6).map(|phase| {
                format!(
                    "{:.0} to {:.0} users in {}",
                    phase.from,
                    phase.to,
                    duration(phase.lasting)
                )
            });
            texts.collect::<Vec<_>>().join(", ")
        }
        Load::Sessions { phases, .. } => {
            let texts = phases.iter().take(6).map(|phase| {
                format!(
                    "{} to {} users/s in {}",
                    phase.from,
                    phase.to,
                    micros(phase.lasting_ns / 1000)
                )
            });
            texts.collect::<Vec<_>>().join(", ")
        }
    }
}
