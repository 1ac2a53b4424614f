//! Less is done beyond the line, in vain, or again and again.

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::reading::label;
use plimsoll_model::window::Window;

use crate::diagnosis::component::place;
use crate::diagnosis::measure::subject_of;
use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words, append_clause};
use crate::diagnosis::rule_id::RuleId::{S1, S2, S3};
use crate::diagnosis::stretch::{Stretch3, View, bounded};

/// Drop of successful answers although the offered load rises, as a share.
const FALL: f64 = 0.10;
/// Retried connections per started session.
const RETRIES_MAX: f64 = 0.1;
/// What happens less than once a second is no storm.
const OFTEN: f64 = 1.0;
/// Late or abandoned answers, as a share of all.
const LATE_MAX: f64 = 0.5;

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        S1,
        "coherency/thrash/retry amplification",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Proxy,
            symptom: Symptom::Change(collapse),
            words: collapse_words,
            remedy: "reject early the requests that cannot be served in time: limit requests \
                 in flight (`maxconn` of HAProxy's servers, `limit_conn` in nginx, `plimsoll edge` \
                 with its adaptive limit), and limit retries",
            explains: &[],
        }],
    )
    .tried_on_series()
    .with_role(Role::FailureModeBesideCause)
    .of_the_load(),
    Rule::new(
        S2,
        "retry storm",
        &[Check {
            strength: Strength::Explicit,
            tier: Tier::Proxy,
            symptom: Symptom::Signs(retries),
            words: retries_words,
            remedy: "find why connections fail; then limit retries to a tenth of the requests, \
                 with exponential backoff and jitter (`retries 1` in HAProxy, \
                 `proxy_next_upstream_tries` in nginx)",
            explains: &[],
        }],
    ),
    Rule::new(
        S3,
        "work done for expired requests",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Proxy,
            symptom: Symptom::Change(late),
            words: late_words,
            remedy: "give each request a deadline and drop requests past it; serve the newest \
                 first under overload; keep queues short (`timeout queue` in HAProxy, \
                 `listen.backlog` of PHP-FPM)",
            explains: &[],
        }],
    )
    .tried_on_series()
    .with_role(Role::FailureModeBesideCause)
    .of_the_load(),
];

/// Something of the windows, per second.
fn per_second(view: &View<'_>, count: impl Fn(&Window) -> u64) -> Option<f64> {
    let sum = view.sum(count)?;
    Some(sum as f64 / view.windows().len() as f64)
}

fn good(view: &View<'_>) -> Option<f64> {
    per_second(view, |window| window.outcomes.get(Outcome::Ok))
}

fn offered(view: &View<'_>) -> Option<f64> {
    per_second(view, |window| window.offered.max(window.sent))
}

/// S1: the offered load was higher than at the load that passed, and clearly less was answered.
pub(crate) fn collapse(over: &Stretch3<'_>) -> Vec<Sign> {
    let sign = || {
        let (now, before) = (good(&over.failing)?, good(&over.passing)?);
        let is_more = offered(&over.failing)? > offered(&over.passing)?;
        let fall = 1.0 - now / before.max(f64::MIN_POSITIVE);
        Some(Sign::lone(fall, is_more && before >= OFTEN && fall >= FALL))
    };
    sign().into_iter().collect()
}

fn collapse_words(case: &RuleMatch<'_>) -> Words {
    let (failing, passing) = (case.failing(), &case.over.passing);
    let of = |value: Option<f64>| value.unwrap_or(0.0);
    let mut sentence = format!(
        "of {:.0} requests a second only {:.0} succeeded; at the load that passed, {:.0} of {:.0} did: above the line \
         the service serves less than at the line",
        of(offered(failing)),
        of(good(failing)),
        of(good(passing)),
        of(offered(passing))
    );
    let again = of(per_second(failing, |window| window.retries));
    if again > RETRIES_MAX * of(offered(failing)) {
        append_clause(
            &mut sentence,
            format_args!("; {again:.0} a second were retries"),
        );
    }
    Words::new("goodput under overload", sentence)
        .with(case.over.evidence(
            ("answers", "successful answers, per second", "{request}"),
            good,
        ))
        .with(case.over.evidence(
            ("offered", "requests due, per second", "{request}"),
            offered,
        ))
}

