//! The platform's servers on one core: the database, Rails on Puma, the edge in front of it; and its stores alone.

use std::path::Path;

use anyhow::Result;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::template::Values;

use crate::case::{Case, open_to_all};
use crate::database::{DatabasePlace, postgres};

/// What the requests go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConsultSetup {
    Alone,
    /// A cache of whole pages.
    Pages,
    /// A cache of pages and of what they are put together from.
    Fragments,
}

impl ConsultSetup {
    pub(super) const ALL: [Self; 3] = [Self::Alone, Self::Pages, Self::Fragments];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Alone => "nothing",
            Self::Pages => "page cache",
            Self::Fragments => "page cache with fragments",
        }
    }

    /// The configuration of the edge, in the folder of the case.
    fn configuration(self) -> &'static str {
        match self {
            Self::Alone | Self::Pages => "edge.yaml",
            Self::Fragments => "fragments.yaml",
        }
    }
}

/// The running platform. Ends when dropped, its folder last.
pub(super) struct ConsultStack<'a> {
    case: &'a Case,
    core: usize,
    application: RunningServer,
    _database: RunningServer,
    folder: tempfile::TempDir,
}

impl<'a> ConsultStack<'a> {
    /// Starts the database and the application on this core.
    pub(super) fn start(case: &'a Case, core: usize, threads: u8) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("consult-").tempdir()?;
        open_to_all(folder.path())?;
        let place = DatabasePlace {
            case,
            folder: folder.path(),
            core: Some(core),
        };
        let database = postgres(&place, "consult", None)?;
        let values = Values::default().with("database", database.port());
        let values = values.with("threads", threads);
        let names = ("application", "application");
        let application = case.start(names, folder.path(), Some(core), &values)?;
        Ok(Self {
            case,
            core,
            application,
            _database: database,
            folder,
        })
    }

    /// Starts an edge in front of the application.
    pub(super) fn edge(&self, way: ConsultSetup) -> Result<RunningServer> {
        let values = Values::default().with("application", self.application.port());
        let configuration = way.configuration();
        let values = values.with("configuration", configuration);
        let names = ("edge", configuration.trim_end_matches(".yaml"));
        self.case
            .start(names, self.folder.path(), Some(self.core), &values)
    }

    pub(super) fn application(&self) -> &RunningServer {
        &self.application
    }

    /// Folder of its logs.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// What the application of `matrix.yaml` needs beside it, on the ports that this file names. Ends when dropped, its folder
/// last.
pub(super) struct ConsultStores {
    servers: [RunningServer; 2],
    folder: tempfile::TempDir,
}

impl ConsultStores {
    /// Starts the database and Redis, on all cores.
    pub(super) fn start(case: &Case) -> Result<Self> {
        let [database, redis] = ["database", "redis"].map(|server| case.matrix_port(server));
        let (database, redis) = (database?, redis?);
        let folder = tempfile::Builder::new().prefix("consult-").tempdir()?;
        open_to_all(folder.path())?;
        let place = DatabasePlace {
            case,
            folder: folder.path(),
            core: None,
        };
        let values = Values::default().with("port", redis);
        let servers = [
            postgres(&place, "consult", Some(database))?,
            case.start(("redis", "redis"), folder.path(), None, &values)?,
        ];
        Ok(Self { servers, folder })
    }

    /// What `--stack` tells.
    pub(super) fn lines(&self, case: &Case) -> Vec<String> {
        let [database, redis] = &self.servers;
        vec![
            format!("PostgreSQL: 127.0.0.1:{}", database.port()),
            format!("Redis: 127.0.0.1:{}", redis.port()),
            format!("logs: {}", self.folder.path().display()),
            case.matrix_line(),
        ]
    }
}
