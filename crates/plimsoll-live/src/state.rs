//! What is known of the run, bounded, and the document that a page draws.
//!
//! A full document has all of it; the next ones have the rows from the first that has changed, and the sections that have.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::columns::Columns;
use crate::update::Update;

/// Entries of a list kept at most: trials, notes, marks; the oldest go.
const ENTRIES_MAX: usize = 500;

/// A part of the document, and whether it has changed since the last one.
#[derive(Debug, Default)]
struct Section {
    value: Value,
    is_changed: bool,
}

/// The run so far.
#[derive(Debug, Default)]
pub(crate) struct LiveState {
    columns: Columns,
    lists: BTreeMap<&'static str, VecDeque<Value>>,
    sections: BTreeMap<&'static str, Section>,
    /// Runs so far; another one, or merged rows, need a full document.
    runs: u32,
    is_full_due: bool,
}

impl LiveState {
    /// Takes an update in.
    pub(crate) fn apply(&mut self, update: Update) {
        match update {
            Update::Began { head, steps } => self.begin(head, steps),
            Update::Values { second, values } => {
                let step_s = self.columns.step_s();
                for value in values {
                    self.columns
                        .put(&value.key, value.merge, second, value.value);
                }
                self.is_full_due |= self.columns.step_s() != step_s;
            }
            Update::Named { section, entries } => {
                for entry in entries {
                    self.list(section, entry);
                }
            }
            Update::TrialBegan(trial) => self.set("trial", trial),
            Update::TrialEnded(trial) => {
                self.set("trial", Value::Null);
                self.list("trials", trial);
            }
            Update::Noted { section, entry } => self.list(section, entry),
            Update::Experiment(line) => self.experiment(line),
            // What formed before the end is not the last word.
            Update::Section {
                name: "findings",
                value,
            } if self.are_findings_final() && value["is_final"] == false => {}
            Update::Section { name, value } => self.set(name, value),
        }
    }

    fn are_findings_final(&self) -> bool {
        let findings = self.sections.get("findings");
        findings.is_some_and(|section| section.value["is_final"] == true)
    }

    /// The header of an experiment, or one of its trials.
    fn experiment(&mut self, mut line: Value) {
        let mut take = |event: &str| line.get_mut(event).map(Value::take);
        if let Some(trial) = take("trial_ended") {
            self.list("experiment_trials", trial);
        } else if let Some(trial) = take("trial_started") {
            self.set("experiment_trial", trial);
        } else if let Some(header) = take("experiment_started") {
            let field = |name: &str| header[name].clone();
            let cells = &header["definition"]["cells"];
            self.set(
                "experiment",
                json!({
                    "command": field("command"), "source": field("source"), "started_at": field("started_at"),
                    "cells": cells.as_array().map(Vec::len),
                }),
            );
        }
    }

    /// Another run: what belongs to the experiment around it stays.
    fn begin(&mut self, head: Value, steps: Vec<Value>) {
        let experiment = self.sections.remove("experiment");
        let ended_trials = self.lists.remove("experiment_trials");
        *self = Self {
            runs: self.runs + 1,
            is_full_due: true,
            ..Self::default()
        };
        self.sections
            .extend(experiment.map(|section| ("experiment", section)));
        if let Some(list) = ended_trials {
            self.lists.insert("experiment_trials", list);
            self.mark_list("experiment_trials");
        }
        self.set("head", head);
        for step in steps {
            self.list("steps", step);
        }
    }

    fn set(&mut self, name: &'static str, value: Value) {
        let section = self.sections.entry(name).or_default();
        if section.value != value {
            *section = Section {
                value,
                is_changed: true,
            };
        }
    }

    fn list(&mut self, name: &'static str, entry: Value) {
        let list = self.lists.entry(name).or_default();
        if list.len() >= ENTRIES_MAX {
            list.pop_front();
        }
        list.push_back(entry);
        self.mark_list(name);
    }

    fn mark_list(&mut self, name: &'static str) {
        self.sections.entry(name).or_default().is_changed = true;
    }

