//! CPU and TCP states over the whole run: means and peaks, and which series a picture of them shows.

use plimsoll_model::labels::label;
use plimsoll_model::metric;
use plimsoll_model::run::Run;

/// Programs with a line of their own at most.
const PROGRAMS_MAX: usize = 6;
/// States of TCP with a line of their own at most.
const STATES_MAX: usize = 6;
/// Label of a series with the state of its sockets.
const STATE: &str = "network.connection.state";

/// A series of readings under a name for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSeries {
    /// For people.
    pub name: String,
    /// The series.
    pub series: String,
}

/// What one series of readings did over the run.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceSummary {
    /// The series and its name.
    pub series: NamedSeries,
    /// Its unit.
    pub unit: String,
    /// Arithmetic mean of its readings.
    pub mean: f64,
    /// The highest reading.
    pub max: f64,
    /// Second of run time of the highest reading, the first of several.
    pub max_second: u32,
}

impl ResourceSummary {
    /// CPU of the machine and of its programs, and TCP sockets by state; empty without readings.
    pub(super) fn all(run: &Run) -> Vec<Self> {
        let mut series = machine_cpu(run);
        series.extend(programs_cpu(run));
        series.extend(tcp_states(run));
        let summaries = series.into_iter().map(|series| Self::of(run, series));
        summaries.flatten().collect()
    }

    fn of(run: &Run, series: NamedSeries) -> Option<Self> {
        let readings = readings(run, &series.series);
        let (&(first, _), number) = (readings.first()?, readings.len() as f64);
        let (max_second, max) =
            readings
                .iter()
                .fold((first, f64::NEG_INFINITY), |best, &(second, value)| {
                    if value > best.1 {
                        (second, value)
                    } else {
                        best
                    }
                });
        let info = run.readings.info(&series.series);
        Some(Self {
            unit: info.map_or_else(String::new, |info| info.unit.clone()),
            mean: readings.iter().map(|reading| reading.1).sum::<f64>() / number,
            max,
            max_second,
            series,
        })
    }
}

/// Share of all CPUs: of the machine, of what serves the target, of what is behind it, and of the generator.
pub fn machine_cpu(run: &Run) -> Vec<NamedSeries> {
    let of_process = |process| metric::series(metric::PROCESS_CPU, &[("process", process)]);
    let all = [
        ("machine", metric::CPU_BUSY.to_owned()),
        ("target", of_process(metric::TARGET)),
        ("behind the target", of_process(metric::BEHIND)),
        ("generator", of_process(metric::GENERATOR)),
    ];
    let all = all.into_iter().map(|(name, series)| NamedSeries {
        name: name.to_owned(),
        series,
    });
    all.filter(|series| !readings(run, &series.series).is_empty())
        .collect()
}

/// Share of all CPUs by program of the service, the busiest first.
pub fn programs_cpu(run: &Run) -> Vec<NamedSeries> {
    let all = run.readings.names_of(metric::PROCESS_CPU);
    let programs = all.filter(|name| label(name, "pid").is_none());
    let programs = programs.filter(|name| label(name, "process") != Some(metric::GENERATOR));
    let named = programs.filter_map(|name| Some((label(name, "comm")?, name)));
    highest(run, named, PROGRAMS_MAX, |values| values.iter().sum())
}

/// TCP sockets of the machine by state, the most first; states that never were are left out.
pub fn tcp_states(run: &Run) -> Vec<NamedSeries> {
    let all = run.readings.names_of(metric::TCP_CONNECTIONS);
    let named = all.filter_map(|name| Some((label(name, STATE)?, name)));
    // Listeners are there with and without load.
    let named = named.filter(|(state, _)| *state != "listen");
    highest(run, named, STATES_MAX, |values| {
        values.iter().copied().fold(0.0, f64::max)
    })
}

/// The series that rank highest, if above zero.
fn highest<'a>(
    run: &Run,
    named: impl Iterator<Item = (&'a str, &'a str)>,
    number_max: usize,
    rank: impl Fn(&[f64]) -> f64,
) -> Vec<NamedSeries> {
    let ranked = named.map(|(name, series)| {
        let values = readings(run, series);
        let values: Vec<f64> = values.into_iter().map(|reading| reading.1).collect();
        let series = NamedSeries {
            name: name.to_owned(),
            series: series.to_owned(),
        };
        (rank(&values), series)
    });
    let mut ranked: Vec<(f64, NamedSeries)> = ranked.filter(|(rank, _)| *rank > 0.0).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.truncate(number_max);
    ranked.into_iter().map(|(_, series)| series).collect()
}

/// Second and value of each reading of a series.
fn readings(run: &Run, series: &str) -> Vec<(u32, f64)> {
    let values = run.readings.values(series).unwrap_or_default();
    let rows = run.readings.seconds().iter().zip(values);
    rows.map(|(&second, &value)| (second, value))
        .filter(|(_, value)| !value.is_nan())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_model::metric::series;
    use plimsoll_model::reading::Readings;

    use super::*;
    use crate::summary::tests::run;

    fn state(state: &str) -> String {
        series(metric::TCP_CONNECTIONS, &[(STATE, state)])
    }

    fn program(process: &str, comm: &str) -> String {
        series(metric::PROCESS_CPU, &[("process", process), ("comm", comm)])
    }

    fn day() -> Run {
        let mut run = run(Duration::from_hours(24));
        for second in 0..86_400 {
            let busy = if second == 40_000 { 0.97 } else { 0.25 };
            let mut readings = Readings {
                second,
                ..Readings::default()
            };
            for (name, value) in [
                (metric::CPU_BUSY.to_owned(), busy),
                (
                    series(metric::PROCESS_CPU, &[("process", metric::TARGET)]),
                    0.2,
                ),
                (program(metric::TARGET, "nginx"), 0.05),
                (program(metric::BEHIND, "postgres"), 0.15),
                (program(metric::GENERATOR, "plimsoll"), 0.5),
                (program(metric::TARGET, "cron"), 0.0),
                (state("listen"), 9.0),
                (state("established"), 40.0),
                (state("time_wait"), f64::from(second % 7)),
                (state("closing"), 0.0),
            ] {
                readings.values.insert(name, value);
            }
            run.readings.push(&readings);
        }
        run
    }

    #[test]
    fn a_peak_of_one_second_in_a_day_is_kept() {
        let run = day();
        let all = ResourceSummary::all(&run);
        let names: Vec<&str> = all
            .iter()
            .map(|resource| resource.series.name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "machine",
                "target",
                "postgres",
                "nginx",
                "established",
                "time_wait"
            ]
        );
        let machine = &all[0];
        assert_eq!(
            (machine.max.to_bits(), machine.max_second),
            (0.97_f64.to_bits(), 40_000)
        );
        assert!((machine.mean - 0.25).abs() < 1e-4, "{}", machine.mean);
        assert_eq!(
            (all[5].max.to_bits(), all[5].max_second),
            (6.0_f64.to_bits(), 6)
        );
        // In the picture too.
        let timeline = crate::summary::timeline::Timeline::of(&run, 600);
        let levels = timeline.levels(&run, metric::CPU_BUSY);
        assert!(levels.len() <= 600);
        let highest = levels
            .iter()
            .map(|(_, level)| level.max)
            .fold(0.0, f64::max);
        assert!((highest - 0.97).abs() < 1e-9);
    }

    #[test]
    fn without_readings_there_is_nothing() {
        assert_eq!(ResourceSummary::all(&run(Duration::from_secs(1))), []);
    }
}
