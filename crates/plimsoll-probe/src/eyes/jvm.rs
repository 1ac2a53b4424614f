//! A JVM, by the counters that it keeps in a file or by Jolokia, and by its threads and connections.

mod doors;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use plimsoll_model::metric;
use plimsoll_model::part::PartPlace;

use super::Source;
use super::figures::Figures;
use super::link::{Blind, Link, get};
use crate::kernel_files;
use crate::parse::hsperf::{LEN_MAX, counters};
use crate::parse::jvm::{JOLOKIA, Jvm as Told, of_counters, of_jolokia};
use crate::untrusted::{Credentials, Named};
use doors::Doors;

/// Threads whose names are read.
const THREADS_MAX: usize = 2000;
/// Pools that are told of.
const POOLS_MAX: usize = 4;
/// What the names of a JVM's own threads begin with.
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
struct Totals {
    count: u64,
    time: u64,
    last: u64,
    ended: u64,
}

/// What was seen of the process.
#[derive(Debug, Default)]
struct Process {
    /// Pools by name, with their threads.
    pools: Vec<(String, u32)>,
    waiting: Option<u32>,
}

/// A JVM.
#[derive(Debug)]
pub(crate) struct Jvm {
    place: PartPlace,
    pid: Option<u32>,
    /// The process that names its place, where nobody else did, and whose it is.
    named_by: Option<u32>,
    owner: Option<u32>,
    doors: Doors,
    /// The answer, between question and telling.
    told: Option<(Told, Process)>,
    before: BTreeMap<&'static str, Totals>,
    /// Memory that was still used after the last collection of the whole heap that was seen, bytes.
    old_after: Option<u64>,
}

impl Jvm {
    pub(crate) fn new(place: PartPlace, pid: Option<u32>, named_by: Option<u32>) -> Self {
        let named = match &place {
            PartPlace::File(path) => path
                .file_name()
                .and_then(|name| name.to_str()?.parse().ok()),
            _ => None,
        };
        Self {
            pid: pid.or(named),
            owner: named_by.and_then(|pid| Some(Credentials::of(pid)?.uid)),
            named_by,
            place,
            doors: Doors::default(),
            told: None,
            before: BTreeMap::new(),
            old_after: None,
        }
    }

    fn of_file(&mut self, path: &Path) -> Result<(Told, Process), Blind> {
        let strange = || Blind::Strange("no counters of a JVM".to_owned());
        let status = self.pid.map(|pid| format!("/proc/{pid}/status"));
        if status.is_some_and(|status| kernel_files::text(&status).is_err()) {
            // Whoever was killed leaves its file behind.
            return Err(Blind::Absent("the JVM has ended".to_owned()));
        }
        let opened = Named::new(path, self.named_by).open()?;
        // In a folder where anybody may write, the file of a JVM is its user's own.
        if self.owner.is_some_and(|owner| owner != opened.owner) {
            return Err(Blind::Denied(format!(
                "its counters belong to user {}, not to its own",
                opened.owner
            )));
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(LEN_MAX).unwrap_or(u64::MAX);
        opened.file.take(most).read_to_end(&mut bytes)?;
        let told = counters(&bytes).and_then(|counters| of_counters(&counters));
        let process = self.pid.map(|pid| Process {
            pools: pools(pid),
            waiting: self.doors.waiting(pid),
        });
        Ok((told.ok_or_else(strange)?, process.unwrap_or_default()))
    }

    /// The longest pause since it was asked last, and totals by kind of collection.
    fn tell_collections(&mut self, told: &Told, figures: &mut Figures<'_>) {
        let mut totals: BTreeMap<&'static str, Totals> = BTreeMap::new();
        for one in &told.collectors {
            let own = totals.entry(one.kind).or_default();
            own.count = own.count.saturating_add(one.count);
            own.time = own.time.saturating_add(one.time);
            own.last = own.last.max(one.last);
            own.ended = own.ended.max(one.ended);
        }
        let mut longest = (!self.before.is_empty()).then_some(0.0);
        for (kind, own) in &totals {
            let labels = [("kind", *kind)];
            figures.counter(metric::JVM_GC_TIME, &labels, Some(own.time), told.tick_s);
            figures.counter(metric::JVM_GC_COUNT, &labels, Some(own.count), 1.0);
            let Some(before) = self.before.get(kind) else {
                continue;
            };
            let count = own.count.saturating_sub(before.count);
            if let Some(mean) = own.time.saturating_sub(before.time).checked_div(count) {
                let pause = mean.max(own.last) as f64 * told.tick_s;
                longest = longest.map(|longest: f64| longest.max(pause));
            }
        }
        figures.level(metric::JVM_GC_PAUSE, &[], longest);
        // What is used is counted at the end of each collection: after a small one it is more than has to be kept.
        let ended = |kind: &str| totals.get(kind).map_or(0, |own| own.ended);
        if ended("full") > ended("young") {
            self.old_after = told.old_used;
        }
        self.before = totals;
    }
}

/// The agent's answers.
fn of_agent(link: &mut Link) -> Result<Told, Blind> {
    let own = link.place().path().unwrap_or_default();
    let own = own.trim_end_matches('/').to_owned();
    let mut answers = Vec::with_capacity(JOLOKIA.len());
    for path in JOLOKIA {
        let answer = get(link, &format!("{own}{path}"));
        answers.push(match answer {
            // What this JVM has not, or the agent does not let out.
            Err(Blind::Strange(_) | Blind::Denied(_)) if !answers.is_empty() => String::new(),
            answer => answer?,
        });
    }
    of_jolokia(&answers).ok_or_else(|| Blind::Strange("no answer of Jolokia".to_owned()))
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
    // Of long names, the kernel keeps the beginning only, without the number.
    let pools = groups
        .into_iter()
        .filter(|(_, (has_number, count))| *has_number || *count > 1);
    let mut pools: Vec<(String, u32)> = pools.map(|(name, (_, count))| (name, count)).collect();
    pools.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    pools.truncate(POOLS_MAX);
    pools
}

impl Source for Jvm {
    fn ask(&mut self, link: &mut Link) -> Result<String, Blind> {
        self.told = None;
        let told = match self.place.clone() {
            PartPlace::File(path) => self.of_file(&path)?,
            _ => (of_agent(link)?, Process::default()),
        };
        self.told = Some(told);
        Ok(String::new())
    }

