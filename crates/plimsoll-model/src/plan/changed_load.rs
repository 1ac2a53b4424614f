//! A load whose rate or number of users changes while it goes on: the same load up to a moment, and another level behind.

use std::time::Duration;

use super::{Load, LoadUnit};
use crate::journey::UserPhase;
use crate::schedule::LoadPhase;

/// Highest rate per second, and most users, as in a plan.
const LEVEL_MAX: f64 = 10_000_000.0;

/// Why a load cannot change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LoadChangeError {
    /// It has no rate and no number of users that could change.
    #[error(
        "{kind} cannot change while it goes on; start a load with --rate, or one of journeys with users"
    )]
    Fixed {
        /// What it is.
        kind: &'static str,
    },
    /// The level is none that a load can have.
    #[error("{to} {} is out of range: above 0, up to {}{}", unit.symbol(), LEVEL_MAX, whole(*unit))]
    Level {
        /// The level.
        to: f64,
        /// Its unit.
        unit: LoadUnit,
    },
    /// It ends before.
    #[error("the load ends before it could change")]
    Over,
}

fn whole(unit: LoadUnit) -> &'static str {
    match unit {
        LoadUnit::Users => ", a whole number",
        LoadUnit::RequestsPerSecond | LoadUnit::SessionsPerSecond => "",
    }
}

impl Load {
    /// What a change of it sets: its rate or its number of users.
    ///
    /// # Errors
    /// When it has neither.
    pub fn changeable_unit(&self) -> Result<LoadUnit, LoadChangeError> {
        match self {
            Self::Open { .. } => Ok(LoadUnit::RequestsPerSecond),
            Self::Users { .. } => Ok(LoadUnit::Users),
            Self::Sessions { .. } => Ok(LoadUnit::SessionsPerSecond),
            Self::Closed { .. } => Err(LoadChangeError::Fixed {
                kind: "the number of connections of a closed loop",
            }),
            Self::WebSockets(_) => Err(LoadChangeError::Fixed {
                kind: "the number of WebSockets",
            }),
        }
    }

    /// The same load up to `after` its start, and `to` (in its unit) from there to its end. The mix of journeys stays
    /// the one of that moment.
    ///
    /// # Errors
    /// When this load cannot change, not to this level, or ends before.
    pub fn changed(&self, after: Duration, to: f64) -> Result<Self, LoadChangeError> {
        let unit = self.changeable_unit()?;
        let is_whole = unit != LoadUnit::Users || to.fract() == 0.0;
        if !(to > 0.0 && to <= LEVEL_MAX && is_whole) {
            return Err(LoadChangeError::Level { to, unit });
        }
        let rest = self.lasting().saturating_sub(after);
        if rest.is_zero() {
            return Err(LoadChangeError::Over);
        }
        let mut changed = self.clone();
        match &mut changed {
            Self::Open { phases, .. } => {
                cut(phases, after);
                phases.push(LoadPhase::constant(to, rest));
            }
            Self::Sessions { phases, mixes, .. } => {
                let index = cut(phases, after);
                phases.push(LoadPhase::constant(to, rest));
                if !mixes.is_empty() {
                    let mix = mixes.get(index).cloned().unwrap_or_default();
                    mixes.resize(phases.len() - 1, Vec::new());
                    mixes.push(mix);
                }
            }
            Self::Users { phases, .. } => {
                let mix = cut_users(phases, after);
                phases.push(UserPhase {
                    from: to,
                    to,
                    lasting: rest,
                    mix,
                });
            }
            Self::Closed { .. } | Self::WebSockets(_) => {}
        }
        Ok(changed)
    }
}

/// Leaves the part before a moment; the index of the phase that went on then.
fn cut(phases: &mut Vec<LoadPhase>, after: Duration) -> usize {
    let mut left_ns = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
    for index in 0..phases.len() {
        let phase = &mut phases[index];
        if left_ns < phase.lasting_ns {
            let share = left_ns as f64 / phase.lasting_ns as f64;
            phase.to = (phase.to - phase.from).mul_add(share, phase.from);
            phase.lasting_ns = left_ns;
            phases.truncate(index + usize::from(left_ns > 0));
            return index;
        }
        left_ns -= phase.lasting_ns;
    }
    phases.len()
}

