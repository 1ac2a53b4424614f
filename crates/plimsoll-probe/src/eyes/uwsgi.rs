//! uWSGI, by its stats server.

use plimsoll_model::metric;
use plimsoll_model::part::PartPlace;

use super::Source;
use super::figures::{Figures, Setting};
use super::link::{Blind, Link, get_once, shortly};
use crate::parse::uwsgi::stats;

/// uWSGI.
#[derive(Debug)]
pub(crate) struct Uwsgi {
    /// What its configuration says, where that was found.
    pub(crate) settings: Vec<Setting>,
}

impl Source for Uwsgi {
    fn ask(&mut self, link: &mut Link) -> Result<String, Blind> {
        if let PartPlace::Page { path, .. } = link.place() {
            // `--stats-http`
            let path = path.clone();
            return get_once(link, &path);
        }
        // It says everything to whoever comes, and closes.
        link.close();
        link.open()?;
        let mut answer = Vec::new();
        link.rest(&mut answer)?;
        if answer.is_empty() {
            return Err(Blind::Closed);
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let stats = stats(text).ok_or_else(|| Blind::Strange(shortly(text)))?;
        figures.identity(&stats.pid.to_string());
        for (name, level) in [
            (metric::UWSGI_PLACES, stats.places),
            (metric::UWSGI_BUSY, stats.busy),
            (metric::UWSGI_QUEUE, stats.queue),
        ] {
            figures.level(name, &[], Some(level as f64));
        }
        figures.counter(metric::UWSGI_REQUESTS, &[], Some(stats.requests), 1.0);
        figures.counter(metric::UWSGI_HARAKIRI, &[], Some(stats.harakiri), 1.0);
        let queue_max = stats.queue_max.map(|most| most as f64);
        figures.setting("listen", "", "", queue_max);
        for (name, now) in [
            ("processes", stats.workers),
            ("threads", stats.places / stats.workers.max(1)),
        ] {
            let written = self.settings.iter().find(|setting| setting.name == name);
            let file = written.map_or("", |setting| setting.file.as_str());
            figures.setting(name, "", file, Some(now as f64));
        }
        Ok(())
    }

    fn remedy(&self, _: &Blind) -> String {
        "add `stats = 127.0.0.1:1717` to its `[uwsgi]` section (or `--stats 127.0.0.1:1717`), restart it, and watch \
         127.0.0.1:1717"
            .to_owned()
    }
}
