//! What a browser is started with, and what it reports to.

use std::ffi::OsString;
use std::path::PathBuf;

use plimsoll_model::browser::{BrowserPlan, PageVisit};

/// What a browser is started with.
#[derive(Clone, Debug)]
pub struct BrowserSpec {
    /// What its users do.
    pub plan: BrowserPlan,
    /// URL of each page, in the order of the plan.
    pub urls: Vec<String>,
    /// Hosts that it may connect to, as URLs have them.
    pub hosts: Vec<String>,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// Whether it accepts any certificate.
    pub accepts_any_certificate: bool,
    /// The program that calls [`crate::guard::run`], and its arguments before those of the browser.
    pub guard: (PathBuf, Vec<OsString>),
    /// Environment of both.
    pub environment: Vec<(OsString, OsString)>,
}

/// Receives each visit that ended.
pub type VisitSink = Box<dyn Fn(PageVisit) + Send + Sync>;
