//! What a cell costs: by the prices of the experiment, else the CPUs that it is given.

use plimsoll_model::experiment::Experiment;
use plimsoll_model::plan::Facts;
use plimsoll_model::price::HeldResources;

/// The cost of each cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CellCost {
    pub(super) unit: String,
    pub(super) by_cell: Vec<f64>,
}

impl CellCost {
    /// Prices by the hour, on a machine with these facts; without prices, CPUs.
    pub(super) fn of(experiment: &Experiment, machine: &Facts) -> Option<Self> {
        let Some(price) = &experiment.price else {
            return Self::by_cpus(experiment);
        };
        let machine = held(machine);
        let cells = 0..experiment.cells.len();
        let by_cell = cells.map(|cell| experiment.price_per_hour(cell, machine));
        Some(Self {
            unit: format!("{}/h", price.at(0)?.currency),
            by_cell: by_cell.collect::<Option<_>>()?,
        })
    }

    /// CPUs of all services together; `None` where a service that is started has no number of them.
    fn by_cpus(experiment: &Experiment) -> Option<Self> {
        let mut by_cell = vec![0.0; experiment.cells.len()];
        let mut is_limited = false;
        for setup in &experiment.setups {
            let Some(cpus) = &setup.cpus else {
                if setup.command.is_empty() {
                    continue;
                }
                return None;
            };
            is_limited = true;
            for (cell, cost) in by_cell.iter_mut().enumerate() {
                *cost += cpus.at(cell)?;
            }
        }
        is_limited.then(|| Self {
            unit: "CPUs".to_owned(),
            by_cell,
        })
    }
}

/// What a machine has that may be used here.
fn held(machine: &Facts) -> HeldResources {
    let fact = |name: &str| machine.get(name)?.parse::<f64>().ok();
    let cpus = fact("cores_allowed")
        .or_else(|| fact("cores"))
        .unwrap_or(1.0);
    let memory = machine.get("memory_bytes");
    HeldResources {
        machines: 1.0,
        cpus: fact("cgroup_cpu_quota").map_or(cpus, |quota| quota.min(cpus)),
        memory: memory.and_then(|bytes| bytes.parse().ok()).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::experiment::{
        Axis, Design, LevelPiece, LevelText, Measure, MeasureTarget, Measurement, PerCell, Setup,
        TrialOrder,
    };

    use plimsoll_model::price::Price;

    use super::*;

    fn experiment(setups: Vec<Setup>) -> Experiment {
        let levels = vec!["1".to_owned(), "2".to_owned()];
        let design = Design::new(vec![Axis::new("cores", levels)]);
        Experiment {
            name: "e".to_owned(),
            cells: design.cells().unwrap(),
            design,
            trials: 3,
            order: TrialOrder::Random,
            seed: None,
            measure: Measure {
                target: MeasureTarget::Url(LevelText::default()),
                measurement: Measurement::PlanLoad,
                objective: None,
            },
            setups,
            ready: None,
            health: None,
            warm: None,
            reset: None,
            price: None,
            settle: Duration::ZERO,
        }
    }

    fn setup(cpus: Option<PerCell<f64>>) -> Setup {
        Setup {
            command: vec![LevelText::new(vec![LevelPiece::Text("a".to_owned())])],
            cpus,
            ..Setup::default()
        }
    }

    #[test]
    fn cpus_of_all_services_are_the_cost() {
        let each = PerCell::Each(vec![Some(1.0), Some(2.0)]);
        let cost = CellCost::of(
            &experiment(vec![setup(Some(each)), setup(Some(PerCell::Every(0.5)))]),
            &Facts::new(),
        );
        assert_eq!(cost.unwrap().by_cell, [1.5, 2.5]);
        assert_eq!(
            CellCost::of(&experiment(vec![setup(None)]), &Facts::new()),
            None
        );
        assert_eq!(CellCost::of(&experiment(Vec::new()), &Facts::new()), None);
    }

    #[test]
    fn prices_of_the_experiment_come_first() {
        let each = PerCell::Each(vec![Some(1.0), Some(2.0)]);
        let mut priced = experiment(vec![setup(Some(each))]);
        priced.price = Some(PerCell::Every(Price {
            currency: "EUR".to_owned(),
            machine_hour: 0.1,
            cpu_hour: 0.5,
            ..Price::default()
        }));
        let cost = CellCost::of(&priced, &Facts::new()).unwrap();
        assert_eq!(
            (cost.unit.as_str(), cost.by_cell),
            ("EUR/h", vec![0.6, 1.1])
        );
    }
}
