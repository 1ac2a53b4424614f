//! How a service as a whole fails: it does less than before, answers too late, tries again, fetches all at once, begins
//! cold, or has one dear route.

use super::{Planted, Scene};
use crate::program::runtimes::{Puma, Script};
use crate::program::{Haproxy, Memcached, write};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "Node: each request waits longer the more there are",
        rules: &["S1"],
        start: collapse,
    },
    Planted {
        name: "Puma: a queue that is longer than anybody waits",
        rules: &["S3"],
        start: late,
    },
    Planted {
        name: "HAProxy: three retries towards a server that is away now and then",
        rules: &["S2"],
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
    Planted {
        name: "Node: one route of ten waits for one of two places",
        rules: &["S8"],
        start: dear,
    },
];

/// A script that nobody looks into, and its process.
fn alone(text: &str, loads: [&'static str; 2]) -> Scene {
    let script = Script::start("node", text);
    let watch = format!("pid: {}\n", script.program.pid());
    Scene::new(format!("http://{}/", script.address), watch, loads).holding(script)
}

/// 20 ms for each request that is there: what is behind a lock that is passed around, or a cache that all empty.
const COLLAPSE: &str = "let active = 0; require('http').createServer((q, a) => { active++; setTimeout(() => { active--; a.end('done'); }, 20 * active); })\n\
    .listen(+process.argv[2], '127.0.0.1', 511, () => console.log('ready'));";

fn collapse() -> Scene {
    alone(COLLAPSE, ["15/s:5s", "150/s:10s"])
}

fn late() -> Scene {
    let puma = Puma::sleeping(4, "0.1");
    let watch = format!("pid: {}\n", puma.program.pid());
    Scene::new(puma.url(), watch, ["30/s:5s", "46/s:14s"]).holding(puma)
}

/// Takes no connections for half a second when more than eight requests are there at once.
const AWAY: &str = "const port = +process.argv[2]; let active = 0, away = false; const server = require('http').createServer((q, a) => {\n\
    active++; setTimeout(() => { active--; a.end('done'); }, 100);\n\
    if (active > 8 && !away) { away = true; server.close();\n\
    setTimeout(() => server.listen(port, '127.0.0.1', 511, () => { away = false; }), 500); } });\n\
    server.listen(port, '127.0.0.1', 511, () => console.log('ready'));";

/// That server behind HAProxy, which tries so often again.
pub(super) fn away(retries: u32) -> Scene {
    let script = Script::start("node", AWAY);
    let server = format!("  retries {retries}\n  server s1 {}", script.address);
    let haproxy = Haproxy::start("option http-server-close", &server);
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    Scene::new(url, watch, ["5/s:4s", "150/s:8s"])
        .holding(script)
        .holding(haproxy)
}

fn retries() -> Scene {
    away(3)
}

fn stampede() -> Scene {
    let memcached = Memcached::start_with(64, 16);
    let puma = Puma::before_memcached_for(memcached.address, 24, 12);
    let watch = format!("memcached: {}\n", memcached.address);
    Scene::new(puma.url(), watch, ["20/s:6s", "150/s:36s"])
        .holding(puma)
        .holding(memcached)
}

/// Listens so many seconds after its start, and is slow for the first eight.
const COLD: &str = "setTimeout(() => { const begin = Date.now(); require('http').createServer((q, a) => {\n\
    setTimeout(() => a.end('done'), Date.now() - begin < 8000 ? 900 : 20); }).listen(+process.argv[2], '127.0.0.1', 511); }, 15000);\n\
    console.log('ready');";

fn cold() -> Scene {
    let puma = Puma::sleeping(32, "0.02");
    let script = Script::start("node", COLD);
    let servers = format!(
        "  default-server check inter 500ms rise 1\n  server s1 {}\n  server s2 {}",
        puma.address, script.address
    );
    let haproxy = Haproxy::start("", &servers);
    let watch = format!("haproxy: {}\n", haproxy.socket.display());
    let url = format!("http://{}/", haproxy.address);
    Scene::new(url, watch, ["20/s:6s", "60/s:22s"])
        .holding(puma)
        .holding(script)
        .holding(haproxy)
}

/// Reports are made two at a time, in 250 ms each.
const DEAR: &str = "let free = 2; const waiting = []; const next = () => { if (free < 1 || !waiting.length) return; free--; const a = waiting.shift();\n\
    setTimeout(() => { free++; a.end('report'); next(); }, 250); };\n\
    require('http').createServer((q, a) => { if (q.url !== '/report') return a.end('page'); waiting.push(a); next(); })\n\
    .listen(+process.argv[2], '127.0.0.1', 511, () => console.log('ready'));";

fn dear() -> Scene {
    let script = Script::start("node", DEAR);
    let pages = (1..=9).map(|page| format!("/page/{page}"));
    let urls: Vec<String> = pages.chain(["/report".to_owned()]).collect();
    let path = script.program.path().join("urls");
    write(&path, &urls.join("\n"));
    let watch = format!("pid: {}\n", script.program.pid());
    let url = format!("http://{}/", script.address);
    let mut scene = Scene::new(url, watch, ["30/s:10s", "150/s:8s"]).holding(script);
    scene.more = vec!["--urls".to_owned(), path.display().to_string()];
    scene
}
