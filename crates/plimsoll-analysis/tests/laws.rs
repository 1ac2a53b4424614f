//! Searches on queues whose load line is known by law.
//!
//! The queue is simulated in virtual time and keeps its backlog from trial to trial; the search receives windows as
//! the engine would close them. The line by the law is the rate at which the stationary response time at the
//! objective's quantile equals the bound: in closed form for M/M/c, by Franx' formula for M/D/c (`testkit::queueing`,
//! held there against Erlang's series and Pollaczek and Khinchine). In at least nine of ten seeds that rate lies in
//! the printed interval, and the median is within 5 % of it.

#![expect(
    clippy::print_stdout,
    reason = "what each seed gave explains a failure"
)]

use std::time::Duration;

use plimsoll_analysis::search::users::{PACE, Population, Stayed};
use plimsoll_analysis::search::{Search, SearchParameters, SearchStep};
use plimsoll_analysis::verdict::{self, TrialFacts};
use plimsoll_model::load_line::SearchResult;
use plimsoll_model::objective::{LatencyBound, Objective};
use plimsoll_model::plan::LoadUnit;
use plimsoll_model::schedule::Spacing;
use plimsoll_model::seed::Seed;
use plimsoll_model::trial::{Percentiles, Trial, TrialKind, TrialSpec};
use plimsoll_model::verdict::TrialVerdict;
use plimsoll_testkit::queue::{Distribution, SimulatedLaw, SimulatedQueue};
use plimsoll_testkit::queueing;

const SEEDS: u64 = 10;
const HITS_MIN: u32 = 9;
const ERROR_MAX: f64 = 0.05;

/// An objective in terms of the service time: a quantile within `factor` mean service times.
#[derive(Clone, Copy, Debug)]
struct Point {
    mean_s: f64,
    quantile: f64,
    factor: f64,
}

const fn point(mean_s: f64, quantile: f64, factor: f64) -> Point {
    Point {
        mean_s,
        quantile,
        factor,
    }
}

impl Point {
    fn within_s(self) -> f64 {
        self.factor * self.mean_s
    }

    fn objective(self) -> Objective {
        let bound = Duration::from_secs_f64(self.within_s());
        Objective {
            latency: vec![LatencyBound {
                quantile: self.quantile,
                within_us: u64::try_from(bound.as_micros()).expect("a short bound"),
            }],
            errors_max: Some(0.01),
            ..Objective::default()
        }
    }

    /// The load line by the law, 1/s.
    fn line(self, servers: u32, service: Distribution) -> f64 {
        let by_law = match service {
            Distribution::Exponential => queueing::load_line,
            Distribution::Deterministic => queueing::deterministic_load_line,
        };
        by_law(servers, self.mean_s, self.quantile, self.within_s()).expect("a service in time")
    }
}

/// A self-test that always passes: a simulated generator has no limit.
fn self_test(spec: TrialSpec, second: u32) -> Trial {
    Trial {
        index: 0,
        spec,
        start_second: second,
        measured: (second, second + spec.measure_s),
        verdict: TrialVerdict::Pass,
        requests: 1,
        bad: 0,
        errors: 0,
        throughput: spec.rate,
        response_us: Percentiles::default(),
        objective_us: Some(1),
        in_flight_mean: 0.0,
        lag_us_p99: 0,
        generator_cpu: 0.0,
        stolen_share: 0.0,
    }
}

/// Runs a trial on the queue, as the laboratory would on a target.
fn carry_out(
    queue: &mut SimulatedQueue,
    spec: &TrialSpec,
    objective: &Objective,
    in_flight: f64,
) -> Trial {
    let facts = TrialFacts {
        start_second: queue.second(),
        cores: 1,
        open: spec.kind != TrialKind::Single,
        anchor_in_flight: in_flight,
        ..TrialFacts::default()
    };
    let windows = queue.run(spec, |so_far| match spec.kind {
        TrialKind::Recovery => verdict::recovered(so_far, in_flight, objective).is_some(),
        _ => spec.stop_early && verdict::early(spec, objective, so_far).is_some(),
    });
    verdict::evaluate(spec, objective, &windows, &facts)
}

