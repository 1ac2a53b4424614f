//! Memory of everything that a configuration allows, at the measured size of a worker, against that of this machine.

use plimsoll_model::component::ComponentKind;
use plimsoll_model::metric;
use plimsoll_model::reading::{Readings, label};

use super::apache::ApacheWorkers;
use super::component_readings::{ComponentReadings, places_of, written};
use super::service::{Service, ServiceComponent};
use super::{Advice, Demand};
use crate::collectors::configuration::children_of;
use crate::collectors::node::settings::HEAP;
use crate::files::Files;
use crate::host::cgroups::memory_limit_of;
use crate::parse::memory::{self, Memory};
use crate::parse::process;

/// Bytes of a mebibyte.
const MEBIBYTE: f64 = 1_048_576.0;
/// Workers of one component that are measured.
const MEASURED_MAX: usize = 32;
/// Share of the memory that heaps and caches may have: the rest is for everything else.
const HEAP_SHARE: f64 = 0.8;

/// A technology of which each request takes a process, or a thread of one: its number of processes, and the threads of
/// one of them.
#[derive(Clone, Copy, Debug)]
struct Workers {
    kind: ComponentKind,
    processes: &'static str,
    threads: &'static str,
    /// Whether `threads` are those of all processes together.
    is_sum: bool,
    /// Whether all processes run from the start: then the memory of those that are set is in use already.
    are_there: bool,
}

const WORKERS: [Workers; 4] = [
    Workers {
        kind: ComponentKind::PhpFpm,
        processes: "pm.max_children",
        threads: "",
        is_sum: false,
        are_there: false,
    },
    Workers {
        kind: ComponentKind::Gunicorn,
        processes: "workers",
        threads: "threads",
        is_sum: false,
        are_there: true,
    },
    Workers {
        kind: ComponentKind::Uwsgi,
        processes: "processes",
        threads: "threads",
        is_sum: false,
        are_there: true,
    },
    Workers {
        kind: ComponentKind::Puma,
        processes: "workers",
        threads: "threads",
        is_sum: true,
        are_there: true,
    },
];

/// Processes that a component may have.
#[derive(Clone, Copy, Debug)]
struct WorkerLimits<'a> {
    processes: f64,
    file: &'a str,
    /// Requests that one of them handles at once.
    threads: f64,
    are_there: bool,
}

impl<'a> WorkerLimits<'a> {
    /// `None` where a request takes no process, or their number is not known.
    fn of(kind: ComponentKind, known: &ComponentReadings<'a>) -> Option<Self> {
        if kind == ComponentKind::Apache {
            let workers = ApacheWorkers::of(known)?;
            return Some(Self {
                processes: workers.processes(),
                file: workers.file(),
                threads: workers.threads(),
                are_there: false,
            });
        }
        let workers = WORKERS.iter().find(|workers| workers.kind == kind)?;
        let (processes, file) = known.setting(workers.processes, "")?;
        let threads = known.setting(workers.threads, "");
        let threads = threads.map_or(1.0, |found| found.0);
        let threads = if workers.is_sum {
            threads / processes.max(1.0)
        } else {
            threads
        };
        Some(Self {
            processes,
            file,
            threads,
            are_there: workers.are_there,
        })
    }
}

/// Memory that may be taken, and of whom.
type Claims = Vec<(f64, String)>;

/// Memory of workers, heaps and caches.
pub(super) fn advice(
    files: &mut Files,
    readings: &Readings,
    service: &Service,
    demand: &Demand,
) -> Vec<Advice> {
    let Some(memory) = files.read("proc/meminfo").ok().map(memory::meminfo) else {
        return Vec::new();
    };
    let (mut advice, mut claims) = (Vec::new(), Claims::new());
    for component in &service.components {
        let at = component.at.as_str();
        let known = ComponentReadings { at, readings };
        advice.extend(workers(
            files,
            (component, &known),
            (memory, demand),
            &mut claims,
        ));
    }
    for (kind, setting) in [
        (ComponentKind::Jvm, "-Xmx"),
        (ComponentKind::Node, HEAP),
        (ComponentKind::Redis, "maxmemory"),
        (ComponentKind::Memcached, "limit_maxbytes"),
    ] {
        for at in places_of(readings, kind) {
            let component = ComponentReadings { at, readings };
            let pid = service.pid_of(kind, at);
            let limit = pid.and_then(|pid| memory_limit_of(files, pid));
            let limit = limit.filter(|limit| *limit < memory.total);
            advice.extend(heap(
                &component,
                (kind, setting),
                (memory, limit),
                &mut claims,
            ));
        }
    }
    for (kind, buffer, sessions) in [
        (
            ComponentKind::Postgres,
            "shared_buffers",
            &POSTGRES_SESSION[..],
        ),
        (
            ComponentKind::Mysql,
            "innodb_buffer_pool_size",
            &MYSQL_SESSION[..],
        ),
    ] {
        for at in places_of(readings, kind) {
            let component = ComponentReadings { at, readings };
            let row = sessions_memory(&component, (kind, buffer, sessions), (memory, demand));
            claims.extend(
                row.iter()
                    .map(|row| (row.0, format!("{} ({at})", kind.name()))),
            );
            advice.extend(row.map(|row| row.1));
        }
    }
    advice.extend(together(&claims, memory));
    advice
}

