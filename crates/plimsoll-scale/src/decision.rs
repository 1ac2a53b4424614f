//! What was decided, and why.

/// A decision about the number of replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Seconds since the beginning.
    pub at_s: u32,
    /// The signal and the policy that decided, such as `offered (line)`.
    pub signal: String,
    /// The number of replicas that is wanted.
    pub wanted: u32,
    /// The number of replicas that stands.
    pub now: u32,
    /// Why, in a sentence without a full stop.
    pub reason: String,
    /// What forbids it, if something does; then the number stays.
    pub refused_by: Option<String>,
}

impl Decision {
    /// The number of replicas to have now: what is wanted, unless it is refused.
    pub fn applied(&self) -> u32 {
        if self.refused_by.is_some() {
            self.now
        } else {
            self.wanted
        }
    }

    /// Whether it changes something, or would if it were not refused.
    pub fn is_change(&self) -> bool {
        self.wanted != self.now || self.refused_by.is_some()
    }
}
