//! Controllers that take one of several ways.

use super::context::Import;
use super::scope::ElementScope;
use super::steps::whole;
use super::survey::requests_below;
use super::tree::Element;
use crate::script::draft::{StepDraft, StepItem};

impl Import<'_> {
    /// Branches with their weights; each begins with what was known before all of them.
    pub(super) fn choose<'e>(
        &mut self,
        element: &Element,
        scope: &ElementScope<'_>,
        branches: impl IntoIterator<Item = (f64, &'e Element)>,
    ) -> Vec<StepItem> {
        let own = ElementScope::new(&element.below, Some(scope));
        let branches: Vec<(f64, &Element)> = branches.into_iter().collect();
        let is_nested = branches.len() > 1 && self.enter(element, 4);
        let before = self.user.set.clone();
        let mut after = before.clone();
        let mut found = Vec::new();
        for (weight, branch) in branches {
            self.user.set.clone_from(&before);
            let steps = self.element(branch, &own);
            after.append(&mut self.user.set);
            found.push((weight, steps));
        }
        self.user.set = after;
        if is_nested {
            self.user.level -= 4;
        }
        // A branch without steps keeps its share, unless there is nothing else.
        let is_empty = found.iter().all(|(_, steps)| steps.is_empty());
        match (is_empty, is_nested) {
            (true, _) => Vec::new(),
            (false, true) => vec![StepDraft::Choose(found).into()],
            (false, false) => found.into_iter().flat_map(|(_, steps)| steps).collect(),
        }
    }

    /// One of the parts of a controller, each equally often.
    pub(super) fn choice(&mut self, element: &Element, scope: &ElementScope<'_>) -> Vec<StepItem> {
        let branches: Vec<(f64, &Element)> = parts(element).map(|part| (1.0, part)).collect();
        self.choose(element, scope, branches)
    }

    pub(super) fn weighted(
        &mut self,
        element: &Element,
        scope: &ElementScope<'_>,
    ) -> Vec<StepItem> {
        let mut branches = Vec::new();
        for part in parts(element) {
            let row = element
                .items("Weights")
                .iter()
                .find(|row| row.items.first().is_some_and(|name| name.text == part.name));
            let weight = row.and_then(|row| row.items.get(1));
            let weight = weight.and_then(|weight| weight.text.trim().parse::<f64>().ok());
            match weight {
                Some(weight) if weight > 0.0 => branches.push((weight, part)),
                Some(_) => {}
                None => {
                    self.lose(
                        part,
                        "the Weighted Switch Controller has no constant weight for it",
                        "write it as a branch of `choose` with a `weight`",
                    );
                }
            }
        }
        self.choose(element, scope, branches)
    }

    /// A share of the iterations, or a number of them.
    pub(super) fn throughput_steps(
        &mut self,
        element: &Element,
        scope: &ElementScope<'_>,
    ) -> Vec<StepItem> {
        if element.text("ThroughputController.style").trim() != "1" {
            self.lose(
                element,
                "it counts executions; here its steps are taken in each iteration",
                "write `choose` with weights, or a journey with `iterations`",
            );
            return self.below(element, scope);
        }
        let property = "ThroughputController.percentThroughput";
        let percent = self.number(element, property);
        match percent {
            Some(percent) if percent <= 0.0 => Vec::new(),
            Some(percent) if percent < 100.0 => self.nested(element, scope, 4, |steps| {
                StepDraft::Choose(vec![(percent, steps), (100.0 - percent, Vec::new())])
            }),
            Some(_) => self.below(element, scope),
            None => {
                self.lose_part(
                    element,
                    property,
                    (
                        "percentage",
                        "it is not a constant; its steps are taken in each iteration",
                        "write `choose` with weights",
                    ),
                );
                self.below(element, scope)
            }
        }
    }

    /// The part that a constant names, by its number or its name.
    pub(super) fn switch(&mut self, element: &Element, scope: &ElementScope<'_>) -> Vec<StepItem> {
        let value = self.of(element, "SwitchController.value");
        let parts: Vec<&Element> = parts(element).collect();
        let own = ElementScope::new(&element.below, Some(scope));
        let Some(value) = value.constant() else {
            self.lose(
                element,
                "its switch value changes at run time; here each part is taken equally often",
                "write `if: '{{ name }} == value'` around each part",
            );
            return self.choice(element, scope);
        };
        let value = value.trim();
        let by_number = if value.is_empty() {
            Some(0)
        } else {
            value.parse::<usize>().ok()
        };
        let by_name = |name: &str| {
            let is_it = |part: &&&Element| part.name.eq_ignore_ascii_case(name);
            parts.iter().find(is_it).copied()
        };
        let chosen = match by_number {
            Some(number) => parts.get(number).or(parts.first()).copied(),
            None => by_name(value).or_else(|| by_name("default")),
        };
        chosen.map_or_else(Vec::new, |part| self.element(part, &own))
    }

    /// Over constants `name_1`, `name_2`, …: once for each. Over what an extractor found: once.
    pub(super) fn for_each(
        &mut self,
        element: &Element,
        scope: &ElementScope<'_>,
    ) -> Vec<StepItem> {
        const TIMES_MAX: usize = 100;
        let input = self.of(element, "ForeachController.inputVal").constant();
        let input = input.unwrap_or_default().trim().to_owned();
        let output = element
            .text("ForeachController.returnVal")
            .trim()
            .to_owned();
        let separator = if element.is_set_or("ForeachController.useSeparator", true) {
            "_"
        } else {
            ""
        };
        let first = self
            .number(element, "ForeachController.startIndex")
            .and_then(whole);
        let first = usize::try_from(first.unwrap_or(0)).unwrap_or(0);
        let names: Vec<String> = (first + 1..=first + TIMES_MAX)
            .map(|number| format!("{input}{separator}{number}"))
            .take_while(|name| self.names.constants.contains_key(name))
            .collect();
        if output.is_empty() {
            return self.below(element, scope);
        }
        let slot = self.names.slot(&output);
        let mut items = Vec::new();
        for name in &names {
            let value = self.variable_value(name, element.at);
            self.user.set.insert(output.clone());
            items.push(StepDraft::Set(vec![(slot.clone(), value.template())]).into());
            items.extend(self.below(element, scope));
        }
        if names.is_empty() && requests_below(element) > 0 {
            self.lose(
                element,
                "a plan does not loop over found values; here its steps are taken once, with one of them",
                "write `capture` with `pick: random`",
            );
            let is_captured = self.names.slots.contains_key(&input);
            let value = self.variable_value(if is_captured { &input } else { &output }, element.at);
            self.user.set.insert(output);
            if is_captured {
                items.push(StepDraft::Set(vec![(slot, value.template())]).into());
            }
            items.extend(self.below(element, scope));
        }
        items
    }

    /// How often a loop runs whose condition compares a counter in it with a constant.
    pub(super) fn counted_times(
        &mut self,
        element: &Element,
        scope: &ElementScope<'_>,
    ) -> Option<u32> {
        let (variable, limit, includes) = self.counter_limit(element)?;
        let own = ElementScope::new(&element.below, Some(scope));
        let counters: Vec<&Element> = own.of(&["CounterConfig"]).collect();
        let counter = counters
            .into_iter()
            .find(|counter| counter.text("CounterConfig.name").trim() == variable)?;
        let start = self.number(counter, "CounterConfig.start").unwrap_or(0.0);
        let step = self
            .number(counter, "CounterConfig.incr")
            .filter(|step| *step > 0.0)?;
        let span = limit - start;
        // The counter has no value when the condition is looked at first, which lets the first round through.
        let more = if includes {
            (span / step).floor() + 1.0
        } else {
            (span / step).ceil()
        };
        whole(1.0 + more.max(0.0))
    }
}

/// The parts of a controller: samplers and controllers.
fn parts(element: &Element) -> impl Iterator<Item = &Element> {
    let is_part = |part: &&Element| {
        part.is_enabled
            && (super::names::is_request(part)
                || part.class.ends_with("Controller")
                || part.class.ends_with("Sampler")
                || matches!(
                    part.class.as_str(),
                    "TestAction" | "InterleaveControl" | "RunTime"
                ))
            && part.class != "TestFragmentController"
    };
    element.below.iter().filter(is_part)
}
