//! What an agent has delivered and nobody has taken yet. Pure: seconds are those of the run.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::machine::on_machine;
use plimsoll_model::reading::{Readings, SeriesInfo};

/// Seconds that wait at most: they are taken once a second.
const WAITING_MAX: usize = 8;

/// Different series of a machine.
const SERIES_MAX: usize = 20_000;

/// Longest name of a series, bytes.
const SERIES_NAME_MAX: usize = 1_024;

/// Longest unit of a series, bytes.
const UNIT_MAX: usize = 64;

/// Notes of a machine, and their longest, characters.
const NOTES_MAX: usize = 200;
const NOTE_LEN_MAX: usize = 1_000;

/// An agent that was this many seconds behind is not waited for until it delivers again.
const BEHIND_MAX: u32 = 3;

/// The readings of a machine.
#[derive(Debug)]
pub(super) struct Mailbox {
    name: String,
    /// Values of seconds that have not been taken.
    waiting: BTreeMap<u32, BTreeMap<String, f64>>,
    /// Definitions are sent once: they are kept until a second is taken.
    definitions: BTreeMap<String, SeriesInfo>,
    /// The last second that was delivered since the connection was made.
    latest: Option<u32>,
    /// The first second that may still be added to the run.
    open_from: u32,
    late: u32,
    series: BTreeSet<String>,
    left_out: bool,
    notes: Vec<String>,
    /// How many of the notes were taken.
    taken: usize,
}

impl Mailbox {
    /// Nothing of a machine.
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            waiting: BTreeMap::new(),
            definitions: BTreeMap::new(),
            latest: None,
            open_from: 0,
            late: 0,
            series: BTreeSet::new(),
            left_out: false,
            notes: Vec::new(),
            taken: 0,
        }
    }

    /// Name of the machine.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Puts the readings of a second in. What a run cannot hold is left out, and noted.
    pub(super) fn deliver(&mut self, readings: Readings) {
        self.define(readings.new_series);
        let second = readings.second;
        self.latest = Some(second);
        if second < self.open_from {
            self.late += 1;
            return;
        }
        let count = readings.values.len();
        let (series, name) = (&mut self.series, &self.name);
        let mut on_this = BTreeMap::new();
        for (own, value) in readings.values {
            if !may_be_series(&own) || !value.is_finite() {
                continue;
            }
            let full = on_machine(&own, name);
            if series.len() < SERIES_MAX || series.contains(&full) {
                series.insert(full.clone());
                on_this.insert(full, value);
            }
        }
        if on_this.len() < count && !self.left_out {
            self.left_out = true;
            self.note(&format!(
                "some of its series are left out: more than {SERIES_MAX}, or names of more than {SERIES_NAME_MAX} bytes"
            ));
        }
        self.waiting.insert(second, on_this);
        if self.waiting.len() > WAITING_MAX {
            self.waiting.pop_first();
        }
    }

    fn define(&mut self, new: BTreeMap<String, SeriesInfo>) {
        let room = SERIES_MAX.saturating_sub(self.definitions.len());
        let name = &self.name;
        let valid = new
            .into_iter()
            .filter(|(own, info)| may_be_series(own) && info.unit.len() <= UNIT_MAX)
            .map(|(own, info)| (on_machine(&own, name), info));
        self.definitions.extend(valid.take(room));
    }

    /// Whether the readings of a second are likely to come soon.
    pub(super) fn expects(&self, second: u32) -> bool {
        self.latest
            .is_some_and(|latest| latest < second && second - latest <= BEHIND_MAX)
    }

    /// The connection is gone: nothing is expected until it delivers again.
    pub(super) fn lose(&mut self) {
        self.latest = None;
    }

    /// Adds the readings of the same second to others; earlier ones are too late.
    pub(super) fn add_to(&mut self, readings: &mut Readings) {
        self.waiting = self.waiting.split_off(&readings.second);
        if let Some(values) = self.waiting.remove(&readings.second) {
            readings.values.extend(values);
        }
        let definitions = std::mem::take(&mut self.definitions);
        readings.new_series.extend(definitions);
        self.open_from = readings.second.saturating_add(1);
    }

    /// Adds a note, with the name of the machine.
    pub(super) fn note(&mut self, text: &str) {
        if self.notes.len() >= NOTES_MAX {
            return;
        }
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let text: String = text.chars().take(NOTE_LEN_MAX).map(plain).collect();
        let note = format!("{}: {text}", self.name);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// All notes so far, with what is known only at the end.
    pub(super) fn notes(&self) -> Vec<String> {
        let late = (self.late > 0).then(|| {
            format!(
                "{}: the readings of {} seconds arrived too late, and are missing",
                self.name, self.late
            )
        });
        self.notes.iter().cloned().chain(late).collect()
    }

    /// The notes since the last call.
    pub(super) fn take_new_notes(&mut self) -> Vec<String> {
        let new = self.notes[self.taken..].to_vec();
        self.taken = self.notes.len();
        new
    }
}

