//! Limits of JVMs, programs in Go, uWSGI and Varnish.

use super::{Planted, PlantedService};
use crate::program::engines::{Go, Jvm, Uwsgi, Varnish};
use crate::program::runtimes::{Puma, Script};

pub(super) const PLANTED: &[Planted] = &[
    Planted {
        name: "JVM: a heap of 64 MB for requests that make objects",
        rules: &["J3", "J4"],
        start: jvm_collector,
    },
    Planted {
        name: "JVM: each request keeps 256 KiB",
        rules: &["J4"],
        start: jvm_leak,
    },
    Planted {
        name: "JVM: a pool of 2 threads",
        rules: &["J5"],
        start: jvm_pool,
    },
    Planted {
        name: "uWSGI: one worker",
        rules: &["R2"],
        start: uwsgi,
    },
    Planted {
        name: "Go: GOGC 2",
        rules: &["R5"],
        start: go_collector,
    },
    Planted {
        name: "Go: GOMAXPROCS 1 for requests that compute",
        rules: &["R5"],
        start: go_scheduler,
    },
    Planted {
        name: "Varnish: thread_pool_max 10 before a slow application",
        rules: &["V1"],
        start: varnish,
    },
    Planted {
        name: "Varnish: 2 MB for copies of 4 MB",
        rules: &["S5"],
        start: varnish_memory,
    },
    Planted {
        name: "healthy: a JVM",
        rules: &[],
        start: healthy_jvm,
    },
    Planted {
        name: "healthy: Varnish, uWSGI",
        rules: &[],
        start: healthy,
    },
];

fn jvm(options: &[&str], threads: u32, work: &str, loads: [&'static str; 2]) -> PlantedService {
    let jvm = Jvm::start(options, threads, work);
    let watch = format!("jvm: {}\n", jvm.counters().display());
    PlantedService::new(jvm.url(), watch, loads).holding(jvm)
}

fn jvm_collector() -> PlantedService {
    let options = ["-Xmx64m", "-XX:+UseSerialGC"];
    jvm(&options, 6, "collect 1024", ["4/s:4s", "1200/s:8s"])
}

fn jvm_leak() -> PlantedService {
    let options = ["-Xmx64m", "-XX:+UseSerialGC"];
    jvm(&options, 16, "keep 256", ["5/s:4s", "120/s:8s"])
}

fn jvm_pool() -> PlantedService {
    jvm(&["-Xmx128m"], 2, "sleep 100", ["4/s:4s", "80/s:8s"])
}

fn healthy_jvm() -> PlantedService {
    jvm(&["-Xmx256m"], 16, "sleep 20", ["5/s:4s", "50/s:8s"])
}

fn uwsgi() -> PlantedService {
    let uwsgi = Uwsgi::start(1, "0.1");
    let watch = format!("uwsgi: {}\n", uwsgi.stats);
    let url = format!("http://{}/", uwsgi.address);
    PlantedService::new(url, watch, ["3/s:4s", "60/s:8s"]).holding(uwsgi)
}

fn go_collector() -> PlantedService {
    let go = Go::start("GOGC=2", "collect 256");
    let watch = format!("go: {}\n", go.url("/debug/vars"));
    PlantedService::new(go.url("/"), watch, ["2/s:4s", "1200/s:8s"]).holding(go)
}

fn go_scheduler() -> PlantedService {
    let go = Go::start("GOMAXPROCS=1", "compute 10");
    let watch = format!("go: {}\n", go.url("/metrics"));
    PlantedService::new(go.url("/"), watch, ["5/s:4s", "200/s:8s"]).holding(go)
}

fn varnish() -> PlantedService {
    let puma = Puma::sleeping(64, "0.2");
    let varnish = Varnish::start(10, puma.address);
    let watch = format!("varnish: {}\n", varnish.command());
    let url = format!("http://{}/", varnish.address);
    PlantedService::new(url, watch, ["3/s:4s", "120/s:8s"])
        .holding(varnish)
        .holding(puma)
}

/// Responds with 20 kB, one request after the other, each in 12 ms.
const SERIAL_SCRIPT: &str = "let turn = Promise.resolve(); require('http').createServer((q, a) => { turn = turn.then(() => new Promise(\n\
    (next) => setTimeout(() => { a.setHeader('cache-control', 'max-age=600'); a.end('x'.repeat(20000)); next(); }, 12))); })\n\
    .listen(+process.argv[2], process.argv[3], 511, () => console.log('ready'));";

fn varnish_memory() -> PlantedService {
    let script = Script::start("node", SERIAL_SCRIPT);
    let varnish = Varnish::caching("2m", script.address);
    let urls: Vec<String> = (0..200).map(|page| format!("/pages/{page}")).collect();
    let path = script.program.path().join("urls");
    crate::program::write(&path, &urls.join("\n"));
    let watch = format!("varnish: {}\n", varnish.command());
    let url = format!("http://{}/", varnish.address);
    let mut service = PlantedService::new(url, watch, ["20/s:4s", "400/s:12s"])
        .holding(varnish)
        .holding(script);
    service.more = vec!["--urls".to_owned(), path.display().to_string()];
    service
}

fn healthy() -> PlantedService {
    let uwsgi = Uwsgi::start(6, "0.01");
    let varnish = Varnish::start(200, uwsgi.address);
    let watch = format!("varnish: {}\nuwsgi: {}\n", varnish.command(), uwsgi.stats);
    let url = format!("http://{}/", varnish.address);
    PlantedService::new(url, watch, ["5/s:4s", "30/s:8s"])
        .holding(varnish)
        .holding(uwsgi)
}
