//! Stacks of several components, virtual machines, and logs of messages.

use super::laws::{crowding, in_series, speedup, steady};
use super::{Law, Level, ResponseSurface, SurfaceKnob, levels, numbers};

pub(super) static SURFACES: [ResponseSurface; 3] = [
    ResponseSurface {
        id: "chain",
        shape: "interaction",
        meaning: "a proxy, an application, a pool and a database in a row: each limit hides the next",
        knobs: &[
            SurfaceKnob::ordered("maxconn", &[5.0, 10.0, 20.0, 50.0, 200.0, 1000.0], 0),
            SurfaceKnob::ordered("workers", &[1.0, 2.0, 4.0, 6.0, 8.0], 1),
            SurfaceKnob::ordered("threads", &[1.0, 3.0, 5.0, 8.0, 16.0], 1),
            SurfaceKnob::ordered("pool", &[5.0, 10.0, 20.0, 40.0, 80.0], 0),
            SurfaceKnob::ordered("work_mem_mib", &[1.0, 4.0, 16.0, 64.0], 1),
        ],
        law: Law::MayFail(chain),
        drift: steady,
    },
    ResponseSurface {
        id: "java-heap",
        shape: "out of memory",
        meaning: "a heap too small for what lives, or too large for the host beside its threads; collectors differ by heap",
        knobs: &[
            SurfaceKnob::ordered(
                "heap_mib",
                &[256.0, 512.0, 1024.0, 2048.0, 4096.0, 6144.0, 8192.0],
                1,
            ),
            SurfaceKnob::choices("collector", &["serial", "parallel", "g1", "z"], 2),
            SurfaceKnob::ordered("threads", &[10.0, 25.0, 50.0, 100.0, 200.0, 400.0], 1),
            SurfaceKnob::ordered("new_ratio", &[1.0, 2.0, 3.0, 4.0], 1),
        ],
        law: Law::MayFail(java_heap),
        drift: steady,
    },
    ResponseSurface {
        id: "group-commit",
        shape: "cliff",
        meaning: "larger batches carry more until their wait breaks the objective for time",
        knobs: &[
            SurfaceKnob::ordered("batch", &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], 4),
            SurfaceKnob::ordered(
                "linger_ms",
                &[0.0, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 50.0],
                2,
            ),
            SurfaceKnob::ordered("partitions", &[1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0], 1),
            SurfaceKnob::choices("compression", &["none", "lz4", "zstd"], 0),
        ],
        law: Law::Carries(group_commit),
        drift: steady,
    },
];

fn chain(at: &[Level]) -> Option<f64> {
    const CORES: f64 = 8.0;
    let [maxconn, workers, threads, pool, work_mem] = levels(at);
    let (workers, threads, pool) = (workers.value, threads.value, pool.value);
    if 0.25 * pool * work_mem.value > 1_200.0 {
        return None;
    }
    let sort_s = [0.0100, 0.0060, 0.0020, 0.0005][work_mem.index];
    let query_s = 0.010 + sort_s;
    let turns = 1.0 / (1.0 + 0.02 * (threads - 1.0));
    let application = speedup(workers, 0.02, 0.0) / 0.009 * turns * crowding(workers, CORES, 0.05);
    let slots = workers * threads / (0.009 + query_s + 0.015);
    // Two servers of the proxy.
    let proxied = 2.0 * maxconn.value / 0.050;
    let database = speedup(pool, 0.015, 0.0009) / query_s;
    Some(in_series(&[proxied, application, slots, database]))
}

fn java_heap(at: &[Level]) -> Option<f64> {
    const SERIAL: usize = 0;
    const PARALLEL: usize = 1;
    const Z: usize = 3;
    let [heap, collector, threads, new_ratio] = levels(at);
    let (heap_mib, threads) = (heap.value, threads.value);
    let live_mib = 350.0 * if collector.index == Z { 1.3 } else { 1.0 };
    if heap_mib < 1.1 * live_mib || heap_mib + 1.5 * threads + 700.0 > 8_192.0 {
        return None;
    }
    let base = [0.02, 0.02, 0.06, 0.14][collector.index];
    let slope = [0.60, 0.22, 0.28, 0.20][collector.index];
    let young = [1.0, 0.92, 0.97, 1.05][new_ratio.index];
    let collecting = base + slope * young * live_mib / (heap_mib - live_mib);
    // A collector that stops the world for its whole heap breaks the objective for part of the requests.
    let pausing = match collector.index {
        SERIAL => 1.0 / (1.0 + heap_mib / 2_500.0),
        PARALLEL => 1.0 / (1.0 + heap_mib / 9_000.0),
        _ => 1.0,
    };
    let cpu = 8.0 / (0.006 * (1.0 + collecting)) * pausing * crowding(threads, 100.0, 0.0015);
    let slots = threads / 0.055;
    Some(in_series(&[cpu, slots]))
}

fn group_commit(at: &[Level]) -> f64 {
    let [batch, linger_ms, partitions, compression] = numbers(at);
    let (compress_ms, kib) = if compression < 0.5 {
        (0.0, 1.0)
    } else if compression < 1.5 {
        (0.02, 0.5)
    } else {
        (0.11, 0.4)
    };
    // As many as arrive while a batch lingers and the batch before is written.
    let collected = batch.min(2.0 + 5.0 * linger_ms);
    let write_ms = 5.0 + collected * (0.16 * kib + compress_ms);
    let waits_ms = linger_ms + 2.0 * write_ms;
    let line = collected * 1e3 / write_ms * speedup(partitions, 0.06, 0.012);
    let kept = if waits_ms > 45.0 { 0.2 } else { 1.0 };
    line * kept
}
