//! `cargo xtask cache-suite`: the public test suite for HTTP caches, run against the edge and its peers.
//!
//! The suite has its own origin and client; they are started around a cache, and the results are
//! judged as the suite judges them. The suite is not part of the product.

mod caches;
mod edition;
mod exceptions;
mod report;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use plimsoll_harness::packages::{Tool, see_to};
use plimsoll_harness::port::free_ports;
use plimsoll_harness::release;
use plimsoll_harness::workspace::Workspace;

use self::caches::{StartContext, SuiteCache};
use self::edition::Edition;
use self::exceptions::{Exceptions, PAGE as EXCEPTIONS};
use self::report::SuiteRun;
use self::verdict::{TestKind, TestVerdict};
use crate::context;

/// The committed page.
const PAGE: &str = "docs/benchmarks/cache-suite.md";

#[derive(Args)]
pub(crate) struct CacheSuiteArguments {
    /// Test only this cache; repeatable. The page is then written to --out only
    #[arg(long, value_enum)]
    subject: Vec<SuiteCache>,
    /// Run a single test and show all its heads; repeatable
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Use the existing release binary
    #[arg(long)]
    no_build: bool,
    /// A checkout of another edition, with its packages; the page is then written to --out only
    #[arg(long, value_name = "FOLDER")]
    edition: Option<PathBuf>,
    /// Path of the page [default: docs/benchmarks/cache-suite.md, if complete]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Passed on to `plimsoll edge`, after `--`; the page is then written to --out only
    #[arg(last = true)]
    words: Vec<String>,
}

impl CacheSuiteArguments {
    fn caches(&self) -> Vec<SuiteCache> {
        if self.subject.is_empty() {
            return SuiteCache::ALL.to_vec();
        }
        self.subject.clone()
    }

    /// Whether the results are those of the project's page.
    fn is_whole(&self) -> bool {
        self.subject.is_empty() && self.edition.is_none() && self.words.is_empty()
    }
}

pub(crate) fn run(arguments: &CacheSuiteArguments) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    see_to(&[Tool::new("node", "nodejs"), Tool::new("npm", "npm")])?;
    let caches = arguments.caches();
    for cache in &caches {
        cache.install()?;
    }
    if caches.contains(&SuiteCache::Edge) && !arguments.no_build {
        release::build(&workspace)?;
    }
    let edition = Edition::find(&workspace, arguments.edition.as_deref())?;
    let is_checkout = arguments.edition.is_some();
    let exceptions = Exceptions::find(workspace.root(), is_checkout)?;
    let runner = SuiteRunner {
        arguments,
        edition,
        plimsoll: workspace.release("plimsoll"),
    };
    if !arguments.only.is_empty() {
        return runner.show(&caches);
    }
    let mut runs = Vec::new();
    for cache in caches {
        println!("testing {}", cache.name());
        runs.push(runner.all(cache)?);
    }
    println!(
        "\n{}\n\n{}",
        runner.edition.title,
        report::counts(&runner.edition, &runs)
    );
    let page = report::page(&runner.edition, &runs, &exceptions);
    let out = match &arguments.out {
        Some(out) => Some(out.as_path()),
        None => arguments.is_whole().then_some(Path::new(PAGE)),
    };
    if let Some(out) = out {
        context::write(&workspace.root().join(out), &page)?;
    }
    let ours = runs.iter().find(|run| run.cache == SuiteCache::Edge);
    Ok(ours.map_or(ExitCode::SUCCESS, |ours| {
        verdict_of_ours(&runner.edition, ours, &exceptions)
    }))
}

/// Reports missed tests of the edge; fails if a required one is not a known exception.
fn verdict_of_ours(edition: &Edition, ours: &SuiteRun, exceptions: &Exceptions) -> ExitCode {
    for (kind, title) in [
        (TestKind::Required, "required"),
        (TestKind::Optimal, "optimal"),
    ] {
        let missed = report::missed(edition, ours, kind, exceptions);
        if !missed.is_empty() {
            println!("not passed by our edge, {title}:\n{missed}");
        }
    }
    let passed = exceptions
        .ids()
        .filter(|id| ours.results.alone(id) == TestVerdict::Passed);
    for id in passed {
        println!("{EXCEPTIONS} lists `{id}`, which passes: remove it");
    }
    let missed = ours.results.missed(&edition.tests, TestKind::Required);
    let unknown = missed
        .iter()
        .filter(|(test, _)| exceptions.reason(&test.id).is_none())
        .count();
    if unknown == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{unknown} required tests failed and are not listed in {EXCEPTIONS}");
    ExitCode::FAILURE
}

/// How the suite is run.
struct SuiteRunner<'a> {
    arguments: &'a CacheSuiteArguments,
    edition: Edition,
    plimsoll: PathBuf,
}

impl SuiteRunner<'_> {
    /// All tests of one cache.
    fn all(&self, cache: SuiteCache) -> Result<SuiteRun> {
        let results = self.within(cache, |port, _| self.edition.run_all(port))?;
        Ok(SuiteRun {
            cache,
            version: cache.version(&self.plimsoll),
            results,
        })
    }

    /// Single tests, with the messages of both sides; fails if one is not passed.
    fn show(&self, caches: &[SuiteCache]) -> Result<ExitCode> {
        let mut all_passed = true;
        for id in &self.arguments.only {
            ensure!(
                self.edition.tests.iter().any(|test| test.id == *id),
                "this edition has no test `{id}`; valid ids are in the page of results"
            );
            for &cache in caches {
                println!("==== {id}: {}", cache.name());
                let output = self.within(cache, |port, folder| {
                    let client = self.edition.run_test(port, id)?;
                    let origin = std::fs::read_to_string(folder.join("origin.log"))?;
                    println!("{client}\n---- what the origin saw\n{origin}");
                    Ok(client)
                })?;
                all_passed &= is_passed(&output);
            }
        }
        Ok(if all_passed {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// Starts a new origin and a new cache in front of it, without stored responses of an earlier run.
    fn within<T>(
        &self,
        cache: SuiteCache,
        work: impl FnOnce(u16, &Path) -> Result<T>,
    ) -> Result<T> {
        let folder = tempfile::Builder::new().prefix("cache-suite-").tempdir()?;
        let ports = free_ports(2)?;
        let (port, origin_port) = (ports[0], ports[1]);
        let _origin = self.edition.origin(origin_port, folder.path())?;
        let place = StartContext {
            folder: folder.path(),
            port,
            origin: origin_port,
            plimsoll: &self.plimsoll,
            words: &self.arguments.words,
        };
        let _cache = cache.start(&place)?;
        work(port, folder.path()).with_context(|| format!("cannot test {}", cache.name()))
    }
}

/// The client's last line begins with a sign: a tick, or `Y` for what is only looked at.
fn is_passed(output: &str) -> bool {
    let last = output.trim_end().lines().next_back().unwrap_or_default();
    last.starts_with('\u{2705}') || last.starts_with("Y ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_tells_whether_a_single_test_is_passed() {
        assert!(is_passed(
            "=== Client request 1\n\n==== Results\n\u{2705} - \n"
        ));
        assert!(is_passed("Y - \n"));
        assert!(!is_passed(
            "\u{26d4}\u{fe0f} - Response 2 comes from cache\n"
        ));
        assert!(!is_passed(""));
    }
}
