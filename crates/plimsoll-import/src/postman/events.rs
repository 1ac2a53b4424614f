//! Scripts around requests: what they set, take from an answer and expect of it.

use std::time::Duration;

use super::body::is_off;
use super::context::Context;
use super::script::{self, Check, Match, ScriptAction, ScriptValue};
use super::variables::Place;
use crate::located::Located;
use crate::script::Template;
use crate::script::draft::{
    CaptureDraft, CaptureSource, MatchDraft, PickDraft, RequestDraft, StepDraft, StepItem,
};

/// When a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listener {
    Before,
    After,
}

/// A script with the bytes of the collection at which its lines begin.
struct PlacedScript {
    text: String,
    /// Byte of the script and byte of the collection.
    lines: Vec<(usize, usize)>,
}

impl PlacedScript {
    fn read(script: &Located) -> Self {
        let mut placed = Self {
            text: String::new(),
            lines: Vec::new(),
        };
        let exec = script.get("exec").unwrap_or(script);
        let lines: Vec<&Located> = match exec.text() {
            Some(_) => vec![exec],
            None => exec.items().iter().collect(),
        };
        for line in lines {
            // The text begins behind its quote.
            placed.lines.push((placed.text.len(), line.at + 1));
            placed.text.push_str(line.text().unwrap_or_default());
            placed.text.push('\n');
        }
        placed
    }

    /// The byte of the collection for one of the script.
    fn place(&self, at: usize) -> usize {
        let index = self.lines.partition_point(|(start, _)| *start <= at);
        self.lines
            .get(index.saturating_sub(1))
            .map_or(0, |(start, place)| place + (at - start))
    }
}

/// What the scripts of one kind do, in their order. What is lost is noted here.
pub(super) fn actions(
    context: &mut Context<'_>,
    events: &[&Located],
    listener: Listener,
) -> Vec<(usize, ScriptAction)> {
    let name = match listener {
        Listener::Before => "prerequest",
        Listener::After => "test",
    };
    let mut actions = Vec::new();
    for event in events.iter().flat_map(|list| list.items()) {
        let is_meant = event.get("listen").and_then(Located::text) == Some(name);
        let Some(script) = event.get("script").filter(|_| is_meant && !is_off(event)) else {
            continue;
        };
        let placed = PlacedScript::read(script);
        for action in script::read(&placed.text) {
            match action {
                ScriptAction::Lost(at, what, why, remedy) => {
                    context.lose(placed.place(at), &what, why, remedy);
                }
                other => actions.push((script.at, other)),
            }
        }
    }
    actions
}

/// The steps that set variables before a request; conditions have no answer there.
pub(super) fn sets(
    context: &mut Context<'_>,
    actions: Vec<(usize, ScriptAction)>,
) -> Vec<StepItem> {
    let mut steps = Vec::new();
    for (at, action) in actions {
        match action {
            ScriptAction::Set(name, value) => match constant(context, at, &name, value) {
                Some(value) => steps.push(set(context, &name, value)),
                None => lose_set(context, at, &name, "there is no answer yet"),
            },
            ScriptAction::Check(_) => context.lose(
                at,
                "a test before the request",
                "there is no answer yet",
                "move it to the tests of a request",
            ),
            ScriptAction::Lost(..) => {}
        }
    }
    steps
}

fn lose_set(context: &mut Context<'_>, at: usize, name: &str, why: &str) {
    let remedy = format!("write it into the plan: set: {{ {name}: … }}");
    context.lose(at, &format!("set(\"{name}\", …)"), why, &remedy);
}

fn set(context: &mut Context<'_>, name: &str, value: Template) -> StepItem {
    let own = context.variables.set_in_plan(name);
    StepDraft::Set(vec![(own, value)]).into()
}

/// A value that needs no answer.
fn constant(
    context: &mut Context<'_>,
    at: usize,
    name: &str,
    value: ScriptValue,
) -> Option<Template> {
    match value {
        ScriptValue::Text(text) => {
            let text = context.resolved(at, &text, Place::Text);
            let secret = context
                .secrets
                .parameter(&mut context.marks, (name, &text), None);
            let text = secret.map_or(text, |mark| mark.to_string());
            Some(context.marks.template(&text))
        }
        _ => None,
    }
}

/// Adds captures and conditions to a request; the steps that follow it.
pub(super) fn results(
    context: &mut Context<'_>,
    actions: Vec<(usize, ScriptAction)>,
    draft: &mut RequestDraft,
) -> Vec<StepItem> {
    let mut steps = Vec::new();
    for (at, action) in actions {
        match action {
            ScriptAction::Set(name, value) => {
                let source = match value {
                    ScriptValue::Json(path) => CaptureSource::Json(path),
                    ScriptValue::Header(name) => CaptureSource::Header(name),
                    ScriptValue::Cookie(name) => CaptureSource::Cookie(name),
                    ScriptValue::Body => CaptureSource::Regex("(?s)^(.*)$".to_owned()),
                    other => {
                        match constant(context, at, &name, other) {
                            Some(value) => steps.push(set(context, &name, value)),
                            None => lose_set(context, at, &name, "a plan cannot capture it"),
                        }
                        continue;
                    }
                };
                let own = context.variables.set_in_plan(&name);
                draft.captures.retain(|capture| capture.name != own);
                draft.captures.push(CaptureDraft {
                    name: own,
                    source,
                    pick: PickDraft::First,
                    default: None,
                });
            }
            ScriptAction::Check(check) => expect(context, at, check, draft),
            ScriptAction::Lost(..) => {}
        }
    }
    steps
}

fn expect(context: &mut Context<'_>, at: usize, check: Check, draft: &mut RequestDraft) {
    let expect = &mut draft.expect;
    let mut text = |value: ScriptValue| {
        let text = value.into_text()?;
        let text = context.resolved(at, &text, Place::Text);
        Some(context.marks.template(&text))
    };
    let condition = |value: Match, text: &mut dyn FnMut(ScriptValue) -> Option<Template>| {
        Some(match value {
            Match::Equals(value) => MatchDraft::Equals(text(value)?),
            Match::Contains(value) => MatchDraft::Contains(text(value)?),
            Match::Present(is_present) => MatchDraft::Present(is_present),
            Match::Regex(pattern) => MatchDraft::Regex(pattern),
        })
    };
    let is_known = match check {
        Check::Statuses(statuses) => {
            // The innermost script is the last.
            expect.statuses = statuses;
            true
        }
        Check::Within(ms) => {
            let time = Duration::from_millis(ms).max(Duration::from_millis(1));
            expect.within = Some(expect.within.map_or(time, |known| known.min(time)));
            true
        }
        Check::Contains(value) => text(value)
            .map(|value| expect.contains.push(value))
            .is_some(),
        Check::Lacks(value) => text(value).map(|value| expect.lacks.push(value)).is_some(),
        Check::Header(name, value) => condition(value, &mut text)
            .map(|value| {
                expect.headers.retain(|(known, _)| *known != name);
                expect.headers.push((name, value));
            })
            .is_some(),
        Check::Json(path, value) => condition(value, &mut text)
            .map(|value| {
                expect.json.retain(|(known, _)| *known != path);
                expect.json.push((path, value));
            })
            .is_some(),
    };
    if !is_known {
        context.lose(
            at,
            "a test",
            "its expected value is known only when the script runs",
            "write the condition into the plan: expect: { … }",
        );
    }
}
