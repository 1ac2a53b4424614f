use plimsoll_analysis::experiment::result::MatrixFactor;
use plimsoll_analysis::experiment::trial::{ExperimentTrial, Role, TrialOutcome};
use plimsoll_model::experiment::ExperimentEnd;
use plimsoll_model::seed::Seed;

use super::*;

/// Two axes of which the second has no number; the cache helps by half, each core as much as the first.
struct Fixture {
    trials: Vec<MatrixTrial>,
    input: MatrixTrials,
    result: MatrixResult,
}

const CORES: [&str; 3] = ["1", "2", "4"];
const CACHES: [&str; 2] = ["none", "<page>"];

fn fixture() -> Fixture {
    let cells: Vec<Vec<usize>> = (0..3)
        .flat_map(|cores| (0..2).map(move |cache| vec![cores, cache]))
        .collect();
    let mut trials = Vec::new();
    for block in 0..4_u32 {
        for (cell, levels) in cells.iter().enumerate() {
            let index = u32::try_from(trials.len()).unwrap();
            let wobble = 1.0 + 0.01 * f64::from((7 * index) % 5);
            let cores: f64 = CORES[levels[0]].parse().unwrap();
            let line = 100.0 * cores * (1.0 + 0.5 * levels[1] as f64) * wobble;
            let metrics = BTreeMap::from([
                ("load_line".to_owned(), line),
                ("p95".to_owned(), 120.0 * wobble),
                ("cpu{process=a,b}".to_owned(), 0.5),
            ]);
            let result = match (block, cell) {
                (3, 5) => TrialResult::Failed("it died; see \"log\"".to_owned()),
                (2, 1) => TrialResult::Void("robbed".to_owned()),
                _ => TrialResult::Measured(metrics),
            };
            trials.push(MatrixTrial {
                index,
                block,
                position: index % 6,
                cell,
                is_reference: false,
                seed: u64::MAX,
                began_s: f64::from(index) * 60.0,
                lasted_s: 60.0,
                result,
                runs: vec![format!("runs/{index}.run")],
            });
        }
    }
    let factor = |name: &str, levels: &[&str], numbers| MatrixFactor {
        name: name.to_owned(),
        levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        numbers,
    };
    let input = MatrixTrials {
        factors: vec![
            factor("cores", &CORES, Some(vec![1.0, 2.0, 4.0])),
            factor("cache", &CACHES, None),
        ],
        prices: Some(cells.iter().map(|cell| cell[0] as f64 + 1.0).collect()),
        trials: trials
            .iter()
            .map(|trial| (trial.cell, analysed(trial, &cells)))
            .collect(),
        cells,
        held: Vec::new(),
        weights: BTreeMap::new(),
        objective_s: Some(0.5),
        seed: Seed(3),
    };
    let result = MatrixResult::of(&input);
    Fixture {
        trials,
        input,
        result,
    }
}

fn analysed(trial: &MatrixTrial, cells: &[Vec<usize>]) -> ExperimentTrial {
    let outcome = match &trial.result {
        TrialResult::Measured(metrics) => TrialOutcome::Measured(metrics.clone()),
        TrialResult::Failed(_) => TrialOutcome::Failed,
        TrialResult::Void(_) => TrialOutcome::Void,
    };
    let role = Role::Cell(cells[trial.cell].clone());
    ExperimentTrial::new(trial.block, trial.began_s, role, outcome)
}

impl Fixture {
    fn report(&self) -> MatrixReport<'_> {
        let text = |levels: &Vec<usize>| {
            vec![
                Some(CORES[levels[0]].to_owned()),
                Some(CACHES[levels[1]].to_owned()),
            ]
        };
        MatrixReport {
            name: "consult",
            started_at: "2026-11-26T10:00:00Z",
            seed: 7,
            state: ExperimentEnd::Complete,
            axes: vec!["cores".to_owned(), "cache".to_owned()],
            cells: self.input.cells.iter().map(text).collect(),
            trials: &self.trials,
            dropped: vec![2],
            load_unit: "req/s",
            price_unit: Some("EUR/h"),
            pricing: self
                .input
                .cells
                .iter()
                .map(|cell| CellPricing {
                    price: Price {
                        currency: "EUR".to_owned(),
                        demand: vec![10.0, 150.0],
                        ..Price::default()
                    },
                    per_hour: cell[0] as f64 + 1.0,
                    bytes_by_request: 0.0,
                })
                .collect(),
            spent: Some(SpentObject {
                price: 2.4,
                currency: "EUR".to_owned(),
            }),
            forecast: Some(BlockForecastObject {
                seconds: 1500.0,
                price: Some(2.5),
            }),
            input: &self.input,
            result: &self.result,
        }
    }
}

