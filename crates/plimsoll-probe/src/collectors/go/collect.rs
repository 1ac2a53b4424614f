//! A Go program, by `expvar`, by a metrics page in the Prometheus format, or by its goroutine profile.

use std::path::PathBuf;

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use super::parse::{GoStats, go, goroutines, quantile};
use crate::collectors::link::{ComponentLink, ScrapeError, get_once, shortly};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};
use crate::files::Files;
use crate::host::diag::Diag;
use crate::names::BoundedNames;
use crate::parse::process;
use crate::parse::socket::LISTEN;
use crate::parse::value_of;
use crate::tree::holders_of;

/// Factor of its time-out over that of other collectors.
const SLOWER: u32 = 4;
/// Quantile of the waits for a thread that is recorded.
const DELAY_SHARE: f64 = 0.99;

/// Distinct positions of goroutines at most.
const PLACES_MAX: usize = 24;

/// A program in Go.
#[derive(Debug)]
pub(crate) struct GoCollector {
    /// When it was started, s since 1970, where its process was found.
    started: Option<f64>,
    is_start_resolved: bool,
    /// CPU time of the garbage collector, and available CPU time, at the last sample.
    before: Option<(f64, f64)>,
    delays: Vec<(f64, f64)>,
    /// Positions of goroutines so far: one without goroutines now is recorded as zero, not as a gap.
    places: BoundedNames,
}

impl GoCollector {
    pub(crate) fn new() -> Self {
        Self {
            started: None,
            is_start_resolved: false,
            before: None,
            delays: Vec::new(),
            places: BoundedNames::up_to(PLACES_MAX),
        }
    }

    fn record_goroutines(
        &mut self,
        all: u64,
        places: &[(String, u64)],
        metrics: &mut MetricsRecorder<'_>,
    ) {
        for (place, _) in places {
            self.places.see(place);
        }
        metrics.level(metric::GO_GOROUTINES, &[], Some(all as f64));
        for place in self.places.iter() {
            let count = places.iter().find(|(name, _)| name == place);
            let count = count.map_or(0, |(_, count)| *count);
            let labels = [("of", place)];
            metrics.level(metric::GO_GOROUTINES_AT, &labels, Some(count as f64));
        }
    }

    /// Garbage collector's share of the available CPU since the last sample. Go counts this at the end of each
    /// collection.
    fn share(&mut self, stats: &GoStats) -> Option<f64> {
        let since_start = || {
            let age = stats.last_collection? - stats.started.or(self.started)?;
            Some((stats.share_since_start? * age, age))
        };
        let (own, all) = stats.cpu.or_else(since_start)?;
        let before = self.before.replace((own, all))?;
        let all = all - before.1;
        Some(if all > 0.0 {
            ((own - before.0) / all).clamp(0.0, 1.0)
        } else {
            0.0
        })
    }
}

/// Start time of the program that listens there, s since 1970; `None` where it is not on this machine.
fn started(place: &ComponentAddress) -> Option<f64> {
    let ComponentAddress::Page { host, port, .. } = place else {
        return None;
    };
    let is_near = ["127.0.0.1", "localhost", "::1"].contains(&host.as_str());
    let mut inodes = Vec::new();
    Diag::open()
        .ok()
        .filter(|_| is_near)?
        .tcp_of_port(*port, |socket| {
            if socket.state == LISTEN {
                inodes.push(socket.inode);
            }
        })
        .ok()?;
    let mut files = Files::new(PathBuf::from("/"));
    let pids = files.numbers_in("proc").ok()?;
    let holders = holders_of(&mut files, &inodes, pids.into_iter());
    let pid = holders.first()?;
    let boot = value_of(files.read("proc/stat").ok()?, "btime")?;
    let stat = process::stat(files.read(&format!("proc/{pid}/stat")).ok()?)?;
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    Some(boot as f64 + stat.start_ticks as f64 / ticks_per_s)
}

impl GoCollector {
    fn fetch(&mut self, link: &mut ComponentLink) -> Result<String, ScrapeError> {
        let path = link.place().path().unwrap_or("/debug/vars").to_owned();
        let page = get_once(link, &path)?;
        if !self.is_start_resolved {
            self.is_start_resolved = true;
            self.started = started(link.place());
        }
        Ok(page)
    }

    fn record(&mut self, text: &str, metrics: &mut MetricsRecorder<'_>) -> Collected {
        if let Some((all, places)) = goroutines(text) {
            self.record_goroutines(all, &places, metrics);
            return Ok(());
        }
        let stats = go(text).ok_or_else(|| ScrapeError::Strange(shortly(text)))?;
        if let Some(started) = stats.started {
            metrics.identity(&started.to_string());
        }
        let share = self.share(&stats);
        let is_known = stats.cpu.is_some() || stats.started.or(self.started).is_some();
        if stats.share_since_start.is_some() && !is_known {
            metrics.note(
                "no start",
                "the Go program reports its garbage collector's CPU share only since its start, and the start time \
                 can be read only on its own machine by its own user: watch its Prometheus endpoint instead, with \
                 `collectors.MetricsAll`",
            );
        }
        metrics.level(metric::GO_GC_SHARE, &[], share);
        metrics.counter(metric::GO_GC_COUNT, &[], stats.collections, 1.0);
        metrics.level(metric::GO_GOROUTINES, &[], stats.goroutines);
        metrics.level(metric::GO_HEAP, &[], stats.heap);
        if !stats.delays.is_empty() {
            let delay = quantile(&self.delays, &stats.delays, DELAY_SHARE);
            // Without waits the quantile is zero.
            let was_read = !self.delays.is_empty();
            metrics.level(
                metric::GO_SCHEDULER_DELAY,
                &[],
                delay.or(was_read.then_some(0.0)),
            );
            self.delays = stats.delays;
        }
        metrics.setting("GOMAXPROCS", "", "", stats.threads_max);
        Ok(())
    }
}

impl Scraper for GoCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let text = self.fetch(link)?;
        self.record(&text, sink.answered())
    }

    /// Its page waits for a thread behind all runnable goroutines, just when this should be observed.
    fn slower(&self) -> u32 {
        SLOWER
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match error {
            ScrapeError::Denied(_) => {
                "allow access from this machine without a login: Plimsoll sends no credentials".to_owned()
            }
            _ => "import `expvar` in it and watch `/debug/vars` if it serves `http.DefaultServeMux`; or register \
                `collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll))` and \
                watch `/metrics`; `/debug/pprof/goroutine?debug=1` shows where goroutines wait, after `import _ \
                \"net/http/pprof\"`"
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_time_between() {
        let mut collector = GoCollector::new();
        collector.started = Some(1000.0);
        let stats = |share, at| GoStats {
            share_since_start: Some(share),
            last_collection: Some(at),
            ..GoStats::default()
        };
        assert_eq!(collector.share(&stats(0.0, 1010.0)), None);
        // Of 30 s the collector had 10 % in all: of the last 20 s, 15 %.
        let share = collector.share(&stats(0.1, 1030.0)).unwrap();
        assert!((share - 0.15).abs() < 1e-9, "{share}");
        let idle = collector.share(&stats(0.1, 1030.0)).unwrap();
        assert!(idle.abs() < 1e-9, "{idle}");
        let mut collector = GoCollector::new();
        assert_eq!(collector.share(&stats(0.1, 1030.0)), None);
    }
}
