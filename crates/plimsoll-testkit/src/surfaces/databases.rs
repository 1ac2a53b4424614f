//! Databases: connections, buffers, memory.

use super::laws::{hit_share, in_series, neighbour, speedup, steady};
use super::{Law, Level, ResponseSurface, SurfaceKnob, levels, numbers};

pub(super) static SURFACES: [ResponseSurface; 5] = [
    ResponseSurface {
        id: "replicas-pool",
        shape: "cliff",
        meaning: "replicas times pool beyond 64 connections fight for locks, and beyond the database's limit are refused",
        knobs: &[
            SurfaceKnob::ordered("replicas", &[1.0, 2.0, 3.0, 4.0, 6.0, 8.0], 1),
            SurfaceKnob::ordered("pool", &[2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0], 3),
            SurfaceKnob::ordered("max_connections", &[50.0, 100.0, 200.0, 400.0], 1),
            SurfaceKnob::choices("prepared_statements", &["off", "on"], 0),
        ],
        law: Law::MayFail(replicas_pool),
        drift: steady,
    },
    ResponseSurface {
        id: "php-memory",
        shape: "out of memory",
        meaning: "children of PHP and the buffer pool of its database share 8 GiB; the best setting lies at the edge",
        knobs: &[
            SurfaceKnob::ordered(
                "max_children",
                &[8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0],
                2,
            ),
            SurfaceKnob::ordered(
                "buffer_pool_mib",
                &[128.0, 256.0, 512.0, 1024.0, 2048.0, 3072.0, 4096.0, 6144.0],
                0,
            ),
            SurfaceKnob::ordered("opcache_mib", &[0.0, 64.0, 128.0, 256.0], 1),
            SurfaceKnob::choices("pm", &["dynamic", "static", "ondemand"], 0),
            SurfaceKnob::ordered("max_requests", &[100.0, 500.0, 2000.0, 10000.0], 1),
        ],
        law: Law::MayFail(php_memory),
        drift: steady,
    },
    ResponseSurface {
        id: "planner",
        shape: "drift",
        meaning: "buffers and costs of a planner, with a neighbour on the host that takes 12 % now and then",
        knobs: &[
            SurfaceKnob::ordered(
                "shared_buffers_mib",
                &[128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0],
                3,
            ),
            SurfaceKnob::ordered("work_mem_mib", &[1.0, 4.0, 16.0, 64.0, 256.0], 1),
            SurfaceKnob::ordered("random_page_cost", &[1.1, 2.0, 4.0], 2),
            SurfaceKnob::choices("jit", &["off", "on"], 1),
        ],
        law: Law::MayFail(planner),
        drift: neighbour,
    },
    ResponseSurface {
        id: "buffer-pool",
        shape: "saturating",
        meaning: "a buffer pool helps until it holds what is read, and more instances until none waits for another",
        knobs: &[
            SurfaceKnob::ordered(
                "buffer_pool_mib",
                &[128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0],
                0,
            ),
            SurfaceKnob::ordered("instances", &[1.0, 2.0, 4.0, 8.0], 0),
            SurfaceKnob::choices("flush_at_commit", &["0", "1", "2"], 1),
        ],
        law: Law::MayFail(buffer_pool),
        drift: steady,
    },
    ResponseSurface {
        id: "swap",
        shape: "cliff",
        meaning: "sorts, buffers and connections beyond 16 GiB make the host swap, and it carries next to nothing",
        knobs: &[
            SurfaceKnob::ordered("max_connections", &[20.0, 50.0, 100.0, 200.0, 400.0], 2),
            SurfaceKnob::ordered(
                "shared_buffers_mib",
                &[256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0],
                1,
            ),
            SurfaceKnob::ordered("work_mem_mib", &[1.0, 4.0, 16.0, 64.0, 256.0], 1),
            SurfaceKnob::ordered("parallel_workers", &[0.0, 2.0, 4.0, 8.0], 1),
            SurfaceKnob::choices("huge_pages", &["off", "on"], 0),
            SurfaceKnob::ordered("swappiness", &[0.0, 10.0, 60.0, 100.0], 2),
        ],
        law: Law::Carries(swap),
        drift: steady,
    },
];

