//! Why the levels of a cell did not become real.

use std::fmt;

/// The kind of an [`ApplyFault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyFaultKind {
    /// A command did not start, or ended when it should not have.
    Command,
    /// The service was not ready within its time limit.
    NotReady,
    /// The address of the service is in use by something else.
    PortTaken,
    /// The revision does not exist, or was not built.
    Source,
    /// A limit of CPU or memory cannot be set.
    Limit,
    /// A file was not written.
    File,
    /// The service's own check refused a file that was written; it is put back, and was never read.
    Check,
    /// A component refused a setting.
    Setting,
    /// The edge did not start.
    Edge,
    /// Stores were not reset.
    Reset,
    /// The journal cannot be written, or another experiment has the folder.
    Journal,
    /// Something is still changed: whatever is measured next would be measured under it.
    NotRestored,
    /// The user requested a stop.
    Interrupted,
}

/// Why the levels of a cell did not become real: where, what, and what the user can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyFault {
    kind: ApplyFaultKind,
    place: String,
    problem: String,
    remedy: String,
}

impl ApplyFault {
    pub(super) fn new(
        kind: ApplyFaultKind,
        place: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            place: place.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    pub(super) fn interrupted() -> Self {
        Self::new(ApplyFaultKind::Interrupted, "", "interrupted", "")
    }

    /// With the cause behind the problem, and what helps against that cause.
    pub(super) fn caused_by(mut self, cause: &str, remedy: &str) -> Self {
        self.problem = format!("{}: {cause}", self.problem);
        remedy.clone_into(&mut self.remedy);
        self
    }

    /// Its kind.
    pub fn kind(&self) -> ApplyFaultKind {
        self.kind
    }

    /// The part of the experiment that is not applied, such as `git v1.2`.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What the user can do; empty where nothing is to be done.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }

    /// Whether the trial has failed and other trials may follow. Otherwise the experiment cannot go on.
    pub fn is_of_trial(&self) -> bool {
        !matches!(
            self.kind,
            ApplyFaultKind::Journal | ApplyFaultKind::NotRestored | ApplyFaultKind::Interrupted
        )
    }
}

impl fmt::Display for ApplyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.problem)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for ApplyFault {}
