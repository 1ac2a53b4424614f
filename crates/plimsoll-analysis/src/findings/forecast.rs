//! The next limit: the utilisation of each watched resource over the load, extrapolated to where it is full.
//!
//! By the utilisation law U = X·D the busy share of a resource is linear in the throughput, D its time per request;
//! by Little's law N = X·R so are occupied slots, while response times stay constant. The line is fitted to the
//! trials that passed.

use plimsoll_model::finding::{Certainty, Finding};
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::reading::{SeriesTable, label};
use plimsoll_model::run::Run;
use plimsoll_model::trial::{Trial, TrialKind};

use super::placed;
use crate::diagnosis::gauges::Gauge;
use crate::diagnosis::rule_id::RuleId;
use crate::machines::{MachineTable, MachineTier, tables};
use crate::rules;
use crate::stats::line::{RegressionLine, line_through};

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.9;
/// Utilisation at the highest load that passed below which no extrapolation is made.
const USED_MIN: f64 = 0.1;
/// The highest load of the fit is this much above the lowest, or more.
const RANGE_MIN: f64 = 1.5;
/// Slope over its standard error, at least.
const CLEAR: f64 = 3.0;
/// Furthest extrapolation beyond the highest load that passed.
const FAR: f64 = 10.0;
/// Up to here beyond it the forecast may be suspected; further, it is possible.
const NEAR: f64 = 2.5;
/// Half of the interval as a share of the forecast, up to which the same holds.
const NARROW: f64 = 0.15;

/// The resource that is full next.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The resource.
    pub limit: String,
    /// The load at which it is full, in `unit`.
    pub load: f64,
    /// Lower end of the 90 % interval of the fit, in `unit`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What the loads are counted in.
    pub unit: LoadUnit,
    /// How full it was at `seen_at`, 0 to 1.
    pub used: f64,
    /// The highest load that passed, in `unit`.
    pub measured_at: f64,
    /// Suspected, or only possible.
    pub certainty: Certainty,
    /// All that in a sentence.
    pub sentence: String,
}

/// The resource that fills next after the present limit; `None` where none fills within reach, or the passed loads do
/// not suffice for a fit.
pub fn forecast(run: &Run) -> Option<Forecast> {
    of(&run.readings, &run.trials, &run.findings)
}

fn of(readings: &SeriesTable, trials: &[Trial], findings: &[Finding]) -> Option<Forecast> {
    let passed: Vec<&Trial> = trials.iter().filter(|trial| shows_usage(trial)).collect();
    let highest = passed
        .iter()
        .map(|trial| trial.spec.rate)
        .fold(0.0, f64::max);
    let lowest = passed
        .iter()
        .map(|trial| trial.spec.rate)
        .fold(f64::INFINITY, f64::min);
    if highest < RANGE_MIN * lowest {
        return None;
    }
    let unit = passed.first()?.spec.unit;
    let machines = tables(readings);
    let has_agents = machines.len() > 1;
    let forecasts = machines.iter().flat_map(|table| {
        let name = name_of(table, has_agents);
        let passed = &passed;
        rules::gauges(table.readings())
            .into_iter()
            .filter(move |gauge| !is_named(gauge, table.name(), findings))
            .filter_map(move |mut gauge| {
                if let Some(name) = name {
                    gauge.name = placed::limit(&gauge.name, name);
                }
                of_gauge(table.readings(), &gauge, passed, highest, unit)
            })
    });
    forecasts.min_by(|a, b| a.load.total_cmp(&b.load))
}

/// How a machine is called, where its resources must be told apart from those of others.
fn name_of<'a>(table: &MachineTable<'a>, has_agents: bool) -> Option<&'a str> {
    let is_generators = has_agents && table.tier() == MachineTier::Generator;
    table
        .name()
        .or_else(|| is_generators.then_some("the generator's machine"))
}

/// Whether a trial shows how full things are at its load.
fn shows_usage(trial: &Trial) -> bool {
    let kind = trial.spec.kind;
    let is_of_the_line = kind.counts_for_line()
        || matches!(kind, TrialKind::Anchor | TrialKind::Noise | TrialKind::Step);
    is_of_the_line && trial.verdict.is_pass() && trial.spec.rate > 0.0
}

/// Whether a resource of a machine has been named as a limit already.
fn is_named(gauge: &Gauge, machine: Option<&str>, findings: &[Finding]) -> bool {
    findings.iter().any(|finding| {
        let of_component = |series: &str| label(series, "at") == Some(gauge.at.as_str());
        let is_of_it = gauge.at.is_empty()
            || finding.evidence.is_empty()
            || finding
                .evidence
                .iter()
                .any(|line| of_component(&line.series));
        finding.certainty != Certainty::Demoted
            && finding.machine.as_deref() == machine
            && RuleId::of(finding).is_some_and(|rule| gauge.rules.contains(&rule))
            && is_of_it
    })
}

