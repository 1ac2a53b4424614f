//! Poolers and application servers from the system's packages.

use std::net::SocketAddr;
use std::path::PathBuf;

use tempfile::TempDir;

use super::databases::{HeldSession, Postgres, become_account, words};
use super::{Program, folder, write};
use crate::port;

/// pgbouncer in transaction mode, which accepts every client.
#[derive(Debug)]
pub struct Pgbouncer {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
    /// Its configuration file.
    pub configuration: PathBuf,
}

impl Pgbouncer {
    /// Starts it in front of PostgreSQL with a pool size. Root becomes `postgres`.
    #[must_use]
    pub fn start(database: &Postgres, pool_size: u32) -> Self {
        let (folder, address) = (folder(), port::unused());
        let configuration = folder.path().join("pgbouncer.ini");
        let settings =
            format!("auth_type = any\npool_mode = transaction\ndefault_pool_size = {pool_size}\n");
        write(
            &configuration,
            &Self::configuration_text(database, address, &settings),
        );
        Self::run(folder, address, configuration)
    }

    /// A configuration for this address in front of PostgreSQL; `settings` are further lines of its last section.
    pub(crate) fn configuration_text(
        database: &Postgres,
        address: SocketAddr,
        settings: &str,
    ) -> String {
        format!(
            "[databases]\npostgres = host={} port={} user=postgres\n[pgbouncer]\nlisten_addr = {}\nlisten_port = {}\n\
             unix_socket_dir =\n{settings}",
            database.address.ip(),
            database.address.port(),
            address.ip(),
            address.port()
        )
    }

    /// Starts it with a configuration that is written. Root becomes `postgres`.
    pub(crate) fn run(folder: TempDir, address: SocketAddr, configuration: PathBuf) -> Self {
        let account = become_account("postgres", folder.path());
        let path = configuration.display().to_string();
        let command = words(&account, &["/usr/sbin/pgbouncer", &path]);
        Self {
            program: Program::start(folder, &command, "process up"),
            address,
            configuration,
        }
    }

    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres", self.address)
    }
}

impl Pgbouncer {
    /// Runs statements in a session that stays open.
    #[must_use]
    pub fn hold(&self, statements: &str) -> HeldSession {
        HeldSession::begin(&["psql", &self.url(), "-qX"], statements)
    }
}

/// Apache with the prefork MPM and its status page, in front of another server.
#[derive(Debug)]
pub struct Apache {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
    /// Its configuration file.
    pub configuration: PathBuf,
}

impl Apache {
    /// Starts it with a number of workers in front of `upstream`.
    #[must_use]
    pub fn start(workers: u32, upstream: SocketAddr) -> Self {
        let (folder, address) = (folder(), port::unused());
        let modules = [
            "mpm_prefork",
            "authz_core",
            "authz_host",
            "status",
            "proxy",
            "proxy_http",
        ];
        let modules = modules.map(|name| {
            format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")
        });
        let modules = modules.concat();
        let prefix = folder.path().display();
        let is_root = rustix::process::geteuid().is_root();
        let user = if is_root {
            "User www-data\nGroup www-data\n"
        } else {
            ""
        };
        let text = format!(
            "ServerRoot {prefix}\nDefaultRuntimeDir {prefix}\nPidFile {prefix}/pid\nListen {address}\nServerName localhost\n{user}\
             ErrorLog /dev/stderr\n{modules}StartServers {workers}\nMinSpareServers 1\nServerLimit {workers}\n\
             MaxRequestWorkers {workers}\n<Location \"/server-status\">\n  SetHandler server-status\n  Require local\n\
             </Location>\nProxyPass \"/server-status\" \"!\"\nProxyPass \"/\" \"http://{upstream}/\"\n"
        );
        let configuration = folder.path().join("apache2.conf");
        write(&configuration, &text);
        let path = configuration.display().to_string();
        // When it ends, it signals its whole process group, which would be that of the tests.
        let command = ["setsid", "apache2", "-DFOREGROUND", "-f", &path];
        Self {
            program: Program::start(folder, &command, "resuming normal operations"),
            address,
            configuration,
        }
    }

    /// The URL of its status page.
    #[must_use]
    pub fn page(&self) -> String {
        format!("http://{}/server-status", self.address)
    }
}

/// gunicorn with synchronous workers and an application that sleeps for each request.
#[derive(Debug)]
pub struct Gunicorn {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
}

impl Gunicorn {
    /// Starts it.
    #[must_use]
    pub fn start(workers: u32, seconds: &str) -> Self {
        Self::start_with(workers, seconds, &[])
    }

    /// Starts it, with its metrics sent in the format of StatsD to an address.
    #[must_use]
    pub fn start_reporting(workers: u32, seconds: &str, statsd: SocketAddr) -> Self {
        Self::start_with(workers, seconds, &["--statsd-host", &statsd.to_string()])
    }

    fn start_with(workers: u32, seconds: &str, further: &[&str]) -> Self {
        let (folder, address) = (folder(), port::unused());
        let text = format!(
            "import time\ndef app(environ, start):\n    time.sleep({seconds})\n\
             \x20   start('200 OK', [('Content-Type', 'text/plain')])\n    return [b'done']\n"
        );
        write(&folder.path().join("app.py"), &text);
        let (bind, workers) = (address.to_string(), workers.to_string());
        let command = [
            "gunicorn",
            "--bind",
            &bind,
            "--workers",
            &workers,
            "--graceful-timeout",
            "1",
        ];
        let command = [&command[..], further, &["app:app"]].concat();
        Self {
            program: Program::start(folder, &command, "Booting worker"),
            address,
        }
    }
}
