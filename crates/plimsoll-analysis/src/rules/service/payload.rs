//! Answers and messages that grow with users or with time, and messages that are sent several times.

use plimsoll_model::finding::{Evidence, Strength, Tier};
use plimsoll_model::metric;
use plimsoll_model::window::Window;

use crate::diagnosis::rule::{Check, Role, Rule, RuleMatch, Sign, Symptom, Words};
use crate::diagnosis::rule_id::RuleId::{S9, S10};
use crate::diagnosis::stretch::{Stretch3, View, bounded};
use crate::payload::{Growth, Payload, REMEDY, growths, repetition};

pub(crate) const RULES: &[Rule] = &[
    Rule::new(
        S9,
        "answers or messages that grow with users or time",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Runtime,
            symptom: Symptom::Change(growing),
            words: growing_words,
            remedy: "bound what one answer contains",
            explains: &[],
        }],
    )
    .with_role(Role::Addition)
    .of_the_load(),
    Rule::new(
        S10,
        "one message sent several times",
        &[Check {
            strength: Strength::Decomposition,
            tier: Tier::Runtime,
            symptom: Symptom::Change(repeating),
            words: repeating_words,
            remedy: REMEDY,
            explains: &[],
        }],
    )
    .tried_on_series()
    .with_role(Role::Addition)
    .of_the_load(),
];

/// The windows of all stretches, in the order of time.
fn all_windows<'a>(over: &Stretch3<'a>) -> Vec<&'a Window> {
    let stretches = [&over.base, &over.passing, &over.failing];
    let mut windows: Vec<&Window> = stretches
        .iter()
        .flat_map(|view| view.windows().iter().copied())
        .collect();
    windows.sort_by_key(|window| window.second);
    windows.dedup_by_key(|window| window.second);
    windows
}

fn label_set_of(growth: &Growth) -> String {
    let payload = match growth.payload {
        Payload::Answers => "answers".to_owned(),
        Payload::Messages => "messages".to_owned(),
        Payload::Step(id) => id.to_string(),
    };
    metric::series("", &[("payload", payload.as_str())])
}

/// S9: the size of an answer rises with the users, or from minute to minute, by more than chance.
fn growing(over: &Stretch3<'_>) -> Vec<Sign> {
    let all = growths(&all_windows(over), over.steps);
    all.iter()
        .map(|growth| Sign::of(&label_set_of(growth), growth.bytes.1 - growth.bytes.0, true))
        .collect()
}

/// Bytes of each answer or message in a stretch.
fn each(view: &View<'_>, payload: Payload) -> Option<f64> {
    let (mut count, mut bytes) = (0, 0);
    for window in view.windows() {
        let (more, of) = match payload {
            Payload::Answers => (window.completed(), window.bytes_in),
            Payload::Messages => window.websocket.as_ref().map_or((0, 0), |websocket| {
                (websocket.messages_in, websocket.bytes_in)
            }),
            Payload::Step(id) => window
                .steps
                .get(&id)
                .map_or((0, 0), |step| (step.outcomes.total(), step.bytes_in)),
        };
        count += more;
        bytes += of;
    }
    (count > 0).then(|| bytes as f64 / count as f64)
}

fn growing_words(case: &RuleMatch<'_>) -> Words {
    let all = growths(&all_windows(case.over), case.over.steps);
    let own = all
        .into_iter()
        .find(|growth| label_set_of(growth) == case.label_set);
    let Some(growth) = own else {
        return Words::new("answers that grow", String::new());
    };
    let measure = |view: &View<'_>| each(view, growth.payload);
    Words::new(format!("the size of {}", growth.name), growth.sentence())
        .with(
            case.over
                .evidence(("bytes", "bytes of each", "By"), measure),
        )
        .advising(growth.remedy().to_owned())
}

/// S10: subscribers receive what they already have.
fn repeating(over: &Stretch3<'_>) -> Vec<Sign> {
    if !over.identifies_messages {
        return Vec::new();
    }
    let found = repetition(over.failing.windows());
    found
        .map(|repetition| Sign::lone(repetition.share, true))
        .into_iter()
        .collect()
}

fn repeating_words(case: &RuleMatch<'_>) -> Words {
    let repetition = repetition(case.failing().windows());
    let sentence = repetition.map(|repetition| repetition.sentence());
    let line: Evidence = case.over.evidence(
        (
            "duplicates",
            "messages received again, per second",
            "{message}",
        ),
        repetition_rate,
    );
    Words::new(
        "messages that are sent several times",
        sentence.unwrap_or_default(),
    )
    .with(bounded(line, Some(0.0)))
}

/// Messages received again, per second.
fn repetition_rate(view: &View<'_>) -> Option<f64> {
    let again = |window: &Window| {
        let channels = window
            .websocket
            .iter()
            .flat_map(|websocket| websocket.channels.values());
        channels.map(|channel| channel.duplicates).sum()
    };
    let seconds = view.windows().len() as f64;
    Some(view.sum(again)? as f64 / seconds)
}