fn may_be_series(name: &str) -> bool {
    (1..=SERIES_NAME_MAX).contains(&name.len()) && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::reading::{SeriesInfo, SeriesKind};

    use super::*;

    fn readings(second: u32, values: &[(&str, f64)]) -> Readings {
        let values = values.iter().map(|&(name, value)| (name.to_owned(), value));
        let info = SeriesInfo {
            kind: SeriesKind::Gauge,
            unit: "s".to_owned(),
        };
        Readings {
            second,
            values: values.clone().collect(),
            new_series: values.map(|(name, _)| (name, info.clone())).collect(),
        }
    }

    fn mailbox() -> Mailbox {
        Mailbox::new("db1".to_owned())
    }

    #[test]
    fn readings_are_added_to_their_second() {
        let mut mailbox = mailbox();
        mailbox.deliver(readings(3, &[("a{b=c}", 1.0)]));
        mailbox.deliver(readings(4, &[("a{b=c}", 2.0)]));
        let mut own = readings(3, &[("a{b=c}", 7.0)]);
        mailbox.add_to(&mut own);
        assert_eq!(own.values.get("a{b=c}"), Some(&7.0));
        assert_eq!(own.values.get("a{b=c,host.name=db1}"), Some(&1.0));
        assert!(own.new_series.contains_key("a{b=c,host.name=db1}"));
        let mut own = readings(4, &[]);
        mailbox.add_to(&mut own);
        assert_eq!(own.values.get("a{b=c,host.name=db1}"), Some(&2.0));
    }

    #[test]
    fn late_readings_are_missing_and_counted() {
        let mut mailbox = mailbox();
        let mut own = readings(5, &[]);
        mailbox.add_to(&mut own);
        mailbox.deliver(readings(5, &[("a", 1.0)]));
        let mut own = readings(6, &[]);
        mailbox.add_to(&mut own);
        assert!(own.values.is_empty());
        assert_eq!(
            mailbox.notes(),
            ["db1: the readings of 1 seconds arrived too late, and are missing"]
        );
    }

    #[test]
    fn definitions_of_a_second_that_was_skipped_or_late_stay() {
        let mut mailbox = mailbox();
        mailbox.deliver(readings(1, &[("a", 1.0)]));
        let mut own = readings(2, &[]);
        mailbox.add_to(&mut own);
        assert!(own.values.is_empty());
        assert!(own.new_series.contains_key("a{host.name=db1}"));
        mailbox.deliver(readings(2, &[("b", 1.0)]));
        let mut own = readings(3, &[]);
        mailbox.add_to(&mut own);
        assert!(own.values.is_empty());
        assert!(own.new_series.contains_key("b{host.name=db1}"));
    }

    #[test]
    fn only_those_that_deliver_are_waited_for() {
        let mut mailbox = mailbox();
        assert!(!mailbox.expects(0));
        mailbox.deliver(readings(4, &[]));
        assert!(!mailbox.expects(4));
        assert!(mailbox.expects(5) && mailbox.expects(4 + BEHIND_MAX));
        assert!(!mailbox.expects(5 + BEHIND_MAX));
        mailbox.lose();
        assert!(!mailbox.expects(5));
    }

    #[test]
    fn what_a_run_cannot_hold_is_left_out() {
        let mut mailbox = mailbox();
        let long = "x".repeat(SERIES_NAME_MAX + 1);
        mailbox.deliver(readings(
            0,
            &[("a", 1.0), ("b\n", 1.0), ("c", f64::NAN), (&long, 1.0)],
        ));
        let mut own = readings(0, &[]);
        mailbox.add_to(&mut own);
        assert_eq!(own.values.keys().collect::<Vec<_>>(), ["a{host.name=db1}"]);
        let notes = mailbox.take_new_notes();
        assert!(notes[0].starts_with("db1: some of its series"), "{notes:?}");
        assert!(mailbox.take_new_notes().is_empty());
        assert_eq!(mailbox.notes(), notes);
    }

    #[test]
    fn what_nobody_takes_is_bounded() {
        let mut mailbox = mailbox();
        for second in 0..100 {
            mailbox.deliver(readings(second, &[("a", 1.0)]));
        }
        assert_eq!(mailbox.waiting.len(), WAITING_MAX);
        for count in 0..2 * NOTES_MAX {
            mailbox.note(&format!("note {count}\u{7}"));
        }
        assert_eq!(mailbox.notes().len(), NOTES_MAX);
        assert_eq!(mailbox.notes()[0], "db1: note 0 ");
    }
}
