//! MariaDB and Redis, and a copy of MariaDB that follows the one that is written to.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::clock::{Stopwatch, pause};
use plimsoll_harness::port::free_ports;
use plimsoll_harness::server::{
    ChildServer, Recipe, is_listening, is_root, path_with_servers, pinned,
};
use plimsoll_harness::step::execute;

/// The user of Debian's package; MariaDB refuses to be root.
const USER: &str = "mysql";
const START: Duration = Duration::from_secs(30);
const SCHEMA: &str = include_str!("../../../../cases/market/database/schema.sql");

/// A running MariaDB. Ends when dropped.
pub(super) struct Database {
    pub(super) port: u16,
    _server: ChildServer,
}

impl Database {
    /// Starts one without rows under this name.
    pub(super) fn start(
        folder: &Path,
        store: &Path,
        core: usize,
        name: &str,
        id: u8,
    ) -> Result<Self> {
        let data = folder.join(name);
        execute(
            Command::new("cp")
                .args(["--archive", "--reflink=auto"])
                .arg(empty(store)?)
                .arg(&data),
        )?;
        let port = free_ports(1)?[0];
        let option = |option: &str, path: PathBuf| format!("--{option}={}", path.display());
        let mut arguments = vec![
            "--no-defaults".to_owned(),
            option("datadir", data.clone()),
            option("socket", folder.join(format!("{name}.sock"))),
            option("pid-file", data.join("pid")),
            format!("--port={port}"),
            format!("--server-id={id}"),
        ];
        let fixed = [
            "--bind-address=127.0.0.1",
            // Only this machine reaches it, and nothing is in it but numbers of a benchmark.
            "--skip-grant-tables",
            "--skip-name-resolve",
            "--max-connections=500",
            "--innodb-buffer-pool-size=64M",
            "--innodb-log-file-size=16M",
            // A flush a second, as the study settled it.
            "--innodb-flush-log-at-trx-commit=2",
            "--log-bin=changes",
            "--binlog-format=MIXED",
        ];
        arguments.extend(fixed.map(ToOwned::to_owned));
        let recipe = Recipe {
            name,
            program: "mariadbd",
            user: Some(USER),
            arguments,
            environment: Vec::new(),
        };
        let mut server = ChildServer::start(pinned(recipe, core), folder)?;
        server.wait(START, || {
            is_listening(port) && query(port, "SELECT 1").is_ok()
        })?;
        Ok(Self {
            port,
            _server: server,
        })
    }

    /// Makes the games and pools.
    pub(super) fn fill(&self) -> Result<()> {
        query(self.port, SCHEMA).map(drop)
    }

    /// Lets it follow another, reached at this port, from the first change on.
    pub(super) fn follow(&self, port: u16) -> Result<()> {
        let order = format!(
            "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='root', MASTER_USE_GTID=slave_pos; \
             START SLAVE"
        );
        query(self.port, &order).map(drop)
    }

    /// Waits until it has the pools that it follows.
    pub(super) fn wait_for_pools(&self) -> Result<()> {
        let stopwatch = Stopwatch::start();
        while !query(self.port, "SELECT COUNT(*) FROM market.pools")
            .is_ok_and(|output| output.trim() == "60")
        {
            ensure!(
                stopwatch.elapsed() < START,
                "the replica does not follow: {}",
                query(self.port, "SHOW SLAVE STATUS\\G").unwrap_or_default()
            );
            pause(Duration::from_millis(50));
        }
        Ok(())
    }
}

/// Output of an administrator's statement.
fn query(port: u16, statements: &str) -> Result<String> {
    let output = Command::new("mariadb")
        .args([
            "--no-defaults",
            "--user=root",
            "--host=127.0.0.1",
            "--batch",
            "--skip-column-names",
        ])
        .arg(format!("--port={port}"))
        .args(["--execute", statements])
        .stdin(Stdio::null())
        .output()
        .context("cannot run mariadb, the client")?;
    ensure!(
        output.status.success(),
        "MariaDB refused a statement: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A folder as MariaDB makes it, kept between the runs.
fn empty(store: &Path) -> Result<PathBuf> {
    let kept = store.join("empty");
    if kept.is_dir() {
        return Ok(kept);
    }
    // One that was interrupted is never taken for a whole one.
    let temporary = tempfile::Builder::new().prefix("market-").tempdir()?;
    super::stack::open_to_all(temporary.path())?;
    let made = temporary.path().join("data");
    let mut command = Command::new("mariadb-install-db");
    command
        .args([
            "--no-defaults",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ])
        .arg(format!("--datadir={}", made.display()))
        .env("PATH", path_with_servers())
        .stdin(Stdio::null())
        .stdout(File::create(temporary.path().join("install.log"))?);
    if is_root() {
        command.arg(format!("--user={USER}"));
    }
    execute(&mut command)?;
    let near = tempfile::tempdir_in(store)?;
    let copy = near.path().join("data");
    execute(Command::new("cp").arg("--archive").arg(&made).arg(&copy))?;
    std::fs::rename(copy, &kept)?;
    Ok(kept)
}

/// Starts Redis; where it listens.
pub(super) fn redis(folder: &Path, core: usize) -> Result<(ChildServer, u16)> {
    let port = free_ports(1)?[0];
    let line = format!(
        "--bind 127.0.0.1 --port {port} --appendonly no --dir {}",
        folder.display()
    );
    let mut arguments: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
    arguments.extend(["--save".to_owned(), String::new()]);
    let recipe = Recipe {
        name: "redis",
        program: "redis-server",
        user: None,
        arguments,
        environment: Vec::new(),
    };
    let mut server = ChildServer::start(pinned(recipe, core), folder)?;
    server.wait(START, || is_listening(port))?;
    Ok((server, port))
}