fn replicas_pool(at: &[Level]) -> Option<f64> {
    let [replicas, pool, connections_max, prepared] = numbers(at);
    let connections = replicas * pool;
    // The database reserves some for its administrator.
    if connections > connections_max - 10.0 {
        return None;
    }
    let application = speedup(replicas, 0.02, 0.002) * 180.0;
    let convoy = if connections > 64.0 { 0.35 } else { 1.0 };
    let tables = 1.0 - connections_max / 4_000.0;
    let parsing = 1.0 + 0.15 * prepared;
    let database = speedup(connections, 0.03, 0.0008) * 60.0 * convoy * tables * parsing;
    Some(in_series(&[application, database]))
}

fn php_memory(at: &[Level]) -> Option<f64> {
    const CORES: f64 = 8.0;
    let [children, buffer_pool, opcache, manager, requests_max] = levels(at);
    let (children, buffer_mib) = (children.value, buffer_pool.value);
    // A child grows with the requests it has answered.
    let child_mib = 85.0 + 0.008 * requests_max.value;
    let used_mib = children * child_mib + buffer_mib + opcache.value + 900.0;
    if used_mib > 8_192.0 {
        return None;
    }
    let compiled_ms = [45.0, 20.0, 12.0, 12.0][opcache.index];
    let cpu_s = (compiled_ms + 150.0 / requests_max.value) / 1e3;
    let missed = 1.0 - hit_share(buffer_mib, 6_000.0);
    let database_s = 0.004 + 0.070 * missed;
    let forking = [0.97, 1.0, 0.90][manager.index];
    let cpu = CORES / cpu_s * forking;
    let slots = children / (cpu_s + database_s) * forking;
    // A disk with 1,500 reads per second, and three of them for a request that finds nothing in the pool.
    let disk = 1_500.0 / (3.0 * missed + 0.05);
    Some(in_series(&[cpu, slots, disk]))
}

fn planner(at: &[Level]) -> Option<f64> {
    let [buffers, work_mem, page_cost, jit] = levels(at);
    if buffers.value + 40.0 * work_mem.value > 13_000.0 {
        return None;
    }
    let missed = 1.0 - hit_share(buffers.value, 6_000.0);
    // A low cost makes the planner take an index, which pays where pages are in memory.
    let by_index = [0.6, 0.8, 1.0][page_cost.index] + if missed > 0.7 { 0.3 } else { 0.0 };
    let sort_ms = [4.0, 2.5, 0.6, 0.0, 0.0][work_mem.index];
    let compile_ms = [0.0, 1.2][jit.index];
    let query_ms = 9.0 + 12.0 * missed * by_index + sort_ms + compile_ms;
    Some(8_000.0 / query_ms)
}

fn buffer_pool(at: &[Level]) -> Option<f64> {
    let [buffer, instances, flush] = levels(at);
    if buffer.value > 14_000.0 {
        return None;
    }
    let missed = 1.0 - hit_share(buffer.value, 7_000.0);
    let flush_ms = [0.1, 3.0, 0.4][flush.index];
    let statement_ms = 5.0 + 22.0 * missed + flush_ms;
    Some(speedup(24.0, 0.04 / instances.value, 0.0002) * 1e3 / statement_ms)
}

fn swap(at: &[Level]) -> f64 {
    let [
        connections,
        buffers,
        work_mem,
        parallel,
        huge_pages,
        swappiness,
    ] = levels(at);
    let busy = connections.value.min(120.0);
    let sorts_mib = 0.35 * busy * work_mem.value * (1.0 + 0.15 * parallel.value);
    let used_mib = 1_200.0 + buffers.value + 9.0 * connections.value + sorts_mib;
    let tables = [1.0, 0.96][huge_pages.index];
    let missed = 1.0 - hit_share(buffers.value, 9_000.0);
    let sort_ms = [9.0, 6.0, 3.0, 0.8, 0.2][work_mem.index];
    let scan_ms = 10.0 / (1.0 + parallel.value / 2.0) + 0.8 * parallel.value;
    let query_ms = (3.0 + 16.0 * missed + sort_ms + scan_ms) * tables;
    let line = speedup(busy, 0.02, 0.0001) * 1e3 / query_ms;
    let swapping = if used_mib > 15_000.0 {
        [0.30, 0.25, 0.12, 0.08][swappiness.index]
    } else {
        1.0
    };
    line * swapping
}
