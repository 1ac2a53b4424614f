//! A case under way: its data file `cases/NAME/case.toml`, its folders and servers, the wish to stop, and its pages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::arguments::{CaseArguments, MeasurementArguments};
use plimsoll_harness::data;
use plimsoll_harness::machine::raise_descriptor_limit;
use plimsoll_harness::packages::see_to_all;
use plimsoll_harness::page::{ReportPage, write};
use plimsoll_harness::release::build;
use plimsoll_harness::running::{Place, RunningServer, ServerDefinition};
use plimsoll_harness::server::is_listening;
use plimsoll_harness::template::Values;
use plimsoll_harness::workspace::Workspace;
use serde::Deserialize;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::iterator::Signals;

use crate::tune_definition::TuneDefinition;

/// The data file of a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseDefinition {
    /// Programs, or files, with their Debian packages.
    tools: BTreeMap<String, String>,
    #[serde(default)]
    servers: BTreeMap<String, ServerDefinition>,
    /// Ports of servers that are started apart from others: `matrix.yaml` and `tune.yaml` name them.
    #[serde(default)]
    matrix_ports: BTreeMap<String, u16>,
    pages: BTreeMap<String, CasePage>,
    /// How it is tuned, if it is.
    tune: Option<TuneDefinition>,
    /// The remark on a page of quick runs.
    quick: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CasePage {
    title: String,
    /// How it was measured.
    terms: String,
}

/// What `--serve` started, and the lines that tell where it is.
pub(crate) type Served<T> = (T, Vec<String>);

/// A case, and its data between runs.
pub(crate) struct Case {
    name: &'static str,
    definition: CaseDefinition,
    pub(crate) workspace: Workspace,
    pub(crate) folder: PathBuf,
    /// Run files, reports, the rows of a database.
    pub(crate) store: PathBuf,
    /// Where the binary of `plimsoll` is.
    pub(crate) programs: PathBuf,
    is_stopped: Arc<AtomicBool>,
}

/// The data file that defines a case.
fn definition_of(name: &str) -> String {
    format!("cases/{name}/case.toml")
}

impl Case {
    /// Installs what it needs. Raises the limit of open files, which its servers inherit.
    pub(crate) fn new(name: &'static str) -> Result<Self> {
        let workspace = Workspace::find()?;
        let file = definition_of(name);
        let definition: CaseDefinition = data::read(workspace.root(), &file)?;
        see_to_all(&definition.tools)?;
        let case = Self {
            name,
            definition,
            folder: workspace.root().join("cases").join(name),
            store: workspace.target().join("case").join(name),
            programs: workspace.release(""),
            workspace,
            is_stopped: Arc::new(AtomicBool::new(false)),
        };
        std::fs::create_dir_all(&case.store)?;
        raise_descriptor_limit()?;
        Ok(case)
    }

    /// Builds the release binaries, unless that is not wanted.
    pub(crate) fn build(&self, arguments: &MeasurementArguments) -> Result<()> {
        if arguments.no_build {
            return Ok(());
        }
        build(&self.workspace)
    }

    /// From here on, signals only note the wish to stop: the process must remove the servers' folders before it exits.
    pub(crate) fn note_signals(&self) -> Result<()> {
        for signal in TERM_SIGNALS {
            signal_hook::flag::register(*signal, Arc::clone(&self.is_stopped))?;
        }
        Ok(())
    }

    pub(crate) fn is_stopped(&self) -> &AtomicBool {
        &self.is_stopped
    }

    /// Fails if a signal came.
    pub(crate) fn go_on(&self) -> Result<()> {
        let is_stopped = self.is_stopped.load(Ordering::Relaxed);
        ensure!(!is_stopped, "stopped before the table was whole");
        Ok(())
    }

    /// Prints what `start` returns beside what runs, and waits for a signal.
    pub(crate) fn serve<T>(start: impl FnOnce() -> Result<Served<T>>) -> Result<()> {
        let mut signals = Signals::new(TERM_SIGNALS)?;
        let (_running, lines) = start()?;
        for line in lines {
            println!("{line}");
        }
        println!("end it with Ctrl-C");
        signals.forever().next();
        Ok(())
    }

    /// The binary of `plimsoll`.
    pub(crate) fn plimsoll(&self) -> PathBuf {
        self.programs.join("plimsoll")
    }

    /// Starts a server of the data file; `name` is that of its log in the folder.
    pub(crate) fn start(
        &self,
        (server, name): (&str, &str),
        folder: &Path,
        core: Option<usize>,
        values: &Values,
    ) -> Result<RunningServer> {
        let definition = self.definition.servers.get(server);
        let definition = definition
            .with_context(|| format!("cases/{}/case.toml has no [servers.{server}]", self.name))?;
        let place = Place {
            root: self.workspace.root(),
            core,
            folder: Some(folder),
        };
        let values = Values::default()
            .with("plimsoll", self.plimsoll().display())
            .with("programs", self.programs.display())
            .with("store", self.store.display())
            .join(values);
        definition.start(name, &place, &values)
    }

    /// The port that `matrix.yaml` names for a server. Fails if it is taken.
    pub(crate) fn matrix_port(&self, server: &str) -> Result<u16> {
        let port = self.definition.matrix_ports.get(server).copied();
        let port = port.with_context(|| {
            format!(
                "cases/{}/case.toml has no {server} in [matrix_ports]",
                self.name
            )
        })?;
        ensure!(
            !is_listening(port),
            "port {port} is taken, which cases/{} names for {server}: end what listens there",
            self.name
        );
        Ok(port)
    }

