//! Logs, by their tail: failures by class.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use plimsoll_model::metric;

use super::Source;
use super::figures::{Figures, Setting};
use super::link::{Blind, Link};
use crate::parse::log::{Failure, HAPROXY_CLASSES, NGINX_CLASSES, haproxy, nginx};

/// Bytes taken of a second; what is written beyond it is left out.
const SECOND_LEN_MAX: u64 = 1 << 20;
/// Upstreams and servers that are told apart.
const OF_MAX: usize = 64;

/// Whose log it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Nginx,
    Haproxy,
}

/// A log that is followed.
#[derive(Debug)]
pub(crate) struct Log {
    writer: Writer,
    /// What the configuration says, where that was found.
    settings: Vec<Setting>,
    path: PathBuf,
    /// The file, its number, and how far it was read.
    open: Option<(File, u64, u64)>,
    totals: BTreeMap<Failure, u64>,
    was_rotated: bool,
    left_out: bool,
    /// The rest of a line that was not whole.
    rest: String,
}

impl Log {
    pub(crate) fn new(writer: Writer, path: &Path, settings: Vec<Setting>) -> Self {
        Self {
            writer,
            settings,
            path: path.to_owned(),
            open: None,
            totals: BTreeMap::new(),
            was_rotated: false,
            left_out: false,
            rest: String::new(),
        }
    }

    /// What was written since it was read last; of a log that is opened first, nothing.
    fn news(&mut self) -> Result<String, Blind> {
        let now = std::fs::metadata(&self.path)?;
        let is_same = self
            .open
            .as_ref()
            .is_some_and(|(_, number, at)| *number == now.ino() && *at <= now.len());
        if !is_same {
            // Another file has its name, or it was cut: it is read from its beginning.
            let is_first = self.open.is_none();
            self.was_rotated |= !is_first;
            let begin = if is_first { now.len() } else { 0 };
            self.open = Some((File::open(&self.path)?, now.ino(), begin));
            self.rest.clear();
        }
        let Some((file, _, at)) = &mut self.open else {
            return Ok(String::new());
        };
        if now.len().saturating_sub(*at) > SECOND_LEN_MAX {
            *at = now.len() - SECOND_LEN_MAX;
            self.left_out = true;
            self.rest.clear();
        }
        file.seek(SeekFrom::Start(*at))?;
        let mut bytes = Vec::new();
        *at += u64::try_from(file.take(SECOND_LEN_MAX).read_to_end(&mut bytes)?).unwrap_or(0);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Source for Log {
    fn ask(&mut self, _link: &mut Link) -> Result<String, Blind> {
        self.news()
    }

    fn tell(&mut self, text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let whole = format!("{}{text}", self.rest);
        let end = whole.rfind('\n').map_or(0, |at| at + 1);
        for line in whole[..end].lines() {
            let failure = match self.writer {
                Writer::Nginx => nginx(line),
                Writer::Haproxy => haproxy(line),
            };
            let Some(mut failure) = failure else { continue };
            if self.totals.len() >= OF_MAX && !self.totals.contains_key(&failure) {
                failure.of.clear();
            }
            *self.totals.entry(failure).or_default() += 1;
        }
        whole[end..].clone_into(&mut self.rest);
        if std::mem::take(&mut self.was_rotated) {
            figures.note(
                "rotated",
                "a log was rotated or cut during the run, and is followed on",
            );
        }
        if std::mem::take(&mut self.left_out) {
            figures.note(
                "left out",
                "more than 1 MiB a second was written to a log: the rest is left out",
            );
        }
        let classes: Vec<&str> = match self.writer {
            Writer::Nginx => NGINX_CLASSES.iter().map(|(_, class)| *class).collect(),
            Writer::Haproxy => HAPROXY_CLASSES.to_vec(),
        };
        for class in classes {
            let own = self
                .totals
                .iter()
                .filter(|(failure, _)| failure.class == class);
            let total = own.map(|(_, count)| *count).sum();
            figures.counter(metric::LOG_FAILURES, &[("class", class)], Some(total), 1.0);
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
            figures.counter(metric::LOG_FAILURES_OF, &of, Some(*total), 1.0);
        }
        for setting in &self.settings {
            figures.known(setting);
        }
        Ok(())
    }

    fn remedy(&self, _blind: &Blind) -> String {
        format!(
            "run as a user who may read {}, such as root or one of the group `adm`",
            self.path.display()
        )
    }
}