/// S2: HAProxy tries connections to a server again and again.
fn retries(view: &View<'_>) -> Vec<Sign> {
    let retries = view.series_of(metric::HAPROXY_RETRIES);
    let servers = retries.filter(|series| {
        label(series, "server").is_some_and(|server| !["BACKEND", "FRONTEND"].contains(&server))
    });
    servers
        .filter_map(|series| {
            let label_set = subject_of(series);
            let again = view.mean(series)?;
            let begun = view.mean(&format!("{}{label_set}", metric::HAPROXY_SESSIONS_BEGUN))?;
            let share = again / begun.max(1.0);
            Some(Sign::of(
                label_set,
                share,
                again >= OFTEN && share > RETRIES_MAX,
            ))
        })
        .collect()
}

fn retries_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let again = case.series(metric::HAPROXY_RETRIES);
    let begun = case.series(metric::HAPROXY_SESSIONS_BEGUN);
    let field = |name| label(case.label_set, name).unwrap_or("?");
    Words::new(
        format!(
            "retries towards {} in {} ({})",
            field("server"),
            field("proxy"),
            place(case.label_set)
        ),
        format!(
            "HAProxy retried {:.0} connections a second to {}, for {:.0} sessions started: retries add load",
            view.mean(&again).unwrap_or(0.0),
            field("server"),
            view.mean(&begun).unwrap_or(0.0)
        ),
    )
    .with(bounded(
        case.line(&again, "connections retried, per second"),
        view.mean(&begun).map(|begun| begun * RETRIES_MAX),
    ))
    .with(case.line(&begun, "sessions started, per second"))
}

/// Answers, those in time, and requests that clients gave up, per second. The bound is the objective's.
fn timely(view: &View<'_>) -> Option<[f64; 3]> {
    let bound_us = view.context.bound_us?;
    let answered = good(view)?;
    let late = per_second(view, |window| window.response.count_above(bound_us))?;
    let gone = per_second(view, |window| window.outcomes.get(Outcome::Timeout))?;
    Some([answered, (answered - late).max(0.0), gone])
}

/// S3: as much is answered as before, and half of it too late.
fn late(over: &Stretch3<'_>) -> Vec<Sign> {
    let sign = || {
        let [answered, in_time, gone] = timely(&over.failing)?;
        let [answered_before, in_time_before, _] = timely(&over.passing)?;
        let share = (answered - in_time + gone) / (answered + gone).max(f64::MIN_POSITIVE);
        let is_as_much = answered >= (1.0 - FALL) * answered_before;
        let is_late = share >= LATE_MAX && in_time < (1.0 - FALL) * in_time_before;
        Some(Sign::lone(
            share,
            is_as_much && is_late && answered_before >= OFTEN,
        ))
    };
    sign().into_iter().collect()
}

fn late_words(case: &RuleMatch<'_>) -> Words {
    let [answered, in_time, gone] = timely(case.failing()).unwrap_or_default();
    let bound_ms = case.failing().context.bound_us.unwrap_or(0) as f64 / 1e3;
    Words::new(
        "work for requests past their deadline",
        format!(
            "{answered:.0} requests a second were answered, as many as at the load that passed, but only \
             {in_time:.0} of them within {bound_ms:.0} ms, and {gone:.0} more were abandoned by the client: the work \
             went into late answers"
        ),
    )
    .with(case.over.evidence(
        ("answers", "successful answers in time, per second", "{request}"),
        |view| Some(timely(view)?[1]),
    ))
    .with(case.over.evidence(
        ("answers", "successful answers, per second", "{request}"),
        |view| Some(timely(view)?[0]),
    ))
}
