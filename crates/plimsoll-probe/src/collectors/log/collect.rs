//! Logs, by their tail: failures by class.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_model::metric;

use super::parse::{
    HAPROXY_CLASSES, LoggedFailure, NGINX_CLASSES, PHP_CLASSES, haproxy, nginx, php_slow,
};
use crate::collectors::link::{ComponentLink, ScrapeError};
use crate::collectors::metrics::{ComponentMetadata, FileSetting, MetricsRecorder, Sink};
use crate::collectors::tail::Tail;
use crate::collectors::{Collected, Scraper};

/// Distinct upstreams and servers at most.
const OF_MAX: usize = 64;

/// The component of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogSource {
    Nginx,
    Haproxy,
    PhpFpm,
}

/// A log that is followed.
#[derive(Debug)]
pub(crate) struct LogCollector {
    writer: LogSource,
    /// Settings from the configuration files, if found.
    settings: Vec<FileSetting>,
    tail: Tail,
    totals: BTreeMap<LoggedFailure, u64>,
    /// The last line: entries of a slow log span several lines.
    before: String,
}

impl LogCollector {
    pub(crate) fn new(writer: LogSource, path: &Path, known: ComponentMetadata) -> Self {
        Self {
            writer,
            tail: Tail::new(path, known.named_by),
            settings: known.settings,
            totals: BTreeMap::new(),
            before: String::new(),
        }
    }

    fn failure(&self, line: &str) -> Option<LoggedFailure> {
        match self.writer {
            LogSource::Nginx => nginx(line),
            LogSource::Haproxy => haproxy(line),
            LogSource::PhpFpm => php_slow(&self.before, line),
        }
    }

    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) {
        for line in self.tail.whole_lines(text).lines() {
            let failure = self.failure(line);
            line.clone_into(&mut self.before);
            let Some(mut failure) = failure else { continue };
            if self.totals.len() >= OF_MAX && !self.totals.contains_key(&failure) {
                failure.of.clear();
            }
            *self.totals.entry(failure).or_default() += 1;
        }
        self.tail.note_gaps(metrics);
        let classes: Vec<&str> = match self.writer {
            LogSource::Nginx => NGINX_CLASSES.iter().map(|(_, class)| *class).collect(),
            LogSource::Haproxy => HAPROXY_CLASSES.to_vec(),
            LogSource::PhpFpm => PHP_CLASSES.to_vec(),
        };
        for class in classes {
            let own = self
                .totals
                .iter()
                .filter(|(failure, _)| failure.class == class);
            let total = own.map(|(_, count)| *count).sum();
            metrics.tally(metric::LOG_FAILURES, &[("class", class)], total);
        }
        for (failure, total) in self
            .totals
            .iter()
            .filter(|(failure, _)| !failure.of.is_empty())
        {
            let of = [
                ("class", failure.class.as_str()),
                ("of", failure.of.as_str()),
            ];
            metrics.tally(metric::LOG_FAILURES_OF, &of, *total);
        }
        metrics.known(&self.settings);
    }
}

impl Scraper for LogCollector {
    fn collect(&mut self, _link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = self.tail.news()?;
        self.record(&text, sink.answered());
        Ok(())
    }

    fn remedy(&self, _error: &ScrapeError) -> String {
        self.tail.remedy()
    }
}