/// A whole search in virtual time; its result and the seconds it took.
fn search(law: SimulatedLaw, parameters: SearchParameters, seed: u64) -> (SearchResult, u32) {
    let think_s = parameters.population.map_or(0.0, |users| users.think_s);
    let objective = parameters.objective.clone();
    let mut queue = SimulatedQueue::new(law, Spacing::Poisson, Seed(seed)).with_think_s(think_s);
    let mut search = Search::new(parameters, Seed(seed));
    loop {
        let spec = match search.next_step() {
            SearchStep::Done(result) => return (result, queue.second()),
            SearchStep::Trial(spec) => spec,
        };
        let trial = if spec.kind == TrialKind::SelfTest {
            self_test(spec, queue.second())
        } else {
            carry_out(&mut queue, &spec, &objective, search.anchor_in_flight())
        };
        search.record(&trial, Duration::from_secs(u64::from(queue.second())));
        search.users_stayed(Stayed::new(queue.places()));
    }
}

/// How many of the seeds gave an interval that holds the line, and how many a median close to it.
fn hits(
    servers: u32,
    service: Distribution,
    point: Point,
    parameters: impl Fn(Objective) -> SearchParameters,
) -> (u32, u32) {
    let line = point.line(servers, service);
    let law = SimulatedLaw {
        servers: servers as usize,
        service,
        mean_s: point.mean_s,
    };
    println!("{servers} server(s), {service:?}, {point:?}: the line by the law is {line:.2}/s");
    let (mut held, mut close) = (0, 0);
    for seed in 0..SEEDS {
        let parameters = parameters(point.objective());
        let budget = parameters.budget;
        let (result, seconds) = search(law, parameters, seed);
        // A drain of at most ten seconds may follow the last trial.
        assert!(
            u64::from(seconds) <= budget.as_secs() + 10,
            "seed {seed}: {seconds} s"
        );
        match result.line {
            Ok(found) => {
                held += u32::from((found.low..=found.high).contains(&line));
                close += u32::from((found.median / line - 1.0).abs() <= ERROR_MAX);
                println!(
                    "  seed {seed}: {:.2} [{:.2}, {:.2}], {} of {} confirmed, {seconds} s",
                    found.median,
                    found.low,
                    found.high,
                    found.confirmed_passes,
                    found.confirmed_trials
                );
            }
            Err(none) => println!("  seed {seed}: {none:?}, {seconds} s"),
        }
    }
    println!("  held {held}, close {close} of {SEEDS}");
    (held, close)
}

fn check(servers: u32, service: Distribution, points: &[Point]) {
    for &point in points {
        let (held, close) = hits(servers, service, point, SearchParameters::standard);
        assert!(
            held >= HITS_MIN && close >= HITS_MIN,
            "{point:?}: the interval holds the line in {held}, the median is within 5 % in {close} of {SEEDS} seeds"
        );
    }
}

#[test]
fn one_exponential_server() {
    let points = [
        point(0.001, 0.95, 5.0),
        point(0.002, 0.99, 10.0),
        point(0.0005, 0.95, 10.0),
    ];
    check(1, Distribution::Exponential, &points);
}

#[test]
fn two_exponential_servers() {
    let points = [
        point(0.01, 0.95, 5.0),
        point(0.002, 0.99, 10.0),
        point(0.005, 0.95, 10.0),
    ];
    check(2, Distribution::Exponential, &points);
}

#[test]
fn one_deterministic_server() {
    let points = [
        point(0.01, 0.95, 3.0),
        point(0.01, 0.95, 5.0),
        point(0.002, 0.99, 10.0),
        point(0.01, 0.95, 10.0),
    ];
    check(1, Distribution::Deterministic, &points);
}

#[test]
fn two_deterministic_servers() {
    let points = [
        point(0.01, 0.95, 3.0),
        point(0.002, 0.99, 5.0),
        point(0.01, 0.95, 10.0),
    ];
    check(2, Distribution::Deterministic, &points);
}

