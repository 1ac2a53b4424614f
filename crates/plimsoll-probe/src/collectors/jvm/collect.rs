//! A JVM, by the counters that it keeps in a file or by Jolokia, and by its threads and connections.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use plimsoll_model::component::ComponentAddress;
use plimsoll_model::metric;

use super::hsperf::{LEN_MAX, counters};
use super::listen_backlog::ListenBacklog;
use super::parse::{JOLOKIA, JvmStats, of_counters, of_jolokia};
use crate::collectors::link::{ComponentLink, ScrapeError, get};
use crate::collectors::metrics::{MetricsRecorder, Sink};
use crate::collectors::{Collected, Scraper};
use crate::kernel_files;
use crate::untrusted::{Credentials, NamedFile};

/// Threads whose names are read.
const THREADS_MAX: usize = 2000;
/// Pools that are recorded at most.
const POOLS_MAX: usize = 4;
/// Prefixes of the names of a JVM's own threads.
const OWN: [&str; 21] = [
    "Attach Lis",
    "C1 Compiler",
    "C2 Compiler",
    "Common-Clea",
    "Finalizer",
    "G1 ",
    "GC ",
    "HTTP-Dispat",
    "JFR ",
    "Monitor",
    "Notificatio",
    "ParGC",
    "Reference",
    "Service",
    "Shenandoah",
    "Signal",
    "Sweeper",
    "VM ",
    "ZDriver",
    "ZWorker",
    "java",
];

/// Collections and their time of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct CollectionTotals {
    count: u64,
    time: u64,
    last: u64,
    ended: u64,
}

/// Readings of the process.
#[derive(Debug, Default)]
struct JvmProcess {
    /// Pools by name, with their threads.
    pools: Vec<(String, u32)>,
    waiting: Option<u32>,
}

/// A JVM.
#[derive(Debug)]
pub(crate) struct JvmCollector {
    place: ComponentAddress,
    pid: Option<u32>,
    /// The process that names its address, if it was discovered, and the process's user.
    named_by: Option<u32>,
    owner: Option<u32>,
    backlog: ListenBacklog,
    before: BTreeMap<&'static str, CollectionTotals>,
    /// Memory in use after the last observed collection of the whole heap, bytes.
    old_after: Option<u64>,
}

impl JvmCollector {
    pub(crate) fn new(place: ComponentAddress, pid: Option<u32>, named_by: Option<u32>) -> Self {
        let named = match &place {
            ComponentAddress::File(path) => path
                .file_name()
                .and_then(|name| name.to_str()?.parse().ok()),
            _ => None,
        };
        Self {
            pid: pid.or(named),
            owner: named_by.and_then(|pid| Some(Credentials::of(pid)?.uid)),
            named_by,
            place,
            backlog: ListenBacklog::default(),
            before: BTreeMap::new(),
            old_after: None,
        }
    }

