//! Rules about how a service fails as a whole: throughput collapse, late answers, periodic latency, expensive steps.

use std::collections::BTreeMap;

use plimsoll_model::histogram::Histogram;
use plimsoll_model::journey::StepInfo;
use plimsoll_model::metric;
use plimsoll_model::outcome::Outcome;
use plimsoll_model::reading::label;
use plimsoll_model::window::Window;

use crate::diagnosis::component::place;
use crate::diagnosis::measure::subject_of;
use crate::diagnosis::rule::{RuleMatch, Sign, Words, append_clause};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::stats::trend::autocorrelation;

/// Drop of successful answers although the offered load rises, as a share.
const FALL: f64 = 0.10;
/// Retried connections per started session.
const RETRIES_MAX: f64 = 0.1;
/// What happens less than once a second is no storm.
const OFTEN: f64 = 1.0;
/// Late or abandoned answers, as a share of all.
const LATE_MAX: f64 = 0.5;
/// Length of a stretch in which a period can be found, and the least number of periods in it.
const RHYTHM_SECONDS_MIN: usize = 20;
const RHYTHM_TIMES: usize = 3;
/// How much a rhythm's seconds are alike, and by how much the slow ones differ from the quick ones.
const RHYTHM_ALIKE: f64 = 0.5;
const RHYTHM_SWING: f64 = 2.0;
/// Share of the time of all requests, and of the requests, that make a step dear.
const TIME_SHARE: f64 = 0.5;
const REQUEST_SHARE: f64 = 0.2;
/// Requests of a stretch from which steps can be compared.
const REQUESTS_MIN: u64 = 200;

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

