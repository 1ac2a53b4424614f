//! Web and application servers: workers, threads, connections.

use super::laws::{
    crowding, hit_share, in_series, neighbour, queue_line, slowest, speedup, steady, warming,
};
use super::{Law, Level, ResponseSurface, SurfaceKnob, levels, numbers};

pub(super) static SURFACES: [ResponseSurface; 6] = [
    ResponseSurface {
        id: "gunicorn",
        shape: "interaction",
        meaning: "workers and threads of a Python server share four cores and 4 GiB; each thread waits most of its time",
        knobs: &[
            SurfaceKnob::ordered("workers", &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0], 2),
            SurfaceKnob::ordered("threads", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], 1),
            SurfaceKnob::ordered("keepalive_s", &[0.0, 2.0, 5.0, 15.0, 60.0], 1),
            SurfaceKnob::ordered("backlog", &[64.0, 256.0, 1024.0, 2048.0], 1),
        ],
        law: Law::MayFail(gunicorn),
        drift: steady,
    },
    ResponseSurface {
        id: "upstream-connections",
        shape: "plateau",
        meaning: "a proxy's connections and an application's threads end at the same load: raising either alone changes nothing",
        knobs: &[
            SurfaceKnob::ordered(
                "worker_connections",
                &[256.0, 512.0, 1024.0, 4096.0, 16384.0],
                1,
            ),
            SurfaceKnob::ordered("threads", &[4.0, 8.0, 16.0, 32.0, 64.0, 128.0], 3),
            SurfaceKnob::ordered("upstream_keepalive", &[0.0, 8.0, 32.0, 128.0, 512.0], 0),
            SurfaceKnob::ordered("gzip_level", &[0.0, 1.0, 4.0, 9.0], 0),
        ],
        law: Law::Carries(upstream_connections),
        drift: steady,
    },
    ResponseSurface {
        id: "node-cluster",
        shape: "drift",
        meaning: "processes and heaps of a Node cluster on a host that slows down by a quarter as it gets warm",
        knobs: &[
            SurfaceKnob::ordered("processes", &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0], 0),
            SurfaceKnob::ordered("uv_threads", &[2.0, 4.0, 8.0, 16.0, 32.0], 1),
            SurfaceKnob::ordered("heap_mib", &[512.0, 1024.0, 2048.0, 4096.0], 0),
            SurfaceKnob::choices("keepalive", &["off", "on"], 0),
        ],
        law: Law::MayFail(node_cluster),
        drift: warming,
    },
    ResponseSurface {
        id: "threads-ridge",
        shape: "ridge",
        meaning: "only workers times threads near sixteen carry much: fewer wait, more fight for locks",
        knobs: &[
            SurfaceKnob::ordered("workers", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], 0),
            SurfaceKnob::ordered("threads", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], 2),
            SurfaceKnob::choices("nodelay", &["off", "on"], 0),
            SurfaceKnob::ordered("read_buffer_kib", &[4.0, 8.0, 16.0, 64.0], 0),
        ],
        law: Law::Carries(threads_ridge),
        drift: steady,
    },
    ResponseSurface {
        id: "apache-mpm",
        shape: "conditional",
        meaning: "threads per process count only under two of three models, and keep-alive holds a worker under two",
        knobs: &[
            SurfaceKnob::choices("mpm", &["prefork", "worker", "event"], 0),
            SurfaceKnob::ordered(
                "max_request_workers",
                &[16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0],
                2,
            ),
            SurfaceKnob::ordered("threads_per_child", &[8.0, 16.0, 25.0, 64.0], 2),
            SurfaceKnob::ordered("keepalive_s", &[0.0, 1.0, 5.0, 15.0], 1),
            SurfaceKnob::choices("connections_per_child", &["0", "100", "1000", "10000"], 0),
        ],
        law: Law::MayFail(apache_mpm),
        drift: steady,
    },
    ResponseSurface {
        id: "caches",
        shape: "several optima",
        meaning: "few processes with large caches of their own, or many that share another: both are peaks, the latter higher",
        knobs: &[
            SurfaceKnob::ordered("processes", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0], 2),
            SurfaceKnob::ordered("cache_mib", &[0.0, 64.0, 256.0, 1024.0, 4096.0], 2),
            SurfaceKnob::choices("shared_cache", &["off", "on"], 0),
            SurfaceKnob::choices("compression", &["off", "fast", "best"], 0),
            SurfaceKnob::ordered("pool", &[4.0, 8.0, 16.0, 32.0], 1),
        ],
        law: Law::MayFail(caches),
        drift: neighbour,
    },
];

/// 8 ms of CPU and 32 ms of waiting per request; a process runs on one core at a time.
fn gunicorn(at: &[Level]) -> Option<f64> {
    const CORES: f64 = 4.0;
    let [workers, threads, keepalive_s, backlog] = numbers(at);
    let resident_mib = workers * (110.0 + 2.0 * threads);
    if resident_mib > 4_096.0 {
        return None;
    }
    // Without keep-alive, each request pays for a connection.
    let cpu_s = if keepalive_s < 1.0 { 0.0105 } else { 0.008 };
    let turns = 1.0 / (1.0 + 0.015 * (threads - 1.0));
    let cpu = workers.min(CORES) / cpu_s * turns * crowding(workers, CORES, 0.02);
    // Idle connections hold threads for a part of their time.
    let free = workers * threads / (1.0 + 0.03 * keepalive_s);
    let slots = queue_line(free.max(1.0), cpu_s + 0.032, 0.050);
    let bursts = 1.0 - 0.08 * (256.0 / backlog).min(4.0) / 4.0;
    Some(in_series(&[cpu, slots]) * bursts)
}

