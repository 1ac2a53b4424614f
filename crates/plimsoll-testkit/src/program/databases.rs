//! Databases from the system's packages.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use super::{Program, folder, write};
use crate::port;

/// The prefix of a command that runs under a database account, where root may not; the account becomes the owner of the
/// folder.
pub(crate) fn become_account(account: &str, folder: &Path) -> Vec<String> {
    if !rustix::process::geteuid().is_root() {
        return Vec::new();
    }
    let owner = format!("{account}:{account}");
    let given = Command::new("chown")
        .arg("-R")
        .arg(owner)
        .arg(folder)
        .status();
    assert!(
        given.is_ok_and(|status| status.success()),
        "the folder is given away"
    );
    let words = [
        "setpriv",
        &format!("--reuid={account}"),
        &format!("--regid={account}"),
        "--clear-groups",
        "--pdeathsig",
        "INT",
        "--",
    ];
    words.map(str::to_owned).to_vec()
}

/// Runs a command to its end.
pub(crate) fn carry_out(words: &[&str]) -> String {
    let done = Command::new(words[0])
        .args(&words[1..])
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{} starts: {error}", words[0]));
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{words:?}:\n{stderr}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

pub(crate) fn words<'a>(first: &'a [String], rest: &[&'a str]) -> Vec<&'a str> {
    first
        .iter()
        .map(String::as_str)
        .chain(rest.iter().copied())
        .collect()
}

/// PostgreSQL with `pg_stat_statements`. It trusts every role but `plimsoll`, which needs a password.
#[derive(Debug)]
pub struct Postgres {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
}

impl Postgres {
    /// Starts it with lines of its configuration. It refuses to run as root, so root becomes `postgres`.
    ///
    /// # Panics
    /// When it cannot be set up.
    #[must_use]
    pub fn start(lines: &str) -> Self {
        let (folder, address) = (folder(), port::unused());
        let account = become_account("postgres", folder.path());
        let binaries = binaries();
        let data = folder.path().join("data").display().to_string();
        let initdb = binaries.join("initdb").display().to_string();
        let make = [
            &initdb,
            "-D",
            &data,
            "-A",
            "trust",
            "-U",
            "postgres",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ];
        carry_out(&words(&account, &make));
        let host = address.ip();
        let access = format!(
            "local all all trust\nhost all plimsoll {host}/32 scram-sha-256\nhost all all {host}/32 trust\n"
        );
        write(&folder.path().join("data/pg_hba.conf"), &access);
        let text = format!(
            "listen_addresses = '{}'\nport = {}\nunix_socket_directories = '{}'\nfsync = off\n{lines}\n\
             shared_preload_libraries = 'pg_stat_statements'\n",
            address.ip(),
            address.port(),
            folder.path().display()
        );
        write(&folder.path().join("data/postgresql.conf"), &text);
        let server = binaries.join("postgres").display().to_string();
        let command = words(&account, &[&server, "-D", &data]);
        let mut program = Program::start(folder, &command, "ready to accept connections");
        // Otherwise it would wait for its clients.
        program.end = Signal::INT;
        let server = Self { program, address };
        server.execute("CREATE EXTENSION pg_stat_statements");
        server
    }

    /// Its configuration file.
    #[must_use]
    pub fn configuration(&self) -> PathBuf {
        self.program.path().join("data/postgresql.conf")
    }

    /// Its socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        let name = format!(".s.PGSQL.{}", self.address.port());
        self.program.path().join(name)
    }

    /// The administrator's connection URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres", self.address)
    }

    /// Runs statements; returns their output.
    ///
    /// # Panics
    /// When one of them fails.
    pub fn execute(&self, statements: &str) -> String {
        carry_out(&[
            "psql",
            &self.url(),
            "-qtAX",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            statements,
        ])
    }

    /// Runs statements in a session that stays open.
    ///
    /// # Panics
    /// When it cannot be opened.
    #[must_use]
    pub fn hold(&self, statements: &str) -> HeldSession {
        HeldSession::begin(&["psql", &self.url(), "-qX"], statements)
    }
}

