//! The whole test plan: its thread groups as journeys, and what they share.

use std::collections::BTreeMap;
use std::time::Duration;

use super::context::{Import, UserState};
use super::names::{is_group, title};
use super::profile::{self, LoadUnit, Profile, Stretch};
use super::request::label;
use super::scope::ElementScope;
use super::survey::{Survey, is_beside, requests_below};
use super::tree::Element;
use crate::heuristics;
use crate::script::draft::{JourneyDraft, PlanDraft, StepDraft, StepItem};
use crate::yaml::{YamlEntry, YamlNode};

impl Import<'_> {
    /// The draft of a test plan.
    pub(super) fn plan(&mut self, top: &[Element], target: Option<&str>) -> PlanDraft {
        let mut survey = Survey::default();
        let plan = top.iter().find(|element| element.class == "TestPlan");
        let elements = plan.map_or(top, |plan| plan.below.as_slice());
        let enabled = elements
            .iter()
            .filter(|element| element.is_enabled && is_group(element));
        let (beside, mut groups): (Vec<&Element>, Vec<&Element>) =
            enabled.partition(|group| is_beside(group));
        // A plan of nothing but set-up is what people want to run.
        let is_only_beside = groups.is_empty();
        if is_only_beside {
            groups.clone_from(&beside);
        } else {
            self.lose_beside(&beside);
        }
        self.survey(top, !is_only_beside, &mut survey);
        if survey.disabled > 0 {
            let elements = crate::counted(survey.disabled, "disabled element");
            self.note(format!("left out, as in JMeter: {elements}"));
        }
        self.data_sets(elements, false);
        let mut journeys = Vec::new();
        let mut loads: Vec<(String, Profile)> = Vec::new();
        for group in &groups {
            self.journey(group, elements, &mut journeys, &mut loads);
        }
        if plan.is_some_and(|plan| plan.is_set("TestPlan.serialize_threadgroups"))
            && groups.len() > 1
        {
            self.losses.lose(
                plan.map_or(0, |plan| plan.at),
                "Run Thread Groups consecutively",
                crate::script::Remedy {
                    why: "the journeys of a plan run at the same time",
                    remedy: "write phases with `mix`, or a plan for each group",
                },
            );
        }
        self.weigh(&mut journeys, &mut loads);
        let mut draft = PlanDraft {
            heading: format!("Made by `plimsoll import jmeter` from {}", self.script.name),
            name: plan.and_then(|plan| plan_name(&plan.name)),
            target: target.map(str::to_owned),
            load: profile::load(&loads),
            journeys,
            ..PlanDraft::default()
        };
        self.settle(&mut draft);
        draft.data = std::mem::take(&mut self.data);
        draft.files = std::mem::take(&mut self.files);
        draft.notes = self.take_notes();
        draft
    }

    fn lose_beside(&mut self, beside: &[&Element]) {
        for group in beside {
            let requests = crate::counted(requests_below(group), "request");
            self.lose(
                group,
                &format!("a plan has no steps before or after the whole run; here are {requests}"),
                "send them with a plan of their own, or as `once` if each user needs them",
            );
        }
    }

    fn journey(
        &mut self,
        group: &Element,
        elements: &[Element],
        journeys: &mut Vec<JourneyDraft>,
        loads: &mut Vec<(String, Profile)>,
    ) {
        let Some(load) = self.group_load(group) else {
            return;
        };
        // Data sets of a group are its own: another may have the same names.
        let names = self.names.expressions.clone();
        let resolved = self.resolved.clone();
        let data = self.data.len();
        self.data_sets(&group.below, false);
        self.user = UserState {
            is_present: true,
            group: group.name.clone(),
            ..UserState::default()
        };
        let scope = ElementScope::new(elements, None);
        let own = ElementScope::new(&group.below, Some(&scope));
        let variables: Vec<&Element> = own.of(&["RandomVariableConfig"]).collect();
        let random = self.random_variables(&variables);
        let steps = self.steps(&group.below, Some(&scope));
        let mut journey = JourneyDraft {
            name: free_journey(&group.name, journeys),
            iterations: load.iterations,
            ..JourneyDraft::default()
        };
        if !random.is_empty() {
            journey.steps.push(StepDraft::Set(random).into());
        }
        journey.steps.extend(steps);
        self.once_steps(&mut journey);
        self.managers(group, elements, &mut journey);
        self.on_error(group);
        self.names.expressions = names;
        self.resolved = resolved;
        self.user = UserState::default();
        if is_idle(&journey) {
            self.data.truncate(data);
            self.note(format!(
                "{} sends no request that a plan has, and is left out",
                title(group)
            ));
            return;
        }
        loads.push((journey.name.clone(), load.profile));
        journeys.push(journey);
    }

    /// What the variables of the journey need first, and the steps of Once Only Controllers.
    fn once_steps(&mut self, journey: &mut JourneyDraft) {
        let start = std::mem::take(&mut self.user.start);
        if !start.is_empty() {
            journey.once.push(StepDraft::Set(start).into());
        }
        journey.once.append(&mut self.user.once);
        if !journey.steps.is_empty() && !journey.steps.iter().any(takes_time) {
            // Only computing is no journey.
            journey.once.append(&mut journey.steps);
        }
    }

    /// Cookies and caches: a user has them if any manager is in the group's reach.
    fn managers(&mut self, group: &Element, elements: &[Element], journey: &mut JourneyDraft) {
        let managers = |class: &str| {
            let beside = elements
                .iter()
                .filter(|element| element.is_enabled && element.class == class);
            let mut found: Vec<&Element> = beside.collect();
            collect(&group.below, class, &mut found);
            found
        };
        let cookies = managers("CookieManager");
        let caches = managers("CacheManager");
        journey.cookies = cookies.is_empty().then_some(false);
        journey.cache = (!caches.is_empty()).then_some(true);
        if journey.iterations == Some(1) {
            return self.own_cookies(&cookies);
        }
        let is_renewed = group.text("ThreadGroup.same_user_on_next_iteration").trim() == "false";
        let clears = |manager: &&Element| clears(manager, is_renewed);
        let mut all = cookies.iter().chain(&caches).copied();
        journey.forgets = all.any(|manager| clears(&manager));
        let mut others = cookies.iter().chain(&caches).copied();
        if journey.forgets
            && let Some(other) = others.find(|manager| !clears(manager))
        {
            self.lose(
                other,
                "another manager is cleared each iteration, and a user of a plan forgets its cookies and its cache together",
                "write `forgets: false` if cookies and cache must be kept",
            );
        }
        self.own_cookies(&cookies);
    }

    /// Cookies that a manager has from the start.
    fn own_cookies(&mut self, managers: &[&Element]) {
        for manager in managers {
            for cookie in manager.items("CookieManager.cookies") {
                let what = format!("cookie {} of {}", cookie.name, title(manager));
                let remedy = format!(
                    "write it as the header Cookie (`{}=…`) under `headers`",
                    cookie.name
                );
                self.lose_text(cookie.at, &what, "a plan begins without cookies", &remedy);
            }
        }
    }

    fn on_error(&mut self, group: &Element) {
        match group.text("ThreadGroup.on_sample_error").trim() {
            "continue" | "" => self.note(
                "a failed step ends the iteration; in JMeter the thread group continues with the next sampler",
            ),
            "startnextloop" => {}
            _ => self.lose_part(
                group,
                "ThreadGroup.on_sample_error",
                (
                    "action after a sampler error",
                    "a failed step ends the iteration of a plan, and nothing else",
                    "write `abort: [{ when: errors > 50% }]`",
                ),
            ),
        }
    }

    /// Weights by users; arrivals and users are not in one load.
    fn weigh(&mut self, journeys: &mut [JourneyDraft], loads: &mut [(String, Profile)]) {
        let is_users = |load: &(String, Profile)| load.1.unit == LoadUnit::Users;
        if loads.iter().any(is_users) && !loads.iter().all(is_users) {
            let note = "a load is of users or of arrivals: thread groups with arrivals have one user each here";
            self.lose_text(
                0,
                "arrivals beside thread groups of users",
                note,
                "write a plan for each kind of thread group",
            );
            let until = Duration::from_mins(10);
            for (_, profile) in loads
                .iter_mut()
                .filter(|(_, load)| load.unit == LoadUnit::Arrivals)
            {
                let lasting = profile
                    .stretches
                    .iter()
                    .map(|stretch| stretch.lasting)
                    .sum::<Duration>();
                let lasting = if lasting.is_zero() { until } else { lasting };
                *profile = Profile::users(
                    vec![Stretch {
                        from: 1.0,
                        to: 1.0,
                        lasting,
                    }],
                    false,
                );
            }
        }
        if journeys.len() > 1 {
            for (journey, (_, profile)) in journeys.iter_mut().zip(loads) {
                journey.weight = Some(profile.peak().max(0.001));
            }
        }
    }

    /// What all requests have in common goes to the top of the plan.
    fn settle(&mut self, draft: &mut PlanDraft) {
        super::settle::common_headers(draft);
        let constants: BTreeMap<_, _> = std::mem::take(&mut self.origins);
        for note in super::settle::origins(draft, &constants) {
            self.note(note);
        }
        match self.requests {
            (_, 0) => {}
            (all, closing) if all == closing => draft.transport.push(YamlEntry::new(
                "requests_per_connection",
                YamlNode::plain(1),
            )),
            (all, closing) => self.note(format!(
                "{closing} of {all} requests close their connection in JMeter (Use KeepAlive is off); here connections stay open"
            )),
        }
    }
}

