//! Steps while a script is followed: requests may still get captures and expectations.

use std::time::Duration;

use super::machine::Machine;
use super::text::Text;
use crate::script::Template;
use crate::script::draft::{
    CaptureDraft, CaptureSource, PickDraft, RequestDraft, StepDraft, StepItem, ThinkDraft, duration,
};
use crate::yaml::{YamlEntry, YamlNode};

/// A step.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// The request of this number.
    Request(usize),
    /// A page and its files, by the numbers of their requests.
    Page {
        page: usize,
        resources: Vec<usize>,
    },
    Think(ThinkDraft),
    Set(String, Template),
    Repeat {
        times: String,
        steps: Vec<Node>,
    },
    Choose(Vec<(f64, Vec<Node>)>),
    If {
        condition: String,
        then: Vec<Node>,
        otherwise: Vec<Node>,
    },
    Group {
        name: String,
        steps: Vec<Node>,
    },
    /// Steps of a WebSocket at an interval.
    Every {
        interval: Duration,
        time: Duration,
        steps: Vec<Node>,
    },
    Keys(Vec<YamlEntry>),
}

/// A request of the script.
#[derive(Clone, Debug)]
pub(super) struct SentRequest {
    pub(super) draft: RequestDraft,
    /// Its URL as the script has it.
    pub(super) url: Text,
}

impl SentRequest {
    /// Name of the capture from this source, if there is one.
    pub(super) fn captured(&self, source: &CaptureSource, pick: PickDraft) -> Option<String> {
        // A random match is another one each time.
        if pick == PickDraft::Random {
            return None;
        }
        let shown = format!("{source:?}");
        let mut captures = self.draft.captures.iter();
        captures
            .find(|capture| capture.pick == pick && format!("{:?}", capture.source) == shown)
            .map(|capture| capture.name.clone())
    }

    pub(super) fn add_capture(&mut self, name: String, source: CaptureSource, pick: PickDraft) {
        self.draft.captures.push(CaptureDraft {
            name,
            source,
            pick,
            default: None,
        });
    }

    /// Takes the first match for a capture.
    pub(super) fn take_first(&mut self, name: &str) {
        let mut captures = self.draft.captures.iter_mut();
        if let Some(capture) = captures.find(|capture| capture.name == name) {
            capture.pick = PickDraft::First;
        }
    }

    pub(super) fn set_default(&mut self, name: &str, default: Template) {
        let mut captures = self.draft.captures.iter_mut();
        if let Some(capture) = captures.find(|capture| capture.name == name) {
            capture.default.get_or_insert(default);
        }
    }
}

impl Machine<'_, '_> {
    /// The steps as the plan's draft has them; variables that nothing uses are left out.
    pub(super) fn finished(&self, nodes: &[Node]) -> Vec<StepItem> {
        let mut items = Vec::new();
        for node in nodes {
            if let Some(step) = self.finished_step(node) {
                items.push(StepItem::from(step));
            }
        }
        items
    }

    fn finished_step(&self, node: &Node) -> Option<StepDraft> {
        Some(match node {
            Node::Request(index) => StepDraft::Request(Box::new(self.finished_request(*index)?)),
            Node::Page { page, resources } => {
                let mut page = self.finished_request(*page)?;
                let resources = resources
                    .iter()
                    .filter_map(|index| self.finished_request(*index));
                page.resources = resources.collect();
                StepDraft::Request(Box::new(page))
            }
            Node::Think(think) => StepDraft::Think(*think),
            Node::Set(name, _) if !self.used.contains(name) => return None,
            Node::Set(name, template) => StepDraft::Set(vec![(name.clone(), template.clone())]),
            Node::Repeat { times, steps } => {
                let steps = self.finished(steps);
                if steps.is_empty() {
                    return None;
                }
                StepDraft::Repeat {
                    times: times.clone(),
                    steps,
                }
            }
            Node::Choose(branches) => {
                let branches: Vec<_> = branches
                    .iter()
                    .map(|(weight, steps)| (*weight, self.finished(steps)))
                    .collect();
                if branches.iter().all(|(_, steps)| steps.is_empty()) {
                    return None;
                }
                StepDraft::Choose(branches)
            }
            Node::If {
                condition,
                then,
                otherwise,
            } => return self.finished_if(condition, then, otherwise),
            Node::Group { name, steps } => {
                let steps = self.finished(steps);
                if steps.is_empty() {
                    return None;
                }
                StepDraft::Group {
                    name: name.clone(),
                    steps,
                }
            }
            Node::Every {
                interval,
                time,
                steps,
            } => StepDraft::Keys(vec![
                YamlEntry::new("every", YamlNode::plain(duration(*interval))),
                YamlEntry::new("for", YamlNode::plain(duration(*time))),
                YamlEntry::new("steps", messages(&self.finished(steps))),
            ]),
            Node::Keys(entries) => StepDraft::Keys(entries.clone()),
        })
    }

    fn finished_request(&self, index: usize) -> Option<RequestDraft> {
        let mut draft = self.requests.get(index)?.draft.clone();
        draft.expect.statuses = super::expectation::before_redirects(&draft);
        Some(draft)
    }

    fn finished_if(&self, condition: &str, then: &[Node], otherwise: &[Node]) -> Option<StepDraft> {
        let (mut then, mut otherwise) = (self.finished(then), self.finished(otherwise));
        let mut condition = condition.to_owned();
        if then.is_empty() && otherwise.is_empty() {
            return None;
        }
        if then.is_empty() {
            condition = negated(&condition);
            std::mem::swap(&mut then, &mut otherwise);
        }
        Some(StepDraft::If {
            condition,
            then,
            otherwise,
        })
    }
}

/// Steps on a WebSocket: messages and variables.
fn messages(items: &[StepItem]) -> YamlNode {
    let nodes = items.iter().filter_map(|item| match &item.step {
        StepDraft::Keys(entries) => Some(YamlNode::Map(entries.clone())),
        StepDraft::Set(values) => {
            let values = values
                .iter()
                .map(|(name, value)| (name.clone(), YamlNode::text(value.as_str())));
            Some(YamlNode::map([("set", YamlNode::map(values))]))
        }
        _ => None,
    });
    YamlNode::list(nodes)
}

/// The opposite of a condition of plans.
fn negated(condition: &str) -> String {
    match condition.strip_prefix("not ") {
        Some(rest) => rest.to_owned(),
        None => format!("not {condition}"),
    }
}
