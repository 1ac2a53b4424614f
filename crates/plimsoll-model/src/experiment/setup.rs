//! How the levels of a cell become real, and what surrounds a trial.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::per_cell::{LevelText, PerCell};
use crate::component::ComponentKind;

/// What is applied for a cell. Parts that mention an axis without a level in the cell are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Command that starts the service, executable first; empty when the service is not started here.
    pub command: Vec<LevelText>,
    /// Variables of its environment.
    pub env: Vec<(String, LevelText)>,
    /// Folder in which it starts, relative to that of the experiment or of the checkout; `None` for that folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<LevelText>,
    /// Processes of the command.
    pub processes: Option<PerCell<u32>>,
    /// CPUs that all of its processes share.
    pub cpus: Option<PerCell<f64>>,
    /// Memory that all of its processes share, bytes.
    pub memory: Option<PerCell<u64>>,
    /// Files that are written from templates.
    pub files: Vec<TemplateFile>,
    /// Settings of running components.
    pub tunables: Vec<TunableValue>,
    /// Workers of running servers, by signals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerSignals>,
    /// Source that is checked out and built.
    pub source: Option<SourceCheckout>,
    /// Configuration of an edge in front of the service; `none` for no edge.
    pub edge: Option<LevelText>,
}

/// A file that is written from a template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TemplateFile {
    /// Name of the template.
    pub template: String,
    /// Its lines, line ends included. Lines that mention an axis without a level are left out.
    pub lines: Vec<LevelText>,
    /// The file that is written, and put back in the end.
    pub to: String,
    /// Command that must succeed on the written file before the service reads it; else the file is put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CommandLine>,
    /// Command that makes the service read it; `None` when it does so by itself.
    pub reload: Option<CommandLine>,
}

/// A setting of a running component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunableValue {
    /// Kind of the component.
    pub kind: ComponentKind,
    /// The setting.
    pub setting: String,
    /// Its value.
    pub to: LevelText,
}

/// Workers of a running server that it starts at the signal `TTIN` and ends at `TTOU`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerSignals {
    /// File of the server's process id.
    pub pid_file: String,
    /// Number of workers.
    pub to: PerCell<u32>,
    /// Time for each signal to have its effect.
    pub within: Duration,
}

/// A revision of a Git repository, and its build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceCheckout {
    /// Folder of the repository.
    pub repository: String,
    /// Commit, tag or branch.
    pub revision: LevelText,
    /// Command that builds it; `None` when nothing is built.
    pub build: Option<CommandLine>,
}

/// A command that must end within a time limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandLine {
    /// Executable and arguments.
    pub words: Vec<LevelText>,
    /// Time limit.
    pub within: Duration,
}

/// What must succeed before the service counts as ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// A URL that answers with a good status.
    Http(LevelText),
    /// An address, `host:port`, that accepts connections.
    Tcp(LevelText),
    /// A command that ends with exit code 0.
    Command(Vec<LevelText>),
}

/// A readiness check with its time limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadyCheck {
    /// The check.
    pub readiness: Readiness,
    /// Time limit.
    pub within: Duration,
    /// Certificates that a URL is checked with.
    pub trust: CertificateTrust,
}

/// Which certificates of servers are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateTrust {
    /// Any certificate is.
    pub insecure: bool,
    /// PEM file of authorities, instead of those of the system.
    pub ca_file: Option<PathBuf>,
}

/// Load before a trial that is not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warm {
    /// For this long.
    For(Duration),
    /// Until the response time is steady, at most for this long.
    Steady(Duration),
}

impl Warm {
    /// The longest time that it takes.
    pub const fn longest(self) -> Duration {
        match self {
            Self::For(lasting) | Self::Steady(lasting) => lasting,
        }
    }
}
