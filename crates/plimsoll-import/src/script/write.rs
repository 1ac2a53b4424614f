//! Writes the plan file of a draft.

mod origin;
mod request;

use std::collections::HashMap;

use super::draft::{
    DataDraft, DataSource, JourneyDraft, PlanDraft, RequestDraft, StepDraft, StepItem, ThinkDraft,
    duration,
};
use super::{Losses, Template};
use crate::Imported;
use crate::yaml::{self, YamlEntry, YamlItem, YamlNode};

/// Where the plan's requests go if nothing tells it.
const TARGET_UNKNOWN: &str = "{{ env('TARGET', 'http://target.invalid') }}";

/// The plan of a draft, with the losses of its script.
pub(crate) fn write(draft: PlanDraft, losses: Losses<'_>) -> Imported {
    let main = main_origin(&draft);
    let target = draft.target.clone().unwrap_or_else(|| {
        if main.is_empty() {
            TARGET_UNKNOWN.to_owned()
        } else {
            origin::with_defaults(main.as_str())
        }
    });
    let mut notes = draft.notes;
    if target == TARGET_UNKNOWN {
        notes.push(
            "the script does not tell the site: set TARGET, or write the URL at `target:`"
                .to_owned(),
        );
    }
    let losses = losses.finish();
    let mut top = vec![draft.heading];
    top.extend(notes.iter().cloned());
    if !losses.is_empty() {
        top.push(format!(
            "not in this plan: {}; `plimsoll import` names each with its place",
            crate::counted(losses.len(), "part")
        ));
    }
    let mut entries = vec![YamlEntry::new("target", YamlNode::text(target))];
    if let Some(name) = draft.name.as_deref().and_then(plan_name) {
        entries.push(YamlEntry::new("name", YamlNode::text(name)));
    }
    if let Some(good) = draft.good {
        entries.push(YamlEntry::new("good", YamlNode::text(good)));
    }
    entries.extend(thresholds(&draft.thresholds, &draft.scoped_thresholds));
    if !draft.abort.is_empty() {
        entries.push(YamlEntry::new("abort", YamlNode::list(draft.abort)));
    }
    entries.extend(templates("headers", &draft.headers));
    if !draft.data.is_empty() {
        entries.push(YamlEntry::new(
            "data",
            YamlNode::map(draft.data.iter().map(|set| (set.name.clone(), data(set)))),
        ));
    }
    entries.extend(journeys(&draft.journeys, &main));
    if let Some(load) = draft.load {
        entries.push(YamlEntry::new("load", load));
    }
    if !draft.transport.is_empty() {
        entries.push(YamlEntry::new("transport", YamlNode::Map(draft.transport)));
    }
    Imported {
        plan: yaml::document(&top, &entries),
        notes,
        losses,
        files: draft.files,
    }
}

/// A name as plans have it: letters, digits, `-`, `_` and `.`, at most 64 of them, not a dot first.
fn plan_name(text: &str) -> Option<String> {
    const LEN_MAX: usize = 64;
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '.') {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_start_matches(['.', '-']);
    let name = &name[..name.len().min(LEN_MAX)];
    let name = name.trim_end_matches('-');
    (!name.is_empty()).then(|| name.to_owned())
}

/// The origin that most requests go to; of equal ones the first.
fn main_origin(draft: &PlanDraft) -> Template {
    let mut counts: HashMap<&Template, (usize, usize)> = HashMap::new();
    let mut requests = Vec::new();
    for journey in &draft.journeys {
        each_request(&journey.once, &mut |request| requests.push(request));
        each_request(&journey.steps, &mut |request| requests.push(request));
    }
    for (at, request) in requests.iter().enumerate() {
        counts.entry(&request.url.origin).or_insert((0, at)).0 += 1;
    }
    counts
        .into_iter()
        .filter(|(origin, _)| can_be_target(origin))
        .max_by_key(|(_, (count, first))| (*count, usize::MAX - first))
        .map(|(origin, _)| origin.clone())
        .unwrap_or_default()
}

/// A target may contain variables of the environment, but no value that changes from user to user.
fn can_be_target(origin: &Template) -> bool {
    let text = origin.as_str();
    !origin.is_empty()
        && (origin.is_literal() || text.matches("{{").count() == text.matches("{{ env(").count())
}

/// Calls `take` with every request of the steps, those inside other steps too.
pub(crate) fn each_request<'d>(steps: &'d [StepItem], take: &mut impl FnMut(&'d RequestDraft)) {
    for item in steps {
        match &item.step {
            StepDraft::Request(request) => {
                take(request);
                request.resources.iter().for_each(&mut *take);
            }
            StepDraft::Repeat { steps, .. } | StepDraft::Group { steps, .. } => {
                each_request(steps, take);
            }
            StepDraft::Choose(branches) => {
                for (_, steps) in branches {
                    each_request(steps, take);
                }
            }
            StepDraft::If {
                then, otherwise, ..
            } => {
                each_request(then, take);
                each_request(otherwise, take);
            }
            StepDraft::Think(_) | StepDraft::Set(_) | StepDraft::Keys(_) => {}
        }
    }
}

fn thresholds(whole: &[String], scoped: &[(String, Vec<String>)]) -> Option<YamlEntry> {
    let list = |texts: &[String]| YamlNode::list(texts.iter().map(YamlNode::text));
    if scoped.is_empty() {
        return (!whole.is_empty()).then(|| YamlEntry::new("thresholds", list(whole)));
    }
    let everything = (!whole.is_empty()).then(|| ("everything".to_owned(), list(whole)));
    let scoped = scoped
        .iter()
        .map(|(scope, texts)| (scope.clone(), list(texts)));
    Some(YamlEntry::new(
        "thresholds",
        YamlNode::map(everything.into_iter().chain(scoped)),
    ))
}

