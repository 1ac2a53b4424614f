//! Runs the engine against a URL, for measurements: `drive ADDRESS:PORT/PATH rate|connections N SECONDS [TICK_MS]
//! [http2=STREAMS]`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_load::{Job, start};
use plimsoll_model::plan::{Http2, Load, Plan, Transport};
use plimsoll_model::schedule::{LoadPhase, Spacing};
use plimsoll_model::seed::Seed;
use plimsoll_model::window::Window;
use plimsoll_testkit::plan::get_root;

fn plan(address: SocketAddr, path: &str, tick: Option<Duration>, http2: Option<Http2>) -> Plan {
    let mut plan = get_root(address);
    plan.target.url = format!("http://{address}{path}");
    plan.request.paths = vec![path.to_owned()];
    plan.transport = Transport {
        timeout: Duration::from_secs(30),
        connections_max: 10_000,
        body_len_max: 1 << 30,
        http2,
        ..plan.transport
    };
    plan.tick = tick;
    plan
}

fn status(name: &str) -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text
        .lines()
        .find(|line| line.starts_with(name))
        .unwrap_or_default();
    line.to_owned()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program that starts at its own now"
)]
fn main() {
    let (http2, arguments): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("http2="));
    let http2 = http2.first().map(|streams| Http2 {
        prior_knowledge: true,
        streams: streams["http2=".len()..].parse().expect("streams"),
    });
    let [url, kind, number, seconds, rest @ ..] = &arguments[..] else {
        panic!(
            "usage: drive ADDRESS:PORT/PATH rate|connections N SECONDS [TICK_MS] [http2=STREAMS]"
        );
    };
    let (address, path) = url.split_at(url.find('/').unwrap_or(url.len()));
    let address = address.parse().expect("ADDRESS:PORT");
    let lasting = Duration::from_secs(seconds.parse().expect("whole seconds"));
    let tick = rest
        .first()
        .map(|ms| Duration::from_millis(ms.parse().expect("whole milliseconds")));
    let load = match kind.as_str() {
        "rate" => Load::Open {
            phases: vec![LoadPhase::constant(
                number.parse().expect("a rate"),
                lasting,
            )],
            spacing: Spacing::Poisson,
        },
        _ => Load::Closed {
            connections: number.parse().expect("connections"),
            think: rest.get(1).map_or(Duration::ZERO, |ms| {
                Duration::from_millis(ms.parse().expect("think ms"))
            }),
            lasting,
        },
    };
    let plan = Arc::new(plan(
        address,
        if path.is_empty() { "/" } else { path },
        tick,
        http2,
    ));
    let epoch = Instant::now() + Duration::from_millis(20);
    let mut running = start(Job {
        plan,
        load,
        epoch,
        start_second: 0,
        seed: Seed(1),
        inputs: Arc::default(),
    })
    .expect("a job that starts");
    let mut total = Window::new(0);
    let mut rss = String::new();
    while let Some(mut window) = running.next_window() {
        rss = status("VmRSS");
        window.second = 0;
        total.merge(&window);
    }
    report(&total, lasting, &rss);
}

#[expect(clippy::print_stdout, reason = "the results of a program")]
fn report(total: &Window, lasting: Duration, rss: &str) {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let cpu_us = (used.tv_sec as f64).mul_add(1e6, used.tv_nsec as f64 / 1e3);
    let requests = total.completed();
    let at = |quantile| total.response.quantile(quantile).unwrap_or(0);
    let lag = |quantile| total.lag.quantile(quantile).unwrap_or(0);
    let sent_late =
        100.0 - 100.0 * total.lag.count_above(200) as f64 / total.lag.count().max(1) as f64;
    println!(
        "requests {requests} ({:.0}/s) offered {} outcomes {:?} retries {}",
        requests as f64 / lasting.as_secs_f64(),
        total.offered,
        total
            .outcomes
            .iter()
            .filter(|pair| pair.1 > 0)
            .collect::<Vec<_>>(),
        total.retries,
    );
    println!(
        "cpu {:.2} us/request (loop {:.2}), response p50 {} p99 {} max {} us, lag p50 {} p99 {} us, within 200 us {sent_late:.2} %, {rss}, opened {}",
        cpu_us / requests as f64,
        total.generator.loop_cpu_us as f64 / requests as f64,
        at(0.5),
        at(0.99),
        at(1.0),
        lag(0.5),
        lag(0.99),
        total.connections_opened,
    );
}
