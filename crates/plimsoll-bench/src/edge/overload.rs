//! Overload: ten and fifty times the origin's capacity.

use anyhow::{Context as _, Result};
use plimsoll_harness::origin::OriginProcess;
use serde_json::Value;

use super::client::generate;
use super::edges::EdgePrograms;
use crate::context::BenchContext;
use crate::server::BenchServer;

/// The origin serves one request after the other, each in 10 ms: 100 a second.
const ORIGIN: [&str; 6] = [
    "--law",
    "deterministic",
    "--mean-us",
    "10000",
    "--body-len",
    "3000",
];
/// Text of the fallback that no page contains.
const MARK: &str = "plimsoll-bench-shell";
/// Pages the origin could make each second.
pub(super) const CAPACITY: f64 = 100.0;
/// Seconds in which the edge may learn.
const WARM_UP_S: u32 = 3;
/// Longest time in which all must be well again.
const RECOVERY_S: u32 = 10;

/// What was asked, what came.
pub(super) struct OverloadCase {
    pub(super) title: &'static str,
    /// The 99th percentile of the other answers must be below, ms.
    pub(super) other_max_ms: f64,
    pub(super) result: Result<OverloadResult>,
}

pub(super) struct OverloadResult {
    pub(super) command: String,
    /// Pages a second while the load lasted, at least, and the 99th percentile of their response times in ms.
    pub(super) pages_per_second: f64,
    pub(super) page_p99_ms: f64,
    /// 99th percentile of the other answers, in ms.
    pub(super) other_p99_ms: f64,
    /// Share of the others that were not what they should be.
    pub(super) other_bad_share: f64,
    /// Share of pages once the load has returned, after the time it has for that.
    pub(super) recovered_share: f64,
    /// What the generator called void.
    pub(super) void: Option<String>,
}

/// The required response to a request that is not served.
#[derive(Clone, Copy)]
enum Other {
    Fallback,
    Refusal,
}

impl Other {
    fn p99_max_ms(self) -> f64 {
        match self {
            Self::Fallback => 2.0,
            Self::Refusal => 5.0,
        }
    }
}

pub(super) fn run(ground: &BenchContext, programs: &EdgePrograms) -> Vec<OverloadCase> {
    let cases = [
        (1_000, Other::Fallback, "10x, fallback"),
        (5_000, Other::Fallback, "50x, fallback"),
        (1_000, Other::Refusal, "10x, no fallback"),
        (5_000, Other::Refusal, "50x, no fallback"),
    ];
    cases
        .map(|(per_second, other, title)| {
            println!("overload: {title}");
            let result = case(ground, programs, per_second, other);
            match &result {
                Ok(measured) => println!(
                    "  {:.1} pages/s, p99 {:.0} ms; others p99 {:.2} ms; back {:.1} %",
                    measured.pages_per_second,
                    measured.page_p99_ms,
                    measured.other_p99_ms,
                    measured.recovered_share * 100.0
                ),
                Err(error) => println!("  failed: {error:#}"),
            }
            OverloadCase {
                title,
                other_max_ms: other.p99_max_ms(),
                result,
            }
        })
        .into()
}

fn case(
    ground: &BenchContext,
    programs: &EdgePrograms,
    per_second: u32,
    other: Other,
) -> Result<OverloadResult> {
    let origin = OriginProcess::start(&programs.origin, Some(ground.client_core), &ORIGIN)?;
    let fallback_file = ground.folder.path().join("shell.html");
    std::fs::write(
        &fallback_file,
        format!("<!doctype html><title>{MARK}</title>"),
    )?;
    let fallback = match other {
        Other::Fallback => format!("--fallback {}", fallback_file.display()),
        Other::Refusal => String::new(),
    };
    let words = format!("--to {} --access-log off {fallback}", origin.url());
    let edge = programs.plimsoll(ground.server_core, &words)?;
    let page = format!("{{ status: 200, lacks: {MARK} }}");
    let wanted = match other {
        Other::Fallback => format!("{{ status: 200, contains: {MARK} }}"),
        Other::Refusal => "{ status: 503 }".to_owned(),
    };
    let (pages, command) = offer(ground, programs, &edge, per_second, WARM_UP_S, &page)?;
    let (others, _) = offer(ground, programs, &edge, per_second, WARM_UP_S, &wanted)?;
    let (after, _) = offer(ground, programs, &edge, 50, RECOVERY_S, &page)?;
    let (page_share, other_share) = (share(&pages)?, share(&others)?);
    Ok(OverloadResult {
        command,
        pages_per_second: pages_while_offered(&pages, f64::from(ground.seconds))?,
        page_p99_ms: p99(&pages)?,
        other_p99_ms: p99(&others)?,
        // Both runs are of the same load: what is neither a page nor the other is bad.
        other_bad_share: (1.0 - page_share - other_share).max(0.0),
        recovered_share: share(&after)?,
        void: [&pages, &others, &after]
            .into_iter()
            .find_map(|json| (!json["void"].is_null()).then(|| json["void"].to_string())),
    })
}

/// Offers GET requests of a browser; good is what is expected.
fn offer(
    ground: &BenchContext,
    programs: &EdgePrograms,
    edge: &BenchServer,
    per_second: u32,
    warm_up_s: u32,
    expected: &str,
) -> Result<(Value, String)> {
    let plan = ground.folder.path().join("overload.yaml");
    let url = edge.url();
    std::fs::write(
        &plan,
        format!(
            "target: {url}\nwarmup: {warm_up_s}s\nsteps:\n  - get: /\n    headers: {{ accept: text/html }}\n    \
             expect: {expected}\nload: {{ sessions: {per_second}/s, for: {}s }}\n",
            ground.seconds + warm_up_s
        ),
    )?;
    let plan = plan.display().to_string();
    generate(
        ground,
        &programs.plimsoll,
        &plan,
        &[(&plan, "overload.yaml")],
    )
}

/// Good answers as a share of all requests.
fn share(json: &Value) -> Result<f64> {
    let (good, all) = good_and_all(json)?;
    Ok(good / all.max(1.0))
}

/// Good answers per second of the load. What was answered after its end, while the rest was waited for, is taken
/// off as if all of it were good, because the report has only the total of the rest: so the true figure is not lower.
fn pages_while_offered(json: &Value, seconds: f64) -> Result<f64> {
    let (good, all) = good_and_all(json)?;
    let answered = json["completed"]
        .as_f64()
        .context("no responses per second are reported")?;
    let late = (all - answered * seconds).max(0.0);
    Ok((good - late) / seconds)
}

fn good_and_all(json: &Value) -> Result<(f64, f64)> {
    let outcomes = json["outcomes"]
        .as_object()
        .context("no outcomes are reported")?;
    let all = outcomes.values().filter_map(Value::as_f64).sum();
    let good = outcomes.get("ok").and_then(Value::as_f64).unwrap_or(0.0);
    Ok((good, all))
}

fn p99(json: &Value) -> Result<f64> {
    json["response_time_ms"]["p99"]
        .as_f64()
        .context("no p99 is reported")
}
