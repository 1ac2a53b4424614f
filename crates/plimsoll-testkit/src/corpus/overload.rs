//! Failures of a service as a whole: retries, stampedes, cold starts.

use super::{Planted, PlantedService};
use crate::program::runtimes::{Puma, Script};
use crate::program::{Haproxy, Memcached};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "HAProxy: three retries towards a server that is away now and then",
        rules: &["S2", "H2"],
        start: retries,
    },
    Planted {
        name: "memcached: all copies end every twelve seconds",
        rules: &["S4"],
        start: stampede,
    },
    Planted {
        name: "HAProxy: a second server that is slow while it is new",
        rules: &["S7"],
        start: cold,
    },
];

/// Accepts no connections for half a second when more than eight requests are active.
const INTERMITTENT_SCRIPT: &str = "const port = +process.argv[2]; let active = 0, away = false; const server = require('http').createServer((q, a) => {\n\
    active++; setTimeout(() => { active--; a.end('done'); }, 100);\n\
    if (active > 8 && !away) { away = true; server.close();\n\
    setTimeout(() => server.listen(port, process.argv[3], 511, () => { away = false; }), 500); } });\n\
    server.listen(port, process.argv[3], 511, () => console.log('ready'));";

/// That server behind HAProxy with a number of retries.
pub(super) fn intermittent(retries: u32) -> PlantedService {
    let script = Script::start("node", INTERMITTENT_SCRIPT);
    let server = format!("  retries {retries}\n  server s1 {}", script.address);
    let haproxy = Haproxy::start("option http-server-close", &server);
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    PlantedService::new(url, watch, ["5/s:4s", "150/s:8s"])
        .holding(script)
        .holding(haproxy)
}

fn retries() -> PlantedService {
    intermittent(3)
}

fn stampede() -> PlantedService {
    let memcached = Memcached::start_with(64, 16);
    let puma = Puma::before_memcached_for(memcached.address, 24, 12);
    let watch = format!("memcached: {}\n", memcached.address);
    PlantedService::new(puma.url(), watch, ["20/s:6s", "150/s:36s"])
        .holding(puma)
        .holding(memcached)
}

/// Listens this many seconds after its start, and is slow for the first eight.
const COLD: &str = "setTimeout(() => { const begin = Date.now(); require('http').createServer((q, a) => {\n\
    setTimeout(() => a.end('done'), Date.now() - begin < 8000 ? 900 : 20); }).listen(+process.argv[2], process.argv[3], 511); }, 15000);\n\
    console.log('ready');";

fn cold() -> PlantedService {
    let puma = Puma::sleeping(32, "0.02");
    let script = Script::start("node", COLD);
    let servers = format!(
        "  default-server check inter 500ms rise 1\n  server s1 {}\n  server s2 {}",
        puma.address, script.address
    );
    let haproxy = Haproxy::start("", &servers);
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    PlantedService::new(url, watch, ["20/s:6s", "60/s:22s"])
        .holding(puma)
        .holding(script)
        .holding(haproxy)
}
