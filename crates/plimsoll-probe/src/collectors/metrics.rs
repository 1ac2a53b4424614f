//! Where a part's figures become series: each carries where the part was asked.

use plimsoll_model::metric;

use crate::meter::Meter;

/// A setting that was found outside the part's own answer: in its configuration files.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileSetting {
    pub(crate) name: &'static str,
    /// What it belongs to; empty where there is only one.
    pub(crate) of: String,
    pub(crate) value: f64,
    /// File and line.
    pub(crate) file: String,
}

/// What is known of a part before it is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ComponentMetadata {
    /// What its configuration says.
    pub(crate) settings: Vec<FileSetting>,
    /// Its process, where it runs on this machine.
    pub(crate) pid: Option<u32>,
    /// The process that names it, where it was found and nobody named it.
    pub(crate) named_by: Option<u32>,
    /// The pool of PHP-FPM that it is, where that has no page.
    pub(crate) pool: Option<String>,
    /// How lines of its log are made, where its configuration says so.
    pub(crate) log_format: Option<String>,
}

/// Takes the figures of one answer.
#[derive(Debug)]
pub(crate) struct MetricsRecorder<'a> {
    pub(super) meter: &'a mut Meter,
    pub(super) at: &'a str,
    /// What tells one life of the part from the next, as it was seen last.
    pub(super) identity: &'a mut Option<String>,
    pub(super) was_restarted: &'a mut bool,
    /// Keys, of which each is told once, and texts.
    pub(super) notes: &'a mut Vec<(&'static str, String)>,
}

impl MetricsRecorder<'_> {
    /// Which process it is that answers: another one begins its counters anew. To be said before any counter.
    pub(crate) fn identity(&mut self, identity: &str) {
        if self
            .identity
            .as_deref()
            .is_some_and(|before| before != identity)
        {
            self.meter.forget_totals();
            *self.was_restarted = true;
        }
        *self.identity = Some(identity.to_owned());
    }

    /// Says something once.
    pub(crate) fn note(&mut self, key: &'static str, text: &str) {
        self.notes.push((key, text.to_owned()));
    }

    /// A level, where it was told.
    pub(crate) fn level(
        &mut self,
        metric: &'static str,
        labels: &[(&str, &str)],
        value: Option<f64>,
    ) {
        if let Some(value) = value {
            self.meter
                .gauge(metric, &with_place(self.at, labels), value);
        }
    }

    /// A counter, where it was told.
    pub(crate) fn counter(
        &mut self,
        metric: &'static str,
        labels: &[(&str, &str)],
        total: Option<u64>,
        scale: f64,
    ) {
        if let Some(total) = total {
            let labels = with_place(self.at, labels);
            self.meter.counter(metric, &labels, total, scale);
        }
    }

    /// A count that the eye keeps itself, from nothing.
    pub(crate) fn tally(&mut self, metric: &'static str, labels: &[(&str, &str)], total: u64) {
        self.meter
            .tally(metric, &with_place(self.at, labels), total);
    }

    /// A setting that was found in a file.
    pub(crate) fn known(&mut self, setting: &FileSetting) {
        self.setting(
            setting.name,
            &setting.of,
            &setting.file,
            Some(setting.value),
        );
    }

    /// A setting, where it was told; `file` is empty where it is not known.
    pub(crate) fn setting(&mut self, name: &str, of: &str, file: &str, value: Option<f64>) {
        let mut labels = vec![("setting", name)];
        if !of.is_empty() {
            labels.push(("of", of));
        }
        if !file.is_empty() {
            labels.push(("file", file));
        }
        self.level(metric::SETTING, &labels, value);
    }
}

fn with_place<'a>(at: &'a str, labels: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    std::iter::once(("at", at))
        .chain(labels.iter().copied())
        .collect()
}
