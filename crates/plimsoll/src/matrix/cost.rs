//! What a cell costs: by the prices of the experiment, else by those of the plan that it measures, else the CPUs that it
//! is given.

use plimsoll_lab::experiment::forecast::{CellPrice, CellPrices};
use plimsoll_model::experiment::{Cell, Experiment};
use plimsoll_model::plan::Facts;
use plimsoll_model::price::{HeldResources, Price};

use crate::explain::CliError;

/// The cost of each cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CellCost {
    pub(super) unit: String,
    pub(super) by_cell: Vec<f64>,
    /// The prices; `None` where cells are compared by their CPUs.
    pub(super) prices: Option<CellPrices>,
}

impl CellCost {
    /// Prices by the hour, on a machine with these facts; without prices, CPUs. `plans` are the prices of the plans that
    /// the cells measure.
    pub(super) fn of(
        experiment: &Experiment,
        plans: &[Option<Price>],
        machine: &Facts,
    ) -> Result<Option<Self>, CliError> {
        let Some(prices) = prices(experiment, plans)? else {
            return Ok(Self::by_cpus(experiment));
        };
        let machine = HeldResources::of_machine(machine);
        let cell = |(cell, price): (&Cell, Price)| CellPrice {
            hour: price.per_hour(experiment.held(cell, machine)),
            price,
        };
        let currency = prices
            .first()
            .map_or_else(String::new, |price| price.currency.clone());
        let cells: Vec<CellPrice> = experiment.listed().iter().zip(prices).map(cell).collect();
        Ok(Some(Self {
            unit: format!("{currency}/h"),
            by_cell: cells.iter().map(|cell| cell.hour).collect(),
            prices: Some(CellPrices::new(currency, cells)),
        }))
    }

    /// CPUs of all services together; `None` where a service that is started has no number of them.
    fn by_cpus(experiment: &Experiment) -> Option<Self> {
        let cells = experiment.listed();
        let mut by_cell = vec![0.0; cells.len()];
        let mut is_limited = false;
        for setup in &experiment.setups {
            let Some(cpus) = &setup.cpus else {
                if setup.command.is_empty() {
                    continue;
                }
                return None;
            };
            is_limited = true;
            for (cost, cell) in by_cell.iter_mut().zip(cells) {
                *cost += cpus.at(cell)?;
            }
        }
        is_limited.then(|| Self {
            unit: "CPUs".to_owned(),
            by_cell,
            prices: None,
        })
    }
}

/// The prices of each cell: those of the experiment, else those of the plans; `None` without any.
fn prices(
    experiment: &Experiment,
    plans: &[Option<Price>],
) -> Result<Option<Vec<Price>>, CliError> {
    const REMEDY: &str = "name one `price` in the experiment, which is used for all cells";
    if let Some(price) = &experiment.price {
        let cells = experiment.listed().iter();
        return Ok(cells.map(|cell| price.at(cell).cloned()).collect());
    }
    let Some(first) = plans.iter().flatten().next() else {
        return Ok(None);
    };
    let text = |cell: usize| {
        let levels = experiment.cell(cell);
        levels.map_or_else(String::new, |levels| {
            experiment.design.describe(&levels).to_string()
        })
    };
    let mut found = Vec::with_capacity(plans.len());
    for (cell, price) in plans.iter().enumerate() {
        let Some(price) = price else {
            let text = text(cell);
            let message = format!("the plan of {text} has no `price`, that of other cells has one");
            return Err(CliError::usage(message).remedy(REMEDY));
        };
        if price.currency != first.currency {
            let message = format!(
                "the plan of {} has its price in {}, that of other cells in {}",
                text(cell),
                price.currency,
                first.currency
            );
            return Err(CliError::usage(message).remedy(REMEDY));
        }
        found.push(price.clone());
    }
    Ok(Some(found))
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use plimsoll_model::experiment::{
        Axis, CellList, Design, LevelPiece, LevelText, Measure, MeasureTarget, Measurement,
        PerCell, Setup, TrialOrder,
    };

    use super::*;

    pub(in super::super) fn experiment(setups: Vec<Setup>) -> Experiment {
        let levels = vec!["1".to_owned(), "2".to_owned()];
        let design = Design::new(vec![Axis::new("cores", levels)]);
        Experiment {
            name: "e".to_owned(),
            cells: CellList::Listed(design.cells().unwrap()),
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
            tuning: None,
        }
    }

    /// CPUs as the level says.
    fn by_cores() -> PerCell<f64> {
        let cells = [0, 1].map(|level| Cell::new(vec![Some(level)]));
        PerCell::by_axes(vec![0], cells.into_iter().zip([1.0, 2.0]))
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
        let each = by_cores();
        let cost = CellCost::of(
            &experiment(vec![setup(Some(each)), setup(Some(PerCell::Every(0.5)))]),
            &[None, None],
            &Facts::new(),
        );
        assert_eq!(cost.unwrap().unwrap().by_cell, [1.5, 2.5]);
        for setups in [vec![setup(None)], Vec::new()] {
            let cost = CellCost::of(&experiment(setups), &[None, None], &Facts::new());
            assert_eq!(cost.unwrap(), None);
        }
    }

    #[test]
    fn prices_of_the_experiment_come_first() {
        let each = by_cores();
        let mut priced = experiment(vec![setup(Some(each))]);
        priced.price = Some(PerCell::Every(Price {
            currency: "EUR".to_owned(),
            machine_hour: 0.1,
            cpu_hour: 0.5,
            ..Price::default()
        }));
        let plans = [Some(price("USD")), Some(price("USD"))];
        let cost = CellCost::of(&priced, &plans, &Facts::new());
        let cost = cost.unwrap().unwrap();
        assert_eq!(
            (cost.unit.as_str(), cost.by_cell),
            ("EUR/h", vec![0.6, 1.1])
        );
    }

    fn price(currency: &str) -> Price {
        Price {
            currency: currency.to_owned(),
            cpu_hour: 0.5,
            ..Price::default()
        }
    }

    #[test]
    fn without_its_own_the_prices_of_the_plans_hold() {
        let each = by_cores();
        let experiment = experiment(vec![setup(Some(each))]);
        let of = |plans: [Option<Price>; 2]| CellCost::of(&experiment, &plans, &Facts::new());
        let cost = of([Some(price("USD")), Some(price("USD"))]);
        let cost = cost.unwrap().unwrap();
        assert_eq!(
            (cost.unit.as_str(), &cost.by_cell[..]),
            ("USD/h", &[0.5, 1.0][..])
        );
        assert_eq!(cost.prices.unwrap().currency(), "USD");
        let mixed = of([Some(price("USD")), Some(price("EUR"))]).unwrap_err();
        assert!(mixed.to_string().contains("cores=2"), "{mixed}");
        assert!(mixed.to_string().contains("in EUR"), "{mixed}");
        let missing = of([Some(price("USD")), None]).unwrap_err();
        assert!(missing.to_string().contains("has no `price`"), "{missing}");
    }
}
