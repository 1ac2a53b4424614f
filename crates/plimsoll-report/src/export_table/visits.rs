//! One row for each visit of a browser.

use plimsoll_model::browser::PageVisit;
use plimsoll_model::run::Run;

use super::{ColumnValues, ExportTable, Pick};

/// What may be missing: times in µs from the beginning of a visit, and the layout shift.
const OPTIONAL: [Pick<PageVisit, Option<u64>>; 7] = [
    ("first_byte_us", |visit| visit.times.first_byte_us),
    ("document_us", |visit| visit.times.document_us),
    ("first_contentful_paint_us", |visit| {
        visit.times.first_contentful_paint_us
    }),
    ("largest_contentful_paint_us", |visit| {
        visit.times.largest_contentful_paint_us
    }),
    ("load_us", |visit| visit.times.load_us),
    ("page_ready_us", |visit| visit.times.ready_us),
    ("layout_shift_ppm", |visit| visit.times.layout_shift_ppm),
];

const COUNTS: [Pick<PageVisit, u64>; 9] = [
    ("long_tasks", |visit| u64::from(visit.times.long_tasks)),
    ("blocking_us", |visit| visit.times.blocking_us),
    ("nodes", |visit| visit.weight.nodes),
    ("document_nodes", |visit| visit.weight.document_nodes),
    ("requests", |visit| visit.weight.requests),
    ("bytes", |visit| visit.weight.bytes),
    ("document_bytes", |visit| visit.weight.document_bytes),
    ("resources_failed", |visit| {
        u64::from(visit.resources_failed)
    }),
    ("resources_blocked", |visit| {
        u64::from(visit.resources_blocked)
    }),
];

pub(super) fn visits(run: &Run) -> ExportTable {
    let visits = &run.visits;
    let pages = run.header.plan.browser.as_deref();
    let pages = pages.map_or(&[][..], |browser| browser.pages.as_slice());
    let page = |visit: &PageVisit| pages.get(visit.page as usize).cloned();
    let failure = |visit: &PageVisit| visit.failure.as_ref().map(ToString::to_string);
    let mut table = ExportTable::default();
    table.counts("second", visits.iter().map(|visit| u64::from(visit.second)));
    table.counts("user", visits.iter().map(|visit| u64::from(visit.user)));
    table.push(
        "page",
        ColumnValues::Texts(visits.iter().map(page).collect()),
    );
    table.push(
        "failure",
        ColumnValues::Texts(visits.iter().map(failure).collect()),
    );
    for (name, pick) in OPTIONAL {
        table.push(
            name,
            ColumnValues::Counts(visits.iter().map(pick).collect()),
        );
    }
    for (name, pick) in COUNTS {
        table.counts(name, visits.iter().map(pick));
    }
    table
}