/// Memory that the machine and the cgroups of the service leave, beside what is in use.
fn room(readings: &Readings, memory: Memory) -> f64 {
    let limits = readings.values.iter().filter_map(|(series, &limit)| {
        let is_limit = plimsoll_model::labels::metric(series) == metric::CGROUP_MEMORY_LIMIT;
        let process = label(series, "process").filter(|process| *process != metric::GENERATOR)?;
        let name = label(series, "cgroup").filter(|_| is_limit)?;
        let of = |metric: &str| {
            let labels = [("cgroup", name), ("process", process)];
            readings
                .values
                .get(&metric::series(metric, &labels))
                .copied()
        };
        let used = of(metric::CGROUP_MEMORY)? - of(metric::CGROUP_MEMORY_INACTIVE).unwrap_or(0.0);
        Some((limit - used).max(0.0))
    });
    limits.fold(memory.available as f64, f64::min)
}

/// Bytes of some processes, pages that they share counted once where the kernel allows to read that; and their number.
fn measured(files: &mut Files, pids: &[u32]) -> Option<(f64, usize)> {
    let page_len = rustix::param::page_size() as f64;
    let mut sum = 0.0;
    let mut count = 0_usize;
    for pid in pids.iter().take(MEASURED_MAX) {
        let shared = files.read(&format!("proc/{pid}/smaps_rollup")).ok();
        let bytes = if let Some(bytes) = shared.and_then(process::pss) {
            bytes as f64
        } else {
            let stat = files.read(&format!("proc/{pid}/stat")).ok();
            let Some(stat) = stat.and_then(process::stat) else {
                continue;
            };
            stat.resident_pages as f64 * page_len
        };
        sum += bytes;
        count += 1;
    }
    (count > 0 && sum > 0.0).then_some((sum, count))
}

/// The worker processes of a component: children that belong to its pool.
fn worker_pids(files: &mut Files, component: &ServiceComponent) -> Vec<u32> {
    let mut children = children_of(files, component.pid);
    if component.kind == ComponentKind::PhpFpm {
        children.retain(|child| files.command_line(*child).starts_with("php-fpm: pool "));
    }
    if component.kind == ComponentKind::Apache {
        // Programs that write its logs are children as well.
        let own = name_of(files, component.pid);
        children.retain(|child| name_of(files, *child) == own);
    }
    if children.is_empty() {
        children.push(component.pid);
    }
    children
}

/// The name of a process.
fn name_of(files: &mut Files, pid: u32) -> Option<String> {
    let stat = files.read(&format!("proc/{pid}/stat")).ok();
    Some(stat.and_then(process::stat)?.comm)
}

