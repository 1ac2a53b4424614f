//! The two sides of a comparison as an experiment of two cells: the baseline and the candidate.

use std::time::Duration;

use plimsoll_config::plan::LoadPlan;
use plimsoll_model::experiment::{
    Axis, CellList, CertificateTrust, CommandLine, Condition, ConditionTerm, Design, Experiment,
    LevelPiece, LevelText, Measure, MeasureTarget, Measurement, OnlyIf, Readiness, ReadyCheck,
    Setup, SourceCheckout, TrialOrder,
};

use crate::arguments::{CompareArguments, LiveArguments};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::plan_file::{self, LoadedPlan};
use crate::target;

/// Longest build of a revision.
const BUILD_WITHIN: Duration = Duration::from_mins(20);
/// Longest wait until sockets and CPUs are at rest before a trial.
const SETTLE: Duration = Duration::from_secs(2);
/// Axis of the two sides; others have a level on one side only, so that what mentions them is applied there only.
const SIDE: usize = 0;

/// The two sides.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    experiment: Experiment,
    names: [String; 2],
    targets: [String; 2],
    plan: Option<String>,
    has_fixed_load: bool,
}

impl Sides {
    /// The sides that the flags name.
    pub(super) fn of(arguments: &CompareArguments) -> Result<Self, CliError> {
        let live = &arguments.live;
        if arguments.what.len() > 1 {
            return Err(CliError::usage(
                "trials in turn need one URL or plan file, and several are given",
            )
            .remedy("flags follow it: plimsoll compare http://127.0.0.1:8080/ --base … --head …"));
        }
        let what = arguments.what.first();
        match (&live.base_url, &live.head_url, what) {
            (Some(base), Some(head), what) => Self::of_urls([base, head], what),
            (_, _, Some(what)) => Self::of_services(live, what),
            _ => Err(CliError::usage("trials in turn need a URL or a plan file")),
        }
    }

    /// Services that run already; requests are those of a plan file, or of the URLs.
    fn of_urls(urls: [&String; 2], what: Option<&String>) -> Result<Self, CliError> {
        let mut has_fixed_load = false;
        if let Some(what) = what {
            if !plan_file::is_plan(what) {
                return Err(CliError::usage(format!(
                    "`{what}` conflicts with --base-url and --head-url"
                ))
                .remedy("leave it out, or give a plan file, whose requests then go to both"));
            }
            let plan = plan_file::read_if_plan(what, Some(urls[0]))?;
            has_fixed_load = plan.is_some_and(|plan| is_fixed(&plan));
        }
        let axes = vec![side_axis(["base", "head"])];
        Ok(Self {
            experiment: experiment(axes, Vec::new(), Vec::new(), None)?,
            names: ["base", "head"].map(str::to_owned),
            targets: urls.map(String::clone),
            plan: what.cloned(),
            has_fixed_load,
        })
    }

    /// Services that are started for each trial.
    fn of_services(live: &LiveArguments, what: &str) -> Result<Self, CliError> {
        let plan = plan_file::read_if_plan(what, None)?;
        let url = match &plan {
            Some(plan) => plan.plan.target.clone(),
            None => what.to_owned(),
        };
        let ready = ready(live, &url, plan.as_ref())?;
        let (names, axes, only_if, setups) = match (&live.base, &live.head, &live.git) {
            (Some(base), Some(head), _) => commands(&base.0, &head.0),
            (_, _, Some(_)) => revisions(live),
            _ => return Err(CliError::usage("--base and --head belong together")),
        };
        Ok(Self {
            experiment: experiment(axes, only_if, setups, Some(ready))?,
            names,
            targets: [url.clone(), url],
            has_fixed_load: plan.as_ref().is_some_and(is_fixed),
            plan: plan.map(|_| what.to_owned()),
        })
    }

    /// The experiment: cell 0 is the baseline, cell 1 the candidate.
    pub(super) fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Whether the sides are revisions that are checked out and built.
    pub(super) fn has_sources(&self) -> bool {
        let mut setups = self.experiment.setups.iter();
        setups.any(|setup| setup.source.is_some())
    }

    /// Names of the sides.
    pub(super) fn names(&self) -> &[String; 2] {
        &self.names
    }

    /// The plan file or URL of a side, and the target that replaces that of a plan file.
    pub(super) fn target(&self, cell: usize) -> (&str, Option<&str>) {
        let target = self.targets[cell.min(1)].as_str();
        match &self.plan {
            Some(plan) => (plan, Some(target)),
            None => (target, None),
        }
    }

    /// Whether a plan file sets a load that is no search.
    pub(super) fn has_fixed_load(&self) -> bool {
        self.has_fixed_load
    }
}

fn is_fixed(plan: &LoadedPlan) -> bool {
    matches!(plan.plan.load, Some(LoadPlan::Fixed(_)))
}

/// Names, axes, conditions and setups.
type Parts = ([String; 2], Vec<Axis>, Vec<OnlyIf>, Vec<Setup>);

