//! Traversal and classification of a scenario's steps.

use std::collections::BTreeSet;

use super::{Journey, RequestStep, Scenario, Step, StepId};

impl Journey {
    /// Shows every step of the journey to `see`, those inside others included, in the order of the plan.
    pub fn each_step<'a>(&'a self, see: &mut dyn FnMut(&'a Step)) {
        each_of(&self.once, see);
        each_of(&self.steps, see);
    }
}

fn each_of<'a>(steps: &'a [Step], see: &mut dyn FnMut(&'a Step)) {
    for step in steps {
        see(step);
        match step {
            Step::Repeat { steps, .. } | Step::Group { steps, .. } | Step::Every { steps, .. } => {
                each_of(steps, see);
            }
            Step::Choose(choices) => {
                for choice in choices {
                    each_of(&choice.steps, see);
                }
            }
            Step::If {
                then, otherwise, ..
            } => {
                each_of(then, see);
                each_of(otherwise, see);
            }
            Step::Request(_)
            | Step::Page { .. }
            | Step::Think(_)
            | Step::Set(..)
            | Step::Socket(_)
            | Step::Send(_)
            | Step::Subscribe(_)
            | Step::Close(_)
            | Step::Poll(_) => {}
        }
    }
}

impl Scenario {
    /// Ids that groups are counted under: a time that holds those of other steps.
    pub fn group_ids(&self) -> BTreeSet<StepId> {
        self.ids_of(|step, ids| {
            if let Step::Group { id, .. } = step {
                ids.insert(*id);
            }
        })
    }

    /// Ids under which a page's resources are counted: the user waits for the page, whose time includes theirs.
    pub fn resource_ids(&self) -> BTreeSet<StepId> {
        self.ids_of(|step, ids| {
            if let Step::Page { resources, .. } = step {
                ids.extend(resources.listed.iter().map(|step| step.id));
                ids.extend(resources.found);
            }
        })
    }

    /// Ids of long polls: they last until there is something new, which is no time that the target needed.
    pub fn long_poll_ids(&self) -> BTreeSet<StepId> {
        self.ids_of(|step, ids| {
            if let Step::Poll(poll) = step
                && poll.interval.is_none()
            {
                ids.insert(poll.request.id);
            }
        })
    }

    /// Whether users request whole pages: several requests at once.
    pub fn has_pages(&self) -> bool {
        let mut has = false;
        for journey in &self.journeys {
            journey.each_step(&mut |step| has |= matches!(step, Step::Page { .. }));
        }
        has
    }

    /// Whether users send HTTP requests.
    pub fn has_requests(&self) -> bool {
        let mut has = false;
        for journey in &self.journeys {
            journey.each_step(&mut |step| {
                has |= matches!(step, Step::Request(_) | Step::Page { .. } | Step::Poll(_));
            });
        }
        has
    }

    /// Whether users open WebSockets.
    pub fn has_sockets(&self) -> bool {
        let mut has = false;
        for journey in &self.journeys {
            journey.each_step(&mut |step| has |= matches!(step, Step::Socket(_)));
        }
        has
    }

    /// Whether users fetch messages by polling.
    pub fn has_polls(&self) -> bool {
        let mut has = false;
        for journey in &self.journeys {
            journey.each_step(&mut |step| has |= matches!(step, Step::Poll(_)));
        }
        has
    }

    /// Ids of the requests and pages with expectations beyond a good status.
    pub fn expecting_ids(&self) -> BTreeSet<StepId> {
        self.ids_of(|step, ids| {
            let mut add = |step: &RequestStep| {
                if !step.expectations.is_empty() {
                    ids.insert(step.id);
                }
            };
            match step {
                Step::Request(request) => add(request),
                Step::Poll(poll) => add(&poll.request),
                Step::Page { page, resources } => {
                    add(page);
                    resources.listed.iter().for_each(add);
                }
                _ => {}
            }
        })
    }

    fn ids_of(&self, mut add: impl FnMut(&Step, &mut BTreeSet<StepId>)) -> BTreeSet<StepId> {
        let mut ids = BTreeSet::new();
        for journey in &self.journeys {
            journey.each_step(&mut |step| add(step, &mut ids));
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PollStep, Resources, Scope, StepInfo};
    use super::*;

    fn request(id: StepId) -> RequestStep {
        RequestStep {
            id,
            method: "GET".to_owned(),
            url: super::super::TextTemplate::default(),
            headers: Vec::new(),
            body: super::super::RequestBody::Empty,
            follow: 0,
            timeout: None,
            captures: Vec::new(),
            expectations: Vec::new(),
        }
    }

    #[test]
    fn a_group_counts_nowhere_but_under_its_own_name() {
        let page = Step::Page {
            page: Box::new(request(1)),
            resources: Resources {
                listed: vec![request(2)],
                found: Some(3),
                connections: 6,
            },
        };
        let group = Step::Group {
            id: 0,
            steps: vec![page],
        };
        let info = |label: &str, groups: &[&str]| StepInfo {
            label: label.to_owned(),
            groups: groups.iter().map(|&name| name.to_owned()).collect(),
            ..StepInfo::default()
        };
        let inside = ["buy"];
        let scenario = Scenario {
            journeys: vec![Journey {
                steps: vec![group],
                ..Journey::default()
            }],
            steps: vec![
                info("buy", &[]),
                info("GET /", &inside),
                info("GET /a.css", &inside),
                info("resources", &inside),
            ],
            ..Scenario::default()
        };
        assert_eq!(scenario.group_ids(), BTreeSet::from([0]));
        assert_eq!(scenario.resource_ids(), BTreeSet::from([2, 3]));
        for scope in [
            Scope::Everything,
            Scope::Journey(0),
            Scope::Group("buy".to_owned()),
        ] {
            assert_eq!(scenario.steps_in(&scope), [1, 2, 3], "{scope:?}");
        }
        assert_eq!(scenario.steps_in(&Scope::Step("buy".to_owned())), [0]);
    }

    #[test]
    fn a_long_poll_counts_nowhere_but_under_its_own_name() {
        let poll = |id, interval| {
            Step::Poll(Box::new(PollStep {
                request: request(id),
                interval,
                lasting: None,
                messages: None,
                channel: None,
                timestamp: None,
                sequence: None,
            }))
        };
        let second = std::time::Duration::from_secs(1);
        let scenario = Scenario {
            journeys: vec![Journey {
                steps: vec![poll(0, Some(second)), poll(1, None)],
                ..Journey::default()
            }],
            steps: vec![StepInfo::default(), StepInfo::default()],
            ..Scenario::default()
        };
        assert!(scenario.has_polls());
        for scope in [Scope::Everything, Scope::Journey(0)] {
            assert_eq!(scenario.steps_in(&scope), [0], "{scope:?}");
        }
        assert_eq!(scenario.steps_in(&Scope::Step(String::new())), [0, 1]);
    }
}
