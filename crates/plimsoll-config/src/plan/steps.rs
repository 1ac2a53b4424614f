//! Reads the steps of a journey, in the order in which a user takes them.

mod keys;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use plimsoll_model::journey::{
    Choice, RepeatRange, RequestStep, Resources, SlotId, Step, StepId, StepInfo, ThinkTime,
};

use super::body::BODIES;
use super::scope::{PlanScope, VisibleSlots};
use crate::document::Shape::Steps;
use crate::document::{
    DocumentKey, DocumentNode, MapFields, NodeKind, SettingsMap as _, number, settings,
};
use crate::login;
use keys::{KINDS, METHODS, StepKind, kind_of};
pub(crate) use keys::{RESOURCE, STEP};

/// Maximum repetitions of one step.
const REPEAT_MAX: u64 = 1_000_000;
/// Default connections of a page, as in browsers.
const PAGE_CONNECTIONS: u32 = 6;
/// Connections of a page.
const CONNECTIONS: RangeInclusive<u32> = 1..=6;

settings! {
    /// One branch of a `choose`.
    struct ChoiceSettings, CHOICE "choice" {
        /// Probability, relative to the weights of the other branches.
        weight: f64 = 1.0, "weight": number();
        /// Steps of the branch; may be empty.
        "steps": Steps;
    }
}

/// State of one journey while its steps are read.
pub(crate) struct Walk<'s, 'a> {
    pub(crate) scope: &'s mut PlanScope<'a>,
    /// Index of the journey.
    pub(crate) journey: u32,
    /// Whether these steps belong to `once`.
    pub(crate) once: bool,
    pub(crate) groups: Vec<String>,
    pub(crate) reach: VisibleSlots,
    /// Whether any page was read.
    pub(crate) has_page: bool,
}

impl Walk<'_, '_> {
    /// The steps of a list; invalid ones are reported and left out.
    pub(crate) fn steps(&mut self, node: &DocumentNode) -> Vec<Step> {
        let items = self.scope.reader.list(node, "steps");
        items.iter().filter_map(|item| self.step(item)).collect()
    }

    fn steps_of(&mut self, fields: &MapFields<'_>, word: &str) -> Vec<Step> {
        match fields.get(word) {
            Some(node) => self.steps(node),
            None => Vec::new(),
        }
    }

    /// Required steps.
    pub(crate) fn some_steps(&mut self, fields: &MapFields<'_>, owner: &str) -> Vec<Step> {
        if fields.get("steps").is_none() {
            let message = format!("`{owner}` has no `steps`");
            self.scope
                .reader
                .report(fields.node, message, "a list of steps");
        }
        self.steps_of(fields, "steps")
    }

    fn step(&mut self, node: &DocumentNode) -> Option<Step> {
        let reader = self.scope.reader;
        let fields = reader.fields(node, &STEP)?;
        let kinds = keys_of_kinds(false);
        let (lone, has_kind) = (keys_of_kinds(true), !fields.among(&kinds).is_empty());
        let is_lone = !has_kind && !fields.among(&lone).is_empty();
        let Some((key, value)) = reader.exactly_one(&fields, if is_lone { &lone } else { &kinds })
        else {
            self.check_kinds(&fields, &kinds);
            return None;
        };
        let kind = kind_of(&key.text)?;
        reader.only(&fields, kind.key(), &kind.options(), &STEP);
        kind.read(self, &fields, value)
    }

    /// Reads a step that has two kinds, most often because a `- ` is missing: reports its errors, and registers its
    /// captures for later steps. Of the kinds with nested steps only the first is read, so that no step is read
    /// twice.
    fn check_kinds(&mut self, fields: &MapFields<'_>, kinds: &[&str]) {
        for (place, (key, value)) in fields.among(kinds).into_iter().enumerate() {
            if place == 0 || matches!(key.text.as_str(), "think" | "set") {
                kind_of(&key.text).and_then(|kind| kind.read(self, fields, value));
            }
        }
    }

    fn repeat(&mut self, fields: &MapFields<'_>, times: &DocumentNode) -> Option<Step> {
        let times = self.times(times);
        let steps = self.some_steps(fields, "repeat");
        Some(Step::Repeat {
            times: times?,
            steps,
        })
    }

