//! PostgreSQL in a private folder, with the same rows each time.
//!
//! The rows are generated once and stored beside the build; every start uses a copy, so that measurements do not affect each
//! other.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use plimsoll_harness::packages;
use plimsoll_harness::port::free_ports;
use plimsoll_harness::server::{ChildServer, Recipe, is_root, pinned};
use plimsoll_harness::step::execute;

/// The user of Debian's package; PostgreSQL refuses to be root.
const USER: &str = "postgres";

/// Where Debian keeps its servers, by version.
const VERSIONS: &str = "/usr/lib/postgresql";

const START: Duration = Duration::from_secs(30);

/// Before the folder is copied everything must be in its files.
const STOP: Duration = Duration::from_secs(30);

/// What is in it.
pub(crate) struct Rows<'a> {
    /// Of the database, and of the user that it belongs to.
    pub(crate) name: &'a str,
    /// Files of statements, in their order.
    pub(crate) files: &'a [PathBuf],
}

/// A running PostgreSQL, which takes connections of this machine without a password.
pub(crate) struct PostgresServer {
    server: ChildServer,
    port: u16,
}

impl PostgresServer {
    /// Starts it in this folder and on this core with these rows, which are made if `store` does not have them yet.
    pub(crate) fn start(rows: &Rows<'_>, core: usize, folder: &Path, store: &Path) -> Result<Self> {
        let programs = programs().context("PostgreSQL's server is missing")?;
        let kept = store.join(format!("rows-{:016x}", version(rows, &programs)?));
        // Its own user passes through, and sees nothing.
        let mode = if is_root() { 0o711 } else { 0o700 };
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode))?;
        if !kept.is_dir() {
            println!("making the rows of {}", rows.name);
            make(rows, &programs, core, folder, &kept)?;
        }
        let data = folder.join("data");
        copy(&kept, &data)?;
        Self::serve(&programs, core, folder, &data, rows.name)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn serve(programs: &Path, core: usize, folder: &Path, data: &Path, user: &str) -> Result<Self> {
        let port = free_ports(1)?[0];
        let settings = [
            format!("port={port}"),
            "listen_addresses=127.0.0.1".to_owned(),
            "unix_socket_directories=".to_owned(),
            // A pool of 75, and administrative sessions.
            "max_connections=100".to_owned(),
            "shared_buffers=256MB".to_owned(),
            // The disk of the machine is not what is measured, nor is tidying up.
            "synchronous_commit=off".to_owned(),
            "autovacuum=off".to_owned(),
        ];
        let mut arguments = vec!["-D".to_owned(), data.display().to_string()];
        for setting in settings {
            arguments.extend(["-c".to_owned(), setting]);
        }
        let program = programs.join("postgres").display().to_string();
        let recipe = Recipe {
            name: "postgres",
            program: &program,
            user: Some(USER),
            arguments,
            environment: Vec::new(),
        };
        let mut server = ChildServer::start(pinned(recipe, core), folder)?;
        server.wait(START, || {
            psql(programs, port, user, "postgres")
                .args(["--command", "SELECT 1"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        })?;
        Ok(Self { server, port })
    }
}

/// Installs the server if it is missing and this is permitted, or fails with the remedy in one line.
pub(crate) fn see_to() -> Result<()> {
    if programs().is_some() {
        return Ok(());
    }
    if !(packages::is_installed("apt-get") && is_root()) {
        bail!(
            "PostgreSQL's server is missing; install it, on Debian with `apt-get install postgresql` as root"
        );
    }
    packages::install(&["postgresql"])
}

/// The folder of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).ok()?;
    let newest = versions
        .flatten()
        .filter(|entry| entry.path().join("bin/postgres").is_file())
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .max()?;
    Some(Path::new(VERSIONS).join(newest.to_string()).join("bin"))
}

/// `psql`, which stops at the first error.
fn psql(programs: &Path, port: u16, user: &str, database: &str) -> Command {
    let mut command = Command::new(programs.join("psql"));
    command
        .args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1"])
        .args(["--host", "127.0.0.1", "--port", &port.to_string()])
        .args(["--username", user, "--dbname", database])
        .stdin(Stdio::null());
    command
}

/// Changes when what makes the rows does.
fn version(rows: &Rows<'_>, programs: &Path) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    programs.hash(&mut hasher);
    for file in rows.files {
        let text =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        text.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// Makes the rows in `folder` and keeps them; a copy that was interrupted is never taken for a whole one.
fn make(rows: &Rows<'_>, programs: &Path, core: usize, folder: &Path, kept: &Path) -> Result<()> {
    let made = tempfile::tempdir_in(folder)?;
    let data = made.path().join("data");
    if is_root() {
        execute(Command::new("chown").arg(USER).arg(made.path()))?;
    }
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid", USER, "--regid", USER, "--init-groups"]);
    }
    execute(
        command
            .arg("--")
            .arg(programs.join("initdb"))
            .args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"])
            .args([
                "--username",
                rows.name,
                "--pgdata",
                &data.display().to_string(),
            ])
            .current_dir(made.path())
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(folder.join("initdb.log"))?),
    )?;
    let mut database = PostgresServer::serve(programs, core, folder, &data, rows.name)?;
    let create = format!("CREATE DATABASE {}", rows.name);
    execute(psql(programs, database.port, rows.name, "postgres").args(["--command", &create]))?;
    for file in rows.files {
        let mut command = psql(programs, database.port, rows.name, rows.name);
        execute(command.arg("--file").arg(file))
            .with_context(|| format!("PostgreSQL refused {}", file.display()))?;
    }
    database.server.finish(STOP)?;
    let store = kept.parent().context("kept rows are in a folder")?;
    let temporary = tempfile::tempdir_in(store)?;
    copy(&data, &temporary.path().join("data"))?;
    std::fs::rename(temporary.path().join("data"), kept)?;
    Ok(())
}

/// Copies a folder with its owners.
fn copy(from: &Path, to: &Path) -> Result<()> {
    execute(
        Command::new("cp")
            .args(["--archive", "--reflink=auto"])
            .arg(from)
            .arg(to),
    )
}
