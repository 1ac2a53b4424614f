//! Apache: the requests and connections that its workers handle, `KeepAlive`, and the workers that it starts: those that are
//! written, as far as its processes and their threads have room for them.

use super::component_readings::{ComponentReadings, written};
use super::components::busy;
use super::{Advice, Demand};
use crate::collectors::apache::settings::{
    PREFORK_PROCESSES, THREADED_PROCESSES, THREADS, THREADS_MAX,
};

/// What is written of an Apache's workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ApacheWorkers<'a> {
    /// `MaxRequestWorkers`.
    written: f64,
    file: &'a str,
    is_prefork: bool,
    /// Processes at most.
    processes: f64,
    /// Threads of each.
    threads: f64,
}

impl<'a> ApacheWorkers<'a> {
    /// `None` where its workers or its MPM are not known.
    pub(super) fn of(component: &ComponentReadings<'a>) -> Option<Self> {
        let (written, file) = component.setting("MaxRequestWorkers", "")?;
        let is_prefork = component.word("MPM")?.0 == "prefork";
        let number = |name: &str, default: u32| {
            let found = component.setting(name, "");
            found
                .map_or(f64::from(default), |(number, _)| number)
                .max(1.0)
        };
        let (processes, threads) = if is_prefork {
            (PREFORK_PROCESSES, 1.0)
        } else {
            // More threads than ThreadLimit are not started.
            let threads = number("ThreadsPerChild", THREADS);
            (
                THREADED_PROCESSES,
                threads.min(number("ThreadLimit", THREADS_MAX)),
            )
        };
        Some(Self {
            written,
            file,
            is_prefork,
            processes: number("ServerLimit", processes),
            threads,
        })
    }

    /// Processes that it starts at most.
    pub(super) fn processes(&self) -> f64 {
        (self.written / self.threads)
            .floor()
            .clamp(1.0, self.processes)
    }

    /// Threads of each process.
    pub(super) fn threads(&self) -> f64 {
        self.threads
    }

    /// Where their number is written.
    pub(super) fn file(&self) -> &'a str {
        self.file
    }

    /// Workers that it starts at most.
    pub(super) fn count(&self) -> f64 {
        self.processes() * self.threads
    }
}

/// Workers of Apache: `prefork` and `worker` hold one for each idle connection too, `event` does not.
pub(super) fn requests(
    component: &ComponentReadings<'_>,
    is_front: bool,
    demand: &Demand,
) -> Vec<Advice> {
    let Some((limit, file)) = component.setting("MaxRequestWorkers", "") else {
        return Vec::new();
    };
    // Apache lowers what its processes have no room for.
    let limit = ApacheWorkers::of(component).map_or(limit, |workers| workers.count());
    let module = component.word("MPM").map_or("", |(module, _)| module);
    let keeps = component
        .setting("KeepAlive", "")
        .is_none_or(|(keeps, _)| keeps > 0.0);
    let name = "MaxRequestWorkers of Apache";
    if is_front && keeps && ["prefork", "worker"].contains(&module) {
        return vec![idle_connections(component, (limit, file), module, demand)];
    }
    let mut advice = vec![busy(component, name, (limit, file), demand)];
    if is_front && module == "event" {
        // Documentation of `AsyncRequestWorkerFactor`.
        let factor = component.setting("AsyncRequestWorkerFactor", "");
        let factor = factor.map_or(2.0, |(factor, _)| factor);
        let most = limit * (factor + 1.0);
        advice.push(
            Advice::new(
                format!("connections of Apache ({})", component.at),
                format!("{most:.0}"),
                format!("{:.0} or more", demand.connections.ceil()),
                most >= demand.connections,
            )
            .binds_at(demand.users_for(most, demand.connections))
            .because(format!(
                "with `event` it accepts MaxRequestWorkers times (AsyncRequestWorkerFactor + 1) connections, if most \
                 of them are idle: {limit:.0} times {:.0}",
                factor + 1.0
            )),
        );
    }
    advice
}

fn idle_connections(
    component: &ComponentReadings<'_>,
    (limit, file): (f64, &str),
    module: &str,
    demand: &Demand,
) -> Advice {
    let needed = demand.connections.ceil();
    Advice::new(
        format!("MaxRequestWorkers of Apache ({})", component.at),
        format!("{limit:.0}{}", written(file)),
        format!("{needed:.0} or more; or `event` as the MPM, or a shorter KeepAliveTimeout"),
        limit >= needed,
    )
    .binds_at(demand.users_for(limit, demand.connections))
    .because(format!(
        "with `{module}` each connection holds a worker while it is idle too, up to KeepAliveTimeout; {} users have \
         {needed:.0} connections",
        demand.users
    ))
}

/// `KeepAlive Off`.
pub(super) fn keep_alive(component: &ComponentReadings<'_>) -> Option<Advice> {
    let (value, file) = component.setting("KeepAlive", "")?;
    let row = Advice::new(
        format!("KeepAlive of Apache ({})", component.at),
        format!(
            "{}{}",
            if value > 0.0 { "On" } else { "Off" },
            written(file)
        ),
        "On",
        value > 0.0,
    );
    Some(row.hint().because(
        "each request opens a connection, with its handshakes, and a port that rests for 60 s afterwards; with `event` an \
         idle connection holds no worker",
    ))
}

