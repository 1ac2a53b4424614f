//! What this host lacks to measure well, each with what mends it. Nothing is changed.
//!
//! Settings that `check` judges too are taken from there ([`crate::advice`]); the bounds of use are those that make a trial void
//! ([`Bounds`]).

mod access;
mod machine;
mod settings;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use crate::files::Files;
use crate::probe::{Probe, ProbePlan};
use machine::ProcessTimes;

/// What is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// What the generator may use.
    Generator,
    /// The machine and its kernel.
    Machine,
    /// Access to what the service tells about itself.
    Service,
}

impl Area {
    /// `generator`, `machine` or `service`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Machine => "machine",
            Self::Service => "service",
        }
    }
}

/// How a condition of a good measurement is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// It can make measurements void or wrong.
    Lacking,
    /// It costs precision, or findings.
    Weak,
    /// It is met.
    Good,
}

impl Health {
    /// `lacking`, `weak` or `good`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lacking => "lacking",
            Self::Weak => "weak",
            Self::Good => "good",
        }
    }
}

/// One condition of a good measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What it is about.
    pub area: Area,
    /// Its name, such as `net.core.somaxconn`.
    pub name: String,
    /// Whether it is met.
    pub health: Health,
    /// What was read.
    pub current: String,
    /// What is enough.
    pub wanted: String,
    /// Why it matters.
    pub why: String,
    /// What mends it, in order: commands, or lines of a configuration. Empty when it is good.
    pub commands: Vec<String>,
}

impl Condition {
    fn new(
        area: Area,
        name: impl Into<String>,
        current: impl Into<String>,
        wanted: impl Into<String>,
    ) -> Self {
        Self {
            area,
            name: name.into(),
            health: Health::Good,
            current: current.into(),
            wanted: wanted.into(),
            why: String::new(),
            commands: Vec::new(),
        }
    }

    fn because(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    /// Unless it is met, it is of this health, and these commands mend it.
    fn unless<T: Into<String>>(
        mut self,
        is_met: bool,
        health: Health,
        commands: impl IntoIterator<Item = T>,
    ) -> Self {
        if !is_met {
            self.health = health;
            self.commands = commands.into_iter().map(Into::into).collect();
        }
        self
    }
}

/// Bounds beyond which a trial is void.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Share of the CPU that the hypervisor may take in a second, 0 to 1.
    pub steal_max: f64,
    /// Share of its CPU that the generator may use, 0 to 1.
    pub cpu_max: f64,
    /// Connections that the generator opens by default at most.
    pub connections: u64,
}

/// An examination that goes on for about a second: what others do meanwhile is measured.
#[derive(Debug)]
pub struct Examination {
    probe: Probe,
    files: Files,
    before: ProcessTimes,
}

impl Examination {
    /// Reads everything for the first time.
    pub fn begin() -> Self {
        Self::below(PathBuf::from("/"))
    }

    fn below(root: PathBuf) -> Self {
        let mut probe = Probe::open(ProbePlan {
            auto: true,
            root: root.clone(),
            ..ProbePlan::default()
        });
        let _ = probe.read(0);
        let mut files = Files::new(root);
        let before = ProcessTimes::read(&mut files);
        Self {
            probe,
            files,
            before,
        }
    }

    /// Reads it again, and judges. What lacks comes first.
    pub fn finish(mut self, bounds: &Bounds) -> Vec<Condition> {
        let readings = self.probe.read(1);
        let after = ProcessTimes::read(&mut self.files);
        let files = &mut self.files;
        let mut conditions = settings::conditions(files, &readings, bounds);
        conditions.extend(machine::conditions(
            files,
            &readings,
            bounds,
            (&self.before, &after),
        ));
        conditions.extend(access::rights(files));
        let notes = self.probe.take_announced();
        conditions.extend(access::components(&notes));
        conditions.sort_by_key(|condition| (condition.health, condition.area));
        conditions
    }
}