    fn tell(&mut self, _text: &str, figures: &mut Figures<'_>) -> Result<(), Blind> {
        let told = self.told.take();
        let (told, process) = told.ok_or_else(|| Blind::Strange("nothing".to_owned()))?;
        figures.identity(&told.started);
        if *figures.was_restarted {
            self.before.clear();
            self.old_after = None;
        }
        self.tell_collections(&told, figures);
        figures.counter(metric::JVM_STOPPED, &[], told.stopped, told.tick_s);
        for (name, level) in [
            (metric::JVM_OLD_USED, told.old_used),
            (metric::JVM_OLD_AFTER, told.old_after.or(self.old_after)),
            (metric::JVM_OLD_LIMIT, told.old_limit),
            (metric::JVM_THREADS, told.threads),
        ] {
            figures.level(name, &[], level.map(|level| level as f64));
        }
        figures.setting("-Xmx", "", "", told.heap_max.map(|bytes| bytes as f64));
        for pool in &told.pools {
            let labels = [("pool", pool.name.as_str())];
            figures.level(metric::JVM_POOL_BUSY, &labels, Some(pool.busy as f64));
            let limit = pool.limit.map(|limit| limit as f64);
            figures.level(metric::JVM_POOL_LIMIT, &labels, limit);
        }
        for pool in &told.connections {
            let labels = [("to", metric::TO_DATABASE), ("pool", pool.name.as_str())];
            for (name, level) in [
                (metric::POOL_USED, pool.used),
                (metric::POOL_LIMIT, pool.limit),
                (metric::POOL_WAITING, pool.waiting),
            ] {
                figures.level(name, &labels, level.map(|level| level as f64));
            }
        }
        for (name, threads) in &process.pools {
            let labels = [("pool", name.as_str())];
            figures.level(metric::JVM_POOL, &labels, Some(f64::from(*threads)));
        }
        figures.level(metric::JVM_WAITING, &[], process.waiting.map(f64::from));
        Ok(())
    }

    fn remedy(&self, blind: &Blind) -> String {
        match (&self.place, blind) {
            (PartPlace::File(_), Blind::Denied(_)) => {
                "run as the user of the JVM or as root: nobody else may read its counters".to_owned()
            }
            (PartPlace::File(_), _) => "name the file of its counters, as `ls /tmp/hsperfdata_*/` shows it: `watch: { jvm: \
                /tmp/hsperfdata_USER/PID }`; a JVM that was started with `-XX:-UsePerfData` or `-XX:+PerfDisableSharedMem` \
                has none"
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