fn templates(key: &str, values: &[(String, Template)]) -> Option<YamlEntry> {
    if values.is_empty() {
        return None;
    }
    Some(YamlEntry::new(key, template_map(values)))
}

/// A map of templates; the last of those with one name counts.
fn template_map(values: &[(String, Template)]) -> YamlNode {
    let mut entries: Vec<YamlEntry> = Vec::new();
    for (name, value) in values {
        let value = YamlNode::text(value.as_str());
        match entries.iter_mut().find(|entry| entry.key == *name) {
            Some(entry) => entry.value = value,
            None => entries.push(YamlEntry::new(name, value)),
        }
    }
    YamlNode::Map(entries)
}

fn data(set: &DataDraft) -> YamlNode {
    let mut entries = vec![match &set.source {
        DataSource::Csv(path) => YamlEntry::new("csv", YamlNode::text(path)),
        DataSource::Json(path) => YamlEntry::new("json", YamlNode::text(path)),
        DataSource::Rows(rows) => YamlEntry::new("rows", YamlNode::list(rows.iter().cloned())),
    }];
    let words = [
        ("pick", set.pick),
        ("at_end", set.at_end),
        ("each", set.each),
    ];
    for (key, word) in words {
        entries.extend(word.map(|word| YamlEntry::new(key, YamlNode::text(word))));
    }
    if let Some(delimiter) = set.delimiter.filter(|delimiter| *delimiter != ',') {
        entries.push(YamlEntry::new("delimiter", YamlNode::text(delimiter)));
    }
    YamlNode::Map(entries)
}

fn journeys(journeys: &[JourneyDraft], main: &Template) -> Vec<YamlEntry> {
    match journeys {
        [only] if only.weight.is_none() && only.headers.is_empty() => journey(only, main),
        several => vec![YamlEntry::new(
            "journeys",
            YamlNode::map(
                several
                    .iter()
                    .map(|kind| (kind.name.clone(), YamlNode::Map(journey(kind, main)))),
            ),
        )],
    }
}

fn journey(journey: &JourneyDraft, main: &Template) -> Vec<YamlEntry> {
    let mut entries = Vec::new();
    if let Some(weight) = journey.weight {
        entries.push(YamlEntry::new("weight", YamlNode::plain(weight)));
    }
    if let Some(cookies) = journey.cookies {
        entries.push(YamlEntry::new("cookies", YamlNode::plain(cookies)));
    }
    if let Some(cache) = journey.cache {
        entries.push(YamlEntry::new("cache", YamlNode::plain(cache)));
    }
    if journey.forgets {
        entries.push(YamlEntry::new("forgets", YamlNode::plain(true)));
    }
    if let Some(iterations) = journey.iterations {
        entries.push(YamlEntry::new("iterations", YamlNode::plain(iterations)));
    }
    entries.extend(templates("headers", &journey.headers));
    if !journey.once.is_empty() {
        entries.push(YamlEntry::new("once", steps(&journey.once, main)));
    }
    if !journey.steps.is_empty() || journey.once.is_empty() {
        entries.push(YamlEntry::new("steps", steps(&journey.steps, main)));
    }
    entries
}

fn steps(items: &[StepItem], main: &Template) -> YamlNode {
    let items = items.iter().map(|item| YamlItem {
        notes: item.notes.clone(),
        value: YamlNode::Map(step(&item.step, main)),
    });
    YamlNode::List(items.collect())
}

fn step(step: &StepDraft, main: &Template) -> Vec<YamlEntry> {
    match step {
        StepDraft::Request(draft) => request::request(draft, main),
        StepDraft::Think(draft) => vec![YamlEntry::new("think", think(*draft))],
        StepDraft::Repeat { times, steps: body } => vec![
            YamlEntry::new("repeat", YamlNode::plain(times)),
            YamlEntry::new("steps", steps(body, main)),
        ],
        StepDraft::Choose(branches) => {
            let branches = branches.iter().map(|(weight, body)| {
                YamlNode::map([
                    ("weight", YamlNode::plain(weight)),
                    ("steps", steps(body, main)),
                ])
            });
            vec![YamlEntry::new("choose", YamlNode::list(branches))]
        }
        StepDraft::If {
            condition,
            then,
            otherwise,
        } => {
            let mut entries = vec![
                YamlEntry::new("if", YamlNode::text(condition)),
                YamlEntry::new("then", steps(then, main)),
            ];
            if !otherwise.is_empty() {
                entries.push(YamlEntry::new("else", steps(otherwise, main)));
            }
            entries
        }
        StepDraft::Group { name, steps: body } => vec![
            YamlEntry::new("group", YamlNode::text(name)),
            YamlEntry::new("steps", steps(body, main)),
        ],
        StepDraft::Set(values) => vec![YamlEntry::new("set", template_map(values))],
        StepDraft::Keys(entries) => entries.clone(),
    }
}

fn think(draft: ThinkDraft) -> YamlNode {
    let both = |first, second| {
        YamlNode::list([
            YamlNode::plain(duration(first)),
            YamlNode::plain(duration(second)),
        ])
    };
    match draft {
        ThinkDraft::Fixed(time) => YamlNode::plain(duration(time)),
        ThinkDraft::Uniform(from, to) => {
            YamlNode::plain(format!("{}..{}", duration(from), duration(to)))
        }
        ThinkDraft::Normal(mean, deviation) => YamlNode::map([("normal", both(mean, deviation))]),
    }
}