/// All processes that there may be, and all that the users need, must fit into memory.
fn workers(
    files: &mut Files,
    (component, known): (&ServiceComponent, &ComponentReadings<'_>),
    (memory, demand): (Memory, &Demand),
    claims: &mut Claims,
) -> Option<Advice> {
    let WorkerLimits {
        processes,
        file,
        threads,
        are_there,
    } = WorkerLimits::of(component.kind, known)?;
    let pids = worker_pids(files, component);
    let (own, count) = measured(files, &pids)?;
    let each = own / count as f64;
    let needed = (demand.workers() / threads.max(1.0)).ceil();
    let room = room(known.readings, memory) + own;
    let fits = (room / each).floor();
    let may = if are_there { count as f64 } else { processes };
    let name = component.kind.name();
    claims.push((processes * each, format!("{name} ({})", component.at)));
    Some(
        Advice::new(
            format!("memory for {name}'s processes ({})", component.at),
            format!("{processes:.0} of {:.0} MiB{}", each / MEBIBYTE, written(file)),
            format!("at most {fits:.0}"),
            may <= fits && needed <= fits,
        )
        .binds_at(demand.users_for(fits * threads, demand.in_flight))
        .because(format!(
            "its processes use {:.0} MiB each now, and {:.0} MiB are available to them; {} users need {needed:.0} \
             ({}). Beyond {fits:.0} the machine swaps or kills processes",
            each / MEBIBYTE,
            room / MEBIBYTE,
            demand.users,
            demand.source
        )),
    )
}

/// A heap or a cache of a fixed size, in the memory of the machine or in that which its cgroup may use.
fn heap(
    component: &ComponentReadings<'_>,
    (kind, setting): (ComponentKind, &str),
    (memory, limit): (Memory, Option<u64>),
    claims: &mut Claims,
) -> Option<Advice> {
    let (size, file) = component.setting(setting, "")?;
    let total = limit.unwrap_or(memory.total) as f64;
    let most = HEAP_SHARE * total;
    let used = component.value(metric::REDIS_MEMORY);
    // Redis: no limit.
    let is_unlimited = size <= 0.0;
    let (current, ok) = if is_unlimited {
        let in_use = used.map_or_else(String::new, |used| {
            format!(", {:.0} MiB in use", used / MEBIBYTE)
        });
        let ok = used.is_none_or(|used| used <= most / 2.0);
        (format!("none{in_use}"), ok)
    } else {
        claims.push((size, format!("{} ({})", kind.name(), component.at)));
        (format!("{:.0} MiB", size / MEBIBYTE), size <= most)
    };
    Some(
        Advice::new(
            format!("{setting} of {} against the memory ({})", kind.name(), component.at),
            format!("{current}{}", written(file)),
            format!("at most {:.0} MiB", most / MEBIBYTE),
            ok,
        )
        .because(format!(
            "{} {:.0} MiB of memory; what grows beyond it is swapped, or the kernel kills the process",
            if limit.is_some() {
                "its cgroup may use"
            } else {
                "this machine has"
            },
            total / MEBIBYTE
        )),
    )
}

/// Settings that each session of PostgreSQL may take, and of MariaDB: once for each sort or join at least.
const POSTGRES_SESSION: [&str; 1] = ["work_mem"];
const MYSQL_SESSION: [&str; 5] = [
    "sort_buffer_size",
    "join_buffer_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "thread_stack",
];

/// Buffers of a database, shared and of as many sessions as the users need.
fn sessions_memory(
    component: &ComponentReadings<'_>,
    (kind, buffer, session): (ComponentKind, &str, &[&str]),
    (memory, demand): (Memory, &Demand),
) -> Option<(f64, Advice)> {
    let (shared, _) = component.setting(buffer, "")?;
    let (most, file) = component.setting("max_connections", "")?;
    let sizes = session
        .iter()
        .filter_map(|name| component.setting(name, ""));
    let each: f64 = sizes.map(|(size, _)| size).sum();
    let sessions = demand.workers().min(most);
    let sum = shared + sessions * each;
    let total = memory.total as f64;
    let advice = Advice::new(
        format!("memory for sessions of {} ({})", kind.name(), component.at),
        format!(
            "{:.0} MiB: {buffer} {:.0} MiB, {sessions:.0} sessions of {:.1} MiB{}",
            sum / MEBIBYTE,
            shared / MEBIBYTE,
            each / MEBIBYTE,
            written(file)
        ),
        format!("at most {:.0} MiB", HEAP_SHARE * total / MEBIBYTE),
        sum <= HEAP_SHARE * total,
    );
    let fits = ((HEAP_SHARE * total - shared) / each.max(1.0)).floor();
    let advice = if fits < most {
        advice.binds_at(demand.users_for(fits.max(0.0), demand.in_flight))
    } else {
        advice
    };
    let advice = advice.because(format!(
        "a session takes {} for each sort or join, some statements several times; {} users have {:.0} requests in \
         progress at once ({}), and max_connections is {most:.0}",
        session.join(", "),
        demand.users,
        demand.workers(),
        demand.source
    ));
    Some((sum, advice))
}

/// What each may take by itself, the machine must have for all.
fn together(claims: &Claims, memory: Memory) -> Option<Advice> {
    let sum: f64 = claims.iter().map(|claim| claim.0).sum();
    let total = memory.total as f64;
    let all = claims
        .iter()
        .map(|(bytes, whose)| format!("{whose} {:.0} MiB", bytes / MEBIBYTE));
    let all: Vec<String> = all.collect();
    (claims.len() > 1).then(|| {
        Advice::new(
            "memory that all components may take together",
            format!("{:.0} MiB", sum / MEBIBYTE),
            format!("at most {:.0} MiB", HEAP_SHARE * total / MEBIBYTE),
            sum <= HEAP_SHARE * total,
        )
        .because(format!(
            "{}; this machine has {:.0} MiB. Each setting may be right by itself",
            all.join(", "),
            total / MEBIBYTE
        ))
    })
}

#[cfg(test)]
mod tests;
