//! How throughput grows with the requests in flight: the Universal Scalability Law fitted to the trials of a search,
//! and the shares of a request's time for work, contention and coherency.

use plimsoll_model::run::Run;
use plimsoll_model::seed::Seed;
use plimsoll_model::trial::{Trial, TrialKind};

use crate::diagnosis::rule::append_clause;
use crate::stats::scalability::{POINTS_MIN, Scalability, fit, intervals};

/// Share of requests that may fail in a trial of the fit.
const ERRORS_MAX: f64 = 0.01;
/// Requests in flight below which a trial shows no interaction between them.
const IN_FLIGHT_MIN: f64 = 0.3;
/// The highest in flight is at least this, and so many times the lowest.
const RANGE_END_MIN: f64 = 2.0;
const RANGE_MIN: f64 = 4.0;
/// Mean relative deviation of the law from the measurements beyond which it does not model this service.
const DISTANCE_MAX: f64 = 0.15;
/// Furthest extrapolation, as a multiple of the most requests in flight.
const BEYOND_MAX: f64 = 2.0;

/// How a service scales.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The law.
    pub law: Scalability,
    /// 90 % interval of the contention σ.
    pub contention: (f64, f64),
    /// 90 % interval of the coherency κ; its lower end is 0 where it is not distinguishable from none.
    pub coherency: (f64, f64),
    /// Trials of the fit.
    pub trials: usize,
    /// Requests in flight at the highest load that passed, on average.
    pub in_flight: f64,
    /// Shares of each request's time there: work, contention, coherency.
    pub shares: [f64; 3],
    /// Requests in flight and throughput per second at the peak; `None` where the peak lies too far beyond the
    /// measurements, or where none exists.
    pub peak: Option<(f64, f64)>,
    /// All that in a sentence.
    pub sentence: String,
    /// The law, with its coefficients and their 90 % intervals.
    pub basis: String,
}

/// How the service of a search scales; `None` with too few loads, or where the law is no model of it.
pub fn scaling(run: &Run) -> Option<Scaling> {
    of(&run.trials, run.header.plan.seed)
}

fn of(trials: &[Trial], seed: Seed) -> Option<Scaling> {
    let usable: Vec<&Trial> = trials.iter().filter(|trial| is_usable(trial)).collect();
    let points: Vec<(f64, f64)> = usable
        .iter()
        .map(|trial| (trial.in_flight_mean, trial.throughput))
        .collect();
    let least = points
        .iter()
        .map(|point| point.0)
        .fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|point| point.0).fold(0.0, f64::max);
    if loads(&usable) < POINTS_MIN || most < RANGE_END_MIN || most < RANGE_MIN * least {
        return None;
    }
    let law = fit(&points)?;
    let deviations = points
        .iter()
        .map(|&(at_once, throughput)| (law.throughput(at_once) / throughput - 1.0).abs());
    if deviations.sum::<f64>() > DISTANCE_MAX * points.len() as f64 {
        return None;
    }
    let [contention, coherency] = intervals(&points, seed)?;
    let passed = usable.iter().filter(|trial| trial.verdict.is_pass());
    let highest = passed.max_by(|a, b| a.throughput.total_cmp(&b.throughput))?;
    let in_flight = highest.in_flight_mean.max(1.0);
    let is_coherent = coherency.0 > 0.0;
    let peak = law
        .peak()
        .filter(|&peak| is_coherent && peak <= BEYOND_MAX * most);
    let mut scaling = Scaling {
        law,
        contention,
        coherency,
        trials: points.len(),
        in_flight,
        shares: law.shares(in_flight),
        peak: peak.map(|peak| (peak, law.throughput(peak))),
        sentence: String::new(),
        basis: String::new(),
    };
    scaling.sentence = sentence(&scaling);
    scaling.basis = basis(&scaling);
    Some(scaling)
}

fn is_usable(trial: &Trial) -> bool {
    let kind = trial.spec.kind;
    let is_of_the_line = kind.counts_for_line()
        || matches!(
            kind,
            TrialKind::Anchor | TrialKind::Noise | TrialKind::Step | TrialKind::Single
        );
    let is_decided = trial.verdict.is_pass() || trial.verdict.is_fail();
    is_of_the_line
        && is_decided
        && trial.throughput > 0.0
        && trial.in_flight_mean >= IN_FLIGHT_MIN
        && trial.errors as f64 <= ERRORS_MAX * trial.requests as f64
}

/// Loads that differ.
fn loads(trials: &[&Trial]) -> usize {
    let mut rates: Vec<f64> = trials.iter().map(|trial| trial.spec.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup_by(|a, b| (*a - *b).abs() <= 0.02 * b.abs());
    rates.len()
}

fn sentence(scaling: &Scaling) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let [work, contention, coherency] = scaling.shares.map(percent);
    let shares = if scaling.coherency.0 > 0.0 {
        format!(
            "{work} of its time on work, {contention} waiting for serialized resources, {coherency} on coherency with \
             other requests"
        )
    } else {
        format!(
            "{work} of its time on work and {contention} waiting for serialized resources (a lock, a pool, a CPU)"
        )
    };
    let peak = scaling
        .peak
        .map_or_else(String::new, |(at_once, throughput)| {
            format!("; throughput peaks at {throughput:.0} a second with {at_once:.0} in flight")
        });
    format!(
        "with {:.0} requests in flight, each spends {shares}{peak}",
        scaling.in_flight
    )
}

