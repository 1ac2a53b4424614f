//! Services whose default is best, or as good as any: a search must keep it.

use super::laws::{crowding, hit_share, in_series, neighbour, slowest, speedup, steady, warming};
use super::{Law, Level, ResponseSurface, SurfaceKnob, levels, numbers};

pub(super) static SURFACES: [ResponseSurface; 4] = [
    ResponseSurface {
        id: "tuned",
        shape: "no gain: tuned",
        meaning: "somebody has tuned this stack well: every other setting carries less",
        knobs: &[
            SurfaceKnob::ordered("processes", &[1.0, 2.0, 4.0, 8.0, 16.0], 2),
            SurfaceKnob::ordered("pool", &[1.0, 2.0, 4.0, 8.0, 16.0], 2),
            SurfaceKnob::ordered("buffers_mib", &[256.0, 512.0, 1024.0, 2048.0, 4096.0], 3),
            SurfaceKnob::choices("sendfile", &["off", "on"], 1),
            SurfaceKnob::ordered("log_buffer_kib", &[0.0, 16.0, 64.0, 256.0], 2),
        ],
        law: Law::Carries(tuned),
        drift: steady,
    },
    ResponseSurface {
        id: "elsewhere",
        shape: "no gain: limit elsewhere",
        meaning: "a service of somebody else allows 120 requests per second, whatever the settings here",
        knobs: &[
            SurfaceKnob::ordered("workers", &[2.0, 4.0, 8.0, 16.0], 1),
            SurfaceKnob::ordered("threads", &[2.0, 5.0, 10.0, 20.0], 1),
            SurfaceKnob::ordered("pool", &[5.0, 10.0, 20.0, 40.0], 1),
            SurfaceKnob::ordered("buffers_mib", &[128.0, 512.0, 2048.0, 4096.0], 1),
            SurfaceKnob::choices("gzip", &["off", "on"], 1),
            SurfaceKnob::choices("jit", &["off", "on"], 1),
        ],
        law: Law::Carries(elsewhere),
        drift: neighbour,
    },
    ResponseSurface {
        id: "full",
        shape: "no gain: memory full",
        meaning: "the default fills the memory: more fails, less carries less",
        knobs: &[
            SurfaceKnob::ordered("children", &[8.0, 16.0, 32.0, 64.0, 128.0], 2),
            SurfaceKnob::ordered(
                "buffer_pool_mib",
                &[256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0],
                4,
            ),
            SurfaceKnob::ordered("opcache_mib", &[32.0, 64.0, 128.0, 256.0], 2),
            SurfaceKnob::choices("pm", &["dynamic", "static"], 1),
        ],
        law: Law::MayFail(full),
        drift: steady,
    },
    ResponseSurface {
        id: "warm",
        shape: "no gain: drift",
        meaning: "settings hardly matter, but the host slows down by a quarter as it gets warm",
        knobs: &[
            SurfaceKnob::ordered("processes", &[2.0, 4.0, 8.0], 1),
            SurfaceKnob::ordered("keepalive_s", &[2.0, 5.0, 15.0, 60.0], 1),
            SurfaceKnob::ordered("backlog", &[128.0, 512.0, 2048.0, 8192.0], 1),
            SurfaceKnob::choices("balance", &["roundrobin", "leastconn", "random"], 1),
        ],
        law: Law::Carries(warm),
        drift: warming,
    },
];

fn tuned(at: &[Level]) -> f64 {
    const CORES: f64 = 4.0;
    let [processes, pool, buffers, sendfile, log] = levels(at);
    let (processes, pool, buffers_mib) = (processes.value, pool.value, buffers.value);
    let cpu = processes.min(CORES) / 0.005 * crowding(processes, CORES, 0.06);
    // All processes together: sixteen connections are best.
    let database = speedup(processes * pool, 0.02, 0.0038) * 105.0;
    let missed = 1.0 - hit_share(buffers_mib, 2_000.0);
    let disk = 1_400.0 / (1.0 + 3.0 * missed);
    let swapping = if buffers_mib > 3_000.0 { 0.6 } else { 1.0 };
    let copying = [0.93, 1.0][sendfile.index] * [0.92, 0.97, 1.0, 1.0][log.index];
    in_series(&[cpu, database, disk]) * swapping * copying
}

fn elsewhere(at: &[Level]) -> f64 {
    let [workers, threads, pool, buffers_mib, _gzip, jit] = numbers(at);
    let application = workers * threads / 0.120;
    let missed = 1.0 - hit_share(buffers_mib, 6_000.0);
    let database = speedup(pool, 0.02, 0.001) * 1e3 / (9.0 + 12.0 * missed + 2.0 * jit);
    slowest(&[120.0, application, database])
}

fn full(at: &[Level]) -> Option<f64> {
    let [children, buffers, opcache, manager] = levels(at);
    let used_mib = children.value * 90.0 + buffers.value + opcache.value + 900.0;
    if used_mib > 8_192.0 {
        return None;
    }
    let missed = 1.0 - hit_share(buffers.value, 4_096.0);
    let cpu_s = [0.030, 0.018, 0.012, 0.012][opcache.index];
    let slots = children.value / (cpu_s + 0.030 + 0.120 * missed);
    let disk = 1_500.0 / (0.05 + 2.0 * missed);
    let forking = [0.96, 1.0][manager.index];
    Some(in_series(&[slots, disk, 8.0 / cpu_s]) * forking)
}

fn warm(at: &[Level]) -> f64 {
    let [processes, keepalive, backlog, balance] = levels(at);
    let factor = [0.97, 1.0, 0.99][processes.index]
        * [0.985, 1.0, 1.0, 0.99][keepalive.index]
        * [0.99, 1.0, 1.0, 1.0][backlog.index]
        * [0.98, 1.0, 0.97][balance.index];
    900.0 * factor
}