#[test]
fn the_table_has_settings_outcomes_and_metrics() {
    let fixture = fixture();
    let text = csv(&fixture.report());
    let mut lines = text.lines();
    assert_eq!(
        lines.next().unwrap(),
        "trial,block,position,role,cell,seed,validity,reason,began_s,seconds,cores,cache,runs,load_line,p95,\"cpu{process=a,b}\""
    );
    let first = "0,0,0,cell,0,18446744073709551615,measured,,0,60,1,none,runs/0.run,100,120,0.5";
    assert_eq!(lines.next().unwrap(), first);
    assert!(
        text.contains("failed,\"it died; see \"\"log\"\"\","),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1 + 24);
}

#[test]
fn the_parquet_file_has_the_same_columns() {
    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
    let fixture = fixture();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trials.parquet");
    std::fs::write(&path, parquet(&fixture.report()).unwrap()).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let about = reader.metadata().file_metadata();
    assert_eq!(about.num_rows(), 24);
    let columns = about.schema_descr().columns().iter();
    let names: Vec<&str> = columns.map(|column| column.name()).collect();
    assert_eq!(
        names[10..],
        [
            "cores",
            "cache",
            "runs",
            "load_line",
            "p95",
            "cpu{process=a,b}"
        ]
    );
}

#[test]
fn an_axis_named_like_a_metric_keeps_both() {
    let fixture = fixture();
    let mut report = fixture.report();
    report.axes[1] = "p95".to_owned();
    let header = csv(&report);
    assert!(header.starts_with("trial,"), "{header}");
    assert!(
        header
            .lines()
            .next()
            .unwrap()
            .contains(",axis_p95,runs,load_line,p95,")
    );
}

#[test]
fn the_object_is_valid_against_its_schema() {
    let fixture = fixture();
    let object = MatrixObject::of(&fixture.report(), MatrixFiles::default());
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&object.json()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(value["trials"]["failed"], 1);
    assert_eq!(value["cells"][5]["levels"]["cache"], "<page>");
    assert_eq!(value["cells"][2]["is_dropped"], true);
    let cache = value["effects"].as_array().unwrap().iter();
    let mut cache = cache.filter(|effect| effect["factor"] == "cache");
    let cache = cache.next().unwrap();
    let estimate = cache["estimate"].as_f64().unwrap();
    assert!((estimate - 1.5).abs() < 0.05, "{estimate}");
    assert_eq!(cache["verdict"], "better");
}