/// A name of a plan: what cannot be in the name of a file becomes a hyphen. JMeter's own default says nothing.
fn plan_name(name: &str) -> Option<String> {
    const LEN_MAX: usize = 64;
    let inside = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '.') {
            c
        } else {
            '-'
        }
    };
    let mapped: String = name.trim().chars().map(inside).collect();
    let words = mapped.split('-').filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("-");
    let name: String = joined
        .trim_start_matches('.')
        .chars()
        .take(LEN_MAX)
        .collect();
    (!name.is_empty() && name != "Test-Plan").then_some(name)
}

/// Elements of a class at any depth.
fn collect<'e>(elements: &'e [Element], class: &str, found: &mut Vec<&'e Element>) {
    for element in elements.iter().filter(|element| element.is_enabled) {
        if element.class == class {
            found.push(element);
        }
        collect(&element.below, class, found);
    }
}

fn free_journey(name: &str, journeys: &[JourneyDraft]) -> String {
    let name = label(name);
    let base = if name.is_empty() {
        "users".to_owned()
    } else {
        name
    };
    heuristics::free_name(base, |name| {
        journeys.iter().all(|journey| journey.name != *name)
    })
}

/// Whether nothing in it is sent.
fn is_idle(journey: &JourneyDraft) -> bool {
    let mut requests = 0;
    crate::script::each_request(&journey.once, &mut |_| requests += 1);
    crate::script::each_request(&journey.steps, &mut |_| requests += 1);
    requests == 0
}

/// Whether a manager forgets what it knows when an iteration ends.
fn clears(manager: &Element, is_renewed: bool) -> bool {
    let property = match manager.class.as_str() {
        "CookieManager" => "CookieManager.clearEachIteration",
        _ => "clearEachIteration",
    };
    let follows_group = manager.is_set("CookieManager.controlledByThreadGroup")
        || manager.is_set("CacheManager.controlledByThread");
    manager.is_set(property) || (is_renewed && follows_group)
}

/// Whether a step takes time: users must not loop without a pause.
fn takes_time(item: &StepItem) -> bool {
    match &item.step {
        StepDraft::Request(_) | StepDraft::Think(_) | StepDraft::Keys(_) => true,
        StepDraft::Set(_) => false,
        StepDraft::Repeat { steps, .. } | StepDraft::Group { steps, .. } => {
            steps.iter().any(takes_time)
        }
        StepDraft::Choose(branches) => branches
            .iter()
            .any(|(_, steps)| steps.iter().any(takes_time)),
        StepDraft::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).any(takes_time),
    }
}
