//! Throughput against offered load, over the steps of a run.
//!
//! A step of a plain run is a phase at one load, or a piece of a ramp; of a search it is a valid trial. All numbers are
//! counts over its seconds: nothing is fitted.

use plimsoll_model::plan::{Load, LoadUnit};
use plimsoll_model::run::Run;
use plimsoll_model::trial::TrialKind;
use plimsoll_model::window::Window;

use super::{MeasuredSpan, answered, full_seconds, is_search, is_trial_judged};

/// Steps at most; a load of more phases is cut into as many pieces.
const STEPS_MAX: usize = 200;
/// Pieces of one ramp at most.
const RAMP_PIECES: u32 = 20;

/// What came back at one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPoint {
    /// First second of run time.
    pub second: u32,
    /// How many seconds.
    pub seconds: u32,
    /// The load, in its unit.
    pub load: f64,
    /// Unit of the load.
    pub unit: LoadUnit,
    /// Requests due per second.
    pub offered: f64,
    /// Complete answers per second, good or not.
    pub completed: f64,
    /// Failed requests per second.
    pub failed: f64,
}

impl LoadPoint {
    /// The steps of a run, in the order of time; empty for a load whose rate is only what the target makes of it.
    pub(super) fn all(run: &Run, spans: &[MeasuredSpan]) -> Vec<Self> {
        if is_search(run) {
            return of_trials(run);
        }
        let Some(span) = spans.first() else {
            return Vec::new();
        };
        let start = run.windows.first().map_or(0, |window| window.second);
        let pieces = pieces(&run.header.plan.load);
        let pieces = pieces.into_iter().filter_map(|piece| {
            // Whole seconds of one load, judged.
            let from = (start + full_seconds(piece.from_s.ceil())).max(span.from);
            let to = (start + full_seconds(piece.to_s.floor())).min(span.due_until);
            let windows = run.windows_between(from, to);
            let mut point = Self::of(windows, piece.unit)?;
            point.load = match piece.unit {
                LoadUnit::RequestsPerSecond => point.offered,
                LoadUnit::Users => mean(windows, |window| window.users),
                LoadUnit::SessionsPerSecond => piece.load,
            };
            Some(point)
        });
        pieces.collect()
    }

    /// The point of some windows, whose load is still to be set; `None` without windows.
    fn of(windows: &[Window], unit: LoadUnit) -> Option<Self> {
        let second = windows.first()?.second;
        Some(Self {
            second,
            seconds: u32::try_from(windows.len()).unwrap_or(u32::MAX),
            load: 0.0,
            unit,
            offered: mean(windows, |window| window.offered),
            completed: mean(windows, answered),
            failed: mean(windows, |window| window.outcomes.failed()),
        })
    }
}

fn mean(windows: &[Window], count: fn(&Window) -> u64) -> f64 {
    windows.iter().map(count).sum::<u64>() as f64 / windows.len() as f64
}

fn of_trials(run: &Run) -> Vec<LoadPoint> {
    let trials = run.trials.iter().filter(|trial| is_trial_judged(trial));
    // One client alone has no load of its own.
    let trials = trials.filter(|trial| trial.spec.kind != TrialKind::Single);
    let points = trials.filter_map(|trial| {
        let windows = run.windows_between(trial.measured.0, trial.measured.1);
        let point = LoadPoint::of(windows, trial.spec.unit)?;
        Some(LoadPoint {
            load: trial.spec.rate,
            ..point
        })
    });
    points.collect()
}

/// A stretch of a load, in seconds from its start.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from_s: f64,
    to_s: f64,
    /// In the middle.
    load: f64,
    unit: LoadUnit,
}

fn pieces(load: &Load) -> Vec<Piece> {
    let (unit, phases): (LoadUnit, Vec<(f64, f64, f64)>) = match load {
        Load::Open { phases, .. } | Load::Sessions { phases, .. } => {
            let unit = match load {
                Load::Open { .. } => LoadUnit::RequestsPerSecond,
                _ => LoadUnit::SessionsPerSecond,
            };
            let phases = phases.iter();
            let phases = phases.map(|phase| (phase.from, phase.to, phase.lasting_ns as f64 / 1e9));
            (unit, phases.collect())
        }
        Load::Users { phases, .. } => {
            let phases = phases.iter();
            let phases = phases.map(|phase| (phase.from, phase.to, phase.lasting.as_secs_f64()));
            (LoadUnit::Users, phases.collect())
        }
        Load::Closed { .. } | Load::WebSockets(_) => return Vec::new(),
    };
    let mut pieces = Vec::new();
    let mut start_s = 0.0;
    for (from, to, lasting_s) in phases {
        let is_level = (from - to).abs() <= 1e-9 * from.max(to);
        let number = if is_level {
            1
        } else {
            full_seconds(lasting_s).clamp(1, RAMP_PIECES)
        };
        let place = |index: u32| f64::from(index) / f64::from(number);
        // Whole seconds, so that none falls between two pieces.
        let moment = |index: u32| match index {
            0 => start_s,
            index if index == number => start_s + lasting_s,
            index => (start_s + lasting_s * place(index)).round(),
        };
        pieces.extend((0..number).map(|index| Piece {
            from_s: moment(index),
            to_s: moment(index + 1),
            load: from + (to - from) * (place(index) + 0.5 / f64::from(number)),
            unit,
        }));
        start_s += lasting_s;
    }
    thinned(&pieces)
}

