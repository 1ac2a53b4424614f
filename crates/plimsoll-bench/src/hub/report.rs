//! The tables of the hub's page.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;

use super::HubOutcome;
use super::accepts;
use super::fan::{self, Fan, INTERVAL_MS, MESSAGE_LEN};
use super::hubs::{HubKind, HubPrograms};
use super::kill;
use super::million::{self, CHANNELS_EACH};
use super::reload::{self, RELOADS};
use super::slow::{self, STOPPED, SlowPolicy, WAITING_MAX};
use crate::context::BenchContext;
use crate::page::{BenchmarkPage, Head};
use crate::spread::Spread;

/// Memory of an idle client at most, bytes.
const CLIENT_MAX: f64 = 1.5 * 1_024.0;
const ACCEPTS_MIN: f64 = 30_000.0;
/// What a reach of all is, with room for nothing but the digits of a float.
const WHOLE: f64 = 1.0 - 1e-12;
/// p99 of conflated messages at most, ms.
const CONFLATED_P99_MAX: f64 = 300.0;
/// By how much the stopped may slow the others.
const SLOWED_MAX: f64 = 1.1;

/// How long those may be away whose edge is killed.
const BACK_MAX: Duration = Duration::from_secs(5);

/// The page under way.
pub(super) struct HubReport {
    page: BenchmarkPage,
}

impl HubReport {
    pub(super) fn new(ground: &BenchContext, programs: &HubPrograms) -> Result<Self> {
        let terms = format!(
            "Each run starts its hub anew. CPU is the time that all of its threads ran, to the nanosecond. Messages are \
             JSON of {MESSAGE_LEN} bytes as they are published by HTTP; ours adds channel, epoch and offset. The load \
             side is `plimsoll run --ws`, whose reach is exact; p99 includes what it takes to read on one core what \
             comes all at once. A process of this machine has 20,000 descriptors, so 19,500 subscribers are the most \
             for either side."
        );
        let page = BenchmarkPage::new(
            ground,
            &Head {
                title: "The hub beside its peers",
                task: "hub",
                terms: &terms,
                versions: &programs.versions(),
            },
        )?;
        Ok(Self { page })
    }

    pub(super) fn failure(&mut self, why: &str) {
        println!("  failed: {why}");
        self.page.failure("plimsoll edge", why);
    }

