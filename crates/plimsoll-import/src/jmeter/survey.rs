//! A first walk through the tree: which variables there are, and what is lost whatever its place.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Import;
use super::names::{Fate, fate, is_group, is_request};
use super::tree::{Element, Property};
use crate::heuristics;

/// Variables of a test plan, by their names in JMeter.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// User Defined Variables: values as written, and their bytes.
    pub(super) constants: BTreeMap<String, (String, usize)>,
    /// Variables that steps set, and their names in the plan.
    pub(super) slots: BTreeMap<String, String>,
    /// Variables that are expressions of plans: columns of data sets, counters.
    pub(super) expressions: BTreeMap<String, String>,
    /// Variables that only lost scripts set.
    pub(super) scripted: BTreeSet<String>,
    /// Names of data sets.
    pub(super) sets: BTreeSet<String>,
}

/// Names that templates have for something else.
const TAKEN: [&str; 2] = ["user", "iteration"];

impl Names {
    /// The slot of a variable; made if it is new.
    pub(super) fn slot(&mut self, variable: &str) -> String {
        if let Some(slot) = self.slots.get(variable) {
            return slot.clone();
        }
        let inside = |c: char| {
            if c.is_alphanumeric() || matches!(c, '_' | '-') {
                c
            } else {
                '_'
            }
        };
        let mut name: String = variable.trim().chars().take(64).map(inside).collect();
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            name.insert_str(0, "v_");
        }
        let is_free = |name: &String| {
            !TAKEN.contains(&name.as_str())
                && !self.sets.contains(name)
                && self.slots.values().all(|other| other != name)
        };
        let name = heuristics::free_name(name, is_free);
        self.slots.insert(variable.to_owned(), name.clone());
        name
    }

    /// A free name for a data set.
    pub(super) fn set(&mut self, hint: &str) -> String {
        let is_free = |name: &String| {
            !TAKEN.contains(&name.as_str())
                && !self.sets.contains(name)
                && self.slots.values().all(|other| other != name)
        };
        let name = heuristics::free_name(heuristics::slot_name(hint), is_free);
        self.sets.insert(name.clone());
        name
    }
}

/// What the walk counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Survey {
    pub(super) disabled: usize,
}

impl Import<'_> {
    /// Walks through everything that is enabled.
    pub(super) fn survey(&mut self, elements: &[Element], skips: bool, found: &mut Survey) {
        for element in elements {
            if !element.is_enabled {
                found.disabled += 1;
                continue;
            }
            match fate(element) {
                Fate::Lost(reason) => {
                    let how = reason.remedy();
                    self.lose(element, how.why, how.remedy);
                    self.scripted(element);
                }
                Fate::Unknown => self.unknown(element),
                Fate::Read | Fate::Quiet => self.variables(element),
            }
            let is_skipped = skips && is_beside(element);
            if !is_skipped {
                self.survey(&element.below, skips, found);
            }
        }
    }

    fn unknown(&mut self, element: &Element) {
        let why = if is_group(element) {
            "this kind of thread group is not read"
        } else {
            "an element of a plug-in, or one that is not read"
        };
        self.lose(
            element,
            why,
            "write the steps that it stands for in the plan",
        );
    }

    /// Variables that a script sets, as far as its text tells.
    fn scripted(&mut self, element: &Element) {
        let texts = element
            .properties()
            .iter()
            .map(|property| property.text.as_str());
        for text in texts {
            for put in ["vars.put(", "vars.putObject("] {
                for (at, _) in text.match_indices(put) {
                    let rest = text[at + put.len()..].trim_start();
                    let Some(quote @ ('"' | '\'')) = rest.chars().next() else {
                        continue;
                    };
                    if let Some(end) = rest[1..].find(quote) {
                        self.names.scripted.insert(rest[1..=end].to_owned());
                    }
                }
            }
        }
        for name in ["variableNames", "resultVariable"] {
            let names = element.text(name).split(',').map(str::trim);
            let names = names.filter(|name| !name.is_empty());
            self.names.scripted.extend(names.map(str::to_owned));
        }
    }

    fn variables(&mut self, element: &Element) {
        match element.class.as_str() {
            "TestPlan" => {
                if let Some(own) = element.get("TestPlan.user_defined_variables") {
                    self.constants(own.items_of("Arguments.arguments"));
                }
            }
            "Arguments" => self.constants(element.items("Arguments.arguments")),
            "RandomVariableConfig" => self.variable(element.text("variableName")),
            "ForeachController" => self.variable(element.text("ForeachController.returnVal")),
            _ => {
                for name in captured(element) {
                    self.variable(&name);
                    for group in 0..=9 {
                        let own = format!("{name}_g{group}");
                        if self.script.text.contains(&format!("${{{own}}}")) {
                            self.variable(&own);
                        }
                    }
                }
            }
        }
    }

    fn variable(&mut self, name: &str) {
        if !name.trim().is_empty() && !name.contains("${") {
            self.names.slot(name.trim());
        }
    }

    fn constants(&mut self, arguments: &[Property]) {
        for argument in arguments {
            let name = argument.text_of("Argument.name").trim();
            if name.is_empty() {
                continue;
            }
            let value = argument.text_of("Argument.value").to_owned();
            self.names
                .constants
                .insert(name.to_owned(), (value, argument.at));
        }
    }
}

/// Thread groups that run before or after all others.
pub(super) fn is_beside(element: &Element) -> bool {
    matches!(
        element.class.as_str(),
        "SetupThreadGroup" | "PostThreadGroup"
    )
}

/// HTTP samplers below an element.
pub(super) fn requests_below(element: &Element) -> usize {
    let below = element.below.iter().filter(|below| below.is_enabled);
    usize::from(is_request(element)) + below.map(requests_below).sum::<usize>()
}

/// Variables that an extractor sets.
fn captured(element: &Element) -> Vec<String> {
    let property = match element.class.as_str() {
        "RegexExtractor" => "RegexExtractor.refname",
        "BoundaryExtractor" => "BoundaryExtractor.refname",
        "HtmlExtractor" => "HtmlExtractor.refname",
        "XPathExtractor" => "XPathExtractor.refname",
        "XPath2Extractor" => "XPathExtractor2.refname",
        "JMESPathExtractor" => "JMESExtractor.referenceName",
        "JSONPathExtractor" => "VAR",
        "JSONPostProcessor" => "JSONPostProcessor.referenceNames",
        _ => return Vec::new(),
    };
    let names = element.text(property).split(';').map(str::trim);
    names.map(str::to_owned).collect()
}
