//! `worker_connections` of nginx.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::reading::label;

use crate::diagnosis::bounds::CONNECTIONS_FULL;
use crate::diagnosis::component::{place, written};
use crate::diagnosis::log_failures;
use crate::diagnosis::measure::sustained;
use crate::diagnosis::rule::{Check, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{N1, X1, X2};
use crate::diagnosis::stretch::{View, bounded};

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        X1,
        "nginx `worker_connections`",
        &[
            Check {
                strength: Strength::Explicit,
                tier: Tier::Proxy,
                symptom: Symptom::Increase {
                    metric: metric::NGINX_DROPPED,
                },
                words: nginx_dropped_words,
                remedy: "raise `worker_connections`",
                explains: &[&[N1]],
            },
            Check {
                strength: Strength::Explicit,
                tier: Tier::Proxy,
                symptom: Symptom::Signs(|view| log_failures::failures(view, &["places"])),
                words: |case| {
                    nginx_words(
                        case,
                        log_failures::frequency(
                            case,
                            "according to its log, nginx had no free slot for a connection",
                        ),
                    )
                },
                remedy: "raise `worker_connections`",
                explains: &[&[N1]],
            },
        ],
    ),
    Rule::new(
        X2,
        "nginx `worker_connections`, nearly used up",
        &[Check {
            strength: Strength::Utilisation,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(nginx_nearly_full),
            words: nginx_nearly_full_words,
            remedy: "raise `worker_connections`",
            explains: &[&[N1]],
        }],
    )
    .tried_on_series(),
];

fn active(label_set: &str) -> String {
    metric::series(
        metric::NGINX_CONNECTIONS,
        &[("at", place(label_set)), ("state", "active")],
    )
}

/// Places for connections in all workers of nginx together.
fn nginx_places(view: &View<'_>, at: &str) -> Option<f64> {
    let (connections, _) = view.setting(at, "worker_connections", "")?;
    let (workers, _) = view.setting(at, "worker_processes", "")?;
    Some(connections * workers)
}

/// The texts of missing connection slots, after a sentence with the symptom.
fn nginx_words(case: &RuleMatch<'_>, mut sentence: String) -> Words {
    let view = case.failing();
    let at = place(case.label_set);
    let setting = view.setting(at, "worker_connections", "");
    let places = nginx_places(view, at);
    let remedy = match setting {
        Some((now, file)) => {
            append_clause(
                &mut sentence,
                format_args!("; `worker_connections` is {now:.0}"),
            );
            format!(
                "raise `worker_connections` (now {now:.0}){} to {:.0} or more: a proxied request takes two; check that \
                 `worker_rlimit_nofile` is higher, then `nginx -s reload`",
                written(file),
                (4.0 * now).max(1024.0)
            )
        }
        None => "raise `worker_connections` in nginx's `events { … }`: a proxied request takes two; check that \
            `worker_rlimit_nofile` is higher, then `nginx -s reload`"
            .to_owned(),
    };
    Words::new(format!("worker_connections of nginx ({at})"), sentence)
        .with(bounded(
            case.line(
                &case.series(metric::NGINX_DROPPED),
                "connections closed for want of a slot, per second",
            ),
            Some(0.0),
        ))
        .with(bounded(
            case.line(&active(case.label_set), "client connections"),
            places,
        ))
        .with(case.line(
            &case.series(metric::NGINX_ACCEPTED),
            "connections accepted, per second",
        ))
        .with(case.line(&case.series(metric::NGINX_REQUESTS), "requests, per second"))
        .advising(remedy)
}

/// X1: connections were accepted and closed at once.
fn nginx_dropped_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let dropped = case.series(metric::NGINX_DROPPED);
    let sentence = format!(
        "nginx closed {:.0} connections a second right after accepting them, because it had no free connection slot",
        view.mean(&dropped).unwrap_or(0.0).max(1.0)
    );
    nginx_words(case, sentence)
}

/// X2.
fn nginx_nearly_full(view: &View<'_>) -> Vec<Sign> {
    let actives = view
        .series_of(metric::NGINX_CONNECTIONS)
        .filter(|series| label(series, "state") == Some("active"));
    actives
        .filter_map(|series| {
            let at = place(series);
            let places = nginx_places(view, at).filter(|&places| places > 0.0)?;
            let share =
                view.share_of_seconds(|row| Some(row.get(series)? >= CONNECTIONS_FULL * places));
            sustained(&metric::series("", &[("at", at)]), share)
        })
        .collect()
}

fn nginx_nearly_full_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let places = nginx_places(view, place(case.label_set)).unwrap_or(0.0);
    let sentence = format!(
        "nginx had up to {:.0} client connections and slots for {places:.0}",
        view.max(&active(case.label_set)).unwrap_or(0.0)
    );
    nginx_words(case, sentence)
}
