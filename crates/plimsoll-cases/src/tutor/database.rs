//! MariaDB in a private folder, with the same rows each time.
//!
//! The rows are generated once and stored beside the build; every start uses a copy, so that measurements do not affect each
//! other.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::server::{ChildServer, Recipe, is_root, path_with_servers};
use plimsoll_harness::step::execute;

/// The user of Debian's package; MariaDB refuses to be root.
const USER: &str = "mysql";

const START: Duration = Duration::from_secs(30);

/// Before the folder is copied everything must be in its files.
const STOP: Duration = Duration::from_secs(30);

const SCHEMA: &str = include_str!("../../../../cases/tutor/database/schema.sql");
const ROWS: &str = include_str!("../../../../cases/tutor/database/rows.sql");

/// A running MariaDB.
pub(super) struct Database {
    server: ChildServer,
    pub(super) socket: PathBuf,
}

impl Database {
    /// Starts it in this folder with the tutor's rows, which are made if `store` does not have them yet.
    pub(super) fn start(folder: &Path, store: &Path) -> Result<Self> {
        let kept = store.join(format!("rows-{:016x}", version()));
        if !kept.is_dir() {
            println!("making the database: 312,000 versions of code");
            make(folder, store, &kept)?;
        }
        copy(&kept, &data(folder))?;
        Self::serve(folder)
    }

    /// Sends statements as the administrator.
    pub(super) fn send(&self, statements: &str) -> Result<()> {
        let output = client(&self.socket)
            .args(["--execute", statements])
            .output()
            .context("cannot run mariadb, the client")?;
        ensure!(
            output.status.success(),
            "MariaDB refused `{statements}`: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(())
    }

    fn serve(folder: &Path) -> Result<Self> {
        let socket = folder.join("mariadb.sock");
        let option = |name: &str, path: &Path| format!("--{name}={}", path.display());
        let mut arguments = vec![
            "--no-defaults".to_owned(),
            option("datadir", &data(folder)),
            option("socket", &socket),
            option("pid-file", &data(folder).join("mariadb.pid")),
        ];
        let fixed = [
            // Reached over the socket alone.
            "--skip-networking",
            "--max-connections=500",
            // 1.6 times the data and more, as the study settled it.
            "--innodb-buffer-pool-size=512M",
            "--innodb-log-file-size=64M",
            // A flush a second: the disk of the machine is not what is measured.
            "--innodb-flush-log-at-trx-commit=2",
            // What the last one had in memory would be read again in the background while the next is measured.
            "--innodb-buffer-pool-dump-at-shutdown=0",
            "--innodb-buffer-pool-load-at-startup=0",
        ];
        arguments.extend(fixed.map(ToOwned::to_owned));
        let recipe = Recipe {
            name: "mariadbd",
            program: "mariadbd",
            user: Some(USER),
            arguments,
            environment: Vec::new(),
        };
        let mut server = ChildServer::start(recipe, folder)?;
        server.wait(START, || is_answering(&socket))?;
        Ok(Self { server, socket })
    }
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

fn client(socket: &Path) -> Command {
    let mut command = Command::new("mariadb");
    command
        .args(["--no-defaults", "--user=root"])
        .arg(format!("--socket={}", socket.display()))
        .stdin(Stdio::null());
    command
}

fn is_answering(socket: &Path) -> bool {
    client(socket)
        .args(["--execute", "SELECT 1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Changes when what makes the rows does.
fn version() -> u64 {
    let mut hasher = DefaultHasher::new();
    [SCHEMA, ROWS].hash(&mut hasher);
    hasher.finish()
}

/// Makes the rows in `folder` and keeps them; a copy that was interrupted is never taken for a whole one.
fn make(folder: &Path, store: &Path, kept: &Path) -> Result<()> {
    std::fs::create_dir_all(store)?;
    let made = tempfile::tempdir_in(folder)?;
    open_to_all(made.path())?;
    install(made.path())?;
    let mut database = Database::serve(made.path())?;
    for (name, text) in [("schema.sql", SCHEMA), ("rows.sql", ROWS)] {
        let path = made.path().join(name);
        std::fs::write(&path, text)?;
        execute(
            client(&database.socket)
                .stdin(File::open(&path)?)
                .stdout(Stdio::null()),
        )
        .with_context(|| format!("MariaDB refused {name}"))?;
    }
    database.server.finish(STOP)?;
    let temporary = tempfile::tempdir_in(store)?;
    copy(&data(made.path()), &temporary.path().join("data"))?;
    std::fs::rename(temporary.path().join("data"), kept)?;
    Ok(())
}

fn install(folder: &Path) -> Result<()> {
    let mut command = Command::new("mariadb-install-db");
    command
        .args([
            "--no-defaults",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ])
        .arg(format!("--datadir={}", data(folder).display()))
        .env("PATH", path_with_servers())
        .stdin(Stdio::null())
        .stdout(File::create(folder.join("install.log"))?);
    if is_root() {
        command.arg(format!("--user={USER}"));
    }
    execute(&mut command)
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

/// Lets the users of the servers pass; what is inside keeps its own rights.
pub(super) fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    // MariaDB makes its socket in here.
    let mode = if is_root() { 0o777 } else { 0o700 };
    Ok(std::fs::set_permissions(
        folder,
        std::fs::Permissions::from_mode(mode),
    )?)
}
