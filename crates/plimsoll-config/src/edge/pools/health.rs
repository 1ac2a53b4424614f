//! Active health checks and outlier detection.

use std::time::Duration;

use crate::document::{SettingsMap as _, count, settings, share, text, time};

settings! {
    /// Active health checks.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Check, CHECK "check" {
        /// Path of a GET request that must return 2xx or 3xx. Without it, a successful connection is enough.
        path: Option<String> = None, "path": text("a path such as /health").that(is_path, "a path");
        /// Interval of checks.
        every: Duration = Duration::from_secs(2), "every": time();
        /// Time-out of a check.
        timeout: Duration = Duration::from_secs(1), "timeout": time();
        /// Consecutive failures that mark a server as down.
        fall: u32 = 3, "fall": count(1..=100);
        /// Consecutive successes that mark a server as up.
        rise: u32 = 2, "rise": count(1..=100);
    }
}

settings! {
    /// Outlier detection: when failed responses eject a server.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Eject, EJECT "eject" {
        /// Consecutive failures that eject a server; 0 disables ejection.
        failures: u32 = 5, "failures": count(0..=1000);
        /// Duration of the first ejection.
        lasting: Duration = Duration::from_secs(30), "for": time();
        /// Largest share of servers ejected at the same time.
        share_max: f64 = 0.5, "most": share("a share such as 10%");
    }
}

impl Default for Eject {
    fn default() -> Self {
        Self::defaults()
    }
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic())
}
