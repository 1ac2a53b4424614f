//! The cost of a journey compared with plain requests: `journey cost [USERS SECONDS ROUNDS]` prints the CPU time of the
//! event loop per request of both, in turns; `journey memory [USERS SECONDS]` prints the memory that users with cookies
//! and captures take.
//!
//! The journey has five steps: a page whose token is captured by a regular expression, a form that sends the token, and
//! three pages. The server is in the same process, on its own thread, and responds to all with the same 2 KiB page.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_load::{Job, fixed_server, start};
use plimsoll_model::journey::{
    Capture, Extractor, Inputs, Journey, Pick, RequestBody, RequestStep, Scenario, Step, StepInfo,
    TextPiece, TextTemplate, ThinkTime, UserPhase,
};
use plimsoll_model::plan::{Load, Plan};
use plimsoll_model::window::Window;
use plimsoll_testkit::plan::get_root;

fn plan(address: SocketAddr) -> Plan {
    let mut plan = get_root(address);
    plan.request.headers.extend([
        ("User-Agent".to_owned(), "plimsoll".to_owned()),
        ("Accept".to_owned(), "*/*".to_owned()),
    ]);
    plan.transport.timeout = Duration::from_secs(30);
    plan.transport.connections_max = 20_000;
    plan.load = Load::Users {
        phases: Vec::new(),
        iterations: None,
    };
    plan
}

fn request(id: u32, method: &str, url: &str) -> RequestStep {
    RequestStep {
        id,
        method: method.to_owned(),
        url: TextTemplate::literal(url),
        headers: Vec::new(),
        body: RequestBody::Empty,
        follow: 0,
        timeout: None,
        captures: Vec::new(),
        expectations: Vec::new(),
    }
}

fn scenario(think: Option<Duration>) -> Scenario {
    let mut form = request(0, "GET", "/form");
    form.captures = vec![Capture {
        slot: 0,
        from: Extractor::Regex("name=\"csrf\" value=\"([^\"]+)\"".to_owned()),
        pick: Pick::First,
        default: None,
    }];
    let mut save = request(1, "POST", "/save");
    let token = TextTemplate {
        pieces: vec![TextPiece::Slot(0)],
    };
    save.body = RequestBody::Form(vec![
        ("csrf".to_owned(), token),
        ("text".to_owned(), TextTemplate::literal("some words")),
    ]);
    let pages = (2..5).map(|id| request(id, "GET", &format!("/page/{id}")));
    let mut steps = Vec::new();
    for step in [form, save].into_iter().chain(pages) {
        steps.push(Step::Request(Box::new(step)));
        steps.extend(think.map(|pause| Step::Think(ThinkTime::Exponential(pause))));
    }
    Scenario {
        journeys: vec![Journey {
            name: "tutor".to_owned(),
            weight: 1.0,
            steps,
            cookies: true,
            connections: 1,
            ..Journey::default()
        }],
        steps: vec![StepInfo::default(); 5],
        slots: vec!["csrf".to_owned()],
        ..Scenario::default()
    }
}

/// A page of 2 KiB with a token; `cookies` adds two cookies to every response.
fn page(cookies: bool) -> Vec<u8> {
    let filler = "<p>Some words of a page that is about as long as pages are.</p>\n".repeat(14);
    let body = format!(
        "<html><head><title>Page</title></head><body>{filler}\
         <form><input name=\"csrf\" value=\"d41d8cd98f00b204e9800998ecf8427e\"></form>{filler}</body></html>"
    );
    let cookies = if cookies {
        "Set-Cookie: sid=0123456789abcdef0123456789abcdef; Path=/; HttpOnly\r\n\
         Set-Cookie: lang=en; Path=/; Max-Age=86400\r\n"
    } else {
        ""
    };
    let len = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nServer: fixed\r\nContent-Type: text/html\r\n{cookies}Content-Length: {len}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program that starts at its own now"
)]
fn run(plan: Plan, load: Load, mut each: impl FnMut(&Window)) -> Window {
    let mut running = start(Job {
        seed: plan.seed,
        plan: Arc::new(plan),
        load,
        epoch: Instant::now() + Duration::from_millis(20),
        start_second: 0,
        inputs: Arc::new(Inputs::default()),
    })
    .expect("a job that starts");
    let mut total = Window::new(0);
    while let Some(mut window) = running.next_window() {
        each(&window);
        window.second = 0;
        total.merge(&window);
    }
    total
}

fn users(count: f64, lasting: Duration) -> Load {
    let phase = |from, to, lasting| UserPhase {
        from,
        to,
        lasting,
        mix: Vec::new(),
    };
    Load::Users {
        phases: vec![phase(count, count, lasting)],
        iterations: None,
    }
}

/// CPU time of the loop per request, µs.
fn cost(total: &Window) -> f64 {
    let good = total.outcomes.get(plimsoll_model::outcome::Outcome::Ok);
    assert_eq!(
        good,
        total.completed(),
        "all answers are good: {:?}",
        total.failures
    );
    total.generator.loop_cpu_us as f64 / good as f64
}

#[expect(clippy::print_stdout, reason = "the results of a program")]
fn compare(connections: u32, lasting: Duration, rounds: u32) {
    for (name, cookies) in [("page", false), ("page that sets cookies", true)] {
        let server = fixed_server(&page(cookies)).expect("a server that starts");
        let (mut plain, mut journey) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let closed = Load::Closed {
                connections,
                think: Duration::ZERO,
                lasting,
            };
            plain.push(cost(&run(plan(server.address()), closed, |_| {})));
            let mut of_users = plan(server.address());
            of_users.scenario = Some(scenario(None));
            let load = users(f64::from(connections), lasting);
            journey.push(cost(&run(of_users, load, |_| {})));
        }
        plain.sort_by(f64::total_cmp);
        journey.sort_by(f64::total_cmp);
        let median = |sorted: &[f64]| sorted[sorted.len() / 2];
        println!(
            "{name}: plain {:.2} us, journey {:.2} us a request ({:.2}x), plain {plain:.2?}, journey {journey:.2?}",
            median(&plain),
            median(&journey),
            median(&journey) / median(&plain),
        );
    }
}

fn resident() -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmRSS"));
    line.unwrap_or_default().to_owned()
}

#[expect(clippy::print_stdout, reason = "the results of a program")]
fn memory(count: f64, lasting: Duration) {
    let server = fixed_server(&page(true)).expect("a server that starts");
    let mut plan = plan(server.address());
    plan.scenario = Some(scenario(Some(Duration::from_secs(1))));
    let total = run(plan, users(count, lasting), |window| {
        println!(
            "{} users, {} connections, {} requests, {}",
            window.users,
            window.connections,
            window.completed(),
            resident()
        );
    });
    println!(
        "cpu {:.2} us a request, lag p99 {} us",
        cost(&total),
        total.lag.quantile(0.99).unwrap_or(0)
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u32| {
        arguments
            .get(index)
            .map_or(default, |text| text.parse().expect("a whole number"))
    };
    let seconds = |index, default| Duration::from_secs(u64::from(number(index, default)));
    match arguments.first().map(String::as_str) {
        Some("cost") => compare(number(1, 100), seconds(2, 2), number(3, 5)),
        Some("memory") => memory(f64::from(number(1, 10_000)), seconds(2, 10)),
        _ => panic!("usage: journey cost [USERS SECONDS ROUNDS] | memory [USERS SECONDS]"),
    }
}
