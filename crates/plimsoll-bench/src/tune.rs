//! `cargo xtask bench tune`: the search of `plimsoll tune` beside SMAC3, Optuna's TPE and random settings, on response surfaces
//! in virtual time. But for the time of proposals, equal seeds give equal pages.

mod confirmed;
mod course;
mod page;
mod peer;
mod proportion;
mod proposer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};
use clap::Args;
use plimsoll_harness::page::deliver;
use plimsoll_harness::workspace::Workspace;
use plimsoll_model::seed::Seed;
use plimsoll_testkit::surfaces::{self, ResponseSurface};

use self::confirmed::ConfirmedProposer;
use self::course::{Course, KnownSurface};
use self::page::SearchComparison;
use self::peer::{PeerProcess, PeerProposer};
use self::proposer::{Proposer, RandomProposer, TuneProposer};

/// Path of the page.
const PAGE: &str = "docs/benchmarks/tune.md";
/// Far more trials than our search may take: it ends by itself.
const OWN_TRIALS_MAX: u64 = 1_000;

/// Flags of the comparison of searches.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct SeedArguments {
    /// Seeds of noise and of the searches, on each surface with a gain
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    seeds: u32,
    /// The same on each surface without a gain; those beyond the seeds of the others are ours alone
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    seeds_without_gain: u32,
    /// First seed: those below 1001 are what constants of the search are chosen on
    #[arg(long, default_value_t = 1_001)]
    first_seed: u32,
}

/// Flags of the comparison of searches.
#[derive(Args)]
pub(crate) struct TuneArguments {
    #[command(flatten)]
    seeds: SeedArguments,
    /// Run our search alone, and print its results without writing a page
    #[arg(long, conflicts_with = "out")]
    alone: bool,
    /// Path of the page [default: the one in docs/benchmarks]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A way to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchMethod {
    Tune,
    Smac,
    Tpe,
    Random,
}

impl SearchMethod {
    const ALL: [Self; 4] = [Self::Tune, Self::Smac, Self::Tpe, Self::Random];

    fn name(self) -> &'static str {
        match self {
            Self::Tune => "plimsoll tune",
            Self::Smac => "SMAC3",
            Self::Tpe => "Optuna's TPE",
            Self::Random => "random",
        }
    }
}

/// What all searches did.
type Courses = Vec<(SearchMethod, Course)>;

/// A surface and a seed, on which each search is run.
struct SearchJob<'a> {
    known: &'a KnownSurface,
    /// Of the searches and of the noise.
    seed: Seed,
    /// Whether the peers are run, too.
    has_peers: bool,
}

pub(crate) fn run(arguments: &TuneArguments) -> Result<()> {
    let workspace = Workspace::find()?;
    if !arguments.alone {
        peer::install(&workspace)?;
    }
    let surfaces: Vec<KnownSurface> = surfaces::all().map(KnownSurface::new).collect();
    let jobs = jobs(&surfaces, arguments.seeds);
    let peers = (!arguments.alone).then_some(&workspace);
    let comparison = SearchComparison {
        courses: work(peers, &jobs)?,
        surfaces: &surfaces,
        seeds: arguments.seeds,
    };
    if arguments.alone {
        print!("{}", comparison.alone());
        return Ok(());
    }
    let text = comparison.page(&peer::versions(&workspace)?)?;
    let default = Some(Path::new(PAGE));
    deliver(&workspace, arguments.out.as_deref(), default, &text)
}

fn jobs(surfaces: &[KnownSurface], seeds: SeedArguments) -> Vec<SearchJob<'_>> {
    let mut jobs = Vec::new();
    for (label, known) in (0..).zip(surfaces) {
        let count = if known.surface.is_without_gain() {
            seeds.seeds_without_gain
        } else {
            seeds.seeds
        };
        jobs.extend((0..count).map(|offset| SearchJob {
            known,
            seed: Seed(u64::from(seeds.first_seed) + u64::from(offset)).derive(label),
            has_peers: offset < seeds.seeds,
        }));
    }
    jobs
}

