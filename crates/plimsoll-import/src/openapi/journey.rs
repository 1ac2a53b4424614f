//! Journeys: one for each tag, in which a user takes one of several courses.
//!
//! Operations that need each other's values follow one another: create, read, change, delete. All others are courses of
//! their own, so that one that fails does not keep the others from being sent.

use super::operation::Operation;
use super::resource::Links;
use crate::script::draft::{JourneyDraft, RequestDraft, StepDraft, StepItem};

/// The journeys of operations and their requests; those without a request are left out.
pub(super) fn journeys(
    operations: &[Operation<'_>],
    links: &Links<'_>,
    mut requests: Vec<Option<RequestDraft>>,
) -> Vec<JourneyDraft> {
    let mut tags: Vec<(&str, Vec<Vec<usize>>)> = Vec::new();
    for course in courses(operations, links) {
        let kept: Vec<usize> = course
            .into_iter()
            .filter(|place| requests[*place].is_some())
            .collect();
        let Some(first) = kept.first() else { continue };
        let tag = operations[*first].tag.as_str();
        match tags.iter_mut().find(|(known, _)| *known == tag) {
            Some((_, list)) => list.push(kept),
            None => tags.push((tag, vec![kept])),
        }
    }
    let is_alone = tags.len() == 1;
    let mut draft = |(tag, courses): (&str, Vec<Vec<usize>>)| {
        let count: usize = courses.iter().map(Vec::len).sum();
        let branches = courses
            .into_iter()
            .map(|course| {
                let weight = course.len() as f64;
                let steps = course
                    .into_iter()
                    .filter_map(|place| requests[place].take())
                    .map(|request| StepItem::from(StepDraft::Request(Box::new(request))));
                (weight, steps.collect())
            })
            .collect();
        JourneyDraft {
            name: tag.to_owned(),
            weight: (!is_alone).then_some(count as f64),
            steps: steps(branches),
            ..JourneyDraft::default()
        }
    };
    tags.into_iter().map(&mut draft).collect()
}

/// One course is no choice.
fn steps(mut branches: Vec<(f64, Vec<StepItem>)>) -> Vec<StepItem> {
    if branches.len() == 1 {
        return branches.pop().map(|(_, steps)| steps).unwrap_or_default();
    }
    vec![StepDraft::Choose(branches).into()]
}

/// Operations in groups that are linked, each in an order in which they make sense; groups in the order of the document.
fn courses(operations: &[Operation<'_>], links: &Links<'_>) -> Vec<Vec<usize>> {
    // The group of each operation, named by its first one.
    let mut group: Vec<usize> = (0..operations.len()).collect();
    for (place, uses) in links.uses.iter().enumerate() {
        for (source, _) in uses {
            let (first, other) = (group[place], group[links.sources[*source].operation]);
            let (from, to) = (first.max(other), first.min(other));
            for name in group.iter_mut().filter(|name| **name == from) {
                *name = to;
            }
        }
    }
    let mut courses: Vec<Vec<usize>> = operations.iter().map(|_| Vec::new()).collect();
    for (place, name) in group.iter().enumerate() {
        courses[*name].push(place);
    }
    courses.retain(|course| !course.is_empty());
    for course in &mut courses {
        course.sort_by_key(|place| order(&operations[*place]));
    }
    courses
}

/// Outer collections come before what is in them; what deletes comes last, from the inside.
fn order(operation: &Operation<'_>) -> (bool, usize, usize) {
    let depth = operation.path.trim_end_matches('/').matches('/').count();
    let is_delete = operation.method == "DELETE";
    let rank = match operation.method.as_str() {
        "POST" => 0,
        "GET" => 1,
        "HEAD" => 2,
        "OPTIONS" => 3,
        "PUT" => 4,
        "PATCH" => 5,
        _ => 6,
    };
    let depth = if is_delete { usize::MAX - depth } else { depth };
    (is_delete, depth, rank)
}

/// Calls `take` with each request of the steps that this module makes.
pub(super) fn each_request(steps: &mut [StepItem], take: &mut impl FnMut(&mut RequestDraft)) {
    for item in steps {
        match &mut item.step {
            StepDraft::Request(request) => take(request),
            StepDraft::Choose(branches) => {
                for (_, steps) in branches {
                    each_request(steps, take);
                }
            }
            _ => {}
        }
    }
}
