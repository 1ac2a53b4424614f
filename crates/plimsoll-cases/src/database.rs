//! PostgreSQL and MariaDB in private folders, with the same rows each time. `cases/databases.toml` has their settings.
//!
//! The rows are generated once and stored beside the build; every start uses a copy, so that measurements do not affect each
//! other.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use plimsoll_harness::running::{Place, RunningServer, ServerDefinition};
use plimsoll_harness::server::{is_root, path_with_servers};
use plimsoll_harness::step::execute;
use plimsoll_harness::template::Values;
use plimsoll_harness::{data, packages};

use crate::case::{Case, open_to_all};

/// Users of Debian's packages: the servers refuse to be root.
const POSTGRES_USER: &str = "postgres";
const MARIADB_USER: &str = "mysql";

/// Where Debian keeps PostgreSQL's servers, by version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Before the folder is copied everything must be in its files.
const STOP: Duration = Duration::from_secs(30);

/// Where a database runs.
#[derive(Clone, Copy)]
pub(crate) struct DatabasePlace<'a> {
    pub(crate) case: &'a Case,
    /// Of the whole stack.
    pub(crate) folder: &'a Path,
    pub(crate) core: Option<usize>,
}

impl DatabasePlace<'_> {
    /// Starts a server of `cases/databases.toml` with its data in this folder.
    fn start(
        &self,
        server: &str,
        name: &str,
        data: &Path,
        values: &Values,
    ) -> Result<RunningServer> {
        let root = self.case.workspace.root();
        let servers: BTreeMap<String, ServerDefinition> = data::read(root, "cases/databases.toml")?;
        let place = Place {
            root,
            core: self.core,
            folder: Some(self.folder),
        };
        let values = values.clone().with("data", data.display());
        servers[server].start(name, &place, &values)
    }

    /// A copy of the data folder that `make` makes, kept between the runs under this name, as `name` in the place's folder.
    fn copy_of(
        &self,
        kept: &str,
        name: &str,
        make: impl FnOnce(&Path) -> Result<PathBuf>,
    ) -> Result<PathBuf> {
        let kept = self.case.store.join(kept);
        if !kept.is_dir() {
            println!("making {}", kept.display());
            let temporary = tempfile::tempdir_in(self.folder)?;
            open_to_all(temporary.path())?;
            let data = make(temporary.path())?;
            // A copy that was interrupted is never taken for a whole one.
            let near = tempfile::tempdir_in(&self.case.store)?;
            copy(&data, &near.path().join("data"))?;
            std::fs::rename(near.path().join("data"), &kept)?;
        }
        let data = self.folder.join(name);
        copy(&kept, &data)?;
        Ok(data)
    }

    /// Files of statements of the case, in their order; the last one has the rows that users change.
    fn files(&self) -> Result<Vec<(PathBuf, String)>> {
        let files = ["schema.sql", "rows.sql", "reset.sql"];
        let files = files.map(|name| self.case.folder.join("database").join(name));
        let there = files.into_iter().filter(|file| file.is_file());
        there
            .map(|file| {
                let text = std::fs::read_to_string(&file);
                let text = text.with_context(|| format!("cannot read {}", file.display()))?;
                Ok((file, text))
            })
            .collect()
    }
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

/// Changes when what makes the rows does.
fn version(programs: &Path, files: &[(PathBuf, String)]) -> String {
    let mut hasher = DefaultHasher::new();
    programs.hash(&mut hasher);
    for (_, text) in files {
        text.hash(&mut hasher);
    }
    format!("rows-{:016x}", hasher.finish())
}

