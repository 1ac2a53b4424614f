//! PHP-FPM, by its status page over FastCGI.

use plimsoll_model::metric;

use super::parse::{answer, request, status};
use crate::collectors::link::{ComponentLink, ScrapeError, shortly};
use crate::collectors::metrics::{FileSetting, MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};

/// Default path of the page.
const PATH: &str = "/status";

/// PHP-FPM.
#[derive(Debug)]
pub(crate) struct PhpFpmCollector {
    /// Settings from its configuration files, if found.
    pub(crate) settings: Vec<FileSetting>,
}

impl PhpFpmCollector {
    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let status = status(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
        metrics.identity(status.get("start time").copied().unwrap_or_default());
        let level = |name: &str| status.get(name)?.parse::<f64>().ok();
        let total = |name: &str| status.get(name)?.parse::<u64>().ok();
        for (state, field) in [
            ("active", "active processes"),
            ("idle", "idle processes"),
            ("all", "total processes"),
        ] {
            metrics.level(metric::PHP_FPM_PROCESSES, &[("state", state)], level(field));
        }
        metrics.level(metric::PHP_FPM_QUEUE, &[], level("listen queue"));
        for (name, field) in [
            (metric::PHP_FPM_REQUESTS, "accepted conn"),
            (metric::PHP_FPM_AT_LIMIT, "max children reached"),
            (metric::PHP_FPM_SLOW, "slow requests"),
        ] {
            metrics.counter(name, &[], total(field), 1.0);
        }
        metrics.level(metric::PHP_FPM_SILENT, &[], Some(0.0));
        metrics.known(&self.settings);
        Ok(())
    }
}

fn fetch(link: &mut ComponentLink) -> Result<String, ScrapeError> {
    // It closes each connection after its response.
    link.close();
    link.open()?;
    let path = link.place().path().unwrap_or(PATH).to_owned();
    link.send(&request(&path))?;
    let mut bytes = Vec::new();
    let output = loop {
        if let Some(output) = answer(&bytes) {
            break output;
        }
        if link.fill(&mut bytes)? == 0 {
            return Err(if bytes.is_empty() {
                ScrapeError::Closed
            } else {
                ScrapeError::Strange("no FastCGI".to_owned())
            });
        }
    };
    link.close();
    let (head, body) = output
        .split_once("\r\n\r\n")
        .unwrap_or((output.as_str(), ""));
    if head.to_ascii_lowercase().contains("status: 4") {
        return Err(ScrapeError::Denied(shortly(body)));
    }
    Ok(body.to_owned())
}

impl Scraper for PhpFpmCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = fetch(link)?;
        self.record(&text, sink.answered())
    }

    /// Where its page is served by the same processes as requests, none is free for it when all are busy.
    fn record_unanswered(&mut self, metrics: &mut MetricsRecorder<'_>) {
        metrics.level(metric::PHP_FPM_SILENT, &[], Some(1.0));
        metrics.known(&self.settings);
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) | ScrapeError::Strange(_) => "add to its pool `pm.status_path = /status`, and \
                `pm.status_listen = 127.0.0.1:9001` so that it responds when all processes are busy; reload it, and \
                watch that address"
                .to_owned(),
            _ => "run as a user who may open its socket (`listen.group`), or name the address it listens on, \
                `listen` in its pool: `watch: { php-fpm: 'unix:/run/php/php-fpm.sock:/status' }`"
                .to_owned(),
        }
    }
}
