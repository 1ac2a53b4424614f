//! One step of the scenario takes most of the time.

use std::collections::BTreeMap;

use plimsoll_model::finding::{Strength, Tier};
use plimsoll_model::histogram::Histogram;
use plimsoll_model::journey::StepInfo;

use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::S8;
use crate::diagnosis::stretch::{Stretch3, View};

/// Share of the time of all requests, and of the requests, that make a step dear.
const TIME_SHARE: f64 = 0.5;
const REQUEST_SHARE: f64 = 0.2;
/// Requests of a stretch from which steps can be compared.
const REQUESTS_MIN: u64 = 200;

pub(crate) const RULES: &[Rule] = &[Rule::new(
    S8,
    "expensive route",
    &[Check {
        strength: Strength::Decomposition,
        tier: Tier::Runtime,
        symptom: Symptom::Change(expensive),
        words: expensive_words,
        remedy: "make it cheaper (its statements, cached answers), give it dedicated \
                 workers, or serve it after the other requests under load",
        explains: &[],
    }],
)
.tried_on_series()
.with_role(Role::Addition)
.of_the_load()];

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
fn expensive(over: &Stretch3<'_>) -> Vec<Sign> {
    let all = shares(over).into_iter();
    all.map(|(id, of_time, of_requests)| {
        let is_dear = of_time > TIME_SHARE && of_requests < REQUEST_SHARE;
        Sign::of(&label_set_of_step(id), of_time, is_dear)
    })
    .collect()
}

fn expensive_words(case: &RuleMatch<'_>) -> Words {
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