fn of_gauge(
    readings: &SeriesTable,
    gauge: &Gauge,
    passed: &[&Trial],
    highest: f64,
    unit: LoadUnit,
) -> Option<Forecast> {
    let points: Vec<(f64, f64)> = passed
        .iter()
        .filter_map(|trial| Some((trial.spec.rate, gauge.share(readings, trial.measured)?)))
        .collect();
    let line: RegressionLine = line_through(&points)?;
    let used = line.intercept + line.slope * highest;
    let is_clear = line.slope > CLEAR * line.slope_error && used >= USED_MIN;
    let (low, load, high) = line.reaches(gauge.full, CONFIDENCE)?;
    if !is_clear || load <= highest || load > FAR * highest {
        return None;
    }
    let is_narrow = high - load <= NARROW * load;
    let certainty = if is_narrow && load <= NEAR * highest && !gauge.is_population {
        Certainty::Suspected
    } else {
        Certainty::Possible
    };
    let low = low.max(highest);
    let symbol = unit.symbol();
    let doubt = match (gauge.is_population, certainty) {
        (true, _) => "; sooner when response times grow",
        (false, Certainty::Possible) => "; far beyond the measured loads",
        _ => "",
    };
    Some(Forecast {
        sentence: format!(
            "{} at about {} {symbol} ({} to {}): it was {:.0} % full at {} {symbol}{doubt}",
            gauge.name,
            rounded(load),
            rounded(low),
            rounded(high),
            used * 100.0,
            rounded(highest)
        ),
        limit: gauge.name.clone(),
        load,
        low,
        high,
        unit,
        used,
        measured_at: highest,
        certainty,
    })
}

