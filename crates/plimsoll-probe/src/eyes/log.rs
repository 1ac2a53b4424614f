//! Logs, by their tail: failures by class.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_model::metric;

use super::Source;
use super::figures::{Figures, Known, Setting};
use super::link::{Blind, Link};
use super::tail::Tail;
use crate::parse::log::{
    Failure, HAPROXY_CLASSES, NGINX_CLASSES, PHP_CLASSES, haproxy, nginx, php_slow,
};

/// Upstreams and servers that are told apart.
const OF_MAX: usize = 64;

/// Whose log it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Nginx,
    Haproxy,
    PhpFpm,
}

/// A log that is followed.
#[derive(Debug)]
pub(crate) struct Log {
    writer: Writer,
    /// What the configuration says, where that was found.
    settings: Vec<Setting>,
    tail: Tail,
    totals: BTreeMap<Failure, u64>,
    /// The last line: what a slow log tells takes several.
    before: String,
}

impl Log {
    pub(crate) fn new(writer: Writer, path: &Path, known: Known) -> Self {
        Self {
            writer,
            tail: Tail::new(path, known.named_by),
            settings: known.settings,
            totals: BTreeMap::new(),
            before: String::new(),
        }
    }

    fn failure(&self, line: &str) -> Option<Failure> {
        match self.writer {
            Writer::Nginx => nginx(line),
            Writer::Haproxy => haproxy(line),
            Writer::PhpFpm => php_slow(&self.before, line),
        }
    }
}

impl Source for Log {
    fn ask(&mut self, _link: &mut Link) -> Result<String, Blind> {
        self.tail.news()
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        for line in self.tail.whole_lines(text).lines() {
            let failure = self.failure(line);
            line.clone_into(&mut self.before);
            let Some(mut failure) = failure else { continue };
            if self.totals.len() >= OF_MAX && !self.totals.contains_key(&failure) {
                failure.of.clear();
            }
            *self.totals.entry(failure).or_default() += 1;
        }
        self.tail.tell(figures);
        let classes: Vec<&str> = match self.writer {
            Writer::Nginx => NGINX_CLASSES.iter().map(|(_, class)| *class).collect(),
            Writer::Haproxy => HAPROXY_CLASSES.to_vec(),
            Writer::PhpFpm => PHP_CLASSES.to_vec(),
        };
        for class in classes {
            let own = self
                .totals
                .iter()
                .filter(|(failure, _)| failure.class == class);
            let total = own.map(|(_, count)| *count).sum();
            figures.tally(metric::LOG_FAILURES, &[("class", class)], total);
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
            figures.tally(metric::LOG_FAILURES_OF, &of, *total);
        }
        for setting in &self.settings {
            figures.known(setting);
        }
        Ok(())
    }

    fn remedy(&self, _blind: &Blind) -> String {
        self.tail.remedy()
    }
}