/// Neighbours together, so that there are at most [`STEPS_MAX`].
fn thinned(pieces: &[Piece]) -> Vec<Piece> {
    let together = pieces.len().div_ceil(STEPS_MAX).max(1);
    let chunks = pieces.chunks(together).map(|chunk| Piece {
        from_s: chunk[0].from_s,
        to_s: chunk[chunk.len() - 1].to_s,
        load: chunk.iter().map(|piece| piece.load).sum::<f64>() / chunk.len() as f64,
        unit: chunk[0].unit,
    });
    chunks.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::outcome::Outcome;
    use plimsoll_model::schedule::{LoadPhase, Spacing};

    use super::*;
    use crate::summary::Summary;
    use crate::summary::tests::run;

    /// A server that answers at most 50 requests a second, and fails the others.
    fn measured(phases: Vec<LoadPhase>, rate_at: impl Fn(u32) -> u64, seconds: u32) -> Run {
        let mut run = run(Duration::from_secs(1));
        run.header.plan.load = Load::Open {
            phases,
            spacing: Spacing::Even,
        };
        for second in 0..seconds {
            let mut window = Window::new(second);
            window.offered = rate_at(second);
            window
                .outcomes
                .add_many(Outcome::Ok, window.offered.min(50));
            window
                .outcomes
                .add_many(Outcome::Timeout, window.offered.saturating_sub(50));
            run.windows.push(window);
        }
        run
    }

    #[test]
    fn a_step_is_a_point() {
        let phases =
            [20.0, 40.0, 80.0].map(|rate| LoadPhase::constant(rate, Duration::from_secs(3)));
        let mut run = measured(phases.into(), |second| 20 << (second / 3), 9);
        let points = Summary::of(&run).throughput;
        let found: Vec<(u32, f64, f64, f64)> = points
            .iter()
            .map(|point| (point.second, point.load, point.completed, point.failed))
            .collect();
        assert_eq!(
            found,
            [
                (0, 20.0, 20.0, 0.0),
                (3, 40.0, 40.0, 0.0),
                (6, 80.0, 50.0, 30.0)
            ]
        );
        run.header.plan.warmup = Duration::from_secs(4);
        let points = Summary::of(&run).throughput;
        assert_eq!(
            (points.len(), points[0].second, points[0].seconds),
            (2, 4, 2)
        );
    }

    #[test]
    fn a_ramp_has_points_of_whole_seconds() {
        let phases = vec![LoadPhase::ramp(0.0, 100.0, Duration::from_secs(50))];
        let run = measured(phases, |second| u64::from(second) * 2 + 1, 50);
        let points = Summary::of(&run).throughput;
        assert_eq!(points.len(), 20);
        assert_eq!(points.iter().map(|point| point.seconds).sum::<u32>(), 50);
        assert!(points.is_sorted_by(|a, b| a.load < b.load && a.second + a.seconds == b.second));
        assert!(points.iter().all(|point| point.completed <= 50.0));
        assert!((points[19].offered - point_offered(&run, points[19])).abs() < 1e-9);
    }

    fn point_offered(run: &Run, point: LoadPoint) -> f64 {
        let windows = run.windows_between(point.second, point.second + point.seconds);
        windows.iter().map(|window| window.offered).sum::<u64>() as f64 / windows.len() as f64
    }

    #[test]
    fn a_load_of_many_phases_has_few_points() {
        let phases =
            (0..1000).map(|n| LoadPhase::constant(f64::from(n % 7), Duration::from_secs(2)));
        let run = measured(phases.collect(), |second| u64::from(second / 2 % 7), 2000);
        let points = Summary::of(&run).throughput;
        assert_eq!((points.len(), points[3].seconds), (200, 10));
    }
}
