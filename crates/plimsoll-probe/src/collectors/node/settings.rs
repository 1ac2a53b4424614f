//! The processes of a Node program, the threads of their pools and the heap that they may have, for advice.

use plimsoll_model::component::ComponentKind;

use crate::collectors::FileSetting;
use crate::collectors::configuration::{ComponentConfig, Environment, children_of};
use crate::files::Files;
use crate::program::technology;

/// The variable that sets the threads of libuv's pool.
const POOL: &str = "UV_THREADPOOL_SIZE";
/// Threads of the pool without it, and the most that libuv starts.
const POOL_THREADS: f64 = 4.0;
const POOL_THREADS_MAX: u32 = 1024;
/// The option that sets the heap of a process, MiB, on the command line or in the variable of options.
pub(crate) const HEAP: &str = "--max-old-space-size";
const OPTIONS: &str = "NODE_OPTIONS";
const MEBIBYTE: f64 = 1_048_576.0;
/// Processes whose pools are counted, and threads of one whose names are read.
const PROCESSES_MAX: usize = 64;
const THREADS_MAX: usize = 2048;

/// The processes of a Node program: those of its cluster, or its only one.
pub(crate) fn of_process(files: &mut Files, pid: u32, words: &[&str]) -> Vec<ComponentConfig> {
    let mut workers = children_of(files, pid);
    workers.retain(|child| technology(files, *child) == Some(ComponentKind::Node));
    let count = workers.len().max(1);
    if workers.is_empty() {
        workers.push(pid);
    }
    let socket = format!("/tmp/plimsoll-node-{pid}.sock");
    let is_watched = files.is_socket_of(pid, &socket);
    let mut settings = vec![FileSetting::number("processes", count as f64, "")];
    settings.extend(smallest_pool(files, &workers));
    settings.extend(heap(files, pid, words).map(|(bytes, place)| {
        // Each process has one.
        FileSetting::number(HEAP, bytes * count as f64, place)
    }));
    vec![ComponentConfig {
        at: if is_watched {
            socket
        } else {
            format!("pid {pid}")
        },
        settings,
        ..ComponentConfig::default()
    }]
}

/// The heap of one process where an option sets it, bytes, and where that is written.
fn heap(files: &mut Files, pid: u32, words: &[&str]) -> Option<(f64, String)> {
    if let Some(bytes) = heap_in(words.iter().copied()) {
        return Some((bytes, "its command line".to_owned()));
    }
    let environment = Environment::of(files, pid)?;
    let bytes = heap_in(environment.get(OPTIONS)?.split_whitespace())?;
    Some((bytes, format!("{OPTIONS} in its environment")))
}

/// The heap that options set, bytes: the last of them counts.
fn heap_in<'w>(words: impl Iterator<Item = &'w str>) -> Option<f64> {
    let mut words = words.peekable();
    let mut found = None;
    while let Some(word) = words.next() {
        // V8 takes its options with either sign.
        let word = word.replace('_', "-");
        let value = match word.split_once('=') {
            Some((name, value)) if name == HEAP => Some(value.to_owned()),
            None if word == HEAP => words.peek().map(|value| (*value).to_owned()),
            _ => None,
        };
        let mebibytes = value.and_then(|value| value.parse::<u32>().ok());
        found = mebibytes.filter(|size| *size > 0).or(found);
    }
    found.map(|mebibytes| f64::from(mebibytes) * MEBIBYTE)
}

/// The threads of libuv's pool in the process that has the fewest.
fn smallest_pool(files: &mut Files, pids: &[u32]) -> Option<FileSetting> {
    let pids = pids.iter().take(PROCESSES_MAX);
    let pools = pids.filter_map(|&pid| pool_of(files, pid));
    pools.min_by(|a, b| a.value.total_cmp(&b.value))
}

/// The threads of a process's pool: those that run where they have a name, else by its environment; `None` where that may
/// not be read.
fn pool_of(files: &mut Files, pid: u32) -> Option<FileSetting> {
    let running = pool_threads(files, pid);
    if running > 0 {
        return Some(FileSetting::number(POOL, running as f64, "running now"));
    }
    let environment = Environment::of(files, pid)?;
    Some(match environment.get(POOL) {
        Some(size) => {
            FileSetting::number(POOL, threads_for(size), format!("environment of pid {pid}"))
        }
        None => FileSetting::number(POOL, POOL_THREADS, ""),
    })
}

