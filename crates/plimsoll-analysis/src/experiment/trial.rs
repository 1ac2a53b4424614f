//! Trials of an experiment as the arithmetic needs them.

use std::collections::BTreeMap;

/// Trials of an experiment at most.
pub const TRIALS_MAX: usize = 100_000;

/// What a trial is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The same setting in every block, by which drift is measured.
    Reference,
    /// A cell: the index of the level of each axis, in the order of the axes.
    Cell(Vec<usize>),
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialOutcome {
    /// Measured: metrics by name.
    Measured(BTreeMap<String, f64>),
    /// The service failed (it died, never became ready, swapped): a result, but without numbers.
    Failed,
    /// The measurement is void: no result.
    Void,
}

/// A trial of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentTrial {
    block: u32,
    began_s: f64,
    role: Role,
    outcome: TrialOutcome,
}

impl ExperimentTrial {
    /// A trial of a block that began `began_s` seconds after the experiment.
    ///
    /// # Panics
    /// When the time is not finite.
    pub fn new(block: u32, began_s: f64, role: Role, outcome: TrialOutcome) -> Self {
        assert!(began_s.is_finite(), "began at {began_s}");
        Self {
            block,
            began_s,
            role,
            outcome,
        }
    }

    /// Index of its block.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// Seconds from the begin of the experiment to its begin.
    pub fn began_s(&self) -> f64 {
        self.began_s
    }

    /// What it is for.
    pub fn role(&self) -> &Role {
        &self.role
    }

    /// How it ended.
    pub fn outcome(&self) -> &TrialOutcome {
        &self.outcome
    }

    /// Whether it is the reference trial of its block.
    pub fn is_reference(&self) -> bool {
        self.role == Role::Reference
    }

    /// The levels of a cell.
    pub fn levels(&self) -> Option<&[usize]> {
        match &self.role {
            Role::Cell(levels) => Some(levels),
            Role::Reference => None,
        }
    }

    /// The value of a metric on its scale; `None` when it was not measured or has no place on the scale.
    pub fn value(&self, metric: &str, scale: Scale) -> Option<f64> {
        let TrialOutcome::Measured(metrics) = &self.outcome else {
            return None;
        };
        scale.forward(*metrics.get(metric)?)
    }
}

/// How values of a metric are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By ratios: response times, throughput, load lines, cost. The arithmetic is on logarithms.
    Ratio,
    /// By differences: shares, which may be zero.
    Difference,
}

impl Scale {
    /// A value as the arithmetic takes it; `None` when it is not finite, or has no logarithm.
    pub fn forward(self, value: f64) -> Option<f64> {
        let value = match self {
            Self::Ratio if value > 0.0 => value.ln(),
            Self::Ratio => return None,
            Self::Difference => value,
        };
        value.is_finite().then_some(value)
    }

    /// A difference of values of the arithmetic as it is reported: a ratio or a difference.
    pub fn backward(self, difference: f64) -> f64 {
        match self {
            Self::Ratio => difference.exp(),
            Self::Difference => difference,
        }
    }

    /// A margin, 0.03 for 3 %, as the arithmetic takes it.
    pub fn margin(self, margin: f64) -> f64 {
        match self {
            Self::Ratio => margin.ln_1p(),
            Self::Difference => margin,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A trial that measured `value` of the metric `m`.
    pub(crate) fn measured(block: u32, began_s: f64, role: Role, value: f64) -> ExperimentTrial {
        let metrics = BTreeMap::from([("m".to_owned(), value)]);
        ExperimentTrial::new(block, began_s, role, TrialOutcome::Measured(metrics))
    }

    #[test]
    fn values_without_a_logarithm_are_none() {
        let trial = |value| measured(0, 0.0, Role::Reference, value);
        assert_eq!(trial(1.0).value("m", Scale::Ratio), Some(0.0));
        assert_eq!(trial(0.0).value("m", Scale::Ratio), None);
        assert_eq!(trial(0.0).value("m", Scale::Difference), Some(0.0));
        assert_eq!(trial(f64::NAN).value("m", Scale::Difference), None);
        assert_eq!(trial(1.0).value("other", Scale::Ratio), None);
        let failed = ExperimentTrial::new(0, 0.0, Role::Reference, TrialOutcome::Failed);
        assert_eq!(failed.value("m", Scale::Ratio), None);
    }

    #[test]
    fn scales_go_there_and_back() {
        for scale in [Scale::Ratio, Scale::Difference] {
            let value = scale.forward(2.5).unwrap();
            assert!((scale.backward(value) - 2.5).abs() < 1e-12);
        }
        assert!((Scale::Ratio.margin(0.03) - 1.03_f64.ln()).abs() < 1e-12);
    }
}