/// The folder of the newest PostgreSQL's programs.
fn binaries() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let version = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.ok()?.file_name().to_str()?.parse::<u32>().ok()
    };
    let newest = versions.filter_map(version).max();
    let newest = newest.expect("PostgreSQL is installed: apt-get install postgresql");
    PathBuf::from(format!("/usr/lib/postgresql/{newest}/bin"))
}

/// A session that stays open until it is dropped.
#[derive(Debug)]
pub struct HeldSession {
    client: Child,
}

impl HeldSession {
    pub(super) fn begin(client: &[&str], statements: &str) -> Self {
        Self::begin_to(Stdio::null(), client, statements)
    }

    fn begin_to(output: Stdio, client: &[&str], statements: &str) -> Self {
        let mut client = Command::new("setpriv")
            .args(["--pdeathsig", "TERM", "--"])
            .args(client)
            .stdin(Stdio::piped())
            .stdout(output)
            .spawn()
            .expect("a client starts");
        let input = client.stdin.as_mut().expect("its input is piped");
        writeln!(input, "{statements}").expect("it takes statements");
        Self { client }
    }
}

impl Drop for HeldSession {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

/// MariaDB with statement statistics, whose `root` needs no password on this machine.
#[derive(Debug)]
pub struct Mariadb {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
    /// Its socket.
    pub socket: PathBuf,
    /// Its configuration file.
    pub configuration: PathBuf,
}

impl Mariadb {
    /// Starts it with lines of its configuration. Root becomes `mysql`.
    ///
    /// # Panics
    /// When it cannot be set up.
    #[must_use]
    pub fn start(lines: &str) -> Self {
        let (folder, address) = (folder(), port::unused());
        let prefix = folder.path().display().to_string();
        let configuration = folder.path().join("my.cnf");
        let text = format!(
            "[mariadbd]\ndatadir = {prefix}/data\ntmpdir = {prefix}\nsocket = {prefix}/mysqld.sock\nbind-address = {}\nport = {}\n\
             pid-file = {prefix}/pid\ninnodb_flush_log_at_trx_commit = 0\ninnodb_log_file_size = 16M\n{lines}\nperformance_schema = ON\n",
            address.ip(),
            address.port()
        );
        write(&configuration, &text);
        let account = become_account("mysql", folder.path());
        let defaults = format!("--defaults-file={}", configuration.display());
        let make = [
            "mariadb-install-db",
            &defaults,
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ];
        carry_out(&words(&account, &make));
        let command = words(&account, &["/usr/sbin/mariadbd", &defaults]);
        let socket = folder.path().join("mysqld.sock");
        Self {
            program: Program::start(folder, &command, "ready for connections"),
            address,
            socket,
            configuration,
        }
    }

    fn client(&self) -> [String; 4] {
        let socket = format!("--socket={}", self.socket.display());
        [
            "mariadb".to_owned(),
            socket,
            "--user=root".to_owned(),
            "--batch".to_owned(),
        ]
    }

    /// Runs statements; returns their output.
    ///
    /// # Panics
    /// When one of them fails.
    pub fn execute(&self, statements: &str) -> String {
        let client = self.client();
        carry_out(&words(
            &client,
            &["--skip-column-names", "--execute", statements],
        ))
    }

    /// Runs statements in a session that stays open.
    ///
    /// # Panics
    /// When it cannot be opened.
    #[must_use]
    pub fn hold(&self, statements: &str) -> HeldSession {
        HeldSession::begin(&words(&self.client(), &[]), statements)
    }

    /// The same where nobody reads the output: a statement with a result of megabytes is carried out for as long as the session
    /// is open.
    ///
    /// # Panics
    /// When it cannot be opened.
    #[must_use]
    pub fn hold_unread(&self, statements: &str) -> HeldSession {
        // Row by row, as the output takes it.
        let client = self.client();
        HeldSession::begin_to(Stdio::piped(), &words(&client, &["--quick"]), statements)
    }
}