/// The courses of these searches, in their order, on all cores; with those of the peers if a workspace has them.
fn work(peers: Option<&Workspace>, jobs: &[SearchJob<'_>]) -> Result<Courses> {
    let begun = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut courses: Vec<(usize, Courses)> = Vec::with_capacity(jobs.len());
    thread::scope(|scope| -> Result<()> {
        let work = || -> Result<Vec<(usize, Courses)>> {
            let mut process = peers.map(PeerProcess::start).transpose()?;
            let mut done = Vec::new();
            loop {
                let index = begun.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(index) else {
                    return Ok(done);
                };
                let courses = job.run(process.as_mut())?;
                for (method, course) in &courses {
                    println!(
                        "{} of {}: {}: {course}",
                        index + 1,
                        jobs.len(),
                        method.name()
                    );
                }
                done.push((index, courses));
            }
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let done = worker.join().map_err(|_| anyhow!("a worker panicked"))?;
            courses.extend(done?);
        }
        Ok(())
    })?;
    courses.sort_by_key(|(index, _)| *index);
    Ok(courses.into_iter().flat_map(|(_, done)| done).collect())
}

impl SearchJob<'_> {
    /// Our search, and each peer with as many trials.
    fn run(&self, process: Option<&mut PeerProcess>) -> Result<Courses> {
        let surface = self.known.surface;
        let mut ours = TuneProposer::new(surface, self.seed);
        let ours = self.known.run(&mut ours, self.noise(), OWN_TRIALS_MAX)?;
        let trials = ours.trials;
        let mut courses = vec![(SearchMethod::Tune, ours)];
        let Some(process) = process.filter(|_| self.has_peers) else {
            return Ok(courses);
        };
        // Python's generators take 32 bits.
        let seed = self.seed.0 >> 32;
        for (method, name) in [(SearchMethod::Smac, "smac"), (SearchMethod::Tpe, "tpe")] {
            let searching = ConfirmedProposer::<PeerProposer<'_>>::searching(trials);
            let search = PeerProposer::begin(process, name, surface, seed, searching)?;
            courses.push((method, self.peer(search, surface, trials)?));
        }
        let random = RandomProposer::new(surface, self.seed);
        courses.push((SearchMethod::Random, self.peer(random, surface, trials)?));
        Ok(courses)
    }

    fn peer(
        &self,
        search: impl Proposer,
        surface: &ResponseSurface,
        trials: u64,
    ) -> Result<Course> {
        let mut search = ConfirmedProposer::new(search, surface, self.seed, trials);
        self.known.run(&mut search, self.noise(), trials)
    }

    /// Noise and search do not share their random numbers.
    fn noise(&self) -> Seed {
        self.seed.derive(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEDS: SeedArguments = SeedArguments {
        seeds: 2,
        seeds_without_gain: 3,
        first_seed: 7,
    };

    #[test]
    fn each_surface_has_its_seeds_and_no_two_are_equal() {
        let surfaces: Vec<KnownSurface> = surfaces::all().map(KnownSurface::new).collect();
        let jobs = jobs(&surfaces, SEEDS);
        assert_eq!(jobs.len(), 16 * 2 + 4 * 3);
        let different: std::collections::BTreeSet<u64> = jobs.iter().map(|it| it.seed.0).collect();
        assert_eq!(different.len(), jobs.len());
    }

    #[test]
    fn without_peers_our_search_is_run_alone() {
        let surface = surfaces::all().find(|it| it.is_without_gain()).unwrap();
        let known = KnownSurface::new(surface);
        let job = SearchJob {
            known: &known,
            seed: Seed(1),
            has_peers: true,
        };
        let courses = job.run(None).unwrap();
        assert_eq!(courses.len(), 1);
        assert!(courses[0].0 == SearchMethod::Tune && courses[0].1.keeps_default);
    }
}
