//! A rule: a row of data, with its condition and its texts.

use std::fmt::{self, Write as _};

use plimsoll_model::finding::{Evidence, Strength, Tier};

use crate::diagnosis::rule_id::RuleId;
use crate::diagnosis::stretch::{Stretch3, View};

/// One row of the table.
#[derive(Debug)]
pub(crate) struct FindingRule {
    /// Its name in reports; several rows may share it.
    pub(crate) id: RuleId,
    /// How strongly the symptom points to the limit.
    pub(crate) strength: Strength,
    /// Where the limit lies.
    pub(crate) tier: Tier,
    /// When it holds.
    pub(crate) symptom: Symptom,
    /// Limit, sentence and evidence of a match.
    pub(crate) words: fn(&RuleMatch<'_>) -> Words,
    /// What to do.
    pub(crate) remedy: &'static str,
    /// Rules whose symptom this limit causes, where both hold.
    pub(crate) explains: &'static [RuleId],
}

/// When a rule holds.
#[derive(Debug)]
pub(crate) enum Symptom {
    /// A counter rose in any second: `any{Δmetric > 0}`.
    Increase {
        /// The counter; each of its series is a subject.
        metric: &'static str,
    },
    /// The increases of `part` exceed a share of those of `whole`.
    Ratio {
        /// Counter of the portion.
        part: &'static str,
        /// Counter of the whole, with the same labels.
        whole: &'static str,
        /// Share above which it holds.
        above: f64,
    },
    /// A level was above a share of its limit in any second.
    Fill {
        /// The level.
        level: &'static str,
        /// Its limit: with the same labels, or without any.
        limit: &'static str,
        /// Labels the level must carry.
        with: (&'static str, &'static str),
        /// Share above which it holds.
        above: f64,
    },
    /// Anything else.
    Signs(fn(&View<'_>) -> Vec<Sign>),
    /// Compares stretches with each other; where it holds, the symptom came with the load.
    Change(fn(&Stretch3<'_>) -> Vec<Sign>),
}

/// A symptom over one stretch, for one subject.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sign {
    /// The labels that distinguish subjects, `{cgroup=/shop}`; empty when there is only one.
    pub(crate) label_set: String,
    /// Its size; comparable between stretches.
    pub(crate) magnitude: f64,
    /// Whether the condition holds.
    pub(crate) present: bool,
}

/// A rule that holds, for one subject.
pub(crate) struct RuleMatch<'a> {
    /// The three stretches.
    pub(crate) over: &'a Stretch3<'a>,
    /// Labels of the subject.
    pub(crate) label_set: &'a str,
}

/// The texts of a match.
#[derive(Debug)]
pub(crate) struct Words {
    /// The limit, named.
    pub(crate) limit: String,
    /// One sentence with the numbers.
    pub(crate) sentence: String,
    /// Series and numbers.
    pub(crate) evidence: Vec<Evidence>,
    /// A remedy more specific than the rule's: the setting, its value, its file.
    pub(crate) remedy: Option<String>,
    /// Not, or not certainly, caused by the target: the certainty is lowered.
    pub(crate) doubtful: bool,
}

impl Sign {
    /// A sign where there is only one subject.
    pub(crate) fn lone(magnitude: f64, present: bool) -> Self {
        Self::of("", magnitude, present)
    }

    pub(crate) fn of(label_set: &str, magnitude: f64, present: bool) -> Self {
        Self {
            label_set: label_set.to_owned(),
            magnitude,
            present,
        }
    }
}

impl Words {
    pub(crate) fn new(limit: impl Into<String>, sentence: String) -> Self {
        Self {
            limit: limit.into(),
            sentence,
            evidence: Vec::new(),
            remedy: None,
            doubtful: false,
        }
    }

    /// Adds a line of evidence; a line without any number is left out.
    #[must_use]
    pub(crate) fn with(mut self, line: Evidence) -> Self {
        if line.base.or(line.passing).or(line.failing).is_some() {
            self.evidence.push(line);
        }
        self
    }

    /// Replaces the rule's remedy.
    #[must_use]
    pub(crate) fn advising(mut self, remedy: String) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// Lowers the certainty when `doubtful`.
    #[must_use]
    pub(crate) fn doubtful_if(mut self, doubtful: bool) -> Self {
        self.doubtful |= doubtful;
        self
    }
}

impl<'a> RuleMatch<'a> {
    /// The failing stretch.
    pub(crate) fn failing(&self) -> &View<'a> {
        &self.over.failing
    }

    /// The name of the subject's series of a metric.
    pub(crate) fn series(&self, metric: &str) -> String {
        format!("{metric}{}", self.label_set)
    }

    /// Evidence: the mean of a series in the three stretches.
    pub(crate) fn line(&self, series: &str, label: &str) -> Evidence {
        self.over.line(series, label)
    }
}

/// Adds a clause to a sentence.
pub(crate) fn append_clause(sentence: &mut String, clause: fmt::Arguments<'_>) {
    sentence
        .write_fmt(clause)
        .expect("writing to a string does not fail");
}