/// Four minutes do not place the line within 5 %, and the interval shows it: it still contains the line.
#[test]
fn a_quick_search_is_wide_and_right() {
    let (held, _) = hits(
        1,
        Distribution::Deterministic,
        point(0.005, 0.95, 10.0),
        SearchParameters::quick,
    );
    assert!(held >= HITS_MIN - 1, "{held} of {SEEDS}");
}

/// The demo's search has still less time. It must end with a line, or the newcomer's first answer is none.
#[test]
fn a_search_of_three_minutes_ends_with_a_line() {
    for service in [Distribution::Deterministic, Distribution::Exponential] {
        let (held, _) = hits(1, service, point(0.009, 0.95, 11.0), |objective| {
            SearchParameters {
                budget: Duration::from_secs(150),
                ..SearchParameters::quick(objective)
            }
        });
        assert!(held >= HITS_MIN, "{held} of {SEEDS}");
    }
}

/// Doubling from below takes most of a minute, and no search ends with a line. One that begins near it does, also where what is
/// known is a tenth off, as of rising loads: at three quarters of it (docs/decisions/0511).
#[test]
fn a_search_of_a_minute_ends_with_a_line_where_it_begins_near_it() {
    let point = point(0.05, 0.95, 10.0);
    let line = point.line(8, Distribution::Deterministic);
    let held = |first_rate: Option<f64>| {
        let (held, _) = hits(8, Distribution::Deterministic, point, |objective| {
            SearchParameters {
                budget: Duration::from_mins(1),
                measure_s: 6,
                noise: (3, 2),
                width: 0.25,
                first_rate,
                ..SearchParameters::quick(objective)
            }
        });
        held
    };
    assert_eq!(held(None), 0);
    for known in [0.93, 1.1] {
        let held = held(Some(0.75 * known * line));
        assert!(held >= HITS_MIN - 1, "{known}: {held} of {SEEDS}");
    }
}

/// A search in users who think for `think_s` seconds on average, against the machine-repairman's law.
fn check_users(point: Point, think_s: f64) {
    let line = queueing::closed::load_line(point.mean_s, think_s, point.quantile, point.within_s());
    println!("users who think {think_s} s, {point:?}: by the law {line} are carried");
    let law = SimulatedLaw {
        servers: 1,
        service: Distribution::Exponential,
        mean_s: point.mean_s,
    };
    let (mut held, mut close) = (0, 0);
    for seed in 0..SEEDS {
        let parameters = SearchParameters {
            population: Some(Population {
                unit: LoadUnit::Users,
                requests: 1.0,
                think_s,
                pace: PACE,
            }),
            ..SearchParameters::standard(point.objective())
        };
        let (result, seconds) = search(law, parameters, seed);
        match result.line {
            Ok(found) => {
                assert_eq!(found.unit, LoadUnit::Users);
                assert!((found.verified.fract()).abs() < 1e-9, "users are whole");
                // The last number that holds and the first that does not are both the line.
                let (first, last) = (f64::from(line), f64::from(line + 1));
                held += u32::from(found.low <= last && first <= found.high);
                close += u32::from((found.median / first - 1.0).abs() <= ERROR_MAX);
                println!(
                    "  seed {seed}: {:.1} [{:.1}, {:.1}], {} of {} confirmed at {}, {seconds} s",
                    found.median,
                    found.low,
                    found.high,
                    found.confirmed_passes,
                    found.confirmed_trials,
                    found.verified
                );
            }
            Err(none) => println!("  seed {seed}: {none:?}, {seconds} s"),
        }
    }
    assert!(
        held >= HITS_MIN && close >= HITS_MIN,
        "{point:?}: the interval holds the line in {held}, the median is within 5 % in {close} of {SEEDS} seeds"
    );
}

#[test]
fn users_who_think() {
    // The more work there is in a trial, the less its verdict is chance.
    check_users(point(0.002, 0.95, 5.0), 1.0);
    check_users(point(0.005, 0.95, 10.0), 4.0);
}
