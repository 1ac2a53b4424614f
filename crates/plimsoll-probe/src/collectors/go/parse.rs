//! Metrics of a Go program's garbage collector and scheduler: `expvar` (JSON, `memstats`) or a metrics page in the
//! Prometheus format, with the client library's names of `runtime/metrics`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::collectors::prometheus::parse::{ParsedExposition, page};
use crate::parse::whole;

/// Bounds of the histogram of the scheduler; Go's own has about 160.
const BUCKETS_MAX: usize = 1024;

/// The metrics; totals since the program's start.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GoStats {
    /// Its start time, s since 1970, where reported.
    pub(crate) started: Option<f64>,
    /// Collections.
    pub(crate) collections: Option<u64>,
    /// When the last of them ended, s since 1970.
    pub(crate) last_collection: Option<f64>,
    /// CPU time of the garbage collector without its idle time, and CPU time available to the program, s.
    pub(crate) cpu: Option<(f64, f64)>,
    /// Share of the CPU that the program could use since its start that the collector took.
    pub(crate) share_since_start: Option<f64>,
    /// Goroutines.
    pub(crate) goroutines: Option<f64>,
    /// Memory of the heap that is used, bytes.
    pub(crate) heap: Option<f64>,
    /// Threads that run goroutines concurrently (`GOMAXPROCS`).
    pub(crate) threads_max: Option<f64>,
    /// Waits of runnable goroutines: upper bounds, s, and cumulative counts.
    pub(crate) delays: Vec<(f64, f64)>,
}

/// Parses either; `None` when it holds nothing of a Go program.
pub(crate) fn go(text: &str) -> Option<GoStats> {
    if text.trim_start().starts_with('{') {
        expvar(text)
    } else {
        figures(&page(text, |name| {
            name.starts_with("go_") || name == "process_start_time_seconds"
        }))
    }
}

/// Distinct positions of goroutines in a profile at most.
const PLACES_MAX: usize = 16;
/// Packages of Go itself, by the prefixes of their function names. A wait there is attributed to the application's
/// function that called it.
const STANDARD: [&str; 22] = [
    "bufio.",
    "bytes.",
    "compress/",
    "context.",
    "crypto/",
    "database/",
    "encoding/",
    "fmt.",
    "internal/",
    "io.",
    "io/",
    "log.",
    "log/",
    "net.",
    "net/",
    "os.",
    "os/",
    "reflect.",
    "runtime.",
    "sync.",
    "sync/",
    "time.",
];

/// Goroutines of `/debug/pprof/goroutine?debug=1` by the innermost function of the application's own code: their
/// number, and the most common positions. `None` when it is not such a profile.
pub(crate) fn goroutines(text: &str) -> Option<(u64, Vec<(String, u64)>)> {
    let mut lines = text.lines();
    let all = lines.next()?.strip_prefix("goroutine profile: total ")?;
    let mut places: BTreeMap<String, u64> = BTreeMap::new();
    let mut open: Option<u64> = None;
    for line in lines {
        if let Some((count, _)) = line.split_once(" @ ") {
            open = count.trim().parse().ok();
        } else if let Some(count) = open
            && let Some(place) = own_frame(line)
        {
            *places.entry(place).or_default() += count;
            open = None;
        }
    }
    let mut places: Vec<(String, u64)> = places.into_iter().collect();
    places.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    places.truncate(PLACES_MAX);
    Some((all.trim().parse().ok()?, places))
}

/// `# 0x6a1b2c main.main.func1+0x2c /srv/shop/main.go:41` as `main.main.func1 (main.go:41)`; `None` of Go's own.
fn own_frame(line: &str) -> Option<String> {
    let mut words = line.strip_prefix('#')?.split_whitespace().skip(1);
    let (function, place) = (words.next()?, words.next()?);
    let function = function
        .rsplit_once("+0x")
        .map_or(function, |(name, _)| name);
    let is_standard = STANDARD.iter().any(|begin| function.starts_with(begin));
    let file = place.rsplit('/').next().unwrap_or(place);
    (!is_standard && function != "main.main").then(|| format!("{function} ({file})"))
}

