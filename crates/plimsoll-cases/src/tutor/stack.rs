//! The tutor's servers: started in order, each ready before the next, all ended together.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use plimsoll_harness::running::RunningServer;
use plimsoll_harness::template::Values;

use super::injected_fault::InjectedFault;
use crate::case::{Case, open_to_all};
use crate::database::{DatabasePlace, MariaDb};

/// Requests that HAProxy hands to a server at a time: healthy, and as the study found it.
const SERVER_MAXCONN: u32 = 200;
const SERVER_MAXCONN_FAULT: u32 = 20;
/// Time that a request waits in HAProxy for a server.
const QUEUE_TIMEOUT: &str = "1s";

/// How the tutor is to be started.
pub(super) struct TutorSettings {
    pub(super) fault: Option<InjectedFault>,
    /// Number of web processes.
    pub(super) web_processes: usize,
    /// Port of HAProxy; `None` for a free one.
    pub(super) port: Option<u16>,
}

/// The running tutor. Ends when dropped, HAProxy first, its folder last.
pub(super) struct TutorStack {
    pub(super) proxy: RunningServer,
    _components: Vec<RunningServer>,
    _database: MariaDb,
    folder: tempfile::TempDir,
}

impl TutorStack {
    /// Starts everything.
    pub(super) fn start(case: &Case, settings: &TutorSettings) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("tutor-").tempdir()?;
        let path = folder.path();
        open_to_all(path)?;
        let database = MariaDb::with_rows(&DatabasePlace {
            case,
            folder: path,
            core: None,
        })?;
        if settings.fault == Some(InjectedFault::MissingIndex) {
            database.query("ALTER TABLE tutor.code DROP KEY code_assignment_save_time")?;
        }
        let start = |server: &str, name: &str, values: &Values| {
            case.start((server, name), path, None, values)
        };
        let memcached = start("memcached", "memcached", &Values::default())?;
        let values = Values::default()
            .with("database", database.socket.display())
            .with("memcached", memcached.port())
            .with("faults", site_faults(settings.fault));
        let site =
            |script: &str, name: &str| start("site", name, &values.clone().with("script", script));
        let engine = site("engine", "engine")?;
        let mut components = vec![memcached];
        let maxconn = server_maxconn(settings.fault);
        let mut web_servers = String::new();
        for place in 1..=settings.web_processes {
            let web = site("web", &format!("web{place}"))?;
            let port = web.port();
            writeln!(
                web_servers,
                "    server web{place} 127.0.0.1:{port} maxconn {maxconn}"
            )?;
            components.push(web);
        }
        let mut values = Values::default()
            .with("web_servers", web_servers)
            .with("engine", engine.port())
            .with("server_maxconn", maxconn)
            .with("queue_timeout", QUEUE_TIMEOUT);
        if let Some(port) = settings.port {
            values = values.with("port", port);
        }
        components.push(engine);
        Ok(Self {
            proxy: start("haproxy", "haproxy", &values)?,
            _components: components,
            _database: database,
            folder,
        })
    }

    /// Where its sockets and logs are.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// What the tutor of `tune.yaml` needs beside it. Ends when dropped, its folder last.
pub(super) struct TutorStores {
    memcached: RunningServer,
    database: MariaDb,
    folder: tempfile::TempDir,
}

impl TutorStores {
    /// Starts MariaDB and memcached.
    pub(super) fn start(case: &Case) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("tutor-").tempdir()?;
        let path = folder.path();
        open_to_all(path)?;
        let place = DatabasePlace {
            case,
            folder: path,
            core: None,
        };
        let names = ("memcached", "memcached");
        Ok(Self {
            database: MariaDb::with_rows(&place)?,
            memcached: case.start(names, path, None, &Values::default())?,
            folder,
        })
    }

    /// What `tune.yaml` and its template name of them, and of the parts that an experiment starts: so many web servers at most.
    pub(super) fn values(&self, case: &Case, web_servers_max: u16) -> Result<Values> {
        let [proxy, engine, web] = ["proxy", "engine", "web"].map(|part| case.matrix_port(part));
        let (proxy, engine, web) = (proxy?, engine?, web?);
        let versions = self.database.query("SELECT MAX(id) FROM tutor.code")?;
        let mut web_servers = String::new();
        for place in 0..web_servers_max {
            // One that is not started is down from the first check on.
            writeln!(
                web_servers,
                "    server web{} 127.0.0.1:{} maxconn {{{{ server_maxconn }}}} check inter 500ms fall 1 rise 1",
                place + 1,
                web + place
            )?;
        }
        Ok(Values::default()
            .with("folder", self.folder.path().display())
            .with("stack", self.folder.path().display())
            .with("database", self.database.socket.display())
            .with("memcached", self.memcached.port())
            .with("versions", versions.trim())
            .with("port", proxy)
            .with("engine", engine)
            .with("web", web)
            .with("web_servers", web_servers)
            .with("server_maxconn", "{{ server_maxconn }}")
            .with("queue_timeout", "{{ queue_timeout }}"))
    }
}

fn server_maxconn(fault: Option<InjectedFault>) -> u32 {
    match fault {
        Some(InjectedFault::ServerMaxconn) => SERVER_MAXCONN_FAULT,
        _ => SERVER_MAXCONN,
    }
}

fn site_faults(fault: Option<InjectedFault>) -> String {
    fault
        .filter(|fault| fault.is_of_the_site())
        .map(InjectedFault::name)
        .unwrap_or_default()
}
