//! The objects of browsers.

use std::collections::BTreeMap;

use plimsoll_analysis::summary::browser::{BrowserSummary, PageSummary, VisitQuantiles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::number::{millis, score};

/// What the browsers of the plan measured beside the load, over the visits that ended in judged seconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Browser")]
pub struct BrowserObject {
    /// Concurrent users.
    pub users: u32,
    /// Share of all CPUs that the browsers used on average, 0 to 1; null without readings.
    pub cpu_share: Option<f64>,
    /// The same in the second in which it was most; null without readings.
    pub cpu_share_max: Option<f64>,
    /// All visits together.
    #[serde(flatten)]
    pub all: PageNumbersObject,
    /// Visits by page, in the order of the plan; empty with one page.
    pub pages: Vec<PageObject>,
    /// Visits by load of valid trials, or of steps, in ascending order; empty without trials.
    pub loads: Vec<PageLoadObject>,
}

/// The visits at one load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PageLoad")]
pub struct PageLoadObject {
    /// The load in `unit`.
    pub load: f64,
    /// Unit of the load: `req/s`, `users` or `sessions/s`.
    pub unit: String,
    /// Visits that ended.
    pub visits: u64,
    /// Of these, visits whose page was not ready.
    pub failed: u64,
    /// Page ready, ms.
    pub page_ready_ms: VisitTimesObject,
    /// Largest contentful paint, ms.
    pub lcp_ms: VisitTimesObject,
    /// Cumulative layout shift, a score without a unit.
    pub cls: VisitScoresObject,
}

/// The visits of one page.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Page")]
pub struct PageObject {
    /// Path and query, secrets replaced.
    pub page: String,
    /// The numbers.
    #[serde(flatten)]
    pub numbers: PageNumbersObject,
}

/// What was measured in visits. Times are from the beginning of a visit, and of ready pages alone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PageNumbers")]
pub struct PageNumbersObject {
    /// Visits that ended.
    pub visits: u64,
    /// Of these, visits whose page was not ready: the sum of `failures`.
    pub failed: u64,
    /// These by reason: `status 503`, `not ready in time`, or the browser's own, such as `net::ERR_CONNECTION_REFUSED`.
    pub failures: BTreeMap<String, u64>,
    /// Page ready, ms: the load event has ended, and half a second without requests, long tasks and larger paints begins.
    pub page_ready_ms: VisitTimesObject,
    /// First byte of the document, ms.
    pub ttfb_ms: VisitTimesObject,
    /// First contentful paint, ms.
    pub fcp_ms: VisitTimesObject,
    /// Largest contentful paint, ms.
    pub lcp_ms: VisitTimesObject,
    /// Total blocking time, ms: the parts of long tasks beyond 50 ms.
    pub tbt_ms: VisitTimesObject,
    /// Cumulative layout shift, a score without a unit: of what is visible, how much moved, times how far. All null for run
    /// files of older versions.
    pub cls: VisitScoresObject,
    /// Tasks of more than 50 ms per visit, on average; null without a ready page.
    pub long_tasks: Option<f64>,
    /// Elements of the document, a median; null without a ready page.
    pub nodes: Option<u64>,
    /// Requests of a visit, a median; null without a ready page.
    pub requests: Option<u64>,
    /// Bytes received in a visit, heads included, a median; null without a ready page.
    pub bytes: Option<u64>,
    /// Bytes of the document alone, a median; null without a ready page.
    pub document_bytes: Option<u64>,
    /// Elements of the document as the server sent it, before scripts changed it, a median; null without a ready page.
    pub document_nodes: Option<u64>,
    /// Resources that failed in all visits.
    pub resources_failed: u64,
    /// Resources that were not requested in all visits, because the plan does not name their host.
    pub resources_blocked: u64,
    /// The most frequent of the failed resources, at most five.
    pub failed_resources: Vec<FailedResourceObject>,
}

/// Quantiles of visits in milliseconds, each a time that was measured; all null without any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "VisitTimes")]
pub struct VisitTimesObject {
    /// Median.
    pub p50: Option<f64>,
    /// 75th percentile, by which the field judges pages.
    pub p75: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// Highest.
    pub max: Option<f64>,
}

/// Quantiles of visits, each a score that was measured; all null without any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "VisitScores")]
pub struct VisitScoresObject {
    /// Median.
    pub p50: Option<f64>,
    /// 75th percentile, by which the field judges pages.
    pub p75: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// Highest.
    pub max: Option<f64>,
}

/// A resource that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "FailedResource")]
pub struct FailedResourceObject {
    /// Its URL, secrets replaced.
    pub url: String,
    /// Status, or the browser's reason.
    pub reason: String,
    /// How often, among the first five failed resources of each visit.
    pub count: u64,
}

impl BrowserObject {
    pub(super) fn of(browser: &BrowserSummary) -> Self {
        let pages = browser.pages.iter().map(|(page, numbers)| PageObject {
            page: page.clone(),
            numbers: PageNumbersObject::of(numbers),
        });
        let loads = browser.loads.iter().map(|at| PageLoadObject {
            load: at.load,
            unit: at.unit.symbol().to_owned(),
            visits: at.pages.visits,
            failed: at.pages.failed_visits(),
            page_ready_ms: VisitTimesObject::of(at.pages.ready_us),
            lcp_ms: VisitTimesObject::of(at.pages.largest_contentful_paint_us),
            cls: VisitScoresObject::of(at.pages.layout_shift_ppm),
        });
        Self {
            users: browser.users,
            cpu_share: browser.cpu,
            cpu_share_max: browser.cpu_max,
            all: PageNumbersObject::of(&browser.all),
            pages: pages.collect(),
            loads: loads.collect(),
        }
    }
}

impl PageNumbersObject {
    fn of(page: &PageSummary) -> Self {
        let weight = page.weight.as_ref();
        let failed = page.failed.iter();
        let failed = failed.map(|(url, reason, count)| FailedResourceObject {
            url: url.clone(),
            reason: reason.clone(),
            count: *count,
        });
        Self {
            visits: page.visits,
            failed: page.failed_visits(),
            failures: page.failures.clone(),
            page_ready_ms: VisitTimesObject::of(page.ready_us),
            ttfb_ms: VisitTimesObject::of(page.first_byte_us),
            fcp_ms: VisitTimesObject::of(page.first_contentful_paint_us),
            lcp_ms: VisitTimesObject::of(page.largest_contentful_paint_us),
            tbt_ms: VisitTimesObject::of(page.blocking_us),
            cls: VisitScoresObject::of(page.layout_shift_ppm),
            long_tasks: page.long_tasks_per_visit(),
            nodes: weight.map(|weight| weight.nodes),
            requests: weight.map(|weight| weight.requests),
            bytes: weight.map(|weight| weight.bytes),
            document_bytes: weight.map(|weight| weight.document_bytes),
            document_nodes: weight.map(|weight| weight.document_nodes),
            resources_failed: page.resources_failed,
            resources_blocked: page.resources_blocked,
            failed_resources: failed.collect(),
        }
    }
}

impl VisitTimesObject {
    fn of(quantiles: Option<VisitQuantiles>) -> Self {
        quantiles.map_or_else(Self::default, |us| Self {
            p50: Some(millis(us.p50)),
            p75: Some(millis(us.p75)),
            p95: Some(millis(us.p95)),
            max: Some(millis(us.max)),
        })
    }
}

impl VisitScoresObject {
    fn of(quantiles: Option<VisitQuantiles>) -> Self {
        quantiles.map_or_else(Self::default, |ppm| Self {
            p50: Some(score(ppm.p50)),
            p75: Some(score(ppm.p75)),
            p95: Some(score(ppm.p95)),
            max: Some(score(ppm.max)),
        })
    }
}
