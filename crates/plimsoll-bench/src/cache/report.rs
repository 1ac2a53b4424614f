//! The tables of the cache's page.

use std::fmt::Write as _;

use anyhow::Result;

use super::caches::{CacheKind, CachePrograms};
use super::hit::{CacheHitOutcome, CacheHitRun, CacheHitScenario};
use super::load::LoadSummary;
use super::memory::{self, Filled};
use super::outage::{self, PAGES};
use super::purge;
use super::stampede::{self, CLIENTS, PAGE_MS, SECONDS, THINK_MS};
use crate::context::BenchContext;
use crate::page::{BenchmarkPage, Head};
use crate::spread::Spread;

/// Bytes of memory that an object of 1 kB may take.
const OBJECT_MAX: f64 = 1_600.0;
/// Longest wait of any client, in ms.
const WAIT_MAX_MS: f64 = 5.0;
const FETCHES_MAX: usize = 11;
/// Runs spread by so much that an old page counts as cheap as a fresh one up to here.
const COST_RATIO_MAX: f64 = 1.25;

/// The page under way.
pub(super) struct CacheReport {
    page: BenchmarkPage,
}

impl CacheReport {
    pub(super) fn new(ground: &BenchContext, programs: &CachePrograms) -> Result<Self> {
        let page = BenchmarkPage::new(
            ground,
            &Head {
                title: "The cache beside its peers",
                task: "cache",
                terms: "CPU per request is user and system time of all processes of the cache while a client loads \
                        it, over the client's count of good answers. Client and origin (nginx, from memory) share a \
                        core, the cache has the other. All caches keep pages in memory (nginx in files of a memory \
                        file system, with open_file_cache), and serve old pages while they renew them and while the \
                        origin is ill, as far as they know how. Memory is what no file backs, and nginx's files.",
                versions: &programs.versions(),
            },
        )?;
        Ok(Self { page })
    }

    pub(super) fn hit(&mut self, scenario: &CacheHitScenario, outcomes: &[CacheHitOutcome]) {
        let mut table = format!(
            "## {}\n\n| cache | CPU µs per request | ratio to nginx | requests/s | busy |\n|---|---|---|---|---|\n",
            scenario.title
        );
        let nginx = outcomes.iter().find(|it| it.cache == CacheKind::Nginx);
        for outcome in outcomes {
            self.page.command(&outcome.command);
            if let Some(failure) = &outcome.failure {
                let why = format!("{}: {failure}", scenario.title);
                self.page.failure(outcome.cache.name(), &why);
            }
            let (Some(cost), Some(rate), Some(busy)) = (
                Spread::over(&outcome.runs, cpu_us),
                Spread::over(&outcome.runs, |run| run.requests_per_second),
                Spread::over(&outcome.runs, |run| run.busy * 100.0),
            ) else {
                continue;
            };
            let ratio = nginx.and_then(|nginx| Spread::ratio(&outcome.runs, &nginx.runs, cpu_us));
            let _ = writeln!(
                table,
                "| {} | {} | {} | {:.0} | {:.0} % |",
                outcome.cache.name(),
                cost.show(2),
                ratio.map_or("–".to_owned(), |ratio| ratio.show(2)),
                rate.median,
                busy.median,
            );
        }
        table.push('\n');
        self.page.chapter(&table);
        let (best, varnish) = scenario.limits;
        self.require_hit(
            scenario,
            outcomes,
            &[CacheKind::Nginx, CacheKind::Haproxy],
            best,
        );
        self.require_hit(scenario, outcomes, &[CacheKind::Varnish], varnish);
    }