/// The law behind the sentence, with its figures.
fn basis(scaling: &Scaling) -> String {
    let mut text = format!(
        "universal scalability law over {} trials: σ {:.3} ({:.3} to {:.3})",
        scaling.trials, scaling.law.contention, scaling.contention.0, scaling.contention.1
    );
    if scaling.coherency.0 > 0.0 {
        let (low, high) = scaling.coherency;
        append_clause(
            &mut text,
            format_args!(", κ {:.6} ({low:.6} to {high:.6})", scaling.law.coherency),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use plimsoll_model::plan::LoadUnit;
    use plimsoll_model::trial::{Percentiles, TrialSpec};
    use plimsoll_model::verdict::{FailReason, TrialVerdict};

    use super::*;

    /// A trial with a mean number in flight and its throughput.
    fn trial(in_flight_mean: f64, throughput: f64, passes: bool) -> Trial {
        Trial {
            index: 0,
            spec: TrialSpec {
                kind: TrialKind::Bracket,
                rate: throughput,
                unit: LoadUnit::default(),
                per_unit: 1.0,
                ramp_s: 0,
                warmup_s: 0,
                measure_s: 10,
                stop_early: false,
                in_flight_cap: 1000,
            },
            start_second: 0,
            measured: (0, 10),
            verdict: if passes {
                TrialVerdict::Pass
            } else {
                TrialVerdict::Fail {
                    reason: FailReason::Latency,
                }
            },
            requests: 1000,
            bad: 0,
            errors: 0,
            throughput,
            response_us: Percentiles::default(),
            objective_us: None,
            in_flight_mean,
            lag_us_p99: 0,
            generator_cpu: 0.1,
            stolen_share: 0.0,
        }
    }

    /// Trials of a service that follows a law, with a measurement error of 1 % up and down.
    fn trials(law: Scalability, in_flight: &[f64]) -> Vec<Trial> {
        let errors = [1.01, 0.99].into_iter().cycle();
        in_flight
            .iter()
            .zip(errors)
            .map(|(&at_once, error)| {
                trial(at_once, law.throughput(at_once) * error, at_once < 10.0)
            })
            .collect()
    }

    const HALF_SERIAL: Scalability = Scalability {
        alone: 50.0,
        contention: 0.5,
        coherency: 0.0,
    };

    #[test]
    fn a_queue_before_one_server() {
        let trials = trials(HALF_SERIAL, &[0.4, 0.8, 1.5, 3.0, 5.0, 9.0, 20.0, 40.0]);
        let scaling = of(&trials, Seed(3)).unwrap();
        assert!((scaling.law.contention - 0.5).abs() < 0.1, "{scaling:?}");
        assert_eq!((scaling.coherency.0, scaling.peak), (0.0, None));
        assert!(
            (scaling.in_flight - 9.0).abs() < 1e-9,
            "the highest that passed"
        );
        // 9 at once: 1 : 0.5 · 8.
        assert!((scaling.shares[1] - 0.8).abs() < 0.04, "{scaling:?}");
        let expected = "with 9 requests in flight, each spends 20 % of its time on work and 80 % waiting for serialized";
        assert!(
            scaling.sentence.starts_with(expected),
            "{}",
            scaling.sentence
        );
    }

    #[test]
    fn more_that_do_less() {
        let law = Scalability {
            alone: 100.0,
            contention: 0.02,
            coherency: 0.004,
        };
        let in_flight = [0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0];
        let scaling = of(&trials(law, &in_flight), Seed(3)).unwrap();
        let (at_once, throughput) = scaling.peak.unwrap();
        assert!((14.0..18.0).contains(&at_once), "{scaling:?}");
        assert!(
            (throughput / law.throughput(15.65) - 1.0).abs() < 0.05,
            "{scaling:?}"
        );
        assert!(
            scaling.sentence.contains("throughput peaks at "),
            "{}",
            scaling.sentence
        );
    }

    #[test]
    fn too_little_tells_nothing() {
        let few = trials(HALF_SERIAL, &[0.4, 0.8, 1.5, 3.0, 9.0]);
        assert_eq!(of(&few, Seed(3)), None, "five loads");
        let narrow = trials(HALF_SERIAL, &[2.0, 2.2, 2.4, 2.6, 2.8, 3.0]);
        assert_eq!(of(&narrow, Seed(3)), None, "all alike");
        let mut failing = trials(HALF_SERIAL, &[0.4, 0.8, 1.5, 3.0, 5.0, 9.0, 20.0]);
        for trial in &mut failing[3..] {
            trial.errors = 200;
        }
        assert_eq!(of(&failing, Seed(3)), None, "what fails is no throughput");
        let unruly: Vec<Trial> = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
            .into_iter()
            .zip([100.0, 20.0, 300.0, 40.0, 500.0, 60.0])
            .map(|(at_once, throughput)| trial(at_once, throughput, true))
            .collect();
        assert_eq!(of(&unruly, Seed(3)), None, "no law holds");
    }
}