    /// A step with statistics at this place.
    pub(crate) fn count_step(&mut self, label: String) -> StepId {
        let info = StepInfo {
            label,
            journey: self.journey,
            groups: self.groups.clone(),
            once: self.once,
        };
        self.scope.count_step(info)
    }

    /// From here on the slot has a value.
    pub(crate) fn now_set(&mut self, slot: SlotId) {
        if let Some(set) = &mut self.reach.set {
            set.insert(slot);
        }
    }

    fn page(&mut self, fields: &MapFields<'_>, url: &DocumentNode) -> Option<Step> {
        self.has_page = true;
        // A page with a body is requested by POST, as browsers submit a form.
        let is_sent = !fields.among(&BODIES).is_empty();
        let page = self.request(fields, if is_sent { "post" } else { "get" }, url);
        let mut resources = Resources {
            connections: PAGE_CONNECTIONS,
            ..Resources::default()
        };
        if let Some(node) = fields.get("connections") {
            resources.connections = self.scope.reader.count32(node, CONNECTIONS)?;
        }
        let mut found = false;
        if let Some(node) = fields.get("resources") {
            for item in self.scope.reader.one_or_more(node) {
                match &item.kind {
                    NodeKind::Scalar { text, .. } if text == "found" => found = true,
                    NodeKind::Scalar { text, .. } if !text.starts_with(['/', '{', 'h']) => {
                        let valid = "found, or a list of paths and requests";
                        let message = format!("`{text}` is neither `found` nor a list");
                        self.scope.reader.report(item, message, valid);
                    }
                    _ => resources.listed.extend(self.resource(item)),
                }
            }
        }
        let page = page?;
        if found {
            let label = self.scope.steps[page.id as usize].label.clone();
            resources.found = Some(self.count_step(format!("{label} (found)")));
        }
        Some(Step::Page {
            page: Box::new(page),
            resources,
        })
    }

    fn resource(&mut self, node: &DocumentNode) -> Option<RequestStep> {
        if let NodeKind::Scalar { text, .. } = &node.kind {
            let url = self.scope.url(node, &self.reach);
            let id = self.count_step(format!("GET {}", login::removed(text)));
            return Some(super::request::plain_get(id, url?, Vec::new()));
        }
        let reader = self.scope.reader;
        let fields = reader.fields(node, &RESOURCE)?;
        let (key, url) = reader.exactly_one(&fields, METHODS)?;
        self.request(&fields, &key.text, url)
    }

    fn choose(&mut self, node: &DocumentNode) -> Option<Step> {
        let reader = self.scope.reader;
        let before = self.reach.set.clone();
        let mut after = before.clone();
        let mut choices = Vec::new();
        for item in reader.list(node, "branches, such as { weight: 3, steps: [...] }") {
            let Some(fields) = reader.fields(item, &CHOICE) else {
                continue;
            };
            let weight = ChoiceSettings::read(reader, &fields).weight;
            self.reach.set.clone_from(&before);
            let steps = self.steps_of(&fields, "steps");
            unite(&mut after, self.reach.set.take());
            choices.push(Choice { weight, steps });
        }
        self.reach.set = after;
        if choices.iter().map(|choice| choice.weight).sum::<f64>() <= 0.0 {
            reader.report(
                node,
                "no branch has a weight above 0",
                "at least one branch, such as { weight: 3, steps: [...] }",
            );
            return None;
        }
        Some(Step::Choose(choices))
    }

    fn branch(&mut self, fields: &MapFields<'_>, node: &DocumentNode) -> Option<Step> {
        let condition = self.scope.condition(node, &self.reach);
        if fields.get("then").is_none() {
            self.scope
                .reader
                .report(fields.node, "`if` has no `then`", "a list of steps");
        }
        let before = self.reach.set.clone();
        let then = self.steps_of(fields, "then");
        let after_then = self.reach.set.take();
        self.reach.set = before;
        let otherwise = self.steps_of(fields, "else");
        unite(&mut self.reach.set, after_then);
        Some(Step::If {
            condition: condition?,
            then,
            otherwise,
        })
    }

