//! What browsers measured, in a line.

use plimsoll_analysis::summary::browser::BrowserSummary;

use crate::number::{count, counted, micros, score, short};

/// `24 visits: page ready p50 420 ms, p75 510 ms, max 1.2 s; LCP p75 380 ms; CLS p75 0.02; 362 nodes, 14 requests`.
pub(crate) fn pages_text(browser: &BrowserSummary) -> String {
    let all = &browser.all;
    let visits = match all.visits {
        0 => return "no visit ended in the judged seconds".to_owned(),
        visits => counted(visits, "visit"),
    };
    let mut parts = Vec::new();
    if let Some(ready) = &all.ready_us {
        let (half, most, max) = (micros(ready.p50), micros(ready.p75), micros(ready.max));
        parts.push(format!("page ready p50 {half}, p75 {most}, max {max}"));
    }
    if let Some(paint) = &all.largest_contentful_paint_us {
        parts.push(format!("LCP p75 {}", micros(paint.p75)));
    }
    if let Some(shift) = &all.layout_shift_ppm {
        parts.push(format!("CLS p75 {}", short(score(shift.p75))));
    }
    if let Some(weight) = &all.weight {
        let (nodes, requests) = (
            counted(weight.nodes, "node"),
            counted(weight.requests, "request"),
        );
        parts.push(format!("{nodes}, {requests}"));
    }
    let failures = all.failures.iter();
    parts.extend(failures.map(|(reason, number)| format!("{} failed: {reason}", count(*number))));
    if all.resources_failed > 0 {
        parts.push(format!(
            "{} failed",
            counted(all.resources_failed, "resource")
        ));
    }
    format!("{visits}: {}", parts.join("; "))
}
