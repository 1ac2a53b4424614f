//! Services with eight knobs.

use super::laws::{in_series, speedup, steady};
use super::{Law, Level, ResponseSurface, SurfaceKnob, levels};

pub(super) static SURFACES: [ResponseSurface; 2] = [
    ResponseSurface {
        id: "single-limit",
        shape: "sparse",
        meaning: "of eight settings of a kernel and a server, the connection pool decides nearly all",
        knobs: &[
            SurfaceKnob::ordered("somaxconn", &[128.0, 512.0, 2048.0, 8192.0], 0),
            SurfaceKnob::ordered("fin_timeout_s", &[10.0, 20.0, 30.0, 60.0], 3),
            SurfaceKnob::ordered("pool", &[2.0, 5.0, 10.0, 25.0, 50.0, 100.0], 1),
            SurfaceKnob::choices("slow_start_after_idle", &["off", "on"], 1),
            SurfaceKnob::ordered("swappiness", &[0.0, 10.0, 60.0], 2),
            SurfaceKnob::ordered("log_buffer_kib", &[0.0, 16.0, 64.0, 256.0], 0),
            SurfaceKnob::choices("sendfile", &["off", "on"], 0),
            SurfaceKnob::ordered("keepalive_requests", &[10.0, 100.0, 1000.0, 10000.0], 1),
        ],
        law: Law::Carries(single_limit),
        drift: steady,
    },
    ResponseSurface {
        id: "many-small",
        shape: "additive",
        meaning: "eight settings of a web server, each of which gains some per cent and none much",
        knobs: &[
            SurfaceKnob::ordered("processes", &[1.0, 2.0, 4.0, 8.0], 1),
            SurfaceKnob::choices("accept_mutex", &["on", "off"], 0),
            SurfaceKnob::choices("multi_accept", &["off", "on"], 0),
            SurfaceKnob::ordered("upstream_keepalive", &[0.0, 4.0, 16.0, 64.0, 256.0], 0),
            SurfaceKnob::choices("access_log", &["on", "buffered", "off"], 0),
            SurfaceKnob::choices("tcp_nopush", &["off", "on"], 0),
            SurfaceKnob::ordered("gzip_level", &[0.0, 1.0, 5.0, 9.0], 2),
            SurfaceKnob::ordered("open_file_cache", &[0.0, 1000.0, 10000.0], 0),
        ],
        law: Law::Carries(many_small),
        drift: steady,
    },
];

fn single_limit(at: &[Level]) -> f64 {
    let [
        backlog,
        fin,
        pool,
        slow_start,
        swappiness,
        log,
        sendfile,
        requests,
    ] = levels(at);
    let database = speedup(pool.value, 0.01, 0.0006) * 65.0;
    let kernel = [0.985, 1.0, 1.0, 1.0][backlog.index]
        * [1.0, 1.0, 0.995, 0.99][fin.index]
        * [1.0, 0.97][slow_start.index]
        * [1.0, 1.0, 0.99][swappiness.index];
    let server = [0.975, 0.99, 1.0, 1.0][log.index]
        * [0.98, 1.0][sendfile.index]
        * [0.96, 0.99, 1.0, 1.0][requests.index];
    in_series(&[database, 1_800.0]) * kernel * server
}

fn many_small(at: &[Level]) -> f64 {
    let [
        processes,
        mutex,
        accept,
        keepalive,
        log,
        nopush,
        gzip,
        files,
    ] = levels(at);
    // Milliseconds of CPU per request.
    let connect = [0.30, 0.12, 0.05, 0.02, 0.03][keepalive.index];
    let log = [0.12, 0.03, 0.0][log.index];
    let compress = [0.22, 0.10, 0.24, 0.60][gzip.index];
    let open = [0.10, 0.02, 0.02][files.index];
    let accept = [0.05, 0.0][mutex.index] + [0.04, 0.0][accept.index];
    let send = [0.06, 0.0][nopush.index];
    let cpu_ms = 1.0 + connect + log + compress + open + accept + send;
    let parallel = [1.0, 1.9, 2.1, 2.0][processes.index];
    parallel * 1e3 / cpu_ms
}
