//! A builder of journeys for the tests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_load::{Job, LoadError, RunningLoad, start};
use plimsoll_model::journey::{
    Capture, Expectation, Extractor, Feed, Inputs, Journey, Pick, RequestBody, RequestStep,
    Scenario, Step, StepId, StepInfo, TextMatch, TextPiece, TextTemplate, ThinkTime, UserPhase,
};
use plimsoll_model::outcome::Outcome;
use plimsoll_model::plan::{GoodStatus, Load, Plan};
use plimsoll_model::window::{StepWindow, Window};

use crate::trial::{plan, total};

/// A scenario, built step by step.
#[derive(Default)]
pub(crate) struct ScenarioBuilder {
    pub(crate) scenario: Scenario,
    pub(crate) inputs: Inputs,
}

impl ScenarioBuilder {
    /// A request counted under its own id.
    pub(crate) fn request(&mut self, method: &str, url: impl Into<TestUrl>) -> RequestStep {
        let TestUrl(url) = url.into();
        RequestStep {
            id: self.step(method),
            method: method.to_owned(),
            url,
            headers: Vec::new(),
            body: RequestBody::Empty,
            follow: 0,
            timeout: None,
            captures: Vec::new(),
            expectations: Vec::new(),
        }
    }

    pub(crate) fn get(&mut self, url: impl Into<TestUrl>) -> RequestStep {
        self.request("GET", url)
    }

    pub(crate) fn post(&mut self, url: &str, fields: Vec<(&str, TextTemplate)>) -> RequestStep {
        let mut step = self.request("POST", url);
        let fields = fields
            .into_iter()
            .map(|(name, text)| (name.to_owned(), text));
        step.body = RequestBody::Form(fields.collect());
        step
    }

    /// A step that is counted.
    pub(crate) fn step(&mut self, label: &str) -> StepId {
        self.scenario.steps.push(StepInfo {
            label: label.to_owned(),
            ..StepInfo::default()
        });
        StepId::try_from(self.scenario.steps.len() - 1).unwrap()
    }

    /// A captured value.
    pub(crate) fn slot(&mut self, name: &str) -> u32 {
        self.scenario.slots.push(name.to_owned());
        u32::try_from(self.scenario.slots.len() - 1).unwrap()
    }

    pub(crate) fn feed(&mut self, feed: Feed, rows: &[&str]) {
        let rows: Vec<_> = rows.iter().map(|row| vec![(*row).to_owned()]).collect();
        self.scenario.feeds.push(Feed {
            columns: vec!["name".to_owned()],
            rows: rows.len() as u64,
            ..feed
        });
        self.inputs.rows.push(rows);
    }

    pub(crate) fn journey(&mut self, once: Vec<Step>, steps: Vec<Step>) -> &mut Journey {
        self.scenario.journeys.push(Journey {
            name: format!("journey {}", self.scenario.journeys.len()),
            weight: 1.0,
            once,
            steps,
            cookies: true,
            connections: 1,
            ..Journey::default()
        });
        self.scenario.journeys.last_mut().unwrap()
    }

    pub(crate) fn begin(self, address: SocketAddr, load: Load) -> RunningLoad {
        self.try_begin(plan(address), load).unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "a trial starts now")]
    pub(crate) fn try_begin(self, mut plan: Plan, load: Load) -> Result<RunningLoad, LoadError> {
        plan.scenario = Some(self.scenario);
        crate::trial::share();
        start(Job {
            seed: plan.seed,
            plan: Arc::new(plan),
            load,
            epoch: Instant::now(),
            start_second: 0,
            inputs: Arc::new(self.inputs),
        })
    }

    pub(crate) fn run(self, address: SocketAddr, load: Load) -> Window {
        finish(&mut self.begin(address, load))
    }
}

/// A URL as written in a test.
pub(crate) struct TestUrl(TextTemplate);

impl From<&str> for TestUrl {
    fn from(text: &str) -> Self {
        Self(TextTemplate::literal(text))
    }
}

impl From<TextTemplate> for TestUrl {
    fn from(text: TextTemplate) -> Self {
        Self(text)
    }
}

/// All windows merged; asserts the invariants of every run with users.
pub(crate) fn finish(running: &mut RunningLoad) -> Window {
    let windows = crate::trial::windows(running);
    let total = total(&windows);
    for step in total.steps.values() {
        let counted = step.response.count() + step.failed.count();
        assert_eq!(counted, step.outcomes.total(), "each step has one time");
        assert_eq!(step.response.count(), step.outcomes.get(Outcome::Ok));
    }
    total
}

/// The remaining windows of a run whose first have been taken.
pub(crate) fn finish_rest(running: &mut RunningLoad) -> Window {
    let windows: Vec<Window> = std::iter::from_fn(|| running.next_window()).collect();
    total(&windows)
}

pub(crate) fn users(count: f64, lasting: Duration) -> Load {
    Load::Users {
        phases: vec![UserPhase {
            from: count,
            to: count,
            lasting,
            mix: Vec::new(),
        }],
        iterations: None,
    }
}

/// Iterations per user, and enough time for them.
pub(crate) fn iterations(users: f64, iterations: u64) -> Load {
    Load::Users {
        phases: vec![UserPhase {
            from: users,
            to: users,
            lasting: Duration::from_secs(30),
            mix: Vec::new(),
        }],
        iterations: Some(iterations),
    }
}

pub(crate) fn request_step(step: RequestStep) -> Step {
    Step::Request(Box::new(step))
}

pub(crate) fn think(pause: Duration) -> Step {
    Step::Think(ThinkTime::Fixed(pause))
}

pub(crate) fn capture(slot: u32, pattern: &str) -> Capture {
    Capture {
        slot,
        from: Extractor::Regex(pattern.to_owned()),
        pick: Pick::First,
        default: None,
    }
}

pub(crate) fn text(pieces: Vec<TextPiece>) -> TextTemplate {
    TextTemplate { pieces }
}

pub(crate) fn literal(literal: &str) -> TextPiece {
    TextPiece::Literal(literal.to_owned())
}

pub(crate) fn contains(needle: TextTemplate) -> Expectation {
    Expectation::Body(TextMatch::Contains(needle))
}

pub(crate) fn status(status: u16) -> Expectation {
    Expectation::Status(GoodStatus {
        ranges: vec![(status, status)],
    })
}

/// Results of a step; empty when it never ended.
pub(crate) fn step(total: &Window, id: StepId) -> StepWindow {
    total.steps.get(&id).cloned().unwrap_or_default()
}

/// Ends of a step: good ones, and all.
pub(crate) fn ends(total: &Window, id: StepId) -> (u64, u64) {
    let step = step(total, id);
    (step.outcomes.get(Outcome::Ok), step.outcomes.total())
}