pub(crate) fn collapse_words(case: &RuleMatch<'_>) -> Words {
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
pub(crate) fn retries(view: &View<'_>) -> Vec<Sign> {
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

pub(crate) fn retries_words(case: &RuleMatch<'_>) -> Words {
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
pub(crate) fn late(over: &Stretch3<'_>) -> Vec<Sign> {
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

pub(crate) fn late_words(case: &RuleMatch<'_>) -> Words {
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

/// The mean response time of each second, s; `None` when most seconds have no answer. After a stalled second, its
/// requests are answered in the next second with answers, which gives their response time.
fn response_times(view: &View<'_>) -> Option<Vec<f64>> {
    let windows = view.windows().iter();
    let means: Vec<Option<f64>> = windows
        .map(|window| Some(window.response.mean()? / 1e6))
        .collect();
    let silent = means.iter().filter(|second| second.is_none()).count();
    if 2 * silent > means.len() {
        return None;
    }
    let mut later = means.iter().rev().find_map(|second| *second)?;
    let mut times: Vec<f64> = means
        .iter()
        .rev()
        .map(|second| {
            later = second.unwrap_or(later);
            later
        })
        .collect();
    times.reverse();
    Some(times)
}

/// The rhythm of a series: seconds from one peak to the next, how alike they are, and how high the peaks are. A series
/// that only wanders is alike at small distances too, so that the opposite must hold half-way.
fn rhythm(values: &[f64]) -> Option<(usize, f64)> {
    if values.len() < RHYTHM_SECONDS_MIN {
        return None;
    }
    let farthest = values.len() / RHYTHM_TIMES;
    let alike = |lag: usize| autocorrelation(values, lag);
    let candidates = (4..=farthest).filter(|&lag| alike(lag / 2) < 0.0);
    let best = candidates.max_by(|&a, &b| alike(a).total_cmp(&alike(b)))?;
    let alike = alike(best);
    // Up to half of the seconds may be slow, in long stalls.
    let quick = crate::stats::order::quantile(values, 1.0 / 3.0)?;
    let top = crate::stats::order::quantile(values, 0.95)?;
    (alike >= RHYTHM_ALIKE && top >= RHYTHM_SWING * quick).then_some((best, alike))
}

/// S6.
pub(crate) fn periodic(view: &View<'_>) -> Vec<Sign> {
    let Some(times) = response_times(view) else {
        return Vec::new();
    };
    let Some((_, alike)) = rhythm(&times) else {
        return vec![Sign::lone(0.0, false)];
    };
    vec![Sign::lone(alike, true)]
}

/// The series most correlated with response times: the candidate for the period.
fn companion<'a>(view: &View<'a>, times: &[f64]) -> Option<&'a str> {
    const CANDIDATES: [&str; 9] = [
        metric::DISK_UTILIZATION,
        metric::DISK_FLUSH_TIME,
        metric::POSTGRES_CHECKPOINTS_TIMED,
        metric::POSTGRES_WAL,
        metric::REDIS_FORK,
        metric::NODE_DELAY,
        metric::PROCESSES_CREATED,
        metric::CPU_BUSY,
        metric::PRESSURE,
    ];
    /// Correlation from which two series go together.
    const TOGETHER: f64 = 0.7;
    let all = CANDIDATES
        .into_iter()
        .flat_map(|metric| view.series_of(metric));
    let together = all.filter_map(|series| {
        let values: Vec<f64> = view
            .points(series)
            .into_iter()
            .map(|point| point.1)
            .collect();
        (values.len() == times.len()).then_some((series, correlation(&values, times)))
    });
    let best = together.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (best.1 >= TOGETHER).then_some(best.0)
}

/// Pearson's r; 0 where one of both is constant.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let pairs = || a.iter().zip(b).map(|(a, b)| (a - mean_a, b - mean_b));
    let shared: f64 = pairs().map(|(a, b)| a * b).sum();
    let squares = pairs().fold((0.0, 0.0), |sum, (a, b)| (sum.0 + a * a, sum.1 + b * b));
    let whole = (squares.0 * squares.1).sqrt();
    if whole > 0.0 { shared / whole } else { 0.0 }
}

pub(crate) fn periodic_words(case: &RuleMatch<'_>) -> Words {
    let view = case.failing();
    let times = response_times(view).unwrap_or_default();
    let (period, _) = rhythm(&times).unwrap_or_default();
    let quick = crate::stats::order::quantile(&times, 1.0 / 3.0).unwrap_or(0.0);
    let top = crate::stats::order::quantile(&times, 0.95).unwrap_or(0.0);
    let mut sentence = format!(
        "response times rose every {period} s, from {:.0} ms to {:.0} ms: something runs with that period",
        quick * 1e3,
        top * 1e3
    );
    let companion = companion(view, &times);
    if let Some(series) = companion {
        append_clause(&mut sentence, format_args!("; {series} rises with them"));
    }
    let words = Words::new(format!("something that runs every {period} s"), sentence);
    let words = words.with(
        case.over
            .evidence(("response", "mean response time", "s"), |view| {
                let times = response_times(view)?;
                Some(times.iter().sum::<f64>() / times.len().max(1) as f64)
            }),
    );
    match companion {
        Some(series) => words.with(case.line(series, "series that rises with them")),
        None => words,
    }
}

/// Time of the requests of a step, and their number.
fn demands(view: &View<'_>) -> BTreeMap<u32, (f64, u64)> {
    let mut all: BTreeMap<u32, (Histogram, u64)> = BTreeMap::new();
    for window in view.windows() {
        for (&id, step) in &window.steps {
            let own = all.entry(id).or_default();
            own.0.merge(&step.response);
            own.1 += step.outcomes.total();
        }
    }
    let totals = all.into_iter().filter_map(|(id, (response, count))| {
        let mean_s = response.mean()? / 1e6;
        Some((id, (mean_s * count as f64, count)))
    });
    totals.collect()
}

/// Each step's shares of the time and of the requests. At low load where known: time in queues, common to all steps,
/// does not show the cost of a step.
fn shares(over: &Stretch3<'_>) -> Vec<(u32, f64, f64)> {
    let views = [&over.base, &over.passing, &over.failing];
    let enough = views.into_iter().find_map(|view| {
        let demands = demands(view);
        let requests: u64 = demands.values().map(|demand| demand.1).sum();
        (requests >= REQUESTS_MIN && demands.len() > 1).then_some((demands, requests))
    });
    let Some((demands, requests)) = enough else {
        return Vec::new();
    };
    let time: f64 = demands.values().map(|demand| demand.0).sum();
    let share = |(id, (own, count)): (u32, (f64, u64))| {
        let of_time = own / time.max(f64::MIN_POSITIVE);
        (id, of_time, count as f64 / requests as f64)
    };
    demands.into_iter().map(share).collect()
}

fn label_set_of_step(id: u32) -> String {
    format!("{{step={id}}}")
}

/// S8: one rarely requested step takes most of the time.
pub(crate) fn expensive(over: &Stretch3<'_>) -> Vec<Sign> {
    let all = shares(over).into_iter();
    all.map(|(id, of_time, of_requests)| {
        let is_dear = of_time > TIME_SHARE && of_requests < REQUEST_SHARE;
        Sign::of(&label_set_of_step(id), of_time, is_dear)
    })
    .collect()
}

pub(crate) fn expensive_words(case: &RuleMatch<'_>) -> Words {
    let own = shares(case.over).into_iter();
    let mut own = own.filter(|share| label_set_of_step(share.0) == case.label_set);
    let Some((id, of_time, of_requests)) = own.next() else {
        return Words::new("one step of the users", String::new());
    };
    let names: &[StepInfo] = case.over.steps;
    let name = usize::try_from(id).ok().and_then(|index| names.get(index));
    let name = name.map_or_else(|| format!("step {}", id + 1), |step| step.label.clone());
    let mean = |view: &View<'_>| {
        let (time, count) = *demands(view).get(&id)?;
        Some(time / count.max(1) as f64)
    };
    Words::new(
        format!("the step {name}"),
        format!(
            "{name} is {:.0} % of the requests and takes {:.0} % of their total time",
            of_requests * 100.0,
            of_time * 100.0
        ),
    )
    .with(
        case.over
            .evidence(("response", "mean response time of the step", "s"), mean),
    )
}