/// Two digits, or three of a number that begins with 1: more is not known.
fn rounded(load: f64) -> String {
    if load <= 0.0 {
        return "0".to_owned();
    }
    let step = 10_f64.powf(load.log10().floor() - 1.0);
    let step = if load / step < 20.0 { step / 2.0 } else { step };
    let value = (load / step).round() * step;
    if value < 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_model::machine::on_machine;
    use plimsoll_model::metric;
    use plimsoll_model::reading::Readings;
    use plimsoll_model::trial::{Percentiles, TrialSpec};
    use plimsoll_model::verdict::{FailReason, TrialVerdict};

    use super::*;

    const LOADS: [f64; 5] = [50.0, 100.0, 150.0, 200.0, 300.0];
    const AT: (&str, &str) = ("at", "/run/pg");

    /// Trials of ten seconds at [`LOADS`], of which the last failed.
    fn trials() -> Vec<Trial> {
        let trials = (0_u32..).zip(LOADS).map(|(index, rate)| Trial {
            index,
            spec: TrialSpec {
                kind: TrialKind::Bracket,
                rate,
                unit: LoadUnit::default(),
                per_unit: 1.0,
                ramp_s: 0,
                warmup_s: 0,
                measure_s: 10,
                stop_early: false,
                in_flight_cap: 1000,
            },
            start_second: index * 10,
            measured: (index * 10, index * 10 + 10),
            verdict: if rate > 250.0 {
                TrialVerdict::Fail {
                    reason: FailReason::Latency,
                }
            } else {
                TrialVerdict::Pass
            },
            requests: 1000,
            bad: 0,
            errors: 0,
            throughput: rate,
            response_us: Percentiles::default(),
            objective_us: None,
            in_flight_mean: 1.0,
            lag_us_p99: 0,
            generator_cpu: 0.1,
            stolen_share: 0.0,
        });
        trials.collect()
    }

    /// Readings of all seconds; each series is a function of the load, with a little noise that takes turns.
    fn readings(series: &[(String, &dyn Fn(f64) -> f64)]) -> SeriesTable {
        let mut table = SeriesTable::default();
        for (second, load) in (0..50).zip(LOADS.iter().flat_map(|load| [load; 10])) {
            let noise = if second % 2 == 0 { 1.02 } else { 0.98 };
            let values = series
                .iter()
                .map(|(name, of)| (name.clone(), of(*load) * noise));
            table.push(&Readings {
                second,
                values: values.collect::<BTreeMap<_, _>>(),
                new_series: BTreeMap::new(),
            });
        }
        table
    }

    fn found(rule: RuleId, certainty: Certainty) -> Finding {
        Finding {
            rule: rule.to_string(),
            limit: String::new(),
            machine: None,
            tier: None,
            certainty,
            score: 1.0,
            sentence: String::new(),
            remedy: String::new(),
            evidence: Vec::new(),
            consequence_of: None,
            consequence_of_machine: None,
            intervention: None,
        }
    }

    #[test]
    fn the_resource_that_is_full_first_comes_next() {
        let computing = metric::series(metric::POSTGRES_ACTIVE, &[AT, ("wait", "none")]);
        let readings = readings(&[
            (metric::CPU_BUSY.to_owned(), &|load| 0.05 + 0.001 * load),
            (metric::CPU_COUNT.to_owned(), &|_| 4.0),
            (computing, &|load| 4.0 * load / 520.0),
        ]);
        let limit = found(RuleId::H1, Certainty::Explicit);
        let next = of(&readings, &trials(), &[limit]).unwrap();
        assert_eq!(next.limit, "CPU of PostgreSQL (/run/pg)");
        assert!((next.load - 520.0).abs() < 10.0, "{next:?}");
        assert!(next.low <= next.load && next.load <= next.high);
        assert_eq!(next.certainty, Certainty::Possible);
        assert!(
            next.sentence
                .starts_with("CPU of PostgreSQL (/run/pg) at about 520 req/s ("),
            "{next:?}"
        );
        // It sets the line; the machine is next.
        let limit = found(RuleId::P2, Certainty::Suspected);
        assert_eq!(of(&readings, &trials(), &[limit]), None);
        let demoted = found(RuleId::P2, Certainty::Demoted);
        let next = of(&readings, &trials(), &[demoted]).unwrap();
        assert_eq!(next.limit, "CPU of PostgreSQL (/run/pg)");
    }

    #[test]
    fn resources_of_each_machine_are_told_apart() {
        let readings = readings(&[
            (metric::TARGET_IS_LOCAL.to_owned(), &|_| 0.0),
            (metric::CPU_BUSY.to_owned(), &|load| load / 800.0),
            (on_machine(metric::CPU_BUSY, "db1"), &|load| load / 400.0),
        ]);
        let next = of(&readings, &trials(), &[]).unwrap();
        assert_eq!(next.limit, "CPU of db1");
        assert!(next.sentence.starts_with("CPU of db1 at about"), "{next:?}");
        // It sets the line; the same resource of another machine is next.
        let mut limit = found(RuleId::C1, Certainty::Suspected);
        limit.machine = Some("db1".to_owned());
        let next = of(&readings, &trials(), &[limit]).unwrap();
        assert_eq!(next.limit, "CPU of the generator's machine");
        assert!((next.load - 760.0).abs() < 16.0, "{next:?}");
    }

    #[test]
    fn what_is_near_is_suspected() {
        let readings = readings(&[(metric::CPU_BUSY.to_owned(), &|load| load / 400.0)]);
        let next = of(&readings, &trials(), &[]).unwrap();
        assert_eq!(
            (next.limit.as_str(), next.certainty),
            ("CPU of the machine", Certainty::Suspected)
        );
        assert!((next.load - 380.0).abs() < 8.0, "{next:?}");
    }

    #[test]
    fn places_grow_with_response_times_too() {
        let sessions = metric::series(metric::POSTGRES_SESSIONS, &[AT, ("state", "all")]);
        let setting = metric::series(
            metric::SETTING,
            &[AT, ("setting", "max_connections"), ("file", "a:1")],
        );
        let readings = readings(&[(sessions, &|load| 0.2 * load), (setting, &|_| 100.0)]);
        let next = of(&readings, &trials(), &[]).unwrap();
        assert_eq!(next.limit, "max_connections of PostgreSQL (/run/pg)");
        assert!((next.load - 475.0).abs() < 15.0, "{next:?}");
        assert_eq!(next.certainty, Certainty::Possible);
        assert!(next.sentence.ends_with("sooner when response times grow"));
    }

    #[test]
    fn nothing_is_told_of_what_is_idle_or_does_not_grow() {
        let flat = readings(&[(metric::CPU_BUSY.to_owned(), &|_| 0.5)]);
        assert_eq!(of(&flat, &trials(), &[]), None);
        let idle = readings(&[(metric::CPU_BUSY.to_owned(), &|load| 0.0001 * load)]);
        assert_eq!(of(&idle, &trials(), &[]), None);
        let alike = readings(&[(metric::CPU_BUSY.to_owned(), &|load| load / 400.0)]);
        assert_eq!(of(&alike, &trials()[2..], &[]), None);
        assert_eq!(of(&SeriesTable::default(), &trials(), &[]), None);
    }

    #[test]
    fn loads_are_rounded_to_what_is_known() {
        for (load, right) in [
            (523.4, "520"),
            (1234.0, "1250"),
            (7.26, "7.3"),
            (12.6, "12"),
            (98_765.0, "99000"),
            (0.0, "0"),
        ] {
            assert_eq!(rounded(load), right, "{load}");
        }
    }
}
