//! Five hundred users of two kinds: candidates who log in, write and save, and readers of pages.

use std::time::Duration;

use plimsoll_model::journey::{
    Abort, Expectation, Journey, RequestStep, Resources, Scenario, Scope, Step, StepId, StepInfo,
    TextTemplate, Threshold, UserPhase,
};
use plimsoll_model::objective::{LatencyBound, Objective};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{GoodStatus, Load};
use plimsoll_model::run::Run;
use plimsoll_model::seed::Seed;
use plimsoll_model::verdict::Verdict;
use plimsoll_model::window::{FailureSample, StepWindow, Window};
use rand::{Rng, RngExt as _};

use super::readings::readings;
use super::{ending, header_only};

/// Label, journey, group, `once`, requests a second of each user, mean response time in ms, bytes.
type UserRow = (&'static str, u32, &'static str, bool, f64, f64, u64);

const ROWS: [UserRow; 9] = [
    ("POST /accounts/login", 0, "", true, 0.0, 180.0, 900),
    ("GET /home", 0, "", false, 0.04, 14.0, 8_200),
    ("work", 0, "", false, 0.02, 95.0, 0),
    (
        "GET /editor/{{ candidate.assignment }}/with/a/very/long/path",
        0,
        "work",
        false,
        0.02,
        22.0,
        31_000,
    ),
    ("POST /editor/save", 0, "work", false, 0.02, 73.0, 420),
    ("GET /codebook", 0, "", false, 0.01, 9.0, 120_000),
    ("front page", 1, "", false, 0.03, 60.0, 44_000),
    ("resources of front page", 1, "", false, 0.18, 7.0, 260_000),
    ("GET /home", 1, "", false, 0.01, 15.0, 8_200),
];
const LOGIN: StepId = 0;
const WORK: StepId = 2;
const SAVE: StepId = 4;
const PAGE: StepId = 6;
const RESOURCES: StepId = 7;

fn request(id: StepId, expectations: Vec<Expectation>) -> Box<RequestStep> {
    Box::new(RequestStep {
        id,
        method: "GET".to_owned(),
        url: TextTemplate::default(),
        headers: Vec::new(),
        body: plimsoll_model::journey::RequestBody::Empty,
        follow: 0,
        timeout: None,
        captures: Vec::new(),
        expectations,
    })
}

fn threshold(scope: Scope, quantile: f64, within_ms: u64, errors_max: Option<f64>) -> Threshold {
    let bound = LatencyBound {
        quantile,
        within_us: within_ms * 1000,
    };
    Threshold {
        scope,
        objective: Objective {
            latency: vec![bound],
            errors_max,
            ..Objective::default()
        },
    }
}

fn scenario() -> Scenario {
    let found = Expectation::Status(GoodStatus {
        ranges: vec![(302, 302)],
    });
    let candidate = Journey {
        name: "candidate".to_owned(),
        weight: 3.0,
        once: vec![Step::Request(request(LOGIN, vec![found.clone()]))],
        steps: vec![
            Step::Request(request(1, Vec::new())),
            Step::Group {
                id: WORK,
                steps: vec![
                    Step::Request(request(3, Vec::new())),
                    Step::Request(request(SAVE, vec![found])),
                ],
            },
            Step::Request(request(5, Vec::new())),
        ],
        ..Journey::default()
    };
    let reader = Journey {
        name: "reader".to_owned(),
        weight: 1.0,
        steps: vec![
            Step::Page {
                page: request(PAGE, Vec::new()),
                resources: Resources {
                    listed: Vec::new(),
                    found: Some(RESOURCES),
                    connections: 6,
                },
            },
            Step::Request(request(8, Vec::new())),
        ],
        ..Journey::default()
    };
    let infos = ROWS
        .iter()
        .map(|&(label, journey, group, once, ..)| StepInfo {
            label: label.to_owned(),
            journey,
            groups: Some(group.to_owned())
                .filter(|name| !name.is_empty())
                .into_iter()
                .collect(),
            once,
        });
    Scenario {
        journeys: vec![candidate, reader],
        steps: infos.collect(),
        thresholds: vec![
            threshold(Scope::Everything, 0.95, 250, Some(0.01)),
            threshold(Scope::Journey(1), 0.9, 200, None),
            threshold(Scope::Step("POST /editor/save".to_owned()), 0.95, 400, None),
            threshold(Scope::Group("work".to_owned()), 0.99, 800, None),
        ],
        aborts: vec![Abort {
            objective: Objective {
                latency: Vec::new(),
                errors_max: Some(0.5),
                ..Objective::default()
            },
            over: Duration::from_secs(10),
        }],
        ..Scenario::default()
    }
}

