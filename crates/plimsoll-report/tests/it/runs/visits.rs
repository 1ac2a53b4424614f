//! Visits of browsers beside a load.

use std::time::Duration;

use plimsoll_model::browser::{
    BrowserPlan, FailedResource, PageTimes, PageVisit, PageWeight, VisitFailure,
};
use plimsoll_model::run::Run;

/// Pages of the plan; the second is one that would be markup if it were not text.
pub(crate) const PAGES: [&str; 2] = ["/", "/?q=<i>"];

/// A visit every five seconds, each page in turn; the third of ten is answered with 503, and the fourth never ready.
pub(super) fn add_visits(run: &mut Run) {
    run.header.plan.browser = Some(Box::new(BrowserPlan {
        users: 2,
        pages: PAGES.map(str::to_owned).into(),
        think: Duration::from_secs(9),
        timeout: Duration::from_secs(30),
        hosts: Vec::new(),
        program: "/usr/bin/chromium".into(),
    }));
    let product = "Chrome/156.0.8078.108".to_owned();
    run.header.versions.insert("browser".to_owned(), product);
    let until = run.windows.last().map_or(0, |window| window.second);
    for (nth, second) in (0_u32..).zip((5..until).step_by(5)) {
        run.visits.push(visit(nth, second));
    }
}

fn visit(nth: u32, second: u32) -> PageVisit {
    let page = nth % 2;
    let failure = match nth % 10 {
        2 => Some(VisitFailure::Status { status: 503 }),
        3 => Some(VisitFailure::Timeout),
        _ => None,
    };
    // 100 ms and up to 9 ms more.
    let ready_us = 100_000 + 1000 * u64::from(nth % 10);
    let is_ready = failure.is_none();
    PageVisit {
        second,
        user: nth % 2,
        page,
        failure,
        times: PageTimes {
            first_byte_us: Some(3_000),
            document_us: Some(4_000),
            first_contentful_paint_us: Some(50_000),
            largest_contentful_paint_us: Some(80_000),
            load_us: Some(60_000),
            ready_us: is_ready.then_some(ready_us),
            long_tasks: page,
            blocking_us: 20_000 * u64::from(page),
            layout_shift_ppm: Some(125_000 * u64::from(page)),
        },
        weight: PageWeight {
            nodes: 700,
            document_nodes: 362,
            requests: 9,
            bytes: 48_000,
            document_bytes: 20_000,
        },
        resources_failed: page,
        resources_blocked: page,
        failed: (page > 0)
            .then(|| FailedResource {
                url: "http://news.example:8080/<u>.png".to_owned(),
                reason: "status 404".to_owned(),
            })
            .into_iter()
            .collect(),
    }
}
