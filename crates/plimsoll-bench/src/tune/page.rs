//! The page of the searches, from their courses alone.

use anyhow::Result;
use plimsoll_harness::page::{ReportPage, Table};
use plimsoll_harness::spread::Spread;

use super::course::{Course, KnownSurface};
use super::proportion::{Proportion, median};
use super::{Courses, SearchMethod, SeedArguments};

/// What is required: the best in a median of at most so many trials, ...
const TRIALS_REQUIRED: u64 = 40;
/// ... and the default kept in this share of runs where nothing is better.
const KEPT_REQUIRED: f64 = 0.95;
/// Seeds of the project's page at least: with fewer, what is required stays open.
const SEEDS_MIN: u32 = 5;
const SEEDS_WITHOUT_GAIN_MIN: u32 = 20;

const TERMS: &str = "Twenty response surfaces stand for services with three to eight knobs; the best setting of each is known, as \
    every setting is computed. A trial gives the true line of a setting with 5 % noise (lognormal; the n-th trial has the same \
    noise in all searches) and takes a minute of virtual time. All searches begin with the default. None is told where a service \
    fails: no surface declares a constraint. `plimsoll tune` is its search with the standard limits; it ends by itself, and each \
    peer has as many trials as it took on the same surface with the same seed. Of these it measures the default in every block \
    and its candidates again; a peer spends none on that but the last twelve, which compare its choice with the default in six \
    pairs, and only what then gains 3 % with 95 % confidence is adopted, as in ours. SMAC3 is its facade for hyperparameters, \
    which re-measures what may be its best, trained after each trial and with 1,000 random candidates and five local searches \
    for each proposal, as many as ours has, in place of 10,000 and ten; Optuna's TPE is its default sampler; random search repeats nothing. SMAC3 chooses \
    its incumbent, the others what measured best. Both peers minimise minus the logarithm of the line, and a trial that fails \
    counts as half of the lowest line so far.";

/// What it leaves unsaid.
const LIMITS: &str = "The constants of our search were chosen on these surfaces, with seeds below 1001, which this page does not \
    use. So the noise is new to it and the surfaces are not, while the peers have the constants that they are published with: \
    on services unlike these the difference may be smaller. The surfaces and what counts as good were written by us.";

/// Why it may be.
const WHY: &str = "Each fifth trial of ours is of the default, six of the first thirty, which is what keeps it right on a host that \
    drifts; a peer tries new settings with them until its last twelve.";

/// What all searches did.
pub(super) struct SearchComparison<'a> {
    pub(super) surfaces: &'a [KnownSurface],
    pub(super) courses: Courses,
    pub(super) seeds: SeedArguments,
}

