//! What all parts of the import share: losses, notes, variables, and the user whose steps are being written.

use std::collections::{BTreeMap, BTreeSet};

use super::names::title;
use super::survey::Names;
use super::tree::Element;
use super::value::Value;
use crate::DataFile;
use crate::script::draft::{DataDraft, StepDraft, StepItem};
use crate::script::{Losses, Remedy, Script, Template};

/// The import of one test plan.
pub(super) struct Import<'i> {
    pub(super) script: &'i Script<'i>,
    pub(super) losses: Losses<'i>,
    notes: Vec<String>,
    /// Variables of the test plan by where their values come from.
    pub(super) names: Names,
    /// Constants that are being resolved, to notice those that name themselves.
    pub(super) resolving: Vec<String>,
    /// Calls of functions inside one another.
    pub(super) depth: usize,
    /// Constants that are resolved already.
    pub(super) resolved: BTreeMap<String, Value>,
    /// Properties of `JMeter` that a file sets.
    pub(super) properties: BTreeMap<String, String>,
    /// Variables that nothing sets.
    pub(super) unresolved: BTreeSet<String>,
    pub(super) user: UserState,
    pub(super) data: Vec<DataDraft>,
    pub(super) files: Vec<DataFile>,
    /// Sites with properties of JMeter in their names, and what they are without.
    pub(super) origins: BTreeMap<Template, Option<String>>,
    /// Requests of the plan, and those of them that close their connection.
    pub(super) requests: (usize, usize),
}

/// What is known about a user of the journey that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct UserState {
    /// Whether there is one: numbers of the load have none.
    pub(super) is_present: bool,
    /// Name of the thread group.
    pub(super) group: String,
    /// Name of the sampler.
    pub(super) sampler: String,
    /// Variables of JMeter that have a value by now.
    pub(super) set: BTreeSet<String>,
    /// Slots that need a value before anything else.
    pub(super) start: Vec<(String, Template)>,
    /// Slots that get a value before the next step.
    pub(super) pending: Vec<(String, Template)>,
    /// Steps at the start of the journey.
    pub(super) once: Vec<StepItem>,
    /// Variables that have a value within `once`.
    pub(super) set_once: BTreeSet<String>,
    /// Nesting of the steps in the plan's YAML.
    pub(super) level: usize,
}

impl<'i> Import<'i> {
    pub(super) fn new(script: &'i Script<'i>, losses: Losses<'i>) -> Self {
        Self {
            script,
            losses,
            notes: Vec::new(),
            names: Names::default(),
            resolving: Vec::new(),
            depth: 0,
            resolved: BTreeMap::new(),
            properties: BTreeMap::new(),
            unresolved: BTreeSet::new(),
            user: UserState::default(),
            data: Vec::new(),
            files: Vec::new(),
            origins: BTreeMap::new(),
            requests: (0, 0),
        }
    }

    /// Notes that an element, or what is said of it, is not in the plan.
    pub(super) fn lose(&mut self, element: &Element, why: &str, remedy: &str) {
        self.losses
            .lose(element.at, title(element), Remedy { why, remedy });
    }

    /// Notes that a part of an element is not in the plan.
    pub(super) fn lose_part(&mut self, element: &Element, property: &str, how: (&str, &str, &str)) {
        let (part, why, remedy) = how;
        let what = format!("{part} of {}", title(element));
        self.losses
            .lose(element.at_of(property), what, Remedy { why, remedy });
    }

    /// Notes that a text at a byte of the script is not in the plan.
    pub(super) fn lose_text(&mut self, at: usize, what: &str, why: &str, remedy: &str) {
        self.losses.lose(at, what, Remedy { why, remedy });
    }

    /// A note for the terminal and the head of the plan; each once.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// The steps that set what the next step needs.
    pub(super) fn pending(&mut self) -> Option<StepItem> {
        let values = std::mem::take(&mut self.user.pending);
        (!values.is_empty()).then(|| StepDraft::Set(values).into())
    }
}
