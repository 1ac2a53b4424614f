//! Controllers and samplers as steps, in the order of the tree.

use super::condition::Decision;
use super::context::Import;
use super::names::is_request;
use super::request::label;
use super::scope::ElementScope;
use super::timers::between;
use super::tree::Element;
use crate::script::draft::{StepDraft, StepItem};

/// Deepest nesting of the steps in a plan's YAML; a plan file has at most 64 levels.
const LEVEL_MAX: usize = 44;
/// Most repetitions of a step.
const REPEAT_MAX: u32 = 1_000_000;

impl Import<'_> {
    /// The steps of elements that stand beside each other.
    pub(super) fn steps(
        &mut self,
        elements: &[Element],
        outer: Option<&ElementScope<'_>>,
    ) -> Vec<StepItem> {
        let scope = ElementScope::new(elements, outer);
        let mut items = Vec::new();
        for element in elements.iter().filter(|element| element.is_enabled) {
            items.extend(self.element(element, &scope));
        }
        items
    }

    /// The steps of one element.
    pub(super) fn element(&mut self, element: &Element, scope: &ElementScope<'_>) -> Vec<StepItem> {
        if is_request(element) {
            return self.request(element, scope);
        }
        match element.class.as_str() {
            "TestAction" => self.action(element, scope),
            "DebugSampler" => {
                let own = ElementScope::new(&element.below, Some(scope));
                self.thinks(&own)
            }
            "GenericController" | "RecordingController" => self.below(element, scope),
            "TransactionController" => self.nested(element, scope, 2, |steps| StepDraft::Group {
                name: match label(&element.name) {
                    name if name.is_empty() => "Transaction Controller".to_owned(),
                    name => name,
                },
                steps,
            }),
            "LoopController" => self.loops(element, scope),
            "WhileController" => self.while_loop(element, scope),
            "IfController" => self.condition_steps(element, scope),
            "OnceOnlyController" => {
                self.once(element, scope);
                Vec::new()
            }
            "ThroughputController" => self.throughput_steps(element, scope),
            "RandomController" => self.choice(element, scope),
            "WeightedSwitchController" => self.weighted(element, scope),
            "SwitchController" => self.switch(element, scope),
            "ForeachController" => self.for_each(element, scope),
            _ => self.approximated(element, scope),
        }
    }

    /// Controllers whose steps are kept, but not what the controller does with them.
    fn approximated(&mut self, element: &Element, scope: &ElementScope<'_>) -> Vec<StepItem> {
        let (why, remedy) = match element.class.as_str() {
            "InterleaveControl" => {
                self.lose(
                    element,
                    "its parts take turns; here each iteration takes one of them at random, each equally often",
                    "write one journey for each part",
                );
                return self.choice(element, scope);
            }
            "RandomOrderController" => (
                "its steps are taken in the order in which they are written",
                "write several orders as branches of `choose`",
            ),
            "RunTime" => (
                "its steps are taken once per iteration, not for a time",
                "write `every: INTERVAL` with `for: TIME`, or `repeat`",
            ),
            "CriticalSectionController" => (
                "users do not wait for each other; its steps are taken at any time",
                "limit the number of users who take these steps",
            ),
            "ParallelSampler" => (
                "its requests are sent one after another",
                "write a `page` with these requests as its `resources`",
            ),
            // Everything else is no controller: it has its effect by its scope, or is lost already.
            _ => return self.unread(element, scope),
        };
        self.lose(element, why, remedy);
        self.below(element, scope)
    }

    /// What stands below elements that are lost; controllers of plug-ins may have samplers there.
    fn unread(&mut self, element: &Element, scope: &ElementScope<'_>) -> Vec<StepItem> {
        let is_controller =
            element.class.ends_with("Controller") || element.class.ends_with("Control");
        if is_controller
            && element.class != "TestFragmentController"
            && element.class != "ProxyControl"
        {
            return self.below(element, scope);
        }
        Vec::new()
    }

    pub(super) fn below(&mut self, element: &Element, scope: &ElementScope<'_>) -> Vec<StepItem> {
        self.steps(&element.below, Some(scope))
    }

    /// A step with the steps of a controller in it; none if there are none.
    pub(super) fn nested(
        &mut self,
        element: &Element,
        scope: &ElementScope<'_>,
        levels: usize,
        make: impl FnOnce(Vec<StepItem>) -> StepDraft,
    ) -> Vec<StepItem> {
        if !self.enter(element, levels) {
            return self.below(element, scope);
        }
        let steps = self.below(element, scope);
        self.user.level -= levels;
        if steps.is_empty() {
            return Vec::new();
        }
        vec![make(steps).into()]
    }

    /// Goes some levels of the plan's YAML deeper, if there is room.
    pub(super) fn enter(&mut self, element: &Element, levels: usize) -> bool {
        if self.user.level + levels > LEVEL_MAX {
            self.lose(
                element,
                "a plan's steps cannot be nested that deeply; its steps stand without it",
                "nest fewer controllers",
            );
            return false;
        }
        self.user.level += levels;
        true
    }

    /// Flow Control Action: pauses are think times.
    fn action(&mut self, element: &Element, scope: &ElementScope<'_>) -> Vec<StepItem> {
        let own = ElementScope::new(&element.below, Some(scope));
        let mut items = self.thinks(&own);
        if element.text("ActionProcessor.action").trim() != "1" {
            self.lose(
                element,
                "a plan has pauses only: users neither stop nor leave a loop",
                "write `if` around the steps that follow",
            );
            return items;
        }
        let pause = self.delay(element, "ActionProcessor.duration");
        if let Some((low, high)) = pause.filter(|(_, high)| !high.is_zero()) {
            items.extend(self.pending());
            items.push(StepDraft::Think(between(low, high)).into());
        }
        items
    }

    fn loops(&mut self, element: &Element, scope: &ElementScope<'_>) -> Vec<StepItem> {
        let times = match element.text("LoopController.loops").trim() {
            "-1" => {
                self.note(format!(
                    "{} repeats forever: here a million times",
                    super::names::title(element)
                ));
                Some(REPEAT_MAX)
            }
            _ => self.number(element, "LoopController.loops").and_then(whole),
        };
        match times {
            Some(0) => Vec::new(),
            Some(times) => self.repeat(element, scope, times),
            None => {
                let written = element.text("LoopController.loops").to_owned();
                self.lose(
                    element,
                    &format!("its loop count `{written}` is not a constant from 0 to {REPEAT_MAX}"),
                    "write `repeat: 5` or `repeat: 2..4`",
                );
                self.below(element, scope)
            }
        }
    }

    pub(super) fn repeat(
        &mut self,
        element: &Element,
        scope: &ElementScope<'_>,
        times: u32,
    ) -> Vec<StepItem> {
        if times == 1 {
            return self.below(element, scope);
        }
        self.nested(element, scope, 2, |steps| StepDraft::Repeat {
            times: times.to_string(),
            steps,
        })
    }

    /// Its steps go to the start of the journey.
    fn once(&mut self, element: &Element, scope: &ElementScope<'_>) {
        let before = std::mem::take(&mut self.user.set);
        let level = std::mem::take(&mut self.user.level);
        self.user.set.clone_from(&self.user.set_once);
        let steps = self.below(element, scope);
        self.user.set_once.clone_from(&self.user.set);
        self.user.set.extend(before);
        self.user.level = level;
        self.user.once.extend(steps);
    }

    fn condition_steps(&mut self, element: &Element, scope: &ElementScope<'_>) -> Vec<StepItem> {
        match self.condition(element, "IfController.condition") {
            Decision::Always => self.below(element, scope),
            Decision::Never => Vec::new(),
            Decision::When(conditions) => self.guarded(element, scope, conditions),
            Decision::Unknown => {
                self.lose(
                    element,
                    "its condition is not one comparison of a variable; its steps are taken always",
                    "write `if: '{{ name }} == value'` with `then` and `else`",
                );
                self.below(element, scope)
            }
        }
    }

    /// Steps within conditions that must all hold.
    pub(super) fn guarded(
        &mut self,
        element: &Element,
        scope: &ElementScope<'_>,
        conditions: Vec<String>,
    ) -> Vec<StepItem> {
        let pending = self.pending();
        let mut wraps = conditions.into_iter().rev();
        let Some(innermost) = wraps.next() else {
            return self.below(element, scope);
        };
        let outer: Vec<String> = wraps.collect();
        let mut items = self.nested(element, scope, 2 * (outer.len() + 1), |steps| {
            StepDraft::If {
                condition: innermost,
                then: steps,
                otherwise: Vec::new(),
            }
        });
        for condition in outer {
            if items.is_empty() {
                break;
            }
            items = vec![
                StepDraft::If {
                    condition,
                    then: items,
                    otherwise: Vec::new(),
                }
                .into(),
            ];
        }
        pending.into_iter().chain(items).collect()
    }

    /// Loops with a counter are repeated that often; others once.
    fn while_loop(&mut self, element: &Element, scope: &ElementScope<'_>) -> Vec<StepItem> {
        if let Some(times) = self.counted_times(element, scope) {
            return self.repeat(element, scope, times);
        }
        self.lose(
            element,
            "a plan repeats steps a known number of times; here they are taken once",
            "write `repeat: N` with the steps, or `if` around them",
        );
        self.below(element, scope)
    }
}

/// A whole number of repetitions.
pub(super) fn whole(number: f64) -> Option<u32> {
    let is_whole = (0.0..=f64::from(REPEAT_MAX)).contains(&number) && number.fract() == 0.0;
    // The digits of a whole number of this size are exact.
    is_whole.then(|| format!("{number:.0}").parse().ok())?
}