fn expvar(text: &str) -> Option<GoStats> {
    let json: Value = serde_json::from_str(text).ok()?;
    let memory = json.get("memstats")?;
    let number = |name: &str| memory.get(name).and_then(Value::as_f64);
    Some(GoStats {
        collections: Some(memory.get("NumGC")?.as_u64()?),
        last_collection: number("LastGC").map(|ns| ns / 1e9),
        share_since_start: number("GCCPUFraction"),
        heap: number("HeapAlloc"),
        ..GoStats::default()
    })
}

fn figures(page: &ParsedExposition) -> Option<GoStats> {
    let value = |name: &str| {
        let sample = page.samples.iter().find(|sample| sample.name == name)?;
        Some(sample.value)
    };
    let time = |class: &str| value(&format!("go_cpu_classes_{class}_cpu_seconds_total"));
    // Collection by idle threads costs the program nothing.
    let own = time("gc_total").map(|all| (all - time("gc_mark_idle").unwrap_or(0.0)).max(0.0));
    let mut delays: Vec<(f64, f64)> = page
        .samples
        .iter()
        .filter(|sample| sample.name == "go_sched_latencies_seconds_bucket")
        .filter_map(|sample| {
            let (_, bound) = sample.labels.iter().find(|(name, _)| name == "le")?;
            Some((bound.parse().ok()?, sample.value))
        })
        .take(BUCKETS_MAX)
        .collect();
    delays.sort_by(|a, b| a.0.total_cmp(&b.0));
    let go = GoStats {
        started: value("process_start_time_seconds"),
        collections: value("go_gc_duration_seconds_count")
            .or(value("go_gc_cycles_total_gc_cycles_total"))
            .map(whole),
        last_collection: value("go_memstats_last_gc_time_seconds"),
        cpu: own.zip(time("total")),
        share_since_start: value("go_memstats_gc_cpu_fraction"),
        goroutines: value("go_goroutines").or(value("go_sched_goroutines_goroutines")),
        heap: value("go_memstats_heap_alloc_bytes")
            .or(value("go_memory_classes_heap_objects_bytes")),
        threads_max: value("go_sched_gomaxprocs_threads"),
        delays,
    };
    let has_data = go.collections.is_some() || go.cpu.is_some() || go.goroutines.is_some();
    has_data.then_some(go)
}

