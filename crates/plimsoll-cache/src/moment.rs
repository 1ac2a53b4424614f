//! Timestamps, passed in by the caller.

/// A moment of the wall clock, milliseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// A moment, from milliseconds since 1970.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since 1970.
    pub const fn ms(self) -> u64 {
        self.0
    }

    /// Whole seconds since 1970, which is what HTTP dates count.
    pub const fn seconds(self) -> i64 {
        // A 64-bit number of milliseconds is never more seconds than fit.
        (self.0 / 1000).cast_signed()
    }

    /// Adds milliseconds, saturating.
    #[must_use]
    pub const fn after(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds since an earlier moment; zero when it was later, as after a clock was set back.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
