//! The platform's servers on one core: the database, Rails on Puma, the edge in front of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use plimsoll_harness::port::free_ports;
use plimsoll_harness::server::{ChildServer, Recipe, pinned};

use crate::edge::CaseEdge;
use crate::exchange::exchange;
use crate::ground::CaseContext;
use crate::postgres::{PostgresServer, Rows};

const START: Duration = Duration::from_mins(1);

/// Signs the cookies of members; it protects nothing that outlives the command.
const SECRET: &str = "0123456789abcdef0123456789abcdef";

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
pub(super) struct ConsultStack {
    case: PathBuf,
    plimsoll: PathBuf,
    core: usize,
    port: u16,
    _application: ChildServer,
    _database: PostgresServer,
    folder: tempfile::TempDir,
}

impl ConsultStack {
    /// Starts the database and the application on this core.
    pub(super) fn start(ground: &CaseContext, core: usize, threads: u8) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("consult-").tempdir()?;
        let files = ["schema.sql", "rows.sql"].map(|name| ground.case.join("database").join(name));
        let rows = Rows {
            name: "consult",
            files: &files,
        };
        let database = PostgresServer::start(&rows, core, folder.path(), &ground.store)?;
        let port = free_ports(1)?[0];
        let site = ground.case.join("site/config.ru").display().to_string();
        let words = format!(
            "--bind tcp://127.0.0.1:{port} --threads {threads}:{threads} --workers 0 --environment production"
        );
        let recipe = Recipe {
            name: "application",
            program: "puma",
            user: None,
            arguments: words.split(' ').map(str::to_owned).chain([site]).collect(),
            environment: vec![
                ("RAILS_ENV", "production".to_owned()),
                ("CONSULT_SECRET", SECRET.to_owned()),
                (
                    "DATABASE_URL",
                    format!(
                        "postgresql://consult@127.0.0.1:{}/consult?pool={threads}",
                        database.port()
                    ),
                ),
            ],
        };
        let mut application = ChildServer::start(pinned(recipe, core), folder.path())?;
        application.wait(START, || {
            exchange(port, "/health", "", None).is_ok_and(|answer| answer.status == 200)
        })?;
        Ok(Self {
            case: ground.case.clone(),
            plimsoll: ground.plimsoll(),
            core,
            port,
            _application: application,
            _database: database,
            folder,
        })
    }

    /// Starts an edge in front of the application.
    pub(super) fn edge(&self, way: ConsultSetup) -> Result<CaseEdge> {
        let configuration = self.case.join(way.configuration());
        CaseEdge::start(
            &self.plimsoll,
            &configuration,
            self.port,
            self.core,
            self.folder.path(),
        )
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Folder of its logs.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}
