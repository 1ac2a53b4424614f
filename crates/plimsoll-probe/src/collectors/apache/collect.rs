//! Apache's HTTP server, by the page of `mod_status`.

use plimsoll_model::metric;

use super::parse::status;
use crate::collectors::link::{ComponentLink, ScrapeError, get_once, shortly};
use crate::collectors::metrics::{FileSetting, MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};

/// Default path of the page.
const PATH: &str = "/server-status";

/// Apache's HTTP server.
#[derive(Debug)]
pub(crate) struct ApacheCollector {
    /// Settings from its configuration files, if found.
    pub(crate) settings: Vec<FileSetting>,
}

impl ApacheCollector {
    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let status = status(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
        metrics.identity(status.get("RestartTime").copied().unwrap_or_default());
        let level = |name: &str| status.get(name)?.parse::<f64>().ok();
        // One of them served this request.
        let busy = level("BusyWorkers").map(|busy| (busy - 1.0).max(0.0));
        metrics.level(metric::APACHE_WORKERS, &[("state", "busy")], busy);
        metrics.level(
            metric::APACHE_WORKERS,
            &[("state", "idle")],
            level("IdleWorkers"),
        );
        let requests = status
            .get("Total Accesses")
            .and_then(|total| total.parse().ok());
        metrics.counter(metric::APACHE_REQUESTS, &[], requests, 1.0);
        metrics.level(metric::APACHE_SILENT, &[], Some(0.0));
        metrics.known(&self.settings);
        Ok(())
    }
}

fn fetch(link: &mut ComponentLink) -> Result<String, ScrapeError> {
    let path = match link.place().path() {
        None | Some("" | "/") => PATH,
        Some(path) => path,
    };
    let path = if path.contains('?') {
        path.to_owned()
    } else {
        format!("{path}?auto")
    };
    // A keep-alive connection would occupy a worker.
    get_once(link, &path)
}

impl Scraper for ApacheCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = fetch(link)?;
        self.record(&text, sink.answered())
    }

    /// Its page is served by a worker like any request: no worker is free for it when all are busy.
    fn record_unanswered(&mut self, metrics: &mut MetricsRecorder<'_>) {
        metrics.level(metric::APACHE_SILENT, &[], Some(1.0));
        metrics.known(&self.settings);
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => {
                "allow access from this machine: `Require local` or `Require ip ADDRESS` in \
                the `<Location>` of `SetHandler server-status`, then `apachectl graceful`"
                    .to_owned()
            }
            _ => "enable its status page: `a2enmod status && systemctl reload apache2`, and watch \
                http://127.0.0.1/server-status"
                .to_owned(),
        }
    }
}
