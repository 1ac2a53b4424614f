//! CPU, memory, threads, descriptors and switches of a group of processes: the target's, or the generator itself.

use std::collections::{BTreeMap, HashMap};

use plimsoll_model::metric;

use crate::clock;
use crate::files::Files;
use crate::kernel_files;
use crate::meter::Meter;
use crate::names::BoundedNames;
use crate::parse::{cpu, process};

/// Single processes that are reported beside their sum.
const SINGLES_MAX: usize = 8;
/// Distinct process names at most.
const NAMES_MAX: usize = 16;
/// A process below this share of one CPU is not reported on its own.
const SINGLE_SHARE_MIN: f64 = 0.02;
/// A process below this share of one CPU has no busy thread: its threads are not read.
const THREADS_SHARE_MIN: f64 = 0.25;
/// Up to this many processes are read fully even when idle.
const FEW: usize = 16;
/// Threads read of one process.
const THREADS_MAX: usize = 256;
/// Interval between readings of slow or expensive values, ns.
const SLOW_NS: u64 = 10_000_000_000;
/// Proportional memory is read for at most this many processes: each page-table walk can take milliseconds.
const PSS_PROCESSES_MAX: usize = 16;
/// And for no process with more memory than this, bytes.
const PSS_RESIDENT_MAX: f64 = 2e9;

/// What does not change while the probe runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) page_len: f64,
    pub(crate) ticks_per_s: f64,
    pub(crate) cpus: f64,
}

#[derive(Debug)]
pub(crate) struct Group {
    /// Value of the label `process`.
    label: &'static str,
    limits: HashMap<u32, u64>,
    /// Descriptors of idle processes of a large group, which are counted only now and then.
    idle_files: HashMap<u32, f64>,
    next_slow_ns: u64,
    /// Names of processes that used CPU so far.
    names: BoundedNames,
}

/// One process in this second.
#[derive(Debug, Default)]
struct Single {
    pid: u32,
    comm: String,
    /// CPUs used in user and system mode; `None` when it was read for the first time.
    user: Option<f64>,
    system: Option<f64>,
    resident: f64,
    threads: u64,
}

impl Single {
    fn cpus(&self) -> f64 {
        self.user.unwrap_or(0.0) + self.system.unwrap_or(0.0)
    }
}

/// The busiest thread: share of one CPU, thread id, name.
type Busiest = (f64, u32, String);

#[derive(Debug, Default)]
struct GroupSums {
    /// So few processes that each can be read fully.
    few: bool,
    voluntary: Option<f64>,
    involuntary: Option<f64>,
    major_faults: Option<f64>,
    wait_s: Option<f64>,
    busiest: Option<Busiest>,
}

impl Group {
    pub(crate) fn new(label: &'static str) -> Self {
        Self {
            label,
            limits: HashMap::new(),
            idle_files: HashMap::new(),
            next_slow_ns: 0,
            names: BoundedNames::up_to(NAMES_MAX),
        }
    }

    /// Reads all members; returns those that have ended.
    pub(crate) fn read(
        &mut self,
        files: &mut Files,
        meter: &mut Meter,
        machine: Machine,
        members: impl Iterator<Item = u32>,
    ) -> Vec<u32> {
        let mut ended = Vec::new();
        let mut singles = Vec::new();
        let mut sums = GroupSums::default();
        let members: Vec<u32> = members.collect();
        sums.few = members.len() <= FEW;
        for pid in members {
            let text = files.read(&format!("proc/{pid}/stat")).ok();
            match text.and_then(process::stat) {
                Some(stat) if stat.state != 'Z' => {
                    let single = self.read_process(files, meter, machine, pid, stat, &mut sums);
                    singles.push(single);
                }
                _ => ended.push(pid),
            }
        }
        if !singles.is_empty() {
            self.report(meter, machine, &mut singles, &sums);
            self.report_names(meter, machine, &singles);
            self.read_files(files, meter, &singles);
            self.read_slow(files, meter, &singles);
        }
        ended
    }

    fn read_process(
        &self,
        files: &mut Files,
        meter: &mut Meter,
        machine: Machine,
        pid: u32,
        stat: process::ProcessStat,
        sums: &mut GroupSums,
    ) -> Single {
        // Together with its start a pid is never used twice.
        let key = format!("{}/{pid}/{}", self.label, stat.start_ticks);
        let mut share = |mode: &str, ticks: u64| {
            let rise = meter.rise(&format!("{key}/{mode}"), ticks)?;
            Some(rise.per_second() / machine.ticks_per_s)
        };
        let single = Single {
            pid,
            user: share("user", stat.user_ticks),
            system: share("system", stat.system_ticks),
            resident: stat.resident_pages as f64 * machine.page_len,
            threads: stat.threads,
            comm: stat.comm,
        };
        let faults = meter.rise(&format!("{key}/faults"), stat.major_faults);
        add(
            &mut sums.major_faults,
            faults.map(crate::meter::Rise::per_second),
        );
        let (first, few) = (single.user.is_none(), sums.few);
        // Of many processes most are idle; an idle one that was read before has hardly changed.
        if single.cpus() > 0.0 || first || few {
            read_switches(files, meter, &key, &format!("proc/{pid}/status"), sums);
        }
        if single.cpus() >= THREADS_SHARE_MIN || (first && stat.threads == 1) {
            Self::read_threads(files, meter, &single, &key, sums);
        }
        single
    }