#[test]
fn the_page_has_every_section_and_no_markup_of_levels() {
    let fixture = fixture();
    let page = render(&fixture.report());
    for id in [
        "answer",
        "cells",
        "effects",
        "laws",
        "distributions",
        "correlations",
    ] {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(page.contains("cache=&lt;page&gt;") && !page.contains("<page>"));
    assert!(page.contains("it died"));
}

#[test]
fn the_page_fits_a_phone() {
    let fixture = fixture();
    let page = render(&fixture.report());
    for width in [360, 1200] {
        let faults = plimsoll_testkit::browser::layout_faults(&page, width);
        assert!(faults.is_empty(), "{width}: {faults:#?}");
    }
}

#[test]
fn charts_have_units_legends_and_the_front() {
    let fixture = fixture();
    let page = render(&fixture.report());
    for part in [
        "load line of each cell, req/s, by its price",
        "on the Pareto front: no better cell costs as little",
        "not worth it: a cell that costs no more is better",
        "class=\"line front\"",
        "number of trials by load line",
        "the scaling law through them",
        "what the mean hides",
        "2026-11-26 10:00",
        "3 cores × 2 cache",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Steps, failed answers and raw names are not in the map.
    assert!(!page.contains("load_line") && !page.contains("cpu_per_request"));
}

#[test]
fn with_too_few_trials_it_says_how_many_are_enough() {
    let mut fixture = fixture();
    fixture.trials.retain(|trial| trial.block < 2);
    fixture.input.trials.retain(|(_, trial)| trial.block() < 2);
    fixture.result = MatrixResult::of(&fixture.input);
    let report = fixture.report();
    // Interactions: one pair a block, and 2/2ⁿ of two changes is below 5 % from seven on.
    let needed = "Some changes have too few pairs to be told from chance: 7 pairs are enough";
    assert!(render(&report).contains(needed));
    assert!(render(&report).contains("too few trials"));
    let text = summary(&report, &MatrixFiles::default(), false);
    assert!(
        text.contains("No change is better or worse for certain (5 were judged)"),
        "{text}"
    );
    assert!(text.contains("trials of each cell give."), "{text}");
    for cell in &fixture.result.cells {
        assert!(!(cell.may_be_best && cell.is_beaten));
    }
}

#[test]
fn the_summary_names_the_best_and_the_beaten() {
    let fixture = fixture();
    let text = summary(&fixture.report(), &MatrixFiles::default(), false);
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("cores=4 cache=<page> has the best load line of"),
        "{text}"
    );
    assert!(text.contains("not worth it"), "{text}");
    assert!(text.contains("1 of 24 trials are void"), "{text}");
    assert!(text.contains("cache none → <page>: load line +5"), "{text}");
}

#[test]
fn the_forecast_tells_trials_and_time() {
    let forecast = ForecastObject {
        format_version: MatrixObject::FORMAT_VERSION.to_owned(),
        name: "consult".to_owned(),
        axes: Vec::new(),
        cells: vec![String::new(); 6],
        trials_per_cell: 3,
        trials: 21,
        trials_done: 4,
        seconds: 5040.0,
        within_s: Some(3600.0),
        seed: None,
        price_unit: None,
        price: Some(ForecastPriceObject {
            value: 12.5,
            currency: "EUR".to_owned(),
            spent: 0.5,
            is_without_traffic: false,
        }),
    };
    let text = forecast_summary(&forecast, false);
    for part in [
        "6 cells, 3 trials each; 21 trials",
        "1 h 24 min",
        "budget is 1 h",
        "4 trials are in the log",
        "12.5 EUR in all, 0.5 of it spent",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn before_the_first_trial_the_price_is_the_most_that_it_costs() {
    let forecast = ForecastObject {
        format_version: MatrixObject::FORMAT_VERSION.to_owned(),
        name: "consult".to_owned(),
        axes: Vec::new(),
        cells: vec![String::new(); 6],
        trials_per_cell: 3,
        trials: 21,
        trials_done: 0,
        seconds: 5040.0,
        within_s: None,
        seed: None,
        price_unit: Some("EUR/h".to_owned()),
        price: Some(ForecastPriceObject {
            value: 0.000_082,
            currency: "EUR".to_owned(),
            spent: 0.0,
            is_without_traffic: true,
        }),
    };
    let text = forecast_summary(&forecast, false);
    let price = "0.000082 EUR at most for what the service holds; requests and traffic come on top";
    assert!(text.contains(price), "{text}");
    let schema: serde_json::Value = serde_json::from_str(&forecast_schema()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&forecast.json()).unwrap();
    assert!(jsonschema::is_valid(&schema, &value));
}

#[test]
fn what_it_took_stands_beside_the_forecast() {
    let fixture = fixture();
    let text = summary(&fixture.report(), &MatrixFiles::default(), false);
    let took = "24 min and 2.4 EUR; forecast after the first block: 25 min and 2.5 EUR";
    assert!(text.contains(took), "{text}");
    let page = render(&fixture.report());
    assert!(page.contains("price of the experiment"), "{page}");
}

#[test]
fn meters_are_in_lines_object_and_page() {
    let fixture = fixture();
    let report = fixture.report();
    let text = summary(&report, &MatrixFiles::default(), false);
    assert!(text.contains("the areas are no rank"), "{text}");
    assert!(text.contains("cores: SEC "), "{text}");
    let object = MatrixObject::of(&report, MatrixFiles::default()).json();
    let object: serde_json::Value = serde_json::from_str(&object).unwrap();
    let first = &object["meters"][0];
    assert!((first["mean"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    assert!(first["study"]["crum"].is_null(), "no disk was measured");
    assert!(render(&report).contains("Meters in the units of the market study"));
}

#[test]
fn a_cell_has_the_cost_of_its_line_with_the_interval() {
    let fixture = fixture();
    let report = fixture.report();
    let cost = report.cost(0).unwrap();
    let cell = &fixture.result.cells[0];
    let (low, _) = cell.interval.unwrap();
    let million = cost.per_million_requests.unwrap();
    assert!((million.high - 1e6 / 3600.0 / low).abs() < 1e-9);
    // A line of about 100: one machine for half of the month, two for the other.
    let month = cost.per_month.unwrap();
    assert!((month.value - 1.5 * 730.5).abs() < 1e-6, "{month:?}");
    let text = summary(&report, &MatrixFiles::default(), false);
    assert!(text.contains("per month at the demand"), "{text}");
}

/// The notebook of the documentation, cell by cell, on these trials.
#[test]
fn the_notebook_opens_the_file_in_duckdb_and_pandas() {
    use std::path::Path;
    use std::process::{Command, Stdio};
    // `cargo xtask test` installs them by docs/examples/trials/requirements.txt.
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let own = tools.join("notebook/bin/python");
    let has_libraries = |python: &&Path| {
        Command::new(python)
            .args(["-I", "-c", "import duckdb, pandas, pyarrow"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let Some(python) = [own.as_path(), Path::new("python3")]
        .into_iter()
        .find(has_libraries)
    else {
        plimsoll_testkit::not_tried::not_tried(
            "there is no python3 with duckdb, pandas and pyarrow: `cargo xtask test` installs them",
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let fixture = fixture();
    let path = folder.path().join("trials.parquet");
    std::fs::write(path, parquet(&fixture.report()).unwrap()).unwrap();
    let notebook = include_str!("../../../../docs/examples/trials/trials.ipynb");
    let notebook: serde_json::Value = serde_json::from_str(notebook).unwrap();
    let cells = notebook["cells"].as_array().unwrap().iter();
    let code: Vec<String> = cells
        .filter(|cell| cell["cell_type"] == "code")
        .flat_map(|cell| cell["source"].as_array().unwrap())
        .map(|line| line.as_str().unwrap().trim_end().to_owned())
        .collect();
    let output = Command::new(python)
        .arg("-c")
        .arg(code.join("\n"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}