    /// Holds our cost against the cheapest of these peers.
    fn require_hit(
        &mut self,
        scenario: &CacheHitScenario,
        outcomes: &[CacheHitOutcome],
        peers: &[CacheKind],
        limit: f64,
    ) {
        let ours = outcomes.iter().find(|it| it.cache == CacheKind::Plimsoll);
        let peers_run = outcomes.iter().filter(|it| peers.contains(&it.cache));
        // The cheapest peer is the one beside which we look worst.
        let worst = peers_run
            .filter_map(|peer| Some((Spread::ratio(&ours?.runs, &peer.runs, cpu_us)?, peer.cache)))
            .max_by(|candidate, other| candidate.0.median.total_cmp(&other.0.median));
        let names: Vec<_> = peers.iter().map(|peer| peer.name()).collect();
        let what = format!(
            "{}: CPU at most {limit}x that of {}",
            scenario.title,
            names.join(" and of ")
        );
        match worst {
            Some((ratio, peer)) => self.page.requirement(
                &what,
                &format!("{}x {}", ratio.show(2), peer.name()),
                Some(ratio.median <= limit),
            ),
            None => self.page.requirement(&what, "not measured", None),
        }
    }

    pub(super) fn memory(&mut self, all: &[(CacheKind, Result<Filled>)]) {
        let mut table = format!(
            "## Memory of an object of 1 kB\n\nBodies of {} bytes, {} new ones a second ({} for the peers), every address once. HAProxy takes all its memory at the \
             start, so what one object takes is not seen. Times are those of a page that is there, asked for {} times a second \
             meanwhile: new ones wait for the origin too, which shares its core with the clients.\n\n| cache | \
             objects | bytes per object | p99.9 ms | longest ms |\n|---|---|---|---|---|\n",
            memory::BODY,
            memory::PER_SECOND,
            memory::PEER_PER_SECOND,
            memory::HOT_PER_SECOND
        );
        for (cache, filled) in all {
            let Some(filled) = self.unless_failed(*cache, "memory", filled) else {
                if *cache == CacheKind::Plimsoll {
                    self.page
                        .requirement("memory of an object", "not measured", None);
                }
                continue;
            };
            self.note(*cache, "memory", &filled.summary, &filled.command);
            self.note(*cache, "memory", &filled.hot, &filled.hot_command);
            let bytes = filled.bytes_per_object;
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} | {} |",
                cache.name(),
                filled.objects,
                bytes.map_or("–".to_owned(), |bytes| format!("{bytes:.0}")),
                filled.hot.p999,
                filled.hot.max
            );
            if *cache == CacheKind::Plimsoll {
                self.page.requirement(
                    &format!("memory: at most {OBJECT_MAX} bytes for an object of 1 kB"),
                    &bytes.map_or("not measured".to_owned(), |bytes| {
                        format!("{bytes:.0} bytes")
                    }),
                    bytes.map(|bytes| bytes <= OBJECT_MAX),
                );
                self.page.requirement(
                    &format!(
                        "{} objects under load: no pause over {WAIT_MAX_MS} ms",
                        filled.objects
                    ),
                    &format!("{} ms", filled.hot.max),
                    Some(filled.hot.max.is_at_most(WAIT_MAX_MS)),
                );
            }
        }
        table.push('\n');
        self.page.chapter(&table);
    }

    pub(super) fn stampede(&mut self, all: &[(CacheKind, Result<stampede::StampedeResult>)]) {
        let mut table = format!(
            "## Stampede\n\nOne page that takes {PAGE_MS} ms and lives for a second; {CLIENTS} clients for {SECONDS} s, \
             each asking again {THINK_MS} ms after its answer. Waits are those after the first second.\n\n| cache | \
             fetches | p99 ms | longest wait ms | answered 200 |\n|---|---|---|---|---|\n"
        );
        for (cache, result) in all {
            let Some(result) = self.unless_failed(*cache, "stampede", result) else {
                if *cache == CacheKind::Plimsoll {
                    self.page.requirement("stampede", "not measured", None);
                }
                continue;
            };
            self.note(*cache, "stampede", &result.summary, &result.command);
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} | {:.2} % |",
                cache.name(),
                result.fetches,
                result.summary.p99,
                result.summary.max,
                result.summary.good_share() * 100.0
            );
            if *cache == CacheKind::Plimsoll {
                self.page.requirement(
                    &format!(
                        "stampede: at most {FETCHES_MAX} fetches, no wait over {WAIT_MAX_MS} ms after the first fill"
                    ),
                    &format!("{} fetches, {} ms", result.fetches, result.summary.max),
                    Some(
                        (1..=FETCHES_MAX).contains(&result.fetches)
                            && result.summary.max.is_at_most(WAIT_MAX_MS)
                            && result.summary.good_share() > 0.999,
                    ),
                );
            }
        }
        table.push('\n');
        self.page.chapter(&table);
    }

    pub(super) fn outage(&mut self, all: &[(CacheKind, Result<outage::OutageResult>)]) {
        let mut table = format!(
            "## The origin is killed\n\n{PAGES} pages have been stale for a second and more when the origin is killed. \
             Beside it the same load on fresh pages.\n\n| cache | answered 200 | requests/s | of fresh pages | CPU µs per \
             request | of fresh pages |\n|---|---|---|---|---|---|\n"
        );
        for (cache, result) in all {
            let Some(result) = self.unless_failed(*cache, "outage", result) else {
                if *cache == CacheKind::Plimsoll {
                    self.page.requirement("origin killed", "not measured", None);
                }
                continue;
            };
            self.note(*cache, "outage", &result.dead.summary, &result.command);
            let good_share = result.dead.summary.good_share();
            let _ = writeln!(
                table,
                "| {} | {:.2} % | {:.0} | {:.0} | {:.2} | {:.2} |",
                cache.name(),
                good_share * 100.0,
                result.dead.summary.completed,
                result.fresh.summary.completed,
                result.dead.cpu_us_per_request,
                result.fresh.cpu_us_per_request
            );
            if *cache == CacheKind::Plimsoll {
                self.page.requirement(
                    &format!(
                        "origin killed: all answered 200, at most {COST_RATIO_MAX}x the CPU of a fresh page"
                    ),
                    &format!("{:.3} %, {:.2}x", good_share * 100.0, result.cost_ratio()),
                    Some(good_share >= 1.0 && result.cost_ratio() <= COST_RATIO_MAX),
                );
            }
        }
        table.push('\n');
        self.page.chapter(&table);
    }

    pub(super) fn purge(&mut self, result: &Result<purge::PurgeResult>) {
        let what = "everything purged: the origin gets less than twice its usual requests";
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                let why = format!("purge: {error:#}");
                self.page.failure(CacheKind::Plimsoll.name(), &why);
                return self.page.requirement(what, "not measured", None);
            }
        };
        self.note(
            CacheKind::Plimsoll,
            "purge",
            &result.summary,
            &result.command,
        );
        let after: Vec<_> = result.after.iter().map(ToString::to_string).collect();
        self.page.chapter(&format!(
            "## Everything is purged\n\n{} hot pages that live for {} s, {} requests a second. The origin got {:.0} requests a \
             second before; in the seconds after the purge {}. Longest wait {} ms, {:.3} % answered 200.\n\n",
            purge::PAGES,
            purge::LIFETIME_S,
            purge::PER_SECOND,
            result.usual,
            after.join(", "),
            result.summary.max,
            result.summary.good_share() * 100.0
        ));
        self.page.requirement(
            what,
            &format!("{:.2} times", result.peak / result.usual),
            Some(result.peak < result.usual * 2.0 && result.summary.good_share() > 0.999),
        );
    }

    fn unless_failed<'a, T>(
        &mut self,
        cache: CacheKind,
        chapter: &str,
        result: &'a Result<T>,
    ) -> Option<&'a T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.page
                    .failure(cache.name(), &format!("{chapter}: {error:#}"));
                None
            }
        }
    }

    /// The command, and the generator's own doubts.
    fn note(&mut self, cache: CacheKind, chapter: &str, summary: &LoadSummary, command: &str) {
        self.page.command(command);
        if let Some(void) = &summary.void {
            let why = format!("{chapter}: void by the generator's own word: {void}");
            self.page.failure(cache.name(), &why);
        }
    }

    pub(super) fn finish(self) -> String {
        self.page.finish()
    }
}

/// CPU of a request, microseconds.
fn cpu_us(run: &CacheHitRun) -> f64 {
    run.cpu_us_per_request
}