fn succeeds(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Starts PostgreSQL, which takes connections of this machine without a password, with the rows of the case in a database of
/// this name, which belongs to a user of this name; on a free port, unless it must have a certain one.
pub(crate) fn postgres(
    place: &DatabasePlace<'_>,
    name: &str,
    port: Option<u16>,
) -> Result<RunningServer> {
    let programs = postgres_programs().context("PostgreSQL's server is missing")?;
    let files = place.files()?;
    let serve = |data: &Path| {
        let mut values = Values::default().with("programs", programs.display());
        if let Some(port) = port {
            values = values.with("port", port);
        }
        let mut server = place.start("postgres", "postgres", data, &values)?;
        let port = server.port();
        server
            .wait(|| succeeds(psql(&programs, port, name, "postgres").args(["-c", "SELECT 1"])))?;
        anyhow::Ok(server)
    };
    let data = place.copy_of(&version(&programs, &files), "data", |folder| {
        let data = folder.join("data");
        initialize(&programs, name, folder, &data)?;
        let mut server = serve(&data)?;
        let psql = |database: &str| psql(&programs, server.port(), name, database);
        execute(psql("postgres").args(["--command", &format!("CREATE DATABASE {name}")]))?;
        for (file, _) in &files {
            execute(psql(name).arg("--file").arg(file))
                .with_context(|| format!("PostgreSQL refused {}", file.display()))?;
        }
        server.finish(STOP)?;
        Ok(data)
    })?;
    serve(&data)
}

/// Makes an empty cluster, which belongs to this user.
fn initialize(programs: &Path, user: &str, folder: &Path, data: &Path) -> Result<()> {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid", POSTGRES_USER, "--regid", POSTGRES_USER]);
        command.arg("--init-groups");
    }
    execute(
        command
            .arg("--")
            .arg(programs.join("initdb"))
            .args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"])
            .args(["--username", user, "--pgdata"])
            .arg(data)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(folder.join("initdb.log"))?),
    )
}

/// Installs PostgreSQL's server if it is missing and this is permitted, or fails with the remedy in one line.
pub(crate) fn see_to_postgres() -> Result<()> {
    if postgres_programs().is_some() {
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
fn postgres_programs() -> Option<PathBuf> {
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

/// A running MariaDB. Ends when dropped.
pub(crate) struct MariaDb {
    server: RunningServer,
    pub(crate) socket: PathBuf,
}

impl MariaDb {
    /// Starts one with the rows of the case.
    pub(crate) fn with_rows(place: &DatabasePlace<'_>) -> Result<Self> {
        let files = place.files()?;
        let kept = version(Path::new("mariadbd"), &files);
        let data = place.copy_of(&kept, "data", |folder| {
            let data = install(folder)?;
            let mut database = Self::serve(place, ("mariadb", "mariadbd"), &data, 1)?;
            for (file, text) in &files {
                let sent = database.query(text);
                sent.with_context(|| format!("MariaDB refused {}", file.display()))?;
            }
            database.server.finish(STOP)?;
            Ok(data)
        })?;
        Self::serve(place, ("mariadb", "mariadbd"), &data, 1)
    }

    /// Starts one without rows, which others may follow, under this name and id.
    pub(crate) fn empty(place: &DatabasePlace<'_>, name: &str, id: u8) -> Result<Self> {
        let data = place.copy_of("empty", name, install)?;
        Self::serve(place, ("replicated", name), &data, id)
    }

    fn serve(
        place: &DatabasePlace<'_>,
        (server, name): (&str, &str),
        data: &Path,
        id: u8,
    ) -> Result<Self> {
        let socket = place.folder.join(format!("{name}.sock"));
        let values = Values::default().with("socket", socket.display());
        let mut server = place.start(server, name, data, &values.with("id", id))?;
        server.wait(|| succeeds(client(&socket).args(["--execute", "SELECT 1"])))?;
        Ok(Self { server, socket })
    }

    /// Where it listens, if it does.
    pub(crate) fn port(&self) -> u16 {
        self.server.port()
    }

    /// Output of an administrator's statements.
    pub(crate) fn query(&self, statements: &str) -> Result<String> {
        use std::io::Write as _;
        let mut child = client(&self.socket)
            .args(["--batch", "--skip-column-names"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run mariadb, the client")?;
        let mut stdin = child.stdin.take().context("stdin is piped")?;
        // It reads all before it ends; where it refuses a statement, its own words say more than a broken pipe.
        let _ = stdin.write_all(statements.as_bytes());
        drop(stdin);
        let output = child.wait_with_output()?;
        ensure!(
            output.status.success(),
            "MariaDB refused a statement: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn client(socket: &Path) -> Command {
    let mut command = Command::new("mariadb");
    command
        .args(["--no-defaults", "--user=root"])
        .arg(format!("--socket={}", socket.display()))
        .stdin(Stdio::null());
    command
}

/// Makes a data folder without rows.
fn install(folder: &Path) -> Result<PathBuf> {
    let data = folder.join("data");
    let mut command = Command::new("mariadb-install-db");
    command
        .args(["--no-defaults", "--skip-test-db"])
        .arg("--auth-root-authentication-method=normal")
        .arg(format!("--datadir={}", data.display()))
        .env("PATH", path_with_servers())
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(folder.join("install.log"))?);
    if is_root() {
        command.arg(format!("--user={MARIADB_USER}"));
    }
    execute(&mut command)?;
    Ok(data)
}