    fn of_file(&mut self, path: &Path) -> Result<(JvmStats, JvmProcess), ScrapeError> {
        let strange = || ScrapeError::Strange("not a counters file of a JVM".to_owned());
        let status = self.pid.map(|pid| format!("/proc/{pid}/status"));
        if status.is_some_and(|status| kernel_files::text(&status).is_err()) {
            // Whoever was killed leaves its file behind.
            return Err(ScrapeError::Absent("the JVM has ended".to_owned()));
        }
        let opened = NamedFile::new(path, self.named_by).open()?;
        // In a directory that every user can write to, the file of a JVM must belong to its user.
        if self.owner.is_some_and(|owner| owner != opened.owner) {
            return Err(ScrapeError::Denied(format!(
                "its counters file belongs to user {}, not to the user of the JVM",
                opened.owner
            )));
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(LEN_MAX).unwrap_or(u64::MAX);
        opened.file.take(most).read_to_end(&mut bytes)?;
        let collected = counters(&bytes).and_then(|counters| of_counters(&counters));
        let process = self.pid.map(|pid| JvmProcess {
            pools: pools(pid),
            waiting: self.backlog.waiting(pid),
        });
        Ok((collected.ok_or_else(strange)?, process.unwrap_or_default()))
    }

    /// The longest pause since the last sample, and totals by kind of collection.
    fn record_collections(&mut self, stats: &JvmStats, metrics: &mut MetricsRecorder<'_>) {
        let mut totals: BTreeMap<&'static str, CollectionTotals> = BTreeMap::new();
        for gc in &stats.collectors {
            let own = totals.entry(gc.kind).or_default();
            own.count = own.count.saturating_add(gc.count);
            own.time = own.time.saturating_add(gc.time);
            own.last = own.last.max(gc.last);
            own.ended = own.ended.max(gc.ended);
        }
        let mut longest = (!self.before.is_empty()).then_some(0.0);
        for (kind, own) in &totals {
            let labels = [("kind", *kind)];
            metrics.counter(metric::JVM_GC_TIME, &labels, Some(own.time), stats.tick_s);
            metrics.counter(metric::JVM_GC_COUNT, &labels, Some(own.count), 1.0);
            let Some(before) = self.before.get(kind) else {
                continue;
            };
            let count = own.count.saturating_sub(before.count);
            if let Some(mean) = own.time.saturating_sub(before.time).checked_div(count) {
                let pause = mean.max(own.last) as f64 * stats.tick_s;
                longest = longest.map(|longest: f64| longest.max(pause));
            }
        }
        metrics.level(metric::JVM_GC_PAUSE, &[], longest);
        // Use is counted at the end of each collection: after a young one it includes garbage.
        let ended = |kind: &str| totals.get(kind).map_or(0, |own| own.ended);
        if ended("full") > ended("young") {
            self.old_after = stats.old_used;
        }
        self.before = totals;
    }
}

/// The agent's responses.
fn of_agent(link: &mut ComponentLink) -> Result<JvmStats, ScrapeError> {
    let own = link.place().path().unwrap_or_default();
    let own = own.trim_end_matches('/').to_owned();
    let mut answers = Vec::with_capacity(JOLOKIA.len());
    for path in JOLOKIA {
        let answer = get(link, &format!("{own}{path}"));
        answers.push(match answer {
            // Values that this JVM does not have, or that the agent does not expose.
            Err(ScrapeError::Strange(_) | ScrapeError::Denied(_)) if !answers.is_empty() => {
                String::new()
            }
            answer => answer?,
        });
    }
    of_jolokia(&answers).ok_or_else(|| ScrapeError::Strange("not a response of Jolokia".to_owned()))
}

/// Threads by name without number, most first.
fn pools(pid: u32) -> Vec<(String, u32)> {
    let folder = format!("/proc/{pid}/task");
    let threads = kernel_files::names(Path::new(&folder));
    let names = threads
        .into_iter()
        .flatten()
        .take(THREADS_MAX)
        .filter_map(|thread| kernel_files::text(&format!("{folder}/{thread}/comm")).ok());
    grouped(names)
}

fn grouped(names: impl Iterator<Item = String>) -> Vec<(String, u32)> {
    // Whether a name ends in a number, and how many have it.
    let mut groups: BTreeMap<String, (bool, u32)> = BTreeMap::new();
    for name in names {
        let name = name.trim_end();
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if OWN.iter().any(|own| stem.starts_with(own)) {
            continue;
        }
        let group = groups.entry(stem.to_owned()).or_default();
        group.0 |= stem.len() < name.len();
        group.1 += 1;
    }
    // The kernel truncates long names, which removes the number.
    let pools = groups
        .into_iter()
        .filter(|(_, (has_number, count))| *has_number || *count > 1);
    let mut pools: Vec<(String, u32)> = pools.map(|(name, (_, count))| (name, count)).collect();
    pools.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    pools.truncate(POOLS_MAX);
    pools
}

impl JvmCollector {
    fn record(
        &mut self,
        stats: &JvmStats,
        process: &JvmProcess,
        metrics: &mut MetricsRecorder<'_>,
    ) {
        metrics.identity(&stats.started);
        if *metrics.was_restarted {
            self.before.clear();
            self.old_after = None;
        }
        self.record_collections(stats, metrics);
        metrics.counter(metric::JVM_STOPPED, &[], stats.stopped, stats.tick_s);
        for (name, level) in [
            (metric::JVM_OLD_USED, stats.old_used),
            (metric::JVM_OLD_AFTER, stats.old_after.or(self.old_after)),
            (metric::JVM_OLD_LIMIT, stats.old_limit),
            (metric::JVM_THREADS, stats.threads),
        ] {
            metrics.level(name, &[], level.map(|level| level as f64));
        }
        metrics.setting("-Xmx", "", "", stats.heap_max.map(|bytes| bytes as f64));
        for pool in &stats.pools {
            let labels = [("pool", pool.name.as_str())];
            metrics.level(metric::JVM_POOL_BUSY, &labels, Some(pool.busy as f64));
            let limit = pool.limit.map(|limit| limit as f64);
            metrics.level(metric::JVM_POOL_LIMIT, &labels, limit);
        }
        for pool in &stats.connections {
            let labels = [("to", metric::TO_DATABASE), ("pool", pool.name.as_str())];
            for (name, level) in [
                (metric::POOL_USED, pool.used),
                (metric::POOL_LIMIT, pool.limit),
                (metric::POOL_WAITING, pool.waiting),
            ] {
                metrics.level(name, &labels, level.map(|level| level as f64));
            }
        }
        for (name, threads) in &process.pools {
            let labels = [("pool", name.as_str())];
            metrics.level(metric::JVM_POOL, &labels, Some(f64::from(*threads)));
        }
        metrics.level(metric::JVM_WAITING, &[], process.waiting.map(f64::from));
    }
}

impl Scraper for JvmCollector {
    fn collect(&mut self, link: &mut ComponentLink, sink: &mut Sink<'_>) -> Collected {
        let (stats, process) = match self.place.clone() {
            ComponentAddress::File(path) => self.of_file(&path)?,
            _ => (of_agent(link)?, JvmProcess::default()),
        };
        self.record(&stats, &process, sink.answered());
        Ok(())
    }