    /// Time on a CPU and waiting for one, thread by thread, to the nanosecond.
    fn read_threads(
        files: &mut Files,
        meter: &mut Meter,
        single: &Single,
        key: &str,
        sums: &mut GroupSums,
    ) {
        let pid = single.pid;
        let folder = format!("proc/{pid}/task");
        let threads = match single.threads {
            1 => vec![pid],
            _ => files.numbers_in(&folder).unwrap_or_default(),
        };
        for tid in threads.into_iter().take(THREADS_MAX) {
            let Ok(text) = files.read(&format!("{folder}/{tid}/schedstat")) else {
                files.note(
                    "schedstat",
                    "busiest thread: /proc/PID/task/TID/schedstat cannot be read",
                );
                continue;
            };
            let (run_ns, wait_ns) = cpu::schedstat(text);
            let run = meter.rise(&format!("{key}/{tid}/run"), run_ns);
            let wait = meter.rise(&format!("{key}/{tid}/wait"), wait_ns);
            add(&mut sums.wait_s, wait.map(|rise| rise.per_second() / 1e9));
            if let Some(share) = run.map(|rise| rise.per_second() / 1e9)
                && sums
                    .busiest
                    .as_ref()
                    .is_none_or(|busiest| share > busiest.0)
            {
                let comm = files.read(&format!("{folder}/{tid}/comm"));
                let comm = comm.map_or(String::new(), |comm| comm.trim_end().to_owned());
                sums.busiest = Some((share, tid, comm));
            }
            if tid != pid {
                read_switches(files, meter, key, &format!("{folder}/{tid}/status"), sums);
            }
        }
    }

    fn report(
        &self,
        meter: &mut Meter,
        machine: Machine,
        singles: &mut [Single],
        sums: &GroupSums,
    ) {
        let of = ("process", self.label);
        meter.gauge(metric::PROCESS_COUNT, &[of], singles.len() as f64);
        let threads: u64 = singles.iter().map(|single| single.threads).sum();
        meter.gauge(metric::PROCESS_THREADS, &[of], threads as f64);
        let resident: f64 = singles.iter().map(|single| single.resident).sum();
        meter.gauge(metric::PROCESS_MEMORY, &[of], resident);
        if singles.iter().any(|single| single.user.is_some()) {
            let user: f64 = singles.iter().filter_map(|single| single.user).sum();
            let system: f64 = singles.iter().filter_map(|single| single.system).sum();
            for (mode, value) in [("user", user), ("system", system)] {
                meter.gauge(metric::PROCESS_CPU_TIME, &[of, ("cpu.mode", mode)], value);
            }
            meter.gauge(metric::PROCESS_CPU, &[of], (user + system) / machine.cpus);
        }
        for (kind, value) in [
            ("voluntary", sums.voluntary),
            ("involuntary", sums.involuntary),
        ] {
            if let Some(value) = value {
                let labels = [of, ("process.context_switch.type", kind)];
                meter.gauge(metric::PROCESS_SWITCHES, &labels, value);
            }
        }
        if let Some(faults) = sums.major_faults {
            let labels = [of, ("process.paging.fault_type", "major")];
            meter.gauge(metric::PROCESS_FAULTS, &labels, faults);
        }
        if let Some(wait_s) = sums.wait_s {
            meter.gauge(metric::PROCESS_CPU_WAIT, &[of], wait_s);
        }
        // A lone thread of a mostly idle process is not read; its process bounds it from above.
        let upper = singles.iter().map(Single::cpus).fold(0.0, f64::max);
        match &sums.busiest {
            Some((share, tid, comm)) => {
                meter.gauge(metric::THREAD_BUSIEST, &[of], *share);
                let tid = tid.to_string();
                let labels = [of, ("tid", tid.as_str()), ("comm", comm)];
                meter.gauge(metric::THREAD_BUSIEST, &labels, *share);
            }
            None if upper < THREADS_SHARE_MIN
                && singles.iter().any(|single| single.user.is_some()) =>
            {
                meter.gauge(metric::THREAD_BUSIEST, &[of], upper);
            }
            None => {}
        }
        singles.sort_by(|a, b| b.cpus().total_cmp(&a.cpus()));
        for single in singles
            .iter()
            .take(SINGLES_MAX)
            .filter(|single| single.cpus() >= SINGLE_SHARE_MIN)
        {
            let pid = single.pid.to_string();
            let labels = [of, ("pid", pid.as_str()), ("comm", &single.comm)];
            meter.gauge(metric::PROCESS_CPU, &labels, single.cpus() / machine.cpus);
            meter.gauge(metric::PROCESS_MEMORY, &labels, single.resident);
        }
    }