/// Threads of the pool by their name, which libuv gives them from 1.50 on (Node 24).
fn pool_threads(files: &mut Files, pid: u32) -> usize {
    let folder = format!("proc/{pid}/task");
    let threads = files.numbers_in(&folder).unwrap_or_default();
    let mut count = 0;
    for thread in threads.into_iter().take(THREADS_MAX) {
        let comm = files.read(&format!("{folder}/{thread}/comm"));
        count += usize::from(comm.is_ok_and(|comm| comm.trim_end() == "libuv-worker"));
    }
    count
}

/// The threads that libuv starts for a value of the variable: the digits at its beginning count.
fn threads_for(size: &str) -> f64 {
    let size = size.trim_start();
    let end = size.find(|sign: char| !sign.is_ascii_digit());
    let number = size[..end.unwrap_or(size.len())].parse().unwrap_or(0_u32);
    f64::from(number.clamp(1, POOL_THREADS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings of process 7 on a machine with these files below `/proc`.
    fn settings(files: &[(&str, &str)]) -> Vec<FileSetting> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join("proc").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut files = Files::new(root.path().to_owned());
        let mut configs = of_process(&mut files, 7, &["node", "server.js"]);
        assert_eq!(configs.len(), 1, "{configs:?}");
        configs.remove(0).settings
    }

    #[test]
    fn a_process_has_the_pool_of_its_environment() {
        let processes = FileSetting::number("processes", 1.0, "");
        let set = settings(&[("7/environ", "HOME=/srv\0UV_THREADPOOL_SIZE=16\0")]);
        let right = FileSetting::number(POOL, 16.0, "environment of pid 7");
        assert_eq!(set, [processes.clone(), right]);
        let unset = settings(&[("7/environ", "HOME=/srv\0UV_THREADPOOL_SIZES=9\0")]);
        let default = FileSetting::number(POOL, 4.0, "");
        assert_eq!(unset, [processes.clone(), default]);
        // Of another user: it is not known.
        assert_eq!(settings(&[]), [processes]);
    }

    #[test]
    fn a_heap_is_set_by_an_option() {
        let of = |line: &str| heap_in(line.split(' ')).map(|bytes| bytes / MEBIBYTE);
        for (line, mebibytes) in [
            ("node --max-old-space-size=512 a.js", Some(512.0)),
            ("node --max_old_space_size 64 a.js", Some(64.0)),
            (
                "node --max-old-space-size=1 --max-old-space-size=2",
                Some(2.0),
            ),
            ("node --max-old-space-size a.js", None),
            ("node a.js", None),
        ] {
            assert_eq!(of(line), mebibytes, "{line}");
        }
        let set = settings(&[
            ("7/task/7/children", "8 9"),
            (
                "7/environ",
                "NODE_OPTIONS=--inspect --max-old-space-size=256\0",
            ),
            ("8/comm", "node\n"),
            ("9/comm", "node\n"),
        ]);
        let place = "NODE_OPTIONS in its environment";
        let both = FileSetting::number(HEAP, 512.0 * MEBIBYTE, place);
        assert_eq!(set.last(), Some(&both), "{set:?}");
    }

    #[test]
    fn the_smallest_pool_of_a_cluster_counts() {
        let set = settings(&[
            ("7/task/7/children", "8 9 10"),
            ("7/environ", "UV_THREADPOOL_SIZE=64\0"),
            ("8/comm", "node\n"),
            ("8/environ", "UV_THREADPOOL_SIZE=12\0"),
            // As Node calls its process from 22.14 on.
            ("9/comm", "MainThread\n"),
            ("9/cmdline", "/usr/bin/node\0server.js\0"),
            ("9/environ", "UV_THREADPOOL_SIZE=8\0"),
            ("10/comm", "sh\n"),
            ("10/environ", "\0"),
        ]);
        let right = [
            FileSetting::number("processes", 2.0, ""),
            FileSetting::number(POOL, 8.0, "environment of pid 9"),
        ];
        assert_eq!(set, right);
    }

    #[test]
    fn threads_that_run_come_before_the_environment() {
        let set = settings(&[
            ("7/environ", "UV_THREADPOOL_SIZE=16\0"),
            ("7/task/7/comm", "node\n"),
            ("7/task/8/comm", "libuv-worker\n"),
            ("7/task/9/comm", "libuv-worker\n"),
            ("7/task/10/comm", "V8Worker\n"),
        ]);
        assert_eq!(set[1], FileSetting::number(POOL, 2.0, "running now"));
    }

    #[test]
    fn sizes_as_libuv_reads_them() {
        for (size, threads) in [
            ("8", "8"),
            (" 8 threads", "8"),
            ("0", "1"),
            ("many", "1"),
            ("", "1"),
            ("4096", "1024"),
        ] {
            assert_eq!(threads_for(size).to_string(), threads, "{size}");
        }
    }
}
