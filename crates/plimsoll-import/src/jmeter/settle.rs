//! Last changes of the draft: headers of all requests at the top, sites with constant names.

use std::collections::{BTreeMap, HashMap};

use crate::script::Template;
use crate::script::draft::{PlanDraft, RequestDraft, StepDraft, StepItem};

/// Calls `change` with every request.
fn each_request_mut(items: &mut [StepItem], change: &mut impl FnMut(&mut RequestDraft)) {
    for item in items {
        match &mut item.step {
            StepDraft::Request(request) => change(request),
            StepDraft::Repeat { steps, .. } | StepDraft::Group { steps, .. } => {
                each_request_mut(steps, change);
            }
            StepDraft::Choose(branches) => {
                for (_, steps) in branches {
                    each_request_mut(steps, change);
                }
            }
            StepDraft::If {
                then, otherwise, ..
            } => {
                each_request_mut(then, change);
                each_request_mut(otherwise, change);
            }
            StepDraft::Think(_) | StepDraft::Set(_) | StepDraft::Keys(_) => {}
        }
    }
}

fn all_requests(draft: &mut PlanDraft, change: &mut impl FnMut(&mut RequestDraft)) {
    for journey in &mut draft.journeys {
        each_request_mut(&mut journey.once, change);
        each_request_mut(&mut journey.steps, change);
    }
}

/// Headers that every request has with the same constant value become those of the plan.
pub(super) fn common_headers(draft: &mut PlanDraft) {
    let mut common: Option<Vec<(String, Template)>> = None;
    let mut count = 0_usize;
    all_requests(draft, &mut |request| {
        count += 1;
        match &mut common {
            None => {
                let constant = request
                    .headers
                    .iter()
                    .filter(|(_, value)| value.is_literal());
                common = Some(constant.cloned().collect());
            }
            Some(common) => common.retain(|header| request.headers.contains(header)),
        }
    });
    let common = common.filter(|_| count > 1).unwrap_or_default();
    all_requests(draft, &mut |request| {
        request.headers.retain(|header| !common.contains(header));
    });
    draft.headers.extend(common);
}

/// Sites other than the plan's target must be constant: those with properties have their defaults, or are variables of
/// the environment themselves. What to tell of it.
pub(super) fn origins(
    draft: &mut PlanDraft,
    constants: &BTreeMap<Template, Option<String>>,
) -> Vec<String> {
    let mut counts: HashMap<Template, (usize, usize)> = HashMap::new();
    let mut number = 0_usize;
    all_requests(draft, &mut |request| {
        let origin = request.url.origin.clone();
        counts.entry(origin).or_insert((0, number)).0 += 1;
        number += 1;
    });
    let main = counts
        .into_iter()
        .filter(|(origin, _)| !origin.is_empty())
        .max_by_key(|(_, (count, first))| (*count, usize::MAX - first))
        .map(|(origin, _)| origin);
    let mut notes: Vec<String> = Vec::new();
    let mut sites: Vec<Template> = Vec::new();
    all_requests(draft, &mut |request| {
        let origin = &request.url.origin;
        let is_further = !origin.is_empty() && Some(origin) != main.as_ref();
        if is_further && request.url.path.as_str().starts_with("{{") {
            // A value behind the name of a site would be taken for a part of the name.
            let mut path = Template::literal("/");
            path.push(&request.url.path);
            request.url.path = path;
        }
        let constant = constants.get(origin).filter(|_| is_further);
        let Some(constant) = constant else {
            return;
        };
        let known = sites.iter().position(|site| site == origin);
        let place = known.unwrap_or(sites.len());
        let (changed, note) = if let Some(text) = constant {
            let note =
                format!("{text} is a further site: the properties in its name have their defaults");
            (Template::literal(text), note)
        } else {
            let name = format!("SITE_{}", place + 2);
            let note = format!(
                "`{}` is a further site: set {name} to its URL in the environment",
                origin.as_str()
            );
            (Template::expression(&format!("env('{name}')")), note)
        };
        if known.is_none() {
            sites.push(origin.clone());
            notes.push(note);
        }
        request.url.origin = changed;
    });
    notes
}
