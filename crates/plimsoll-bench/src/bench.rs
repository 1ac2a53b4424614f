//! A comparison under way: its data file and programs, the cores, the rounds, a folder, and the page.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use plimsoll_harness::arguments::{MeasurementArguments, RoundArguments};
use plimsoll_harness::child::{POLL, Weighed, pinned, weigh};
use plimsoll_harness::data;
use plimsoll_harness::definition::{Chapter, PageDefinition, check_only};
use plimsoll_harness::machine::{raise_descriptor_limit, two_cores};
use plimsoll_harness::origin::OriginProcess;
use plimsoll_harness::page::{ReportPage, deliver, shown, write};
use plimsoll_harness::programs::Programs;
use plimsoll_harness::release::build;
use plimsoll_harness::run_report::RunReport;
use plimsoll_harness::running::{Place, RunningServer};
use plimsoll_harness::sample::{Outcome, Rounds, Sample};
use plimsoll_harness::step::execute;
use plimsoll_harness::template::{Values, fill, split};
use plimsoll_harness::workspace::Workspace;

use crate::client::{ClientSummary, accepted};

/// Flags of all comparisons.
#[derive(Args)]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    rounds: RoundArguments,
    #[command(flatten)]
    measurement: MeasurementArguments,
}

/// What every measurement has.
pub(crate) struct Bench {
    pub(crate) definition: PageDefinition,
    pub(crate) programs: Programs,
    pub(crate) client_core: usize,
    pub(crate) server_core: usize,
    pub(crate) rounds: u32,
    pub(crate) seconds: u32,
    pub(crate) anyway: bool,
    pub(crate) root: PathBuf,
    /// Folder for run files.
    folder: tempfile::TempDir,
}

/// One run of a client to its end.
pub(crate) struct ClientRun {
    /// As the page shows it.
    pub(crate) command: String,
    pub(crate) summary: ClientSummary,
    pub(crate) weighed: Weighed,
}

/// Measures a chapter.
pub(crate) type Measure = fn(&Bench, &Chapter) -> Result<Vec<Outcome>>;

/// Measures all chapters of `benchmarks/TASK.toml`, or those that are asked for, and writes the page. Parameters that are `set`
/// replace those of the file.
pub(crate) fn run(
    task: &str,
    arguments: &BenchArguments,
    set: &[(&str, u32)],
    measure: Measure,
) -> Result<()> {
    let workspace = Workspace::find()?;
    let file = definition_of(task);
    let mut definition: PageDefinition = data::read(workspace.root(), &file)?;
    for (name, value) in set {
        definition.set(name, (*value).into());
    }
    let only = &arguments.rounds.only;
    definition.check().context(file)?;
    check_only(&definition, only)?;
    if !arguments.measurement.no_build {
        build(&workspace)?;
    }
    let bench = Bench::new(&workspace, definition, arguments)?;
    let mut page = bench.page(task)?;
    let mut measured: BTreeMap<&str, Vec<Outcome>> = BTreeMap::new();
    let definition = &bench.definition;
    for chapter in definition.chapters() {
        if !only.is_empty() && !only.iter().any(|id| id == chapter.id()) {
            continue;
        }
        let kind = chapter.runs_of().unwrap_or(chapter.kind());
        if chapter.runs_of().is_none() {
            measured.insert(kind, measure(&bench, chapter)?);
        }
        let outcomes = measured.get(kind).map_or(&[][..], Vec::as_slice);
        definition.show(&mut page, chapter, outcomes)?;
    }
    let project = PathBuf::from(format!("docs/benchmarks/{task}.md"));
    let is_valid = page.is_valid() || !definition.is_only_valid();
    let text = page.finish();
    match &arguments.measurement.out {
        Some(out) => write(&workspace, out, &text),
        None if !is_valid => {
            println!(
                "\n{text}\n{} is left as it was: this measurement is not valid",
                project.display()
            );
            Ok(())
        }
        None => deliver(&workspace, None, only.is_empty().then_some(&project), &text),
    }
}

/// The data file that defines a comparison.
pub(crate) fn definition_of(task: &str) -> String {
    format!("benchmarks/{task}.toml")
}

impl Bench {
    fn new(
        workspace: &Workspace,
        definition: PageDefinition,
        arguments: &BenchArguments,
    ) -> Result<Self> {
        raise_descriptor_limit()?;
        let (client_core, server_core) = two_cores()?;
        let install = !arguments.rounds.no_install;
        Ok(Self {
            programs: Programs::find(workspace, definition.programs(), install)?,
            definition,
            client_core,
            server_core,
            rounds: arguments.rounds.rounds,
            seconds: arguments.rounds.seconds,
            anyway: arguments.measurement.anyway,
            root: workspace.root().to_owned(),
            folder: tempfile::tempdir()?,
        })
    }

    fn page(&self, task: &str) -> Result<ReportPage> {
        let rounds = if self.definition.is_without_server() {
            format!(
                "{} rounds, each program pinned to core {}; rounds alternate between the programs.",
                self.rounds, self.client_core
            )
        } else {
            format!(
                "{} rounds of {} s, the client pinned to core {}, the server to core {}, over loopback; rounds alternate \
                 between the clients.",
                self.rounds, self.seconds, self.client_core, self.server_core,
            )
        };
        let terms = format!(
            "{rounds} {} Medians, with the smallest and largest in brackets. Runs spread by 10-30 %: a smaller gap is no \
             gap, and only ratios carry over to other machines.",
            self.definition.terms(),
        );
        let mut page = ReportPage::new(self.definition.title(), &format!("bench {task}"), &terms)?;
        page.defined_in(&definition_of(task));
        page.check_machine(self.anyway)?;
        page.versions(&self.programs.versions());
        Ok(page)
    }