    /// Updates that came faster than they were taken in, or viewers: numbers about the page itself.
    pub(crate) fn set_page(&mut self, dropped: u64, viewers: usize) {
        self.set("page", json!({ "dropped": dropped, "viewers": viewers }));
    }

    /// Everything, for a page that has nothing.
    pub(crate) fn full(&self) -> Bytes {
        self.write(true)
    }

    /// What has changed since the last call; `None` if nothing has.
    pub(crate) fn changes(&mut self) -> Option<Bytes> {
        let is_full = std::mem::take(&mut self.is_full_due);
        let has_changed = is_full
            || self.columns.changed_from() < self.columns.rows()
            || self.sections.values().any(|section| section.is_changed);
        let document = has_changed.then(|| self.write(is_full));
        self.columns.sent();
        for section in self.sections.values_mut() {
            section.is_changed = false;
        }
        document
    }

    fn write(&self, is_full: bool) -> Bytes {
        let from = if is_full {
            0
        } else {
            self.columns.changed_from()
        };
        let mut text = String::with_capacity(4096);
        // Writing into a text cannot fail.
        let _ = write!(
            text,
            "{{\"version\":1,\"full\":{is_full},\"run\":{},\"from\":{from},\"rows\":{},\"step_s\":{},\"columns\":",
            self.runs,
            self.columns.rows(),
            self.columns.step_s()
        );
        self.columns.write(from, &mut text);
        for (name, section) in &self.sections {
            if is_full || section.is_changed {
                let value = match self.lists.get(name) {
                    Some(list) => json!(list),
                    None => section.value.clone(),
                };
                let _ = write!(text, ",\"{name}\":{value}");
            }
        }
        text.push('}');
        Bytes::from(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{ColumnValue, Merge};

    fn values(second: u32, key: &str, value: f64) -> Update {
        Update::Values {
            second,
            values: vec![ColumnValue {
                key: key.to_owned(),
                merge: Merge::Mean,
                value,
            }],
        }
    }

    fn began() -> Update {
        Update::Began {
            head: json!({ "kind": "run" }),
            steps: vec![json!({ "id": 0 })],
        }
    }

    fn parsed(document: &Bytes) -> Value {
        serde_json::from_slice(document).unwrap()
    }

    #[test]
    fn changes_added_to_a_full_document_are_the_next_full_document() {
        let mut state = LiveState::default();
        state.apply(began());
        state.apply(values(0, "offered", 10.0));
        let first = parsed(&state.changes().unwrap());
        assert_eq!(first, parsed(&state.full()));
        assert_eq!(state.changes(), None);
        state.apply(values(1, "offered", 11.0));
        state.apply(values(0, "series.0", 0.25));
        state.apply(Update::TrialEnded(json!({ "index": 0 })));
        let changes = parsed(&state.changes().unwrap());
        assert_eq!(changes["from"], 0, "the readings of second 0 came late");
        assert_eq!(changes["columns"]["offered"], json!([10, 11]));
        assert_eq!(changes["trials"], json!([{ "index": 0 }]));
        assert_eq!(changes["head"], Value::Null, "it has not changed");
    }

    #[test]
    fn another_run_begins_with_a_full_document_and_keeps_the_experiment() {
        let mut state = LiveState::default();
        state.apply(began());
        state.apply(values(0, "offered", 10.0));
        state.apply(Update::Noted {
            section: "experiment_trials",
            entry: json!(1),
        });
        let _ = state.changes();
        state.apply(began());
        let document = parsed(&state.changes().unwrap());
        assert_eq!(document["full"], true);
        assert_eq!(
            (&document["rows"], &document["run"]),
            (&json!(0), &json!(2))
        );
        assert_eq!(document["experiment_trials"], json!([1]));
    }

    #[test]
    fn four_hours_are_one_document_of_bounded_size() {
        let mut state = LiveState::default();
        state.apply(began());
        for second in 0..14_400 {
            for column in 0..40 {
                state.apply(values(
                    second,
                    &format!("c{column}"),
                    f64::from(second) / 7.0,
                ));
            }
        }
        let document = state.full();
        assert_eq!(parsed(&document)["rows"], 14_400);
        assert!(document.len() < 6 << 20, "{}", document.len());
    }
}