impl SearchComparison<'_> {
    pub(super) fn page(&self, versions: &[String]) -> Result<String> {
        let SeedArguments {
            seeds,
            seeds_without_gain,
            first_seed,
        } = self.seeds;
        let mut page = ReportPage::new("Searches for better settings", "bench tune", TERMS)?;
        page.paragraph(LIMITS);
        page.paragraph(&format!(
            "Seeds {first_seed} to {} on each surface with a gain, {first_seed} to {} on each without, where the peers have as many as on \
             the others.",
            first_seed + seeds - 1,
            first_seed + seeds_without_gain - 1
        ));
        page.versions(versions);
        self.require(&mut page);
        page.chapter("All surfaces with a gain");
        page.paragraph(
            "Trials until a setting with 95 % of the best line was tried, and until the search would have chosen such a setting: \
             medians over all surfaces and seeds, – where fewer than half got there. Adopted is the default where no gain is \
             confirmed. Time is what a search computes for a trial, on this machine, beside other searches and whatever else \
             it did; other medians with the smallest and largest in brackets.",
        );
        page.table(&self.summary());
        page.chapter("By kind of surface");
        page.paragraph(
            "Trials until such a setting is chosen; searches that chose one within 40 trials; searches that adopted one.",
        );
        page.table(&self.by_kind());
        page.chapter("Where ours is worse");
        page.paragraph(&self.losses());
        page.paragraph(WHY);
        page.chapter("By surface");
        page.paragraph("Trials until such a setting is chosen, and the share of the best line that is adopted: medians.");
        page.table(&self.by_surface());
        page.chapter("Surfaces without a gain: the default is kept");
        page.table(&self.without_gain());
        page.chapter("The surfaces");
        page.table(&self.list());
        page.command(&format!(
            "cargo xtask bench tune --seeds {seeds} --seeds-without-gain {seeds_without_gain} --first-seed {first_seed}"
        ));
        Ok(page.finish())
    }

    /// Our search alone, for the terminal.
    pub(super) fn alone(&self) -> String {
        let mut page = ReportPage::blank("The search of plimsoll tune");
        page.table(&self.summary());
        page.table(&self.by_kind());
        page.table(&self.by_surface());
        page.table(&self.without_gain());
        page.finish()
    }

    fn require(&self, page: &mut ReportPage) {
        let is_enough = self.seeds.seeds >= SEEDS_MIN;
        let [ours, peers @ ..] = SearchMethod::ALL.map(|method| self.trials_until(method, chosen));
        let best = peers.iter().copied().fold(f64::INFINITY, f64::min);
        page.requirement(
            "95 % of the best line in a median of at most 40 trials",
            Some(&shown(ours)),
            is_enough.then_some(ours <= TRIALS_REQUIRED as f64),
        );
        page.requirement(
            "no more trials than SMAC3, Optuna's TPE and random settings",
            Some(&format!("{}; {}", shown(ours), peers.map(shown).join(", "))),
            is_enough.then_some(ours <= best),
        );
        let adopted = |method| Proportion::of(self.of(method, true), Course::is_good);
        let [ours, peers @ ..] = SearchMethod::ALL.map(adopted);
        page.requirement(
            "95 % of the best line adopted in no fewer searches than with those three",
            Some(&format!(
                "{ours}; {}",
                peers.map(|it| it.to_string()).join(", ")
            )),
            is_enough.then_some(peers.iter().all(|peer| ours.share() >= peer.share())),
        );
        let kept = self.kept(SearchMethod::Tune, |_| true);
        let is_enough = self.seeds.seeds_without_gain >= SEEDS_WITHOUT_GAIN_MIN;
        page.requirement(
            "surfaces without a gain: the default is kept in at least 95 %",
            Some(&kept.to_string()),
            is_enough.then_some(kept.share() >= KEPT_REQUIRED),
        );
    }

    fn summary(&self) -> Table {
        let mut table = Table::new([
            "search",
            "trials until tried",
            "until chosen",
            "chosen within 40",
            "adopted 95 % of the best",
            "share of the best adopted",
            "trials in all",
            "ms a trial",
        ]);
        for method in self.methods() {
            let courses = || self.of(method, true);
            let spread = |of: &dyn Fn(&Course) -> f64, digits| {
                Spread::of(courses().map(of)).map_or_else(|| "–".to_owned(), |it| it.show(digits))
            };
            table.row([
                method.name().to_owned(),
                shown(self.trials_until(method, |it| it.tried)),
                shown(self.trials_until(method, chosen)),
                reached(courses()).to_string(),
                Proportion::of(courses(), Course::is_good).to_string(),
                spread(&|it| it.share, 2),
                spread(&|it| it.trials as f64, 0),
                spread(&Course::computed_ms, 1),
            ]);
        }
        table
    }

    fn by_kind(&self) -> Table {
        let columns = [
            "kind",
            "search",
            "until chosen",
            "chosen within 40",
            "adopted 95 %",
        ];
        let mut table = Table::new(columns);
        for kind in self.kinds() {
            for method in self.methods() {
                let courses = || self.of_kind(method, kind);
                table.row([
                    kind.to_owned(),
                    method.name().to_owned(),
                    shown(median(courses().map(|it| trials(it.chosen)))),
                    reached(courses()).to_string(),
                    Proportion::of(courses(), Course::is_good).to_string(),
                ]);
            }
        }
        table
    }

    /// The kinds on which a peer adopts a good setting more often than ours, or chooses one in fewer trials.
    fn losses(&self) -> String {
        let mut losses = Vec::new();
        for kind in self.kinds() {
            let adopted = |method| Proportion::of(self.of_kind(method, kind), Course::is_good);
            let until = |method| median(self.of_kind(method, kind).map(|it| trials(it.chosen)));
            let (ours, our_trials) = (adopted(SearchMethod::Tune), until(SearchMethod::Tune));
            for method in self.methods().filter(|it| *it != SearchMethod::Tune) {
                let (its, its_trials) = (adopted(method), until(method));
                let mut worse = Vec::new();
                if its.share() > ours.share() {
                    worse.push(format!("adopts a good setting in {its}, ours in {ours}"));
                }
                if its_trials < our_trials {
                    let (its, ours) = (shown(its_trials), shown(our_trials));
                    worse.push(format!("chooses one after {its} trials, ours after {ours}"));
                }
                if !worse.is_empty() {
                    losses.push(format!(
                        "- {kind}: {} {}",
                        method.name(),
                        worse.join(", and ")
                    ));
                }
            }
        }
        if losses.is_empty() {
            return "On no kind of surface.".to_owned();
        }
        losses.join("\n")
    }

    fn by_surface(&self) -> Table {
        let names = || self.methods().map(|method| method.name().to_owned());
        let head = ["surface", "kind"].map(ToOwned::to_owned);
        let left = names().map(|name| format!("adopted by {name}"));
        let mut table = Table::new(head.into_iter().chain(names()).chain(left));
        for known in self.gaining(true) {
            let id = known.surface.id();
            let on = |method| self.of(method, true).filter(move |it| it.surface == id);
            let mut row = vec![id.to_owned(), known.surface.shape().to_owned()];
            row.extend(
                self.methods()
                    .map(|method| shown(median(on(method).map(|it| trials(it.chosen))))),
            );
            row.extend(
                self.methods()
                    .map(|method| format!("{:.2}", median(on(method).map(|it| it.share)))),
            );
            table.row(row);
        }
        table
    }

    fn without_gain(&self) -> Table {
        let names = self.methods().map(SearchMethod::name);
        let mut table = Table::new(["surface"].into_iter().chain(names));
        let row = |name: &str, wanted: &dyn Fn(&Course) -> bool| {
            let kept = self.methods().map(|it| self.kept(it, wanted).to_string());
            [name.to_owned()]
                .into_iter()
                .chain(kept)
                .collect::<Vec<_>>()
        };
        for known in self.gaining(false) {
            let id = known.surface.id();
            table.row(row(id, &|it| it.surface == id));
        }
        table.row(row("all", &|_| true));
        table
    }

    fn list(&self) -> Table {
        let columns = [
            "surface",
            "kind",
            "knobs",
            "settings",
            "best / default",
            "service",
        ];
        let mut table = Table::new(columns);
        for known in self.surfaces {
            let surface = known.surface;
            table.row([
                surface.id().to_owned(),
                surface.shape().to_owned(),
                surface.knobs().len().to_string(),
                surface.settings().to_string(),
                format!("{:.2}", known.gain()),
                surface.meaning().to_owned(),
            ]);
        }
        table
    }

    /// The searches that were run.
    fn methods(&self) -> impl Iterator<Item = SearchMethod> {
        let methods = SearchMethod::ALL.into_iter();
        methods.filter(|method| self.courses.iter().any(|(of, _)| of == method))
    }

    /// Surfaces on which something is better than the default, or those on which nothing is.
    fn gaining(&self, is_gaining: bool) -> impl Iterator<Item = &KnownSurface> {
        let surfaces = self.surfaces.iter();
        surfaces.filter(move |it| it.surface.is_without_gain() != is_gaining)
    }

    /// Kinds of surfaces with a gain, in their order.
    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds = Vec::new();
        for known in self.gaining(true) {
            let kind = known.surface.shape();
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }

    /// Courses of a search on surfaces with a gain, or on those without.
    fn of(&self, method: SearchMethod, is_gaining: bool) -> impl Iterator<Item = &Course> {
        self.on(method, move |known| {
            known.surface.is_without_gain() != is_gaining
        })
    }

    fn of_kind(&self, method: SearchMethod, kind: &str) -> impl Iterator<Item = &Course> {
        self.on(method, move |known| known.surface.shape() == kind)
    }

    fn on(
        &self,
        method: SearchMethod,
        wanted: impl Fn(&KnownSurface) -> bool,
    ) -> impl Iterator<Item = &Course> {
        let courses = self.courses.iter().filter(move |(of, _)| *of == method);
        let is_on = move |course: &&Course| {
            let mut surfaces = self.surfaces.iter().filter(|known| wanted(known));
            surfaces.any(|known| known.surface.id() == course.surface)
        };
        courses.map(|(_, course)| course).filter(is_on)
    }

    /// The median of trials until something, on surfaces with a gain.
    fn trials_until(&self, method: SearchMethod, until: impl Fn(&Course) -> Option<u64>) -> f64 {
        median(self.of(method, true).map(|course| trials(until(course))))
    }

    /// In how many runs the default is left, of those on surfaces without a gain.
    fn kept(&self, method: SearchMethod, wanted: impl Fn(&Course) -> bool) -> Proportion {
        let courses = self.of(method, false).filter(|course| wanted(course));
        Proportion::of(courses, |course| course.keeps_default)
    }
}