fn upstream_connections(at: &[Level]) -> f64 {
    const BANDWIDTH_KB_S: f64 = 12_500.0;
    let [connections, threads, keepalive, gzip] = levels(at);
    // Each request holds two connections of the proxy, with a browser's keep-alive of 4 s; four processes.
    let accepted = 4.0 * connections.value / (2.0 * 4.0);
    let served = threads.value / 0.120;
    // Closed connections to the application keep their ports for a minute.
    let connected = [470.0, 620.0, 1_500.0, 1_550.0, 1_550.0][keepalive.index];
    let (compress_ms, answer_kb) = [(0.0, 20.0), (0.6, 6.0), (1.6, 5.0), (6.0, 4.8)][gzip.index];
    let cpu = 4.0 / (0.003 + compress_ms / 1e3);
    let sent = BANDWIDTH_KB_S / answer_kb;
    slowest(&[accepted, served, connected, cpu, sent])
}

fn node_cluster(at: &[Level]) -> Option<f64> {
    const CORES: f64 = 4.0;
    const LIVE_MIB: f64 = 300.0;
    let [processes, uv_threads, heap_mib, keepalive] = levels(at);
    let (processes, heap_mib) = (processes.value, heap_mib.value);
    if processes * heap_mib > 12_000.0 {
        return None;
    }
    let collecting = 0.25 * LIVE_MIB / (heap_mib - LIVE_MIB);
    let connecting = [1.0, 1.0 / 1.15][keepalive.index];
    let cpu_s = 0.0045 * (1.0 + collecting) * connecting;
    let cpu = speedup(processes.min(CORES), 0.03, 0.0) / cpu_s * crowding(processes, CORES, 0.05);
    let files = (processes * uv_threads.value).min(48.0) / 0.030;
    Some(in_series(&[cpu, files]))
}

fn threads_ridge(at: &[Level]) -> f64 {
    let [workers, threads, nodelay, read_buffer] = levels(at);
    let parallel = speedup(workers.value * threads.value, 0.01, 0.004);
    let in_process = 1.0 / (1.0 + 0.025 * (threads.value - 1.0));
    let between = 1.0 / (1.0 + 0.03 * (workers.value - 1.0));
    let delayed = [0.72, 1.0][nodelay.index];
    let reads = [0.88, 0.95, 1.0, 0.97][read_buffer.index];
    140.0 * parallel * in_process * between * delayed * reads
}

fn apache_mpm(at: &[Level]) -> Option<f64> {
    const PREFORK: usize = 0;
    const EVENT: usize = 2;
    let [model, workers, threads, keepalive_s, per_child] = levels(at);
    let (workers, threads, keepalive_s) = (workers.value, threads.value, keepalive_s.value);
    let is_prefork = model.index == PREFORK;
    // Processes that are never replaced grow.
    let grown_mib = [20.0, 0.0, 2.0, 12.0][per_child.index];
    let resident_mib = if is_prefork {
        workers * (16.0 + grown_mib)
    } else {
        (workers / threads).ceil() * (24.0 + grown_mib) + workers * 0.5
    };
    if resident_mib > 4_096.0 {
        return None;
    }
    // Three requests arrive on each kept connection, whose worker then waits, except under `event`.
    let idle_s = if model.index == EVENT {
        0.0
    } else {
        keepalive_s / 3.0
    };
    let slots = workers / (0.020 + idle_s);
    let connect_s = if keepalive_s > 0.0 { 0.0005 } else { 0.0016 };
    let switching = if is_prefork {
        1.10
    } else {
        1.0 + 0.004 * threads
    };
    let replacing = [1.0, 1.18, 1.02, 1.0][per_child.index];
    let cpu = 4.0 / ((0.0040 + connect_s) * switching * replacing);
    Some(in_series(&[slots, cpu * crowding(workers, 256.0, 0.0003)]))
}

fn caches(at: &[Level]) -> Option<f64> {
    const CORES: f64 = 16.0;
    let [processes, cache, shared, compression, pool] = levels(at);
    let (processes, cache_mib) = (processes.value, cache.value);
    if processes * (100.0 + cache_mib) > 16_384.0 {
        return None;
    }
    let is_shared = shared.index == 1;
    let missed = 1.0 - 0.9 * hit_share(cache_mib, 4_096.0);
    let (compress_ms, value_kb) = [(0.0, 60.0), (0.3, 20.0), (2.0, 16.0)][compression.index];
    let shared_ms = if is_shared {
        missed * (1.4 + compress_ms)
    } else {
        0.0
    };
    let cpu_ms = 1.0 + 0.3 * cache_mib / 4_096.0 + shared_ms;
    let cpu = speedup(processes.min(CORES), 0.01, 0.0005) * 1e3 / cpu_ms
        * crowding(processes, CORES, 0.01);
    let transferred = if is_shared {
        60_000.0 / (missed * value_kb)
    } else {
        f64::MAX
    };
    let read = missed * if is_shared { 0.15 } else { 1.0 };
    let database = speedup(processes * pool.value, 0.01, 0.0002) * 11.0 / read;
    Some(in_series(&[cpu, transferred, database]))
}
