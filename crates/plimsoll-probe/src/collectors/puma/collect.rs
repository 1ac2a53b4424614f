//! Puma, by its control server.

use plimsoll_model::component::Login;
use plimsoll_model::metric;

use super::parse::stats;
use crate::collectors::link::{ComponentLink, ScrapeError, get, shortly};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};

/// Puma.
#[derive(Debug)]
pub(crate) struct PumaCollector {
    /// Its password is the token of the control server.
    pub(crate) login: Option<Login>,
}

impl PumaCollector {
    fn fetch(&mut self, link: &mut ComponentLink) -> Result<String, ScrapeError> {
        let token = self
            .login
            .as_ref()
            .map_or("", |login| login.password.as_str());
        let safe = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        if !token.chars().all(safe) {
            let why = "invalid token; valid: letters, digits, `-`, `.`, `_` and `~`";
            return Err(ScrapeError::Denied(why.to_owned()));
        }
        let path = if token.is_empty() {
            "/stats".to_owned()
        } else {
            format!("/stats?token={token}")
        };
        get(link, &path)
    }
}

fn record(text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
    let stats = stats(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
    metrics.identity(&stats.started);
    for (name, level) in [
        (metric::PUMA_BACKLOG, stats.backlog),
        (metric::PUMA_CAPACITY, stats.capacity),
    ] {
        metrics.level(name, &[], Some(level as f64));
    }
    metrics.counter(metric::PUMA_REQUESTS, &[], Some(stats.requests), 1.0);
    metrics.setting("threads", "", "", Some(stats.threads_max as f64));
    metrics.setting("workers", "", "", Some(stats.workers as f64));
    Ok(())
}

impl Scraper for PumaCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = self.fetch(link)?;
        record(&text, sink.answered())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => "give its token: `watch: { puma: { at: …, password: TOKEN } }`, that of \
                `--control-token` or `activate_control_app` in config/puma.rb"
                .to_owned(),
            _ => "start Puma with `--control-url tcp://127.0.0.1:9293 --control-token TOKEN`, or add to config/puma.rb \
                `activate_control_app 'tcp://127.0.0.1:9293', { auth_token: 'TOKEN' }`, and watch 127.0.0.1:9293"
                .to_owned(),
        }
    }
}