/// A run of a minute: five hundred users arrive within twenty seconds and stay for forty.
pub(crate) fn users() -> Run {
    let mut run = header_only("run");
    let plan = &mut run.header.plan;
    plan.scenario = Some(scenario());
    plan.objective = None;
    plan.warmup = Duration::from_secs(20);
    let phase = |from, to, seconds| UserPhase {
        from,
        to,
        lasting: Duration::from_secs(seconds),
        mix: Vec::new(),
    };
    plan.load = Load::Users {
        phases: vec![phase(0.0, 500.0, 20), phase(500.0, 500.0, 40)],
        iterations: None,
    };
    let mut random = Seed(5).generator();
    for second in 0..60 {
        let window = window(second, &mut random);
        run.readings.push(&readings(&window, second, 800.0));
        run.windows.push(window);
    }
    run.ending = Some(ending(Verdict::Met, &run));
    run
}

/// The same, with a save that is slow and often redirected to the login page.
pub(crate) fn users_missed() -> Run {
    let mut run = users();
    for window in &mut run.windows {
        let Some(save) = window.steps.get_mut(&SAVE) else {
            continue;
        };
        let failed = save.outcomes.total() / 5;
        save.outcomes.add_many(Outcome::Expectation, failed);
        save.failed.record(30_000, failed);
        save.response.record(1_900_000, failed);
        save.outcomes.add_many(Outcome::Ok, failed);
        window.outcomes.add_many(Outcome::Expectation, failed);
        window.outcomes.add_many(Outcome::Ok, failed);
        window.response.record(1_900_000, failed);
    }
    run.windows[20].users_lost = 4;
    run.windows[22].failures.push(FailureSample {
        at_us: 22_400_000,
        step: Some(SAVE),
        outcome: Outcome::Expectation,
        reason: "expected status 302, found 200".to_owned(),
        status: 200,
        body: "<!doctype html><title>Log in</title><form action=\"/accounts/login\">".to_owned(),
    });
    run.ending = Some(ending(Verdict::Missed, &run));
    run
}

/// The same, with users who gave up: two at the login, seven at the first step of candidates.
pub(crate) fn users_impatient() -> Run {
    let mut run = users();
    for (second, id, us, users) in [(3, LOGIN, 5_000_000, 2), (25, 1, 3_000_000, 7)] {
        let window: &mut Window = &mut run.windows[second];
        window.users_lost = users;
        let step = window.steps.entry(id).or_default();
        step.given_up.record(us, users);
    }
    run
}

fn window(second: u32, random: &mut impl Rng) -> Window {
    let mut window = Window::new(second);
    let users = f64::from((second + 1).min(20)) * 25.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small count"
    )]
    let whole = |value: f64| value.max(0.0).round() as u64;
    window.users = whole(users);
    window.iterations = whole(users * 0.03);
    let mut busy_s = 0.0;
    for (id, &(_, _, _, once, rate, mean_ms, size)) in (0..).zip(&ROWS) {
        let expected = match (once, second) {
            (true, 0..20) => 18.0,
            (true, _) => continue,
            (false, _) => users * rate,
        };
        let count = whole(expected + expected.sqrt() * (random.random::<f64>() - 0.5) * 2.0);
        let mut step = StepWindow::default();
        for _ in 0..count {
            let ms = 0.3 * mean_ms - 0.7 * mean_ms * (1.0 - random.random::<f64>()).ln();
            step.response.record(whole(ms * 1e3), 1);
            step.outcomes.add(Outcome::Ok);
            if ![WORK, LOGIN].contains(&id) {
                busy_s += ms / 1e3;
            }
        }
        step.bytes_in = count * size;
        if ![WORK, LOGIN].contains(&id) {
            window.offered += count;
            window.outcomes.merge(&step.outcomes);
            window.response.merge(&step.response);
            window.service.merge(&step.response);
        }
        window.bytes_in += step.bytes_in;
        window.steps.insert(id, step);
    }
    window.sent = window.offered;
    window.status.insert(200, window.offered);
    window.lag.record(60, window.offered);
    window.in_flight_mean = busy_s;
    window.in_flight = whole(busy_s);
    window.connections = window.users;
    window.generator.loop_cpu_us = window.offered * 18;
    window.generator.loop_cpu_us_max = window.generator.loop_cpu_us;
    window
}