/// The same of users; the mix of the phase that went on then.
fn cut_users(phases: &mut Vec<UserPhase>, after: Duration) -> Vec<f64> {
    let mut left = after;
    for index in 0..phases.len() {
        let phase = &mut phases[index];
        if left < phase.lasting {
            let mix = phase.mix.clone();
            let share = left.as_secs_f64() / phase.lasting.as_secs_f64();
            phase.to = (phase.to - phase.from).mul_add(share, phase.from);
            phase.lasting = left;
            phases.truncate(index + usize::from(!left.is_zero()));
            return mix;
        }
        left -= phase.lasting;
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Spacing;

    const SECOND: Duration = Duration::from_secs(1);

    fn open(phases: &[(f64, f64, u64)]) -> Load {
        let phases = phases
            .iter()
            .map(|&(from, to, s)| LoadPhase::ramp(from, to, Duration::from_secs(s)));
        Load::Open {
            phases: phases.collect(),
            spacing: Spacing::Poisson,
        }
    }

    #[test]
    fn what_was_before_stays_and_the_length_too() {
        let load = open(&[(0.0, 100.0, 10), (100.0, 100.0, 10)]);
        for (after, expected) in [
            (0, &[(7.0, 7.0, 20)][..]),
            (5, &[(0.0, 50.0, 5), (7.0, 7.0, 15)]),
            (10, &[(0.0, 100.0, 10), (7.0, 7.0, 10)]),
            (19, &[(0.0, 100.0, 10), (100.0, 100.0, 9), (7.0, 7.0, 1)]),
        ] {
            let changed = load.changed(after * SECOND, 7.0).unwrap();
            assert_eq!(changed, open(expected), "{after}");
            assert_eq!(changed.lasting(), load.lasting());
        }
        let twice = load.changed(5 * SECOND, 7.0).unwrap();
        let twice = twice.changed(5 * SECOND, 8.0).unwrap();
        assert_eq!(twice, open(&[(0.0, 50.0, 5), (8.0, 8.0, 15)]));
    }

    #[test]
    fn users_and_sessions_keep_the_mix_of_the_moment() {
        let phase = |from: f64, to: f64, s: u64, mix: &[f64]| UserPhase {
            from,
            to,
            lasting: Duration::from_secs(s),
            mix: mix.to_vec(),
        };
        let users = |phases: Vec<UserPhase>| Load::Users {
            phases,
            iterations: Some(9),
        };
        let load = users(vec![
            phase(10.0, 10.0, 10, &[]),
            phase(10.0, 20.0, 10, &[1.0, 3.0]),
        ]);
        assert_eq!(
            load.changed(15 * SECOND, 4.0).unwrap(),
            users(vec![
                phase(10.0, 10.0, 10, &[]),
                phase(10.0, 15.0, 5, &[1.0, 3.0]),
                phase(4.0, 4.0, 5, &[1.0, 3.0]),
            ])
        );
        let Load::Open { phases, spacing } = open(&[(5.0, 5.0, 10), (9.0, 9.0, 10)]) else {
            unreachable!()
        };
        let load = Load::Sessions {
            phases,
            spacing,
            mixes: vec![vec![], vec![2.0, 1.0]],
        };
        let Load::Sessions { phases, mixes, .. } = load.changed(12 * SECOND, 1.0).unwrap() else {
            unreachable!()
        };
        assert_eq!(phases.len(), 3);
        assert_eq!(mixes, [vec![], vec![2.0, 1.0], vec![2.0, 1.0]]);
    }

    #[test]
    fn what_cannot_change_is_named() {
        let closed = Load::Closed {
            connections: 3,
            think: Duration::ZERO,
            lasting: SECOND,
        };
        let error = closed.changed(Duration::ZERO, 3.0).unwrap_err();
        assert!(error.to_string().contains("closed loop"), "{error}");
        let load = open(&[(5.0, 5.0, 10)]);
        for to in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e7] {
            let error = load.changed(SECOND, to).unwrap_err();
            assert!(matches!(error, LoadChangeError::Level { .. }), "{to}");
        }
        let error = load.changed(10 * SECOND, 3.0).unwrap_err();
        assert_eq!(error, LoadChangeError::Over);
        let users = Load::Users {
            phases: Vec::new(),
            iterations: None,
        };
        let error = users.changed(SECOND, 2.5).unwrap_err();
        assert!(error.to_string().contains("a whole number"), "{error}");
    }
}