    fn group(&mut self, fields: &MapFields<'_>, node: &DocumentNode) -> Option<Step> {
        let name = self.scope.reader.word(node, "a name")?;
        let id = self.count_step(name.clone());
        self.groups.push(name);
        let steps = self.some_steps(fields, "group");
        self.groups.pop();
        Some(Step::Group { id, steps })
    }

    /// Several values become one step each, in the order of the file.
    fn set(&mut self, node: &DocumentNode) -> Option<Step> {
        let entries = self.scope.reader.entries(node, "names and texts")?;
        let mut steps = Vec::new();
        for (key, value) in entries {
            let text = self.scope.text(value, &self.reach);
            let slot = self.scope.slot(&key.text);
            self.now_set(slot);
            steps.push(Step::Set(slot, text?));
        }
        match steps.len() {
            0 => {
                self.scope
                    .reader
                    .report(node, "the map is empty", "{ name: value }");
                None
            }
            1 => steps.pop(),
            _ => Some(Step::Repeat {
                times: RepeatRange { min: 1, max: 1 },
                steps,
            }),
        }
    }

    fn times(&mut self, node: &DocumentNode) -> Option<RepeatRange> {
        let reader = self.scope.reader;
        let text = reader.text(node, "a number such as 5, or a range such as 2..4")?;
        let Some((low, high)) = text.split_once("..") else {
            let count = reader.count(node, 0..=REPEAT_MAX)?;
            let times = u32::try_from(count).ok()?;
            return Some(RepeatRange {
                min: times,
                max: times,
            });
        };
        let read = |text: &str| text.trim().parse::<u32>().ok();
        match (read(low), read(high)) {
            (Some(min), Some(max)) if min <= max && u64::from(max) <= REPEAT_MAX => {
                Some(RepeatRange { min, max })
            }
            _ => {
                let message = format!("`{text}` is not a range of whole numbers");
                reader.report(
                    node,
                    message,
                    "an ascending range up to 1000000, such as 2..4",
                );
                None
            }
        }
    }
}

/// The keys of the kinds of steps: of those that are options of others as well, or of the rest.
fn keys_of_kinds(is_option: bool) -> Vec<&'static str> {
    let kinds = KINDS.iter().filter(|kind| kind.is_option() == is_option);
    kinds.map(StepKind::key).collect()
}

fn unite(into: &mut Option<BTreeSet<SlotId>>, more: Option<BTreeSet<SlotId>>) {
    if let (Some(into), Some(more)) = (into, more) {
        into.extend(more);
    }
}

/// Names that the steps of a list capture or set, at any depth.
pub(crate) fn names_set<'n>(node: &'n DocumentNode, names: &mut Vec<&'n DocumentKey>) {
    let NodeKind::List(items) = &node.kind else {
        return;
    };
    for item in items {
        for word in ["capture", "set"] {
            if let Some(NodeKind::Map(entries)) = item.get(word).map(|node| &node.kind) {
                names.extend(entries.iter().map(|(key, _)| key));
            }
        }
        for word in ["steps", "then", "else", "choose", "resources"] {
            if let Some(below) = item.get(word) {
                names_set(below, names);
            }
        }
    }
}

/// Whether these steps can take any time: users that only compute would never yield the event loop.
pub(crate) fn can_take_time(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Request(_)
        | Step::Page { .. }
        | Step::Socket(_)
        | Step::Every { .. }
        | Step::Poll(_) => true,
        Step::Think(pause) => !matches!(pause, ThinkTime::Fixed(lasting) if lasting.is_zero()),
        Step::Repeat { times, steps } => times.max > 0 && can_take_time(steps),
        Step::Choose(choices) => choices.iter().any(|choice| can_take_time(&choice.steps)),
        Step::If {
            then, otherwise, ..
        } => can_take_time(then) || can_take_time(otherwise),
        Step::Group { steps, .. } => can_take_time(steps),
        Step::Send(send) => send.awaited.is_some(),
        Step::Subscribe(subscribe) => subscribe.send.awaited.is_some(),
        Step::Set(..) | Step::Close(_) => false,
    })
}