fn chosen(course: &Course) -> Option<u64> {
    course.chosen
}

fn reached<'a>(courses: impl Iterator<Item = &'a Course>) -> Proportion {
    Proportion::of(courses, |course| course.is_reached_by(TRIALS_REQUIRED))
}

/// Infinitely many where a search never got there.
fn trials(until: Option<u64>) -> f64 {
    until.map_or(f64::INFINITY, |trials| trials as f64)
}

fn shown(trials: f64) -> String {
    if trials.is_finite() {
        format!("{trials:.0}")
    } else {
        "–".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_testkit::surfaces;

    use super::*;

    fn course(surface: &'static str, chosen: Option<u64>, keeps_default: bool) -> Course {
        Course {
            surface,
            tried: chosen.map(|trials| trials - 1),
            chosen,
            trials: 100,
            share: if chosen.is_some() { 0.97 } else { 0.5 },
            keeps_default,
            computed: Duration::from_millis(250),
        }
    }

    fn courses(surfaces: &[KnownSurface], seeds: u64) -> Courses {
        let mut courses = Vec::new();
        for (method, usual) in SearchMethod::ALL.into_iter().zip([30_u64, 45, 40, 90]) {
            for known in surfaces {
                let id = known.surface.id();
                let usual = if id == "caches" { 120 - usual } else { usual };
                for seed in 0..seeds {
                    let is_random = method == SearchMethod::Random;
                    let chosen = (!is_random || seed < 2).then_some(usual + seed);
                    courses.push((method, course(id, chosen, method == SearchMethod::Tune)));
                }
            }
        }
        courses
    }

    #[test]
    fn the_page_holds_ours_beside_the_peers() {
        let surfaces: Vec<KnownSurface> = surfaces::all().map(KnownSurface::new).collect();
        let of = |seeds| SearchComparison {
            surfaces: &surfaces,
            courses: courses(&surfaces, 5),
            seeds: SeedArguments {
                seeds,
                seeds_without_gain: 20,
                first_seed: 1_001,
            },
        };
        let page = of(5).page(&["SMAC3 1".to_owned()]).unwrap();
        for line in [
            "| 95 % of the best line in a median of at most 40 trials | 32 | met |",
            "| no more trials than SMAC3, Optuna's TPE and random settings | 32; 47, 42, – | met |",
            "the default is kept in at least 95 % | 20 of 20 (100.0 %) | met |",
            "| random | – | – | 2 of 80 (2.5 %) | 32 of 80 (40.0 %) | 0.50 (0.50-0.97) | 100 (100-100) | 2.5 (2.5-2.5) |",
            "| plateau | plimsoll tune | 32 | 5 of 5 (100.0 %) | 5 of 5 (100.0 %) |",
            "| gunicorn | interaction | 32 | 47 | 42 | – | 0.97 | 0.97 | 0.97 | 0.50 |",
            "\n- several optima: SMAC3 chooses one after 77 trials, ours after 92\n- several optima: Optuna's TPE chooses one after",
            "| all | 20 of 20 (100.0 %) | 0 of 20 (0.0 %) | 0 of 20 (0.0 %) | 0 of 20 (0.0 %) |",
            "Seeds 1001 to 1005 on each surface with a gain, 1001 to 1020 on each without, where the peers",
            "Versions: SMAC3 1.",
            "    cargo xtask bench tune --seeds 5 --seeds-without-gain 20 --first-seed 1001\n",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
        assert!(of(1).page(&[]).unwrap().contains("| 32 | **open** |"));
    }
}