    fn remedy(&self, error: &ScrapeError) -> String {
        match (&self.place, error) {
            (ComponentAddress::File(_), ScrapeError::Denied(_)) => {
                "run as the user of the JVM or as root: other users cannot read its counters".to_owned()
            }
            (ComponentAddress::File(_), _) => "name its counters file, as `ls /tmp/hsperfdata_*/` shows it: `watch: \
                { jvm: /tmp/hsperfdata_USER/PID }`; a JVM that was started with `-XX:-UsePerfData` or \
                `-XX:+PerfDisableSharedMem` has none"
                .to_owned(),
            _ => "start the JVM with Jolokia's agent, `-javaagent:jolokia-agent-jvm.jar=host=127.0.0.1,port=8778`, and watch \
                http://127.0.0.1:8778/jolokia; where its policy restricts who may read, allow `read` of java.lang and of pools \
                of threads and connections"
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_pools_by_name() {
        let names = [
            "java",
            "GC Thread#0",
            "GC Thread#1",
            "C2 CompilerThre",
            "C2 CompilerThre",
            "HTTP-Dispatcher",
            "pool-1-thread-1",
            "pool-1-thread-1",
            "pool-1-thread-2",
            "http-nio-8080-e",
            "http-nio-8080-e",
            "qtp1234-7",
            "main",
        ];
        let names = names.map(|name| format!("{name}\n"));
        let right = [
            ("pool-1-thread-", 3),
            ("http-nio-8080-e", 2),
            ("qtp1234-", 1),
        ];
        let right = right.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(grouped(names.into_iter()), right);
    }
}