    /// Folder for run files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The rounds that were asked for.
    pub(crate) fn rounds(&self) -> Rounds {
        Rounds::of(self.rounds)
    }

    /// How long a run of the chapter lasts.
    pub(crate) fn seconds_of(&self, chapter: &Chapter) -> u32 {
        chapter.number("seconds").unwrap_or(self.seconds)
    }

    /// Paths of the programs, parameters of the chapter, and the length of its runs.
    pub(crate) fn values(&self, chapter: &Chapter) -> Values {
        let values = self.programs.values().join(&chapter.values());
        let values = values.with("benchmarks", self.root.join("benchmarks").display());
        values.with("seconds", self.seconds_of(chapter))
    }

    /// Starts a server of the data file on this core.
    pub(crate) fn start(&self, name: &str, core: usize, values: &Values) -> Result<RunningServer> {
        let place = Place {
            root: &self.root,
            core: Some(core),
            folder: None,
        };
        let values = self.programs.values().join(values);
        self.definition.server(name)?.start(name, &place, &values)
    }

    /// A template of the repository, filled.
    pub(crate) fn filled(&self, template: &str, values: &Values) -> Result<String> {
        let text = std::fs::read_to_string(self.root.join(template));
        fill(template, &text.context(template.to_owned())?, values)
    }

    /// Gives our edge a new configuration, and waits until it has read it.
    pub(crate) fn reload(&self, admin_port: u16, file: &Path, text: &str) -> Result<()> {
        std::fs::write(file, text)?;
        let admin = format!("127.0.0.1:{admin_port}");
        let plimsoll = self.programs.path("plimsoll")?;
        execute(Command::new(plimsoll).args(["edge", "reload", "--admin", &admin]))
    }

    /// Starts the test kit's origin, with these words, on the client's core or the server's.
    pub(crate) fn origin(&self, core: usize, words: &str) -> Result<OriginProcess> {
        let program = self.programs.path("plimsoll-origin")?;
        OriginProcess::start(&program, Some(core), &split(words))
    }

    /// Runs a client to its end on its core, and calls `meanwhile` every `poll`.
    pub(crate) fn weigh(
        &self,
        words: &[String],
        poll: Duration,
        meanwhile: impl FnMut(u32, Duration),
    ) -> Result<Weighed> {
        let mut command = pinned(self.client_core, words);
        command.current_dir(self.folder());
        weigh(command, accepted(words), poll, meanwhile)
    }

    /// Runs a client of the data file against a URL; `kind` is that of its command line.
    pub(crate) fn client(
        &self,
        (subject, kind): (&str, &str),
        url: &str,
        values: &Values,
        (poll, meanwhile): (Duration, impl FnMut(u32, Duration)),
    ) -> Result<ClientRun> {
        if let Some(line) = self.definition.setting(subject, kind) {
            self.programs.check(line)?;
        }
        let values = values.clone().with("url", url);
        let words = self.definition.client(subject, kind, &values)?;
        let weighed = self.weigh(&words, poll, meanwhile)?;
        let summary = ClientSummary::parse(&words, &weighed.stdout)?;
        let peers = self.programs.peers().display().to_string();
        let root = format!("{}/", self.root.display());
        let folder = self.folder().display().to_string();
        let names = [
            (url, "URL"),
            (&peers, "PEERS"),
            (&root, ""),
            (&folder, "FOLDER"),
        ];
        Ok(ClientRun {
            command: shown(&words, &names),
            summary,
            weighed,
        })
    }

    /// Result of `plimsoll run` with these arguments, and its command for the page, with names for varying values. A void
    /// measurement has a result too, marked as void.
    pub(crate) fn generate(
        &self,
        arguments: &str,
        named: &[(&str, &str)],
    ) -> Result<(RunReport, String)> {
        self.generate_meanwhile(arguments, named, POLL, |_| ())
    }

    /// The same, with something done meanwhile.
    pub(crate) fn generate_meanwhile(
        &self,
        arguments: &str,
        named: &[(&str, &str)],
        poll: Duration,
        mut meanwhile: impl FnMut(Duration),
    ) -> Result<(RunReport, String)> {
        let plimsoll = self.programs.path("plimsoll")?;
        let words = split(&format!(
            "{} run {arguments} --cores 1 --json",
            plimsoll.display()
        ));
        let weighed = self.weigh(&words, poll, |_, elapsed| meanwhile(elapsed))?;
        Ok((RunReport::parse(&weighed.stdout)?, shown(&words, named)))
    }
}

/// One run of each subject.
pub(crate) fn once(
    chapter: &Chapter,
    mut measure: impl FnMut(&str) -> Result<Sample>,
) -> Vec<Outcome> {
    Rounds::of(1).alternate(chapter.what(), chapter.subjects(), |subject, _| {
        measure(subject)
    })
}

/// A chapter of the data file that no code measures.
pub(crate) fn unknown(chapter: &Chapter) -> Result<Vec<Outcome>> {
    bail!("no code measures chapters of the kind `{}`", chapter.kind())
}

/// CPU time for each of so many, in µs.
pub(crate) fn us_each(cpu: Duration, count: f64) -> f64 {
    cpu.as_secs_f64() * 1e6 / count.max(1.0)
}

/// As MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}