/// What Apache lowers `MaxRequestWorkers` to when it starts, with a line in its log.
pub(super) fn advice(component: &ComponentReadings<'_>) -> Vec<Advice> {
    let Some(workers) = ApacheWorkers::of(component) else {
        return Vec::new();
    };
    let own = [
        Some(room(component.at, &workers)),
        multiple(component.at, &workers),
    ];
    own.into_iter().flatten().collect()
}

/// As many workers as its processes may have.
fn room(at: &str, workers: &ApacheWorkers<'_>) -> Advice {
    let ApacheWorkers {
        written: wanted,
        file,
        is_prefork,
        processes,
        threads,
    } = *workers;
    let most = processes * threads;
    let (name, each) = if is_prefork {
        ("ServerLimit", String::new())
    } else {
        (
            "ServerLimit times ThreadsPerChild",
            format!(" with {threads:.0} threads each"),
        )
    };
    Advice::new(
        format!("{name} of Apache ({at})"),
        format!("{most:.0} for MaxRequestWorkers {wanted:.0}{}", written(file)),
        format!("{wanted:.0} or more"),
        most >= wanted,
    )
    .because(format!(
        "Apache has at most {processes:.0} processes{each} and lowers MaxRequestWorkers to that when it starts; ServerLimit \
         changes by a restart only, not by a reload"
    ))
}

/// Processes have all their threads: workers that fill no process are not started.
fn multiple(at: &str, workers: &ApacheWorkers<'_>) -> Option<Advice> {
    let (threads, count) = (workers.threads, workers.count());
    let wanted = workers.written.min(workers.processes * threads);
    (wanted > count).then(|| {
        Advice::new(
            format!("ThreadsPerChild of Apache ({at})"),
            format!(
                "{threads:.0} for MaxRequestWorkers {wanted:.0}{}",
                written(workers.file)
            ),
            format!(
                "a multiple of it: MaxRequestWorkers {count:.0} or {:.0}",
                count + threads
            ),
            false,
        )
        .hint()
        .because(format!(
            "each process has {threads:.0} threads, so Apache lowers MaxRequestWorkers to {count:.0} when it starts"
        ))
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::metric::{self, series};
    use plimsoll_model::reading::Readings;

    use super::*;
    use crate::parse::whole;

    /// Rows of an Apache: current value, and whether it suffices; and the workers and processes that it starts.
    fn judged(module: &str, numbers: &[(&str, f64)]) -> (Vec<(String, bool)>, u64, u64) {
        let labels = |setting| [("at", "a"), ("kind", "apache"), ("setting", setting)];
        let word = [labels("MPM").as_slice(), &[("of", module)]].concat();
        let numbers = numbers.iter().map(|&(name, value)| {
            let name = series(metric::SETTING, &labels(name));
            (name, value)
        });
        let readings = Readings {
            values: numbers
                .chain([(series(metric::SETTING, &word), 1.0)])
                .collect(),
            ..Readings::default()
        };
        let component = ComponentReadings {
            at: "a",
            readings: &readings,
        };
        let workers = ApacheWorkers::of(&component).unwrap();
        let rows = advice(&component).into_iter();
        let rows = rows.map(|row| (row.current, row.ok)).collect();
        (rows, whole(workers.count()), whole(workers.processes()))
    }

    #[test]
    fn threads_that_apache_has_no_processes_for() {
        let at = |processes| {
            judged(
                "event",
                &[
                    ("MaxRequestWorkers", 1000.0),
                    ("ServerLimit", processes),
                    ("ThreadsPerChild", 25.0),
                ],
            )
        };
        let cut = "400 for MaxRequestWorkers 1000".to_owned();
        assert_eq!(at(16.0), (vec![(cut, false)], 400, 16));
        let enough = "1000 for MaxRequestWorkers 1000".to_owned();
        assert_eq!(at(40.0), (vec![(enough, true)], 1000, 40));
    }

    #[test]
    fn limits_that_are_not_written_hold_too() {
        let (rows, count, processes) = judged("prefork", &[("MaxRequestWorkers", 400.0)]);
        assert_eq!(rows, [("256 for MaxRequestWorkers 400".to_owned(), false)]);
        assert_eq!((count, processes), (256, 256));
        // A process has at most ThreadLimit threads.
        let wide = [("MaxRequestWorkers", 200.0), ("ThreadsPerChild", 100.0)];
        assert_eq!(judged("worker", &wide).1, 192);
        let raised = [wide.as_slice(), &[("ThreadLimit", 100.0)]].concat();
        assert_eq!(judged("worker", &raised).1, 200);
    }

    #[test]
    fn workers_that_fill_no_process_are_not_started() {
        let (rows, count, processes) = judged("event", &[("MaxRequestWorkers", 160.0)]);
        assert_eq!(
            rows,
            [
                ("400 for MaxRequestWorkers 160".to_owned(), true),
                ("25 for MaxRequestWorkers 160".to_owned(), false),
            ]
        );
        assert_eq!((count, processes), (150, 6));
        // One process is started in any case.
        let (rows, count, _) = judged("event", &[("MaxRequestWorkers", 10.0)]);
        assert_eq!((rows.len(), count), (1, 25));
    }
}