    /// What to do beside `--stack`.
    pub(crate) fn matrix_line(&self) -> String {
        let plimsoll = self.plimsoll();
        let file = self.folder.join("matrix.yaml");
        format!(
            "measure with: {} matrix {}",
            plimsoll.display(),
            file.display()
        )
    }

    /// A page of the data file, with what is to be known of the machine and of this run. Fails on a busy machine, unless that
    /// is waived.
    pub(crate) fn page(
        &self,
        name: &str,
        arguments: (&MeasurementArguments, &CaseArguments),
        values: &Values,
    ) -> Result<ReportPage> {
        let task = format!("case {}", self.name);
        let mut page = self.defined_page(name, &task, values)?;
        page.check_machine(arguments.0.anyway)?;
        if arguments.1.quick {
            page.remark(&self.definition.quick);
        }
        Ok(page)
    }

    /// The page of a tuned case. Fails on a busy machine, unless that is waived.
    pub(crate) fn tune_page(
        &self,
        task: &str,
        arguments: &MeasurementArguments,
    ) -> Result<ReportPage> {
        let mut page = self.defined_page("tune", task, &Values::default())?;
        page.check_machine(arguments.anyway)?;
        Ok(page)
    }

    /// How it is tuned.
    pub(crate) fn tune_definition(&self) -> Result<TuneDefinition> {
        let tune = self.definition.tune.clone();
        tune.with_context(|| format!("cases/{}/case.toml has no [tune]", self.name))
    }

    /// How a case is tuned, from its data file alone.
    #[cfg(test)]
    pub(crate) fn definition_for_tests(name: &str) -> TuneDefinition {
        let workspace = Workspace::find().expect("tests run in the workspace");
        let definition = data::read::<CaseDefinition>(workspace.root(), &definition_of(name));
        definition
            .expect("the data file is right")
            .tune
            .expect("it has [tune]")
    }

    /// The text of a file of the case.
    pub(crate) fn read(&self, name: &str) -> Result<String> {
        let path = self.folder.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// The folder of all cases.
    pub(crate) fn cases(&self) -> PathBuf {
        self.workspace.root().join("cases")
    }

    /// The beginning of a page of the data file.
    fn defined_page(&self, name: &str, task: &str, values: &Values) -> Result<ReportPage> {
        let page = self.definition.pages.get(name);
        let page =
            page.with_context(|| format!("cases/{}/case.toml has no [pages.{name}]", self.name))?;
        let terms = plimsoll_harness::template::fill("case.toml", &page.terms, values)?;
        let mut written = ReportPage::new(&page.title, task, &terms)?;
        written.defined_in(&definition_of(self.name));
        Ok(written)
    }

    /// Writes the page of a matrix from its output.
    pub(crate) fn write_matrix(&self, file: &Path, arguments: &MeasurementArguments) -> Result<()> {
        let task = format!("case {} --matrix FILE", self.name);
        let mut page = self.defined_page("matrix", &task, &Values::default())?;
        crate::matrix::fill(&mut page, file)?;
        page.command(&format!("cargo xtask case {} --stack", self.name));
        page.command(&format!(
            "plimsoll matrix cases/{}/matrix.yaml --json > FILE",
            self.name
        ));
        write(
            &self.workspace,
            &self.out_beside(arguments, "matrix"),
            &page.finish(),
        )
    }

    /// Where a further page goes: `NAME-FURTHER.md` beside the first.
    pub(crate) fn out_beside(&self, arguments: &MeasurementArguments, further: &str) -> PathBuf {
        let out = self.out(arguments);
        let mut name = out.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{further}.md"));
        out.with_file_name(name)
    }

    /// Where the page of a tuned case goes: to `--out`, or beside the first page of the case.
    pub(crate) fn tune_out(&self, arguments: &MeasurementArguments) -> PathBuf {
        let beside = || self.out_beside(arguments, "tune");
        arguments.out.clone().unwrap_or_else(beside)
    }

    /// Writes a page to `--out`, or to the project's own.
    pub(crate) fn write(&self, arguments: &MeasurementArguments, page: ReportPage) -> Result<()> {
        write(&self.workspace, &self.out(arguments), &page.finish())
    }

    /// Where the page goes.
    pub(crate) fn out(&self, arguments: &MeasurementArguments) -> PathBuf {
        let project = || PathBuf::from(format!("docs/benchmarks/{}.md", self.name));
        arguments.out.clone().unwrap_or_else(project)
    }
}

/// Lets the users of the servers pass, and make their sockets; what is inside keeps its own rights.
pub(crate) fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = if plimsoll_harness::server::is_root() {
        0o777
    } else {
        0o700
    };
    Ok(std::fs::set_permissions(
        folder,
        std::fs::Permissions::from_mode(mode),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_name_the_ports_of_the_stores() {
        let workspace = Workspace::find().unwrap();
        let cases = workspace.root().join("cases");
        for (name, files) in [
            ("consult", &["matrix.yaml", "database/reset.sh"][..]),
            ("newspaper", &["matrix.yaml"][..]),
        ] {
            let definition: CaseDefinition =
                data::read(workspace.root(), &definition_of(name)).unwrap();
            assert!(!definition.matrix_ports.is_empty());
            for (server, port) in &definition.matrix_ports {
                for file in files {
                    let text = std::fs::read_to_string(cases.join(name).join(file)).unwrap();
                    assert!(
                        text.contains(&port.to_string()),
                        "{file}: {server} at {port}"
                    );
                }
            }
        }
    }
}
