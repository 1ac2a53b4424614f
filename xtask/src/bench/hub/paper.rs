//! The tables of the hub's page.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;

use super::Outcome;
use super::doors;
use super::fan::{self, Fan, INTERVAL_MS, MESSAGE_LEN};
use super::kill;
use super::million::{self, CHANNELS_EACH};
use super::reload::{self, RELOADS};
use super::slow::{self, Policy, STOPPED, WAITING_MAX};
use super::subject::{Hub, Programs};
use crate::bench::Ground;
use crate::bench::page::{Head, Page};
use crate::bench::spread::Spread;

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
pub(super) struct Paper {
    page: Page,
}

impl Paper {
    pub(super) fn new(ground: &Ground, programs: &Programs) -> Result<Self> {
        let terms = format!(
            "Each run starts its hub anew. CPU is the time that all of its threads ran, to the nanosecond. Messages are \
             JSON of {MESSAGE_LEN} bytes as they are published by HTTP; ours adds channel, epoch and offset. The load \
             side is `plimsoll run --ws`, whose reach is exact; p99 includes what it takes to read on one core what \
             comes all at once. A process of this machine has 20,000 descriptors, so 19,500 subscribers are the most \
             for either side."
        );
        let page = Page::new(
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

    pub(super) fn fan(&mut self, fan: &Fan, p99_ms_max: f64, outcomes: &[Outcome<fan::Turn>]) {
        let mut table = format!(
            "## One message a second to {} subscribers\n\n| hub | CPU µs per delivery | ratio to Bun | p50 ms | p99 ms \
             | reach | busy |\n|---|---|---|---|---|---|---|\n",
            fan.subscribers
        );
        let bun = turns_of(outcomes, Hub::Bun);
        for outcome in outcomes {
            self.told(outcome);
            let of = |value: fn(&fan::Turn) -> f64| Spread::over(&outcome.turns, value);
            if let Some(turn) = outcome.turns.last() {
                self.page.command(&turn.command);
            }
            let (Some(cost), Some(p50), Some(p99), Some(reach), Some(busy)) = (
                of(fan::Turn::cpu_us_per_delivery),
                of(|turn| turn.p50_ms),
                of(|turn| turn.p99_ms),
                of(|turn| turn.reach * 100.0),
                of(|turn| turn.busy() * 100.0),
            ) else {
                continue;
            };
            let ratio = Spread::ratio(&outcome.turns, bun, fan::Turn::cpu_us_per_delivery);
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
        self.ask_fan(fan, p99_ms_max, turns_of(outcomes, Hub::Plimsoll), bun);
    }

    fn ask_fan(&mut self, fan: &Fan, p99_ms_max: f64, ours: &[fan::Turn], bun: &[fan::Turn]) {
        let count = fan.subscribers;
        let ratio = Spread::ratio(ours, bun, fan::Turn::cpu_us_per_delivery);
        self.page.ask(
            &format!("{count} subscribers: CPU per delivery at most Bun's"),
            &ratio.map_or("not measured".to_owned(), |ratio| {
                format!("{}x Bun", ratio.show(2))
            }),
            ratio.map(|ratio| ratio.median <= 1.0),
        );
        let p99 = Spread::over(ours, |turn| turn.p99_ms);
        let reach = Spread::over(ours, |turn| turn.reach);
        self.page.ask(
            &format!("{count} subscribers: p99 at most {p99_ms_max} ms, reach 100 %"),
            &p99.zip(reach)
                .map_or("not measured".to_owned(), |(p99, reach)| {
                    format!("{} ms, {:.3} %", p99.show(0), reach.min * 100.0)
                }),
            p99.zip(reach)
                .map(|(p99, reach)| p99.median <= p99_ms_max && reach.min >= WHOLE),
        );
    }

    pub(super) fn doors(&mut self, outcomes: &[Outcome<doors::Turn>]) {
        let mut table = format!(
            "## Accepts and memory\n\n{} clients, opened by one core as fast as it can, 128 handshakes at a time; then all \
             subscribe and wait.\n\n| hub | accepts/s | CPU µs per accept | memory per client, KiB |\n|---|---|---|---|\n",
            doors::CLIENTS
        );
        for outcome in outcomes {
            self.told(outcome);
            let of = |value: fn(&doors::Turn) -> f64| Spread::over(&outcome.turns, value);
            let (Some(rate), Some(cost), Some(bytes)) = (
                of(|turn| turn.accepts_per_second),
                of(|turn| turn.cpu_us_per_accept),
                of(|turn| turn.bytes_per_client / 1_024.0),
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
        let ours = turns_of(outcomes, Hub::Plimsoll);
        let bytes = Spread::over(ours, |turn| turn.bytes_per_client);
        self.page.ask(
            "memory of the process per connection: at most 1.5 KiB",
            &bytes.map_or("not measured".to_owned(), |bytes| {
                format!("{:.2} KiB", bytes.median / 1_024.0)
            }),
            bytes.map(|bytes| bytes.median <= CLIENT_MAX),
        );
        let rate = Spread::over(ours, |turn| turn.accepts_per_second);
        // The client has one core too, and opening costs it more than accepting costs a hub.
        let full = Spread::over(ours, |turn| 1e6 / turn.cpu_us_per_accept);
        self.page.ask(
            &format!("at least {ACCEPTS_MIN} accepts/s"),
            &rate.zip(full).map_or("not measured".to_owned(), |(rate, full)| {
                let (rate, full) = (rate.show(0), full.show(0));
                format!("{rate} from a client with one core; by the CPU of each, a core of the hub's takes {full}")
            }),
            rate.map(|rate| rate.median >= ACCEPTS_MIN),
        );
    }

    pub(super) fn conflation(&mut self, often: u32, with: &[fan::Turn], without: &[fan::Turn]) {
        let mut table = format!(
            "## {often} messages a second to 10,000 subscribers\n\nCPU of everything that was published, until it was \
             worked off.\n\n| rule | CPU s | deliveries | refused | p50 ms | p99 ms |\n|---|---|---|---|---|---|\n"
        );
        let rows = [("none", without), ("interval 250 ms", with)];
        for (name, turns) in rows {
            let of = |value: fn(&fan::Turn) -> f64| Spread::over(turns, value);
            let (Some(cpu), Some(count), Some(refused), Some(p50), Some(p99)) = (
                of(|turn| turn.cpu.as_secs_f64()),
                of(|turn| turn.deliveries as f64),
                of(|turn| f64::from(turn.refused)),
                of(|turn| turn.p50_ms),
                of(|turn| turn.p99_ms),
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
        let ratio = Spread::ratio(with, without, |turn| turn.cpu.as_secs_f64());
        let p99 = Spread::over(with, |turn| turn.p99_ms);
        self.page.ask(
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

    pub(super) fn slow(&mut self, seen: &[(Policy, Vec<slow::Turn>)]) {
        let mut table = format!(
            "## Readers that stop\n\n{} read; {STOPPED} more are stopped where they stand and given long messages until their \
             sockets take nothing more. Then everybody is sent a message a second.\n\n| readers | p99 of the others, ms | \
             their reach | memory grown, MiB | the kernel's, MiB | dropped | disconnected |\n|---|---|---|---|---|---|---|\n",
            slow::READERS
        );
        let reading = seen.iter().find(|(policy, _)| *policy == Policy::Reading);
        let reading = reading.map_or(&[][..], |(_, turns)| turns);
        for (policy, turns) in seen {
            let of = |value: fn(&slow::Turn) -> f64| Spread::over(turns, value);
            let (
                Some(p99),
                Some(reach),
                Some(grown),
                Some(kernel),
                Some(dropped),
                Some(disconnected),
            ) = (
                of(|turn| turn.p99_ms),
                of(|turn| turn.reach * 100.0),
                of(|turn| turn.grown as f64 / 1_048_576.0),
                of(|turn| turn.kernel_grown as f64 / 1_048_576.0),
                of(|turn| turn.dropped),
                of(|turn| turn.disconnected),
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
            if *policy != Policy::Reading {
                self.ask_slow(*policy, turns, reading);
            }
        }
        table.push('\n');
        self.page.chapter(&table);
    }

    fn ask_slow(&mut self, policy: Policy, turns: &[slow::Turn], reading: &[slow::Turn]) {
        let moved = Spread::ratio(turns, reading, |turn| turn.p99_ms);
        let bound = u64::from(STOPPED) * WAITING_MAX;
        let are_treated = turns.iter().all(|turn| match policy {
            Policy::Disconnect => turn.disconnected >= f64::from(STOPPED),
            Policy::Newest => turn.dropped >= f64::from(STOPPED) && turn.disconnected < 1.0,
            Policy::Reading => true,
        });
        let is_bounded = turns.iter().all(|turn| turn.grown <= bound);
        self.page.ask(
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

    pub(super) fn kill(&mut self, seen: Result<kill::Seen>) {
        let what = format!(
            "two edges and Redis, one killed under {} readers and {} messages a second: all back within 5 s, every message \
             recovered or its loss told",
            kill::READERS,
            kill::PER_SECOND
        );
        match seen {
            Ok(seen) => self.page.ask(
                &what,
                &format!(
                    "{} readers back within {:.2} s; of {} messages for each of {} lost {}, told of none {}, doubled {}",
                    seen.moved,
                    seen.back.as_secs_f64(),
                    seen.messages,
                    kill::READERS,
                    seen.lost,
                    seen.untold,
                    seen.doubled
                ),
                Some(
                    seen.moved >= kill::READERS / 2
                        && seen.back <= BACK_MAX
                        && seen.untold == 0
                        && seen.doubled == 0,
                ),
            ),
            Err(error) => {
                self.failure(&format!("one of two edges killed: {error:#}"));
                self.page.ask(&what, "not measured", None);
            }
        }
    }

    pub(super) fn reload(&mut self, seen: Result<reload::Seen>) {
        let what = format!(
            "{RELOADS} reloads under {} connections: none cut",
            reload::CLIENTS
        );
        match seen {
            Ok(seen) => self.page.ask(
                &what,
                &format!(
                    "{} reloads: {} of {} cut, reach {:.3} %",
                    seen.reloads,
                    seen.closed,
                    seen.connected,
                    seen.reach * 100.0
                ),
                Some(
                    seen.reloads == RELOADS
                        && seen.closed == 0
                        && seen.connected == u64::from(reload::CLIENTS)
                        && seen.reach >= WHOLE,
                ),
            ),
            Err(error) => {
                self.failure(&format!("reload: {error:#}"));
                self.page.ask(&what, "not measured", None);
            }
        }
    }

    pub(super) fn million(&mut self, seen: Result<million::Seen>) {
        let what = format!(
            "a million channels ({} clients with {CHANNELS_EACH} of their own): memory and publish time stated",
            million::CLIENTS
        );
        match seen {
            Ok(seen) => {
                println!("  {:.0} bytes a channel", seen.bytes_per_channel);
                let measured = format!(
                    "{:.0} bytes per channel with its subscription, {:.0} subscriptions/s, published in {:.2} ms (p99 {:.2}), \
                     delivered in {:.2} ms (p99 {:.2})",
                    seen.bytes_per_channel,
                    seen.subscriptions_per_second,
                    seen.published_ms.p50,
                    seen.published_ms.p99,
                    seen.delivered_ms.p50,
                    seen.delivered_ms.p99
                );
                self.page.ask(&what, &measured, Some(true));
            }
            Err(error) => {
                self.failure(&format!("a million channels: {error:#}"));
                self.page.ask(&what, "not measured", None);
            }
        }
    }

    fn told<T>(&mut self, outcome: &Outcome<T>) {
        if let Some(failure) = &outcome.failure {
            self.page.failure(outcome.hub.name(), failure);
        }
    }

    pub(super) fn finish(self) -> String {
        self.page.finish()
    }
}

/// The turns of one hub.
fn turns_of<T>(outcomes: &[Outcome<T>], hub: Hub) -> &[T] {
    let outcome = outcomes.iter().find(|outcome| outcome.hub == hub);
    outcome.map_or(&[], |outcome| &outcome.turns)
}
