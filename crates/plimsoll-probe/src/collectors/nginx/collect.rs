//! nginx, by the page of `stub_status`.

use plimsoll_model::metric;

use super::parse::stub_status;
use crate::collectors::link::{ComponentLink, ScrapeError, page, shortly};
use crate::collectors::metrics::{FileSetting, MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};

/// nginx.
#[derive(Debug)]
pub(crate) struct NginxCollector {
    /// Settings from its configuration files, if found.
    pub(crate) settings: Vec<FileSetting>,
    /// Highest number of connections dropped so far. Workers increment accepted and handled one after the other, so
    /// the difference may be one too high for a moment.
    pub(crate) dropped: u64,
}

impl NginxCollector {
    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        let status = stub_status(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
        for (state, count) in [
            ("active", status.active),
            ("reading", status.reading),
            ("writing", status.writing),
            ("waiting", status.waiting),
        ] {
            metrics.level(
                metric::NGINX_CONNECTIONS,
                &[("state", state)],
                Some(count as f64),
            );
        }
        let dropped = status.accepts.saturating_sub(status.handled);
        self.dropped = if dropped.saturating_add(1) < self.dropped {
            // It was restarted.
            dropped
        } else {
            dropped.max(self.dropped)
        };
        for (name, total) in [
            (metric::NGINX_ACCEPTED, status.accepts),
            (metric::NGINX_DROPPED, self.dropped),
            (metric::NGINX_REQUESTS, status.requests),
        ] {
            metrics.counter(name, &[], Some(total), 1.0);
        }
        metrics.known(&self.settings);
        Ok(())
    }
}

impl Scraper for NginxCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = page(link)?;
        self.record(&text, sink.answered())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => "allow access from this machine: `allow ADDRESS;` beside `stub_status;` in \
                nginx's configuration, then `nginx -s reload`"
                .to_owned(),
            _ => "add to nginx's `http { … }`: `server { listen 127.0.0.1:8999; location = /nginx_status { stub_status; } }`, \
                reload it by `nginx -s reload`, and watch http://127.0.0.1:8999/nginx_status"
                .to_owned(),
        }
    }
}
