//! `cargo xtask cache-suite`: the public test suite for HTTP caches, run against the edge and its peers.
//!
//! The suite has its own origin and client; they are started around a cache, and the results are
//! judged as the suite judges them. The suite is not part of the product.

mod edition;
mod exceptions;
mod report;
mod verdict;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use plimsoll_harness::packages::{Tool, see_to};
use plimsoll_harness::page::write;
use plimsoll_harness::programs::Programs;
use plimsoll_harness::running::{Place, RunningServer, ServerDefinition};
use plimsoll_harness::template::Values;
use plimsoll_harness::workspace::Workspace;
use plimsoll_harness::{data, release};
use serde::Deserialize;

use self::edition::Edition;
use self::exceptions::{Exceptions, PAGE as EXCEPTIONS};
use self::report::SuiteRun;
use self::verdict::{TestKind, TestVerdict};

/// The committed page.
const PAGE: &str = "docs/benchmarks/cache-suite.md";
/// The data file that defines the caches.
const DEFINITION: &str = "benchmarks/cache-suite.toml";
/// Our own cache in the data file.
const OURS: &str = "edge";

#[derive(Args)]
pub(crate) struct CacheSuiteArguments {
    /// Test only this cache; repeatable. The page is then written to --out only
    #[arg(long, value_parser = [OURS, "nginx", "varnish", "haproxy"])]
    subject: Vec<String>,
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

/// The tested caches: `benchmarks/cache-suite.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteDefinition {
    names: BTreeMap<String, String>,
    programs: BTreeMap<String, String>,
    servers: BTreeMap<String, ServerDefinition>,
}

impl CacheSuiteArguments {
    fn caches(&self) -> Vec<String> {
        if self.subject.is_empty() {
            return [OURS, "nginx", "varnish", "haproxy"]
                .map(ToOwned::to_owned)
                .into();
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
    let definition: SuiteDefinition = data::read(workspace.root(), DEFINITION)?;
    if caches.iter().any(|cache| cache == OURS) && !arguments.no_build {
        release::build(&workspace)?;
    }
    let edition = Edition::find(&workspace, arguments.edition.as_deref())?;
    let is_checkout = arguments.edition.is_some();
    let exceptions = Exceptions::find(workspace.root(), is_checkout)?;
    let runner = SuiteRunner {
        arguments,
        edition,
        definition,
        workspace: &workspace,
    };
    if !arguments.only.is_empty() {
        return runner.show(&caches);
    }
    let mut runs = Vec::new();
    for cache in caches {
        println!("testing {cache}");
        runs.push(runner.all(&cache)?);
    }
    println!(
        "\n{}\n\n{}",
        runner.edition.title,
        report::counts(&runner.edition, &runs)
    );
    let page = report::page(&runner.edition, &runs, &exceptions)?;
    let out = match &arguments.out {
        Some(out) => Some(out.as_path()),
        None => arguments.is_whole().then_some(Path::new(PAGE)),
    };
    if let Some(out) = out {
        write(&workspace, out, &page)?;
    }
    let ours = runs.iter().find(|run| run.is_ours);
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
    definition: SuiteDefinition,
    workspace: &'a Workspace,
}

impl SuiteRunner<'_> {
    /// All tests of one cache.
    fn all(&self, cache: &str) -> Result<SuiteRun> {
        let results = self.within(cache, |port, _| self.edition.run_all(port))?;
        let versions = self.programs(cache)?.versions();
        Ok(SuiteRun {
            name: self.definition.names[cache].clone(),
            is_ours: cache == OURS,
            version: versions.into_iter().next().unwrap_or_default(),
            results,
        })
    }

    /// The program of a cache, installed if it was missing.
    fn programs(&self, cache: &str) -> Result<Programs> {
        let name = self.definition.programs.get(cache);
        let name = name.with_context(|| format!("{DEFINITION} has no program of {cache}"))?;
        Programs::find(self.workspace, std::slice::from_ref(name), true)
    }

    /// Single tests, with the messages of both sides; fails if one is not passed.
    fn show(&self, caches: &[String]) -> Result<ExitCode> {
        let mut all_passed = true;
        for id in &self.arguments.only {
            ensure!(
                self.edition.tests.iter().any(|test| test.id == *id),
                "this edition has no test `{id}`; valid ids are in the page of results"
            );
            for cache in caches {
                println!("==== {id}: {cache}");
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
    fn within<T>(&self, cache: &str, work: impl FnOnce(u16, &Path) -> Result<T>) -> Result<T> {
        let folder = tempfile::Builder::new().prefix("cache-suite-").tempdir()?;
        let programs = self.programs(cache)?;
        let values = programs
            .values()
            .with("server", self.edition.server().display())
            .with("words", self.arguments.words.join(" "));
        let origin = self.start("origin", "origin", folder.path(), &values)?;
        let values = values.with("origin", origin.port());
        let server = self.start(cache, "subject", folder.path(), &values)?;
        work(server.port(), folder.path()).with_context(|| format!("cannot test {cache}"))
    }

    fn start(
        &self,
        server: &str,
        name: &str,
        folder: &Path,
        values: &Values,
    ) -> Result<RunningServer> {
        let definition = self.definition.servers.get(server);
        let definition =
            definition.with_context(|| format!("{DEFINITION} has no server of {server}"))?;
        let place = Place {
            root: self.workspace.root(),
            core: None,
            folder: Some(folder),
        };
        definition.start(name, &place, values)
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
