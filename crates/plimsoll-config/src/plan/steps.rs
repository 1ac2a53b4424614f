//! Reads the steps of a journey, in the order in which a user takes them.

use std::collections::BTreeSet;

use plimsoll_model::journey::{
    Choice, RepeatRange, RequestStep, Resources, SlotId, Step, StepId, StepInfo, ThinkTime,
};

use super::body::BODIES;
use super::keywords::{CHOICE, METHODS, RESOURCE, STEP, THINK};
use super::scope::{PlanScope, VisibleSlots};
use super::sockets::{AWAIT_WORDS, SEND_WORDS, SOCKET_WORDS, STREAM_WORDS};
use crate::document::{DocumentKey, DocumentNode, MapFields, NodeKind};
use crate::units;

/// Maximum repetitions of one step.
const REPEAT_MAX: u64 = 1_000_000;
/// Default connections of a page, as in browsers.
const PAGE_CONNECTIONS: u32 = 6;
/// Keys allowed with a method.
pub(crate) const REQUEST_WORDS: [&str; 11] = [
    "label",
    "headers",
    "body",
    "form",
    "multipart",
    "json",
    "graphql",
    "expect",
    "capture",
    "follow",
    "timeout",
];
/// Keys allowed with `page` besides these.
const PAGE_WORDS: [&str; 2] = ["resources", "connections"];
const KINDS: [&str; 21] = [
    "get",
    "post",
    "put",
    "patch",
    "delete",
    "head",
    "options",
    "page",
    "think",
    "repeat",
    "choose",
    "if",
    "group",
    "set",
    "ws",
    "sse",
    "send",
    "subscribe",
    "every",
    "hold",
    "close",
];
/// Keys that belong to another kind, or are a kind of their own without one.
const LONE_KIND: [&str; 1] = ["await"];

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
        let is_lone = fields.among(&KINDS).is_empty() && fields.get(LONE_KIND[0]).is_some();
        let kinds: &[&str] = if is_lone { &LONE_KIND } else { &KINDS };
        let Some((key, value)) = reader.exactly_one(&fields, kinds) else {
            self.check_kinds(&fields);
            return None;
        };
        let kind = key.text.as_str();
        let of_page = [&REQUEST_WORDS[..], &PAGE_WORDS].concat();
        let allowed: &[&str] = match kind {
            "page" => &of_page,
            "repeat" | "group" => &["steps"],
            "if" => &["then", "else"],
            "think" | "choose" | "set" | "hold" | "close" => &[],
            "ws" => &SOCKET_WORDS,
            "sse" => &STREAM_WORDS,
            "send" => &SEND_WORDS,
            "await" | "subscribe" => &AWAIT_WORDS,
            "every" => &["steps", "for"],
            _ => &REQUEST_WORDS,
        };
        reader.only(&fields, kind, allowed, &STEP);
        self.of_kind(&fields, kind, value)
    }

    fn of_kind(
        &mut self,
        fields: &MapFields<'_>,
        kind: &str,
        value: &DocumentNode,
    ) -> Option<Step> {
        match kind {
            "page" => self.page(fields, value),
            "think" => self.pause(value).map(Step::Think),
            "repeat" => {
                let times = self.times(value);
                let steps = self.some_steps(fields, "repeat");
                Some(Step::Repeat {
                    times: times?,
                    steps,
                })
            }
            "choose" => self.choose(value),
            "if" => self.branch(fields, value),
            "group" => self.group(fields, value),
            "set" => self.set(value),
            "ws" => self.socket(fields, value),
            "sse" => self.stream(fields, value),
            "send" => self.send(fields, Some(value)),
            "await" => self.send(fields, None),
            "subscribe" => self.subscribe(fields, value),
            "every" => self.every(fields, value),
            "hold" => self.hold(value),
            "close" => self.close(value),
            method => {
                let request = self.request(fields, method, value)?;
                Some(Step::Request(Box::new(request)))
            }
        }
    }

    /// Reads a step that has two kinds, most often because a `- ` is missing: reports its errors, and registers its
    /// captures for later steps. Of the kinds with nested steps only the first is read, so that no step is read
    /// twice.
    fn check_kinds(&mut self, fields: &MapFields<'_>) {
        for (place, (key, value)) in fields.among(&KINDS).into_iter().enumerate() {
            if place == 0 || matches!(key.text.as_str(), "think" | "set") {
                self.of_kind(fields, &key.text, value);
            }
        }
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
            resources.connections = self.scope.reader.count32(node, 1..=6)?;
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
            let id = self.count_step(format!("GET {text}"));
            return Some(super::request::plain_get(id, url?));
        }
        let reader = self.scope.reader;
        let fields = reader.fields(node, &RESOURCE)?;
        let (key, url) = reader.exactly_one(&fields, &METHODS)?;
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
            let weight = fields
                .get("weight")
                .map_or(Some(1.0), |node| reader.number(node));
            self.reach.set.clone_from(&before);
            let steps = self.steps_of(&fields, "steps");
            unite(&mut after, self.reach.set.take());
            choices.extend(weight.map(|weight| Choice { weight, steps }));
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

    fn pause(&mut self, node: &DocumentNode) -> Option<ThinkTime> {
        const VALID: &str =
            "2s, 1s..15s, { exponential: 5s }, { normal: [5s, 1s] } or { lognormal: [5s, 0.5] }";
        let reader = self.scope.reader;
        match &node.kind {
            NodeKind::Map(_) => {
                let fields = reader.fields(node, &THINK)?;
                let (key, value) = reader.exactly_one(&fields, &THINK.names())?;
                if key.text == "exponential" {
                    return reader
                        .duration_above_zero(value)
                        .map(ThinkTime::Exponential);
                }
                let [middle, spread] = reader.one_or_more(value) else {
                    reader.report(value, "not a list of two values", VALID);
                    return None;
                };
                let middle = reader.duration_above_zero(middle);
                if key.text == "normal" {
                    return Some(ThinkTime::Normal(middle?, reader.duration(spread)?));
                }
                Some(ThinkTime::LogNormal(middle?, reader.number(spread)?))
            }
            NodeKind::List(_) | NodeKind::Scalar { .. } => reader.value(node, VALID, |text| {
                let Some((low, high)) = text.split_once("..") else {
                    return units::duration(text).map(ThinkTime::Fixed);
                };
                let read = |bound: &str| units::duration(bound.trim());
                let at = text.len() - high.trim_start().len();
                let low = read(low).map_err(|problem| problem.within(text, 0))?;
                let high = read(high).map_err(|problem| problem.within(text, at))?;
                if low > high {
                    let message = "the second duration is shorter than the first";
                    return Err(crate::Problem::new(text, at..text.len(), message, VALID));
                }
                Ok(ThinkTime::Uniform(low, high))
            }),
        }
    }
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
        Step::Request(_) | Step::Page { .. } | Step::Socket(_) | Step::Every { .. } => true,
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
