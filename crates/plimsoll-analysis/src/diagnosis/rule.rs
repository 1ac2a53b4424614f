//! A rule: all that is known of it, as data. Its conditions and texts are functions beside it, in `rules`.

use std::fmt::{self, Write as _};

use plimsoll_model::finding::{Evidence, Strength, Tier};

use crate::diagnosis::mitigation::LimitSetting;
use crate::diagnosis::rule_id::{RuleId, TriedOn};
use crate::diagnosis::stretch::{Stretch3, View};

/// Groups of rules that a limit explains away.
pub(crate) type Explained = &'static [&'static [RuleId]];

/// A rule.
#[derive(Debug)]
pub struct Rule {
    id: RuleId,
    limit: &'static str,
    tried_on: TriedOn,
    role: Role,
    checks: &'static [Check],
    follows_like: &'static [RuleId],
    shows_remotely: bool,
    is_of_load: bool,
    setting: Option<LimitSetting>,
}

/// What a finding of a rule says about the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It names the limit.
    Limit,
    /// It names what adds to the failure, and no limit. Where such rules alone hold, a higher load may show the limit.
    Addition,
    /// The same; it describes how the service fails, and not why: it follows from the best finding that names a cause.
    FailureMode,
    /// The same; it is reported only beside a cause: alone it would hide that the cause is unknown.
    FailureModeBesideCause,
}

/// One source of a rule, with its condition and its texts. A rule has several where, for example, both the metrics and
/// the log of a component show the limit.
#[derive(Debug)]
pub(crate) struct Check {
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
    pub(crate) explains: Explained,
}

impl Rule {
    /// A rule that names a limit, tried on real programs.
    pub(crate) const fn new(id: RuleId, limit: &'static str, checks: &'static [Check]) -> Self {
        Self {
            id,
            limit,
            tried_on: TriedOn::RealProgram,
            role: Role::Limit,
            checks,
            follows_like: &[],
            shows_remotely: false,
            is_of_load: false,
            setting: None,
        }
    }

    /// A rule that is tried on series only.
    pub(crate) const fn tried_on_series(mut self) -> Self {
        self.tried_on = TriedOn::Series;
        self
    }

    /// Sets what it says about the failure.
    pub(crate) const fn with_role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// What explains one of these rules explains this one too.
    pub(crate) const fn follows_like(mut self, rules: &'static [RuleId]) -> Self {
        self.follows_like = rules;
        self
    }

    /// It is about the network, and its symptom shows on the generator's machine too.
    pub(crate) const fn shows_remotely(mut self) -> Self {
        self.shows_remotely = true;
        self
    }

    /// It is about the generator, or about responses: these are the same whichever machine is examined, so that it is evaluated
    /// on the generator's own machine alone.
    pub(crate) const fn of_the_load(mut self) -> Self {
        self.is_of_load = true;
        self
    }

    /// Sets the setting that holds the limit and can be raised while the component runs.
    pub(crate) const fn with_setting(mut self, setting: LimitSetting) -> Self {
        self.setting = Some(setting);
        self
    }

    /// Its id in reports and run logs.
    pub const fn id(&self) -> RuleId {
        self.id
    }

    /// The limit that it names, in Markdown.
    pub const fn limit(&self) -> &'static str {
        self.limit
    }

    /// What its tests try it on.
    pub const fn tried_on(&self) -> TriedOn {
        self.tried_on
    }

    /// Whether it has a condition, so that runs are examined for it.
    pub const fn is_built(&self) -> bool {
        !self.checks.is_empty()
    }

    pub(crate) const fn role(&self) -> Role {
        self.role
    }

    pub(crate) const fn checks(&self) -> &'static [Check] {
        self.checks
    }

    pub(crate) const fn setting(&self) -> Option<&LimitSetting> {
        self.setting.as_ref()
    }

    /// Whether it is evaluated on one machine alone: the generator's own.
    pub(crate) const fn is_of_load(&self) -> bool {
        self.is_of_load
    }

    /// Whether a check applies to a target on another machine, as far as the generator's machine shows it: components report
    /// their own metrics wherever they are.
    pub(crate) fn applies_remotely(&self, check: &Check) -> bool {
        self.shows_remotely || !matches!(check.tier, Tier::Network | Tier::Machine)
    }

    /// Whether what explains that rule explains this one.
    pub(crate) fn is_like(&self, rule: RuleId) -> bool {
        self.id == rule || self.follows_like.contains(&rule)
    }

    /// Whether this rule's finding is a consequence where a check of another rule holds.
    pub(crate) fn follows_from(&self, cause: RuleId, check: &Check) -> bool {
        let mut alike = self.follows_like.iter();
        cause != self.id && (check.explains(self.id) || alike.any(|&rule| check.explains(rule)))
    }
}

impl Role {
    /// Whether it describes how the service fails, and not why.
    pub(crate) const fn is_failure_mode(self) -> bool {
        matches!(self, Self::FailureMode | Self::FailureModeBesideCause)
    }
}

impl Check {
    fn explains(&self, rule: RuleId) -> bool {
        self.explains.iter().any(|group| group.contains(&rule))
    }
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