/// The smallest bound below which this share of the observations between two readings of a histogram lies; `None`
/// without observations, or when the buckets differ.
pub(crate) fn quantile(before: &[(f64, f64)], now: &[(f64, f64)], share: f64) -> Option<f64> {
    let is_same = before.len() == now.len()
        && before
            .iter()
            .zip(now)
            .all(|(a, b)| a.0 <= b.0 && b.0 <= a.0);
    let risen = |at: usize| now[at].1 - before[at].1;
    let last = now.len().checked_sub(1).filter(|_| is_same)?;
    let all = risen(last);
    if all <= 0.0 {
        return None;
    }
    let at = (0..now.len()).find(|&at| risen(at) >= share * all)?;
    // The last bound is infinite.
    let finite = now[..=at].iter().rev().find(|(bound, _)| bound.is_finite());
    finite.map(|(bound, _)| *bound)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: &str = "# TYPE go_gc_duration_seconds summary\ngo_gc_duration_seconds{quantile=\"0.5\"} 1e-05\n\
        go_gc_duration_seconds_count 42\n# TYPE go_goroutines gauge\ngo_goroutines 12\n\
        # TYPE go_cpu_classes_gc_total_cpu_seconds_total counter\ngo_cpu_classes_gc_total_cpu_seconds_total 3.5\n\
        go_cpu_classes_gc_mark_idle_cpu_seconds_total 0.5\ngo_cpu_classes_total_cpu_seconds_total 10\n\
        # TYPE go_sched_latencies_seconds histogram\ngo_sched_latencies_seconds_bucket{le=\"0.001\"} 90\n\
        go_sched_latencies_seconds_bucket{le=\"0.02\"} 99\ngo_sched_latencies_seconds_bucket{le=\"+Inf\"} 100\n\
        go_sched_gomaxprocs_threads 2\nprocess_start_time_seconds 1.7e+09\n";
    const VARIABLES: &str = "{\"cmdline\": [\"shop\"], \"memstats\": {\"NumGC\": 7, \"GCCPUFraction\": 0.25, \"HeapAlloc\": 4096}}";

    #[test]
    fn both_pages_are_read() {
        let read = go(PAGE).unwrap();
        assert_eq!((read.collections, read.cpu), (Some(42), Some((3.0, 10.0))));
        assert_eq!((read.goroutines, read.threads_max), (Some(12.0), Some(2.0)));
        assert_eq!(read.delays.len(), 3, "{read:?}");
        let read = go(VARIABLES).unwrap();
        assert_eq!(
            (read.collections, read.share_since_start),
            (Some(7), Some(0.25))
        );
        assert_eq!(read.heap, Some(4096.0));
        assert_eq!(go("{\"cmdline\": []}"), None);
        assert_eq!(go("node_load1 0.5\n"), None);
    }

    #[test]
    fn goroutines_by_where_they_wait() {
        let profile = "goroutine profile: total 12\n8 @ 0x43 0x44\n#\t0x6a\tmain.main.func1+0x2c\t\t/srv/shop/main.go:41\n\
            #\t0x6b\tnet/http.HandlerFunc.ServeHTTP+0x1\t/usr/lib/go/src/net/http/server.go:2220\n\n\
            2 @ 0x50\n#\t0x1\tsync.(*Mutex).Lock+0x1\t/usr/lib/go/src/sync/mutex.go:46\n\
            #\t0x2\tgithub.com/shop/store.(*Cache).Get+0x9\t/srv/shop/store/cache.go:7\n\n\
            2 @ 0x60\n#\t0x3\tinternal/poll.runtime_pollWait+0x1\t/usr/lib/go/src/runtime/netpoll.go:1\n\
            #\t0x4\tmain.main+0x9\t/srv/shop/main.go:9\n";
        let (all, places) = goroutines(profile).unwrap();
        assert_eq!(all, 12);
        let right = [
            ("main.main.func1 (main.go:41)".to_owned(), 8),
            (
                "github.com/shop/store.(*Cache).Get (cache.go:7)".to_owned(),
                2,
            ),
        ];
        assert_eq!(places, right);
        assert_eq!(goroutines(VARIABLES), None);
    }

    #[test]
    fn quantiles_are_those_of_what_came_between() {
        let before = [(0.001, 90.0), (0.02, 90.0), (f64::INFINITY, 90.0)];
        let now = [(0.001, 100.0), (0.02, 189.0), (f64::INFINITY, 190.0)];
        assert_eq!(quantile(&before, &now, 0.05), Some(0.001));
        assert_eq!(quantile(&before, &now, 0.99), Some(0.02));
        assert_eq!(quantile(&before, &now, 1.0), Some(0.02));
        assert_eq!(quantile(&now, &now, 0.99), None);
        assert_eq!(quantile(&before[1..], &now, 0.99), None);
        assert_eq!(quantile(&[], &[], 0.99), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".{0,200}") {
            let _ = (go(&text), goroutines(&text));
            let _ = goroutines(&format!("goroutine profile: total 1\n1 @ 0x1\n#{text}"));
            let _ = go(&PAGE.replace("0.02", &text));
            let _ = go(&VARIABLES.replace('7', &text));
        }
    }
}
