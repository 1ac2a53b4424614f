//! Visits of real browsers beside the load: what a plan says about them, and what a visit measured.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::redact;

/// Users of a plan at most: each is a renderer process of the browser, on the machine of the generator.
pub const USERS_MAX: u32 = 20;
/// Pages of a plan at most.
pub const PAGES_MAX: usize = 50;
/// Other hosts of a plan at most.
pub const HOSTS_MAX: usize = 50;
/// Failed resources of a visit that are kept with their reason.
pub const FAILED_RESOURCES_MAX: usize = 5;

/// What browsers do beside the load (`browser:`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserPlan {
    /// Users, each with a fresh profile for each visit.
    pub users: u32,
    /// Path and query of each page; the users take them in turn.
    pub pages: Vec<String>,
    /// Time between the end of a visit and the next visit of the same user.
    pub think: Duration,
    /// A page that is not ready so long after its visit began has failed.
    pub timeout: Duration,
    /// Hosts that pages may load resources from, beside the target's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The program of the browser.
    pub program: PathBuf,
}

impl BrowserPlan {
    /// Replaces what must not be stored.
    pub(crate) fn redact(&mut self) {
        for page in &mut self.pages {
            *page = redact::target(page).into_owned();
        }
    }
}

/// One visit of a page by a browser that began without cookies and without a cache. Times count from the moment when the
/// navigation began (the time origin of the page), µs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageVisit {
    /// Second of run time in which it ended.
    pub second: u32,
    /// Number of the user, from 0.
    pub user: u32,
    /// Index of the page in the plan.
    pub page: u32,
    /// Why the page was not ready; its times and its weight are then those up to that moment, as far as they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<VisitFailure>,
    /// Times of the page.
    pub times: PageTimes,
    /// What the page consists of.
    pub weight: PageWeight,
    /// Resources that failed.
    pub resources_failed: u32,
    /// Resources that were not requested, because the plan does not name their host.
    #[serde(default)]
    pub resources_blocked: u32,
    /// The first of the failed resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedResource>,
}

impl PageVisit {
    /// Whether the page was ready in time.
    pub fn is_ready(&self) -> bool {
        self.failure.is_none()
    }
}

/// Times of a visit, µs from its beginning, and how far its content moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTimes {
    /// First byte of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_us: Option<u64>,
    /// Last byte of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_us: Option<u64>,
    /// First contentful paint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_contentful_paint_us: Option<u64>,
    /// Largest contentful paint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_contentful_paint_us: Option<u64>,
    /// End of the load event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_us: Option<u64>,
    /// Page ready: the load event has ended, and half a second without requests, long tasks and larger paints begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_us: Option<u64>,
    /// Tasks of the page's main thread of more than 50 ms.
    pub long_tasks: u32,
    /// Total blocking time: the parts of these beyond 50 ms.
    pub blocking_us: u64,
    /// Cumulative layout shift up to the end of the visit, millionths; absent in logs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout_shift_ppm: Option<u64>,
}

/// What a page consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageWeight {
    /// Elements of the document, those of open shadow trees included.
    pub nodes: u64,
    /// Requests that were sent, redirects included.
    pub requests: u64,
    /// Bytes that were received, heads included.
    pub bytes: u64,
    /// Of these, bytes of the document.
    pub document_bytes: u64,
    /// Elements of the document as the server sent it, before scripts changed it.
    pub document_nodes: u64,
}

/// Why a page was not ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum VisitFailure {
    /// The document could not be loaded.
    Navigation {
        /// The browser's reason: `net::ERR_CONNECTION_REFUSED`.
        reason: String,
    },
    /// The document is an error.
    Status {
        /// HTTP status.
        status: u16,
    },
    /// The page was not ready within the time of the plan.
    Timeout,
    /// The renderer of the page crashed.
    Crashed,
}

impl std::fmt::Display for VisitFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Navigation { reason } => f.write_str(reason),
            Self::Status { status } => write!(f, "status {status}"),
            Self::Timeout => f.write_str("not ready in time"),
            Self::Crashed => f.write_str("the renderer of the page crashed"),
        }
    }
}

/// A resource that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedResource {
    /// Its URL, redacted and shortened.
    pub url: String,
    /// Status, or the browser's reason.
    pub reason: String,
}
