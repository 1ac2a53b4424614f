//! uWSGI, by its stats server.

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use super::parse::stats;
use crate::collectors::link::{ComponentLink, ScrapeError, get_once, shortly};
use crate::collectors::metrics::{FileSetting, MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};

/// uWSGI.
#[derive(Debug)]
pub(crate) struct UwsgiCollector {
    /// Settings from its configuration files, if found.
    pub(crate) settings: Vec<FileSetting>,
}

impl UwsgiCollector {
    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let stats = stats(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
        metrics.identity(&stats.pid.to_string());
        for (name, level) in [
            (metric::UWSGI_PLACES, stats.places),
            (metric::UWSGI_BUSY, stats.busy),
            (metric::UWSGI_QUEUE, stats.queue),
        ] {
            metrics.level(name, &[], Some(level as f64));
        }
        metrics.counter(metric::UWSGI_REQUESTS, &[], Some(stats.requests), 1.0);
        metrics.counter(metric::UWSGI_HARAKIRI, &[], Some(stats.harakiri), 1.0);
        let queue_max = stats.queue_max.map(|most| most as f64);
        metrics.setting("listen", "", "", queue_max);
        for (name, now) in [
            ("processes", stats.workers),
            ("threads", stats.places / stats.workers.max(1)),
        ] {
            let written = self.settings.iter().find(|setting| setting.name == name);
            let file = written.map_or("", |setting| setting.file.as_str());
            metrics.setting(name, "", file, Some(now as f64));
        }
        Ok(())
    }
}

fn fetch(link: &mut ComponentLink) -> Result<String, ScrapeError> {
    if let ComponentAddress::Page { path, .. } = link.place() {
        // `--stats-http`
        let path = path.clone();
        return get_once(link, &path);
    }
    // It sends everything to each connection, and closes it.
    link.close();
    link.open()?;
    let mut answer = Vec::new();
    link.rest(&mut answer)?;
    if answer.is_empty() {
        return Err(ScrapeError::Closed);
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

impl Scraper for UwsgiCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = fetch(link)?;
        self.record(&text, sink.answered())
    }

    fn remedy(&self, _: &ScrapeError) -> String {
        "add `stats = 127.0.0.1:1717` to its `[uwsgi]` section (or `--stats 127.0.0.1:1717`), restart it, and watch \
         127.0.0.1:1717"
            .to_owned()
    }
}
