//! The tutor's servers: started in order, each ready before the next, all ended together.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use plimsoll_harness::port::free_ports;
use plimsoll_harness::server::{ChildServer, Recipe};

use super::database::{Database, open_to_all};
use super::injected_fault::InjectedFault;
use super::proxy::Proxy;
use crate::exchange::exchange;

const START: Duration = Duration::from_secs(20);

/// Requests that HAProxy hands to a server at a time: healthy, and as the study found it.
const SERVER_MAXCONN: u32 = 200;
const SERVER_MAXCONN_FAULT: u32 = 20;

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
    pub(super) port: u16,
    _proxy: ChildServer,
    _components: Vec<ChildServer>,
    _memcached: ChildServer,
    _database: Database,
    folder: tempfile::TempDir,
}

impl TutorStack {
    /// Starts everything. `case` is the folder of the case, `store` the one where the database's rows are kept.
    pub(super) fn start(settings: &TutorSettings, case: &Path, store: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("tutor-").tempdir()?;
        let path = folder.path();
        open_to_all(path)?;
        let database = Database::start(path, store)?;
        if settings.fault == Some(InjectedFault::MissingIndex) {
            database.send("ALTER TABLE tutor.code DROP KEY code_assignment_save_time")?;
        }
        let mut free = free_ports(settings.web_processes + 3)?;
        let memcached_port = free.remove(0);
        let engine_port = free.remove(0);
        let port = settings.port.unwrap_or(free.remove(0));
        let web_ports = free;
        let memcached = memcached(memcached_port, path)?;
        let site = SiteContext {
            case,
            folder: path,
            socket: &database.socket,
            memcached_port,
            faults: site_faults(settings.fault),
        };
        let mut components = vec![site.start_component("engine", "engine", engine_port)?];
        for (place, port) in web_ports.iter().enumerate() {
            components.push(site.start_component("web", &format!("web{}", place + 1), *port)?);
        }
        for (component, port) in components
            .iter_mut()
            .zip([engine_port].iter().chain(&web_ports))
        {
            component.wait(START, || is_healthy(*port))?;
        }
        let proxy = haproxy(&Proxy {
            port,
            web_ports: &web_ports,
            engine_port,
            server_maxconn: if settings.fault == Some(InjectedFault::ServerMaxconn) {
                SERVER_MAXCONN_FAULT
            } else {
                SERVER_MAXCONN
            },
            folder: path,
        })?;
        Ok(Self {
            port,
            _proxy: proxy,
            _components: components,
            _memcached: memcached,
            _database: database,
            folder,
        })
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where its sockets and logs are.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// What the processes of the site have in common.
struct SiteContext<'a> {
    case: &'a Path,
    folder: &'a Path,
    socket: &'a Path,
    memcached_port: u16,
    faults: String,
}

impl SiteContext<'_> {
    fn start_component(&self, script: &str, name: &str, port: u16) -> Result<ChildServer> {
        let script: PathBuf = self.case.join("site").join(format!("{script}.js"));
        let recipe = Recipe {
            name,
            program: "node",
            user: None,
            arguments: vec![script.display().to_string()],
            environment: vec![
                ("NODE_ENV", "production".to_owned()),
                ("TUTOR_PORT", port.to_string()),
                ("TUTOR_DATABASE", self.socket.display().to_string()),
                (
                    "TUTOR_MEMCACHED",
                    format!("127.0.0.1:{}", self.memcached_port),
                ),
                (
                    "TUTOR_WORKSHOP",
                    self.folder.join("workshop").display().to_string(),
                ),
                ("TUTOR_FAULTS", self.faults.clone()),
            ],
        };
        ChildServer::start(recipe, self.folder)
    }
}

fn site_faults(fault: Option<InjectedFault>) -> String {
    fault
        .filter(|fault| fault.is_of_the_site())
        .map(InjectedFault::name)
        .unwrap_or_default()
}

fn is_healthy(port: u16) -> bool {
    exchange(port, "/health", "", None).is_ok_and(|answer| answer.status == 200)
}

fn memcached(port: u16, folder: &Path) -> Result<ChildServer> {
    let words = format!("-l 127.0.0.1 -p {port} -U 0 -m 64 -c 4096 -t 1");
    let recipe = Recipe {
        name: "memcached",
        program: "memcached",
        // The user of Debian's package; memcached refuses to be root.
        user: Some("memcache"),
        arguments: words.split(' ').map(ToOwned::to_owned).collect(),
        environment: Vec::new(),
    };
    let mut server = ChildServer::start(recipe, folder)?;
    server.wait(START, || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    })?;
    Ok(server)
}

fn haproxy(proxy: &Proxy<'_>) -> Result<ChildServer> {
    let path = proxy.folder.join("haproxy.cfg");
    std::fs::write(&path, proxy.configuration())?;
    let recipe = Recipe {
        name: "haproxy",
        program: "haproxy",
        user: None,
        arguments: vec![
            "-db".to_owned(),
            "-f".to_owned(),
            path.display().to_string(),
        ],
        environment: Vec::new(),
    };
    let mut server = ChildServer::start(recipe, proxy.folder)?;
    server.wait(START, || is_healthy(proxy.port))?;
    Ok(server)
}