    /// CPU by name of the program: a service may have more processes than are reported one by one. Expects the busiest first.
    fn report_names(&mut self, meter: &mut Meter, machine: Machine, singles: &[Single]) {
        let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
        for single in singles.iter().filter(|single| single.user.is_some()) {
            *by_name.entry(&single.comm).or_default() += single.cpus();
            if single.cpus() >= SINGLE_SHARE_MIN {
                self.names.see(&single.comm);
            }
        }
        for name in self.names.iter() {
            let labels = [("process", self.label), ("comm", name)];
            let cpus = by_name.get(name).copied().unwrap_or(0.0);
            meter.gauge(metric::PROCESS_CPU, &labels, cpus / machine.cpus);
        }
    }

    /// Descriptors of the process that is nearest its limit.
    fn read_files(&mut self, files: &mut Files, meter: &mut Meter, singles: &[Single]) {
        let refresh = clock::now_ns() >= self.next_slow_ns;
        if refresh {
            self.limits.clear();
            self.idle_files.clear();
        }
        let few = singles.len() <= FEW;
        let mut nearest: Option<(f64, f64, f64, &Single)> = None;
        for single in singles {
            let is_idle = !few && single.cpus() <= 0.0;
            let known = self.idle_files.get(&single.pid).filter(|_| is_idle);
            let Some(open) = known.copied().or_else(|| descriptors(files, single)) else {
                continue;
            };
            if is_idle {
                self.idle_files.insert(single.pid, open);
            }
            let Some(limit) = self.files_limit(files, single.pid) else {
                continue;
            };
            let share = open / limit;
            if nearest.is_none_or(|nearest| share > nearest.0) {
                nearest = Some((share, open, limit, single));
            }
        }
        if let Some((_, open, limit, single)) = nearest {
            let of = ("process", self.label);
            meter.gauge(metric::PROCESS_FILES, &[of], open);
            meter.gauge(metric::PROCESS_FILES_LIMIT, &[of], limit);
            let pid = single.pid.to_string();
            let labels = [of, ("pid", pid.as_str()), ("comm", &single.comm)];
            meter.gauge(metric::PROCESS_FILES, &labels, open);
        }
    }

    fn files_limit(&mut self, files: &mut Files, pid: u32) -> Option<f64> {
        if let Some(&limit) = self.limits.get(&pid) {
            return Some(limit as f64);
        }
        let text = files.read(&format!("proc/{pid}/limits")).ok()?;
        let (soft, _) = process::files_limit(text)?;
        self.limits.insert(pid, soft);
        Some(soft as f64)
    }

    fn read_slow(&mut self, files: &mut Files, meter: &mut Meter, singles: &[Single]) {
        let now_ns = clock::now_ns();
        if now_ns < self.next_slow_ns {
            return;
        }
        self.next_slow_ns = now_ns.saturating_add(SLOW_NS);
        let cheap = |single: &Single| single.resident <= PSS_RESIDENT_MAX;
        if singles.len() > PSS_PROCESSES_MAX || !singles.iter().all(cheap) {
            return;
        }
        let mut sum = 0;
        for single in singles {
            let path = format!("proc/{}/smaps_rollup", single.pid);
            let Ok(text) = files.memory_text_of(&path) else {
                return;
            };
            sum += process::pss(&text).unwrap_or(0);
        }
        meter.gauge(
            metric::PROCESS_MEMORY_PSS,
            &[("process", self.label)],
            sum as f64,
        );
    }
}

/// Open descriptors of a process.
fn descriptors(files: &mut Files, single: &Single) -> Option<f64> {
    let folder = format!("proc/{}/fd", single.pid);
    let path = files.path(&folder);
    // Since Linux 6.2 the directory's size is the number of its entries, readable without privilege.
    if let Ok(len) = kernel_files::len(&path)
        && len > 0
        && files.is_live()
    {
        return Some(len as f64);
    }
    match files.numbers_in(&folder) {
        Ok(numbers) => Some(numbers.len() as f64),
        Err(error) => {
            files.note(
                &format!("fd {}", single.comm),
                &format!(
                    "descriptors of {} (pid {}): {error}; run as the same user or as root",
                    single.comm, single.pid
                ),
            );
            None
        }
    }
}

fn read_switches(
    files: &mut Files,
    meter: &mut Meter,
    key: &str,
    path: &str,
    sums: &mut GroupSums,
) {
    let Ok(text) = files.read(path) else { return };
    let (voluntary, involuntary) = process::switches(text);
    let voluntary = meter.rise(&format!("{key}/{path}/voluntary"), voluntary);
    let involuntary = meter.rise(&format!("{key}/{path}/involuntary"), involuntary);
    add(
        &mut sums.voluntary,
        voluntary.map(crate::meter::Rise::per_second),
    );
    add(
        &mut sums.involuntary,
        involuntary.map(crate::meter::Rise::per_second),
    );
}

/// Adds known values; a sum of unknown values stays unknown.
fn add(sum: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0.0) + value);
    }
}