/// A setup for each side; the words of a command mention an axis that has a level on its side only.
fn commands(base: &[String], head: &[String]) -> Parts {
    let axes = vec![
        side_axis(["base", "head"]),
        Axis::new("base", vec![String::new()]),
        Axis::new("head", vec![String::new()]),
    ];
    let only_if = [0, 1].map(|side| OnlyIf {
        axis: side + 1,
        condition: Condition::new(vec![ConditionTerm {
            axis: SIDE,
            levels: vec![side],
        }]),
    });
    let setup = |words: &[String], axis: usize| Setup {
        command: words
            .iter()
            .map(|word| {
                LevelText::new(vec![
                    LevelPiece::Text(word.clone()),
                    LevelPiece::Level(axis),
                ])
            })
            .collect(),
        ..Setup::default()
    };
    (
        ["base".to_owned(), "head".to_owned()],
        axes,
        only_if.to_vec(),
        vec![setup(base, 1), setup(head, 2)],
    )
}

fn revisions(live: &LiveArguments) -> Parts {
    let (base, head) = live
        .git
        .as_ref()
        .map(|revisions| (revisions.base.clone(), revisions.head.clone()))
        .unwrap_or_default();
    let words = |words: &[String]| -> Vec<LevelText> {
        let text = |word: &String| LevelText::new(vec![LevelPiece::Text(word.clone())]);
        words.iter().map(text).collect()
    };
    let build = live.build.as_ref().map(|build| CommandLine {
        words: words(&build.0),
        within: BUILD_WITHIN,
    });
    let setup = Setup {
        command: live
            .start
            .as_ref()
            .map(|start| words(&start.0))
            .unwrap_or_default(),
        source: Some(SourceCheckout {
            repository: ".".to_owned(),
            revision: LevelText::new(vec![LevelPiece::Level(SIDE)]),
            build,
        }),
        ..Setup::default()
    };
    let axes = vec![side_axis([&base, &head])];
    ([base, head], axes, Vec::new(), vec![setup])
}

fn side_axis(levels: [&str; 2]) -> Axis {
    Axis::new("side", levels.map(str::to_owned).to_vec())
}

fn experiment(
    axes: Vec<Axis>,
    only_if: Vec<OnlyIf>,
    setups: Vec<Setup>,
    ready: Option<ReadyCheck>,
) -> Result<Experiment, CliError> {
    let design = Design::new(axes).varying_only(only_if);
    let cells = design
        .cells()
        .map_err(|error| CliError::new(Exit::Internal, error.to_string()))?;
    Ok(Experiment {
        name: "compare".to_owned(),
        design,
        cells: CellList::Listed(cells),
        trials: 1,
        order: TrialOrder::Random,
        // That of the log.
        seed: None,
        measure: Measure {
            target: MeasureTarget::Url(LevelText::default()),
            measurement: Measurement::PlanLoad,
            objective: None,
        },
        setups,
        ready,
        health: None,
        warm: None,
        reset: None,
        settle: SETTLE,
        price: None,
        tuning: None,
    })
}

/// The check that a started service is ready: that of `--ready`, else the address of the target.
fn ready(
    live: &LiveArguments,
    url: &str,
    plan: Option<&LoadedPlan>,
) -> Result<ReadyCheck, CliError> {
    let text = |text: String| LevelText::new(vec![LevelPiece::Text(text)]);
    let readiness = match &live.ready {
        Some(ready) if ready.starts_with("http://") || ready.starts_with("https://") => {
            Readiness::Http(text(ready.clone()))
        }
        Some(address) => Readiness::Tcp(text(address.clone())),
        None => {
            let target = target::parse(url)?;
            let host = target.host_str().unwrap_or_default();
            let port = target.port_or_known_default().unwrap_or(80);
            Readiness::Tcp(text(format!("{host}:{port}")))
        }
    };
    Ok(ReadyCheck {
        readiness,
        within: live.ready_within,
        trust: plan.map_or_else(CertificateTrust::default, |plan| CertificateTrust {
            insecure: plan.plan.transport.insecure,
            ca_file: plan.plan.transport.ca_file.clone(),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_applied_on_its_side_only() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let (_, axes, only_if, setups) = commands(&words("serve --old"), &words("serve --new"));
        let design = Design::new(axes).varying_only(only_if);
        let cells = design.cells().unwrap();
        assert_eq!(cells.len(), 2);
        let command = |cell: usize, setup: usize| -> Vec<Option<String>> {
            let words = setups[setup].command.iter();
            words
                .map(|word| word.in_cell(&design, &cells[cell]))
                .collect()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(command(0, 0), [some("serve"), some("--old")]);
        assert_eq!(command(0, 1), [None, None]);
        assert_eq!(command(1, 0), [None, None]);
        assert_eq!(command(1, 1), [some("serve"), some("--new")]);
    }
}
