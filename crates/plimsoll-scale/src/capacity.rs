//! What a number of replicas carries.

use plimsoll_config::scale::ReplicaConfig;

/// Capacity by the number of replicas: the Universal Scalability Law through the load line of one (N. J. Gunther,
/// *Guerrilla Capacity Planning*, 2007). With σ and κ of 0 it is a multiple.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplicaLaw {
    line: f64,
    contention: f64,
    coherency: f64,
}

impl ReplicaLaw {
    /// The law of a measured replica.
    pub fn of(replica: &ReplicaConfig) -> Self {
        Self {
            line: replica.line,
            contention: replica.contention,
            coherency: replica.coherency,
        }
    }

    /// The rate that so many replicas carry within the objective, 1/s.
    pub fn capacity(&self, replicas: u32) -> f64 {
        if replicas == 0 {
            return 0.0;
        }
        let count = f64::from(replicas);
        let stretch =
            1.0 + self.contention * (count - 1.0) + self.coherency * count * (count - 1.0);
        self.line * count / stretch
    }

    /// The fewest replicas of which `utilisation` carries `rate` (1/s), at least one; `max`, or the number that carries
    /// the most, where none do.
    pub fn replicas_for(&self, rate: f64, utilisation: f64, max: u32) -> u32 {
        let wanted = rate / utilisation.max(f64::MIN_POSITIVE);
        // Less than a millionth of a replica is rounding.
        let least = crate::whole::up(wanted / self.line - 1e-6).clamp(1, max.max(1));
        if self.contention <= 0.0 && self.coherency <= 0.0 {
            return least;
        }
        let mut best = (least, self.capacity(least));
        for count in least..=max {
            let capacity = self.capacity(count);
            if capacity >= wanted * (1.0 - 1e-9) {
                return count;
            }
            if capacity <= best.1 && count > least {
                // Beyond the peak each further one carries less.
                return best.0;
            }
            best = (count, capacity);
        }
        best.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_contention_replicas_carry_a_multiple() {
        let law = ReplicaLaw::of(&ReplicaConfig::of_line(80.0));
        assert!((law.capacity(5) - 400.0).abs() < 1e-9);
        assert_eq!(law.replicas_for(240.0, 1.0, 40), 3);
        assert_eq!(law.replicas_for(240.1, 1.0, 40), 4);
        assert_eq!(law.replicas_for(240.0, 0.75, 40), 4);
        assert_eq!(law.replicas_for(0.0, 0.75, 40), 1);
        assert_eq!(law.replicas_for(1e9, 0.75, 40), 40);
    }

    #[test]
    fn more_than_the_peak_is_never_wanted() {
        let law = ReplicaLaw::of(&ReplicaConfig {
            contention: 0.026_715_91,
            coherency: 7.690_945e-4,
            ..ReplicaConfig::of_line(995.648_6)
        });
        // Published figures of the law: its peak lies between 35 and 36, and 35 carry 12,341.745 a second.
        assert!(
            (law.capacity(35) - 12_341.745).abs() < 0.05,
            "{}",
            law.capacity(35)
        );
        assert_eq!(law.replicas_for(20_000.0, 1.0, 100), 36);
        assert!(law.capacity(37) < law.capacity(36));
        let count = law.replicas_for(5_000.0, 1.0, 100);
        assert!(law.capacity(count) >= 5_000.0 && law.capacity(count - 1) < 5_000.0);
    }
}