    pub(super) fn fan(
        &mut self,
        fan: &Fan,
        p99_ms_max: f64,
        outcomes: &[HubOutcome<fan::FanOutRun>],
    ) {
        let mut table = format!(
            "## One message a second to {} subscribers\n\n| hub | CPU µs per delivery | ratio to Bun | p50 ms | p99 ms \
             | reach | busy |\n|---|---|---|---|---|---|---|\n",
            fan.subscribers
        );
        let bun = runs_of(outcomes, HubKind::Bun);
        for outcome in outcomes {
            self.note_failure(outcome);
            let of = |value: fn(&fan::FanOutRun) -> f64| Spread::over(&outcome.runs, value);
            if let Some(run) = outcome.runs.last() {
                self.page.command(&run.command);
            }
            let (Some(cost), Some(p50), Some(p99), Some(reach), Some(busy)) = (
                of(fan::FanOutRun::cpu_us_per_delivery),
                of(|run| run.p50_ms),
                of(|run| run.p99_ms),
                of(|run| run.reach * 100.0),
                of(|run| run.busy() * 100.0),
            ) else {
                continue;
            };
            let ratio = Spread::ratio(&outcome.runs, bun, fan::FanOutRun::cpu_us_per_delivery);
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} | {} | {:.3} % | {:.1} % |",
                outcome.hub.name(),
                cost.show(2),
                ratio.map_or("–".to_owned(), |ratio| ratio.show(2)),
                p50.show(0),
                p99.show(0),
                reach.min,
                busy.median,
            );
        }
        table.push('\n');
        self.page.chapter(&table);
        self.require_fan(fan, p99_ms_max, runs_of(outcomes, HubKind::Plimsoll), bun);
    }

    fn require_fan(
        &mut self,
        fan: &Fan,
        p99_ms_max: f64,
        ours: &[fan::FanOutRun],
        bun: &[fan::FanOutRun],
    ) {
        let count = fan.subscribers;
        let ratio = Spread::ratio(ours, bun, fan::FanOutRun::cpu_us_per_delivery);
        self.page.requirement(
            &format!("{count} subscribers: CPU per delivery at most Bun's"),
            &ratio.map_or("not measured".to_owned(), |ratio| {
                format!("{}x Bun", ratio.show(2))
            }),
            ratio.map(|ratio| ratio.median <= 1.0),
        );
        let p99 = Spread::over(ours, |run| run.p99_ms);
        let reach = Spread::over(ours, |run| run.reach);
        self.page.requirement(
            &format!("{count} subscribers: p99 at most {p99_ms_max} ms, reach 100 %"),
            &p99.zip(reach)
                .map_or("not measured".to_owned(), |(p99, reach)| {
                    format!("{} ms, {:.3} %", p99.show(0), reach.min * 100.0)
                }),
            p99.zip(reach)
                .map(|(p99, reach)| p99.median <= p99_ms_max && reach.min >= WHOLE),
        );
    }

    pub(super) fn accepts(&mut self, outcomes: &[HubOutcome<accepts::AcceptRun>]) {
        let mut table = format!(
            "## Accepts and memory\n\n{} clients, opened by one core as fast as it can, 128 handshakes at a time; then all \
             subscribe and wait.\n\n| hub | accepts/s | CPU µs per accept | memory per client, KiB |\n|---|---|---|---|\n",
            accepts::CLIENTS
        );
        for outcome in outcomes {
            self.note_failure(outcome);
            let of = |value: fn(&accepts::AcceptRun) -> f64| Spread::over(&outcome.runs, value);
            let (Some(rate), Some(cost), Some(bytes)) = (
                of(|run| run.accepts_per_second),
                of(|run| run.cpu_us_per_accept),
                of(|run| run.bytes_per_client / 1_024.0),
            ) else {
                continue;
            };
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} |",
                outcome.hub.name(),
                rate.show(0),
                cost.show(1),
                bytes.show(2)
            );
        }
        table.push('\n');
        self.page.chapter(&table);
        let ours = runs_of(outcomes, HubKind::Plimsoll);
        let bytes = Spread::over(ours, |run| run.bytes_per_client);
        self.page.requirement(
            "memory of the process per connection: at most 1.5 KiB",
            &bytes.map_or("not measured".to_owned(), |bytes| {
                format!("{:.2} KiB", bytes.median / 1_024.0)
            }),
            bytes.map(|bytes| bytes.median <= CLIENT_MAX),
        );
        let rate = Spread::over(ours, |run| run.accepts_per_second);
        // The client has one core too, and opening costs it more than accepting costs a hub.
        let full = Spread::over(ours, |run| 1e6 / run.cpu_us_per_accept);
        self.page.requirement(
            &format!("at least {ACCEPTS_MIN} accepts/s"),
            &rate.zip(full).map_or("not measured".to_owned(), |(rate, full)| {
                let (rate, full) = (rate.show(0), full.show(0));
                format!("{rate} from a client with one core; by the CPU of each, a core of the hub's takes {full}")
            }),
            rate.map(|rate| rate.median >= ACCEPTS_MIN),
        );
    }

    pub(super) fn conflation(
        &mut self,
        often: u32,
        with: &[fan::FanOutRun],
        without: &[fan::FanOutRun],
    ) {
        let mut table = format!(
            "## {often} messages a second to 10,000 subscribers\n\nCPU of everything that was published, until it was \
             worked off.\n\n| rule | CPU s | deliveries | refused | p50 ms | p99 ms |\n|---|---|---|---|---|---|\n"
        );
        let rows = [("none", without), ("interval 250 ms", with)];
        for (name, runs) in rows {
            let of = |value: fn(&fan::FanOutRun) -> f64| Spread::over(runs, value);
            let (Some(cpu), Some(count), Some(refused), Some(p50), Some(p99)) = (
                of(|run| run.cpu.as_secs_f64()),
                of(|run| run.deliveries as f64),
                of(|run| f64::from(run.refused)),
                of(|run| run.p50_ms),
                of(|run| run.p99_ms),
            ) else {
                continue;
            };
            let _ = writeln!(
                table,
                "| {name} | {} | {:.0} | {:.0} | {} | {} |",
                cpu.show(2),
                count.median,
                refused.max,
                p50.show(0),
                p99.show(0)
            );
        }
        table.push('\n');
        self.page.chapter(&table);
        let ratio = Spread::ratio(with, without, |run| run.cpu.as_secs_f64());
        let p99 = Spread::over(with, |run| run.p99_ms);
        self.page.requirement(
            &format!(
                "{often} messages a second, conflated to one in {INTERVAL_MS} ms: CPU at most a fifth of without, p99 at \
                 most 300 ms"
            ),
            &ratio.zip(p99).map_or("not measured".to_owned(), |(ratio, p99)| {
                format!("{}x, {} ms", ratio.show(2), p99.show(0))
            }),
            ratio
                .zip(p99)
                .map(|(ratio, p99)| ratio.median <= 0.2 && p99.median <= CONFLATED_P99_MAX),
        );
    }

    pub(super) fn slow(&mut self, runs_by_policy: &[(SlowPolicy, Vec<slow::SlowReaderRun>)]) {
        let mut table = format!(
            "## Readers that stop\n\n{} read; {STOPPED} more are stopped where they stand and given long messages until their \
             sockets take nothing more. Then everybody is sent a message a second.\n\n| readers | p99 of the others, ms | \
             their reach | memory grown, MiB | the kernel's, MiB | dropped | disconnected |\n|---|---|---|---|---|---|---|\n",
            slow::READERS
        );
        let reading = runs_by_policy
            .iter()
            .find(|(policy, _)| *policy == SlowPolicy::Reading);
        let reading = reading.map_or(&[][..], |(_, runs)| runs);
        for (policy, runs) in runs_by_policy {
            let of = |value: fn(&slow::SlowReaderRun) -> f64| Spread::over(runs, value);
            let (
                Some(p99),
                Some(reach),
                Some(grown),
                Some(kernel),
                Some(dropped),
                Some(disconnected),
            ) = (
                of(|run| run.p99_ms),
                of(|run| run.reach * 100.0),
                of(|run| run.grown as f64 / 1_048_576.0),
                of(|run| run.kernel_grown as f64 / 1_048_576.0),
                of(|run| run.dropped),
                of(|run| run.disconnected),
            )
            else {
                continue;
            };
            let _ = writeln!(
                table,
                "| {} | {} | {:.3} % | {} | {} | {:.0} | {:.0} |",
                policy.title(),
                p99.show(0),
                reach.min,
                grown.show(1),
                kernel.show(0),
                dropped.min,
                disconnected.min
            );
            if *policy != SlowPolicy::Reading {
                self.require_slow(*policy, runs, reading);
            }
        }
        table.push('\n');
        self.page.chapter(&table);
    }

    fn require_slow(
        &mut self,
        policy: SlowPolicy,
        runs: &[slow::SlowReaderRun],
        reading: &[slow::SlowReaderRun],
    ) {
        let moved = Spread::ratio(runs, reading, |run| run.p99_ms);
        let bound = u64::from(STOPPED) * WAITING_MAX;
        let are_treated = runs.iter().all(|run| match policy {
            SlowPolicy::Disconnect => run.disconnected >= f64::from(STOPPED),
            SlowPolicy::Newest => run.dropped >= f64::from(STOPPED) && run.disconnected < 1.0,
            SlowPolicy::Reading => true,
        });
        let is_bounded = runs.iter().all(|run| run.grown <= bound);
        self.page.requirement(
            &format!(
                "{}: the others' p99 moves by less than 10 %, memory within its bound of {} MiB, the stopped treated as \
                 configured",
                policy.title(),
                bound >> 20
            ),
            &moved.map_or("not measured".to_owned(), |moved| {
                format!(
                    "{}x, {}, {}",
                    moved.show(2),
                    if is_bounded { "within" } else { "beyond" },
                    if are_treated { "as configured" } else { "otherwise" }
                )
            }),
            moved.map(|moved| moved.median < SLOWED_MAX && is_bounded && are_treated),
        );
    }

    pub(super) fn kill(&mut self, result: Result<kill::KillResult>) {
        let what = format!(
            "two edges and Redis, one killed under {} readers and {} messages a second: all back within 5 s, every message \
             recovered or its loss told",
            kill::READERS,
            kill::PER_SECOND
        );
        match result {
            Ok(result) => self.page.requirement(
                &what,
                &format!(
                    "{} readers back within {:.2} s; of {} messages for each of {} lost {}, told of none {}, doubled {}",
                    result.moved,
                    result.back.as_secs_f64(),
                    result.messages,
                    kill::READERS,
                    result.lost,
                    result.unreported,
                    result.doubled
                ),
                Some(
                    result.moved >= kill::READERS / 2
                        && result.back <= BACK_MAX
                        && result.unreported == 0
                        && result.doubled == 0,
                ),
            ),
            Err(error) => {
                self.failure(&format!("one of two edges killed: {error:#}"));
                self.page.requirement(&what, "not measured", None);
            }
        }
    }

    pub(super) fn reload(&mut self, result: Result<reload::HubReloadResult>) {
        let what = format!(
            "{RELOADS} reloads under {} connections: none cut",
            reload::CLIENTS
        );
        match result {
            Ok(result) => self.page.requirement(
                &what,
                &format!(
                    "{} reloads: {} of {} cut, reach {:.3} %",
                    result.reloads,
                    result.closed,
                    result.connected,
                    result.reach * 100.0
                ),
                Some(
                    result.reloads == RELOADS
                        && result.closed == 0
                        && result.connected == u64::from(reload::CLIENTS)
                        && result.reach >= WHOLE,
                ),
            ),
            Err(error) => {
                self.failure(&format!("reload: {error:#}"));
                self.page.requirement(&what, "not measured", None);
            }
        }
    }

    pub(super) fn million(&mut self, result: Result<million::MillionResult>) {
        let what = format!(
            "a million channels ({} clients with {CHANNELS_EACH} of their own): memory and publish time stated",
            million::CLIENTS
        );
        match result {
            Ok(result) => {
                println!("  {:.0} bytes a channel", result.bytes_per_channel);
                let measured = format!(
                    "{:.0} bytes per channel with its subscription, {:.0} subscriptions/s, published in {:.2} ms (p99 {:.2}), \
                     delivered in {:.2} ms (p99 {:.2})",
                    result.bytes_per_channel,
                    result.subscriptions_per_second,
                    result.published_ms.p50,
                    result.published_ms.p99,
                    result.delivered_ms.p50,
                    result.delivered_ms.p99
                );
                self.page.requirement(&what, &measured, Some(true));
            }
            Err(error) => {
                self.failure(&format!("a million channels: {error:#}"));
                self.page.requirement(&what, "not measured", None);
            }
        }
    }

    fn note_failure<T>(&mut self, outcome: &HubOutcome<T>) {
        if let Some(failure) = &outcome.failure {
            self.page.failure(outcome.hub.name(), failure);
        }
    }

    pub(super) fn finish(self) -> String {
        self.page.finish()
    }
}

/// The turns of one hub.
fn runs_of<T>(outcomes: &[HubOutcome<T>], hub: HubKind) -> &[T] {
    let outcome = outcomes.iter().find(|outcome| outcome.hub == hub);
    outcome.map_or(&[], |outcome| &outcome.runs)
}
