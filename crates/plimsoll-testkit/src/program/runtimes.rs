//! Application servers from the system's packages, and an application in front of a database.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::databases::{Mariadb, Postgres};
use super::{Program, folder, write};
use crate::port;

/// An application in Ruby, run by Puma, that runs one statement for each request. Each thread keeps its session.
#[derive(Debug)]
pub struct Puma {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
    /// The address of its control server.
    pub control: SocketAddr,
}

/// The token of its control server.
pub const TOKEN: &str = "let-me-see";

/// How a session is opened and a statement run.
const POSTGRES: &str = "require 'pg'\nBEGIN_SESSION = -> { PG.connect(ENV['DATABASE']) }\nSAY = ->(c, s) { c.exec(s) }\n";
const MARIADB: &str = "require 'mysql2'\nBEGIN_SESSION = -> { Mysql2::Client.new(socket: ENV['DATABASE'], username: 'root', \
    database: 'test_shop', flags: Mysql2::Client::MULTI_STATEMENTS) }\n\
    SAY = ->(c, s) { c.query(s); c.store_result while c.next_result }\n";
const POSTGRES_REPEATED: &str = "require 'pg'\nBEGIN_SESSION = -> { PG.connect(ENV['DATABASE']) }\n\
    SAY = ->(c, s) { 60.times { c.exec(s) } }\n";
const POSTGRES_AFRESH: &str = "require 'pg'\nBEGIN_SESSION = -> { nil }\n\
    SAY = lambda do |_, s|\n  c = PG.connect(ENV['DATABASE'])\n  c.exec(s)\n  c.close\nend\n";
/// Looks up one of a number of keys; a missing value is computed, which takes time, and stored until its lifetime ends,
/// for all at the same moment. The statement contains the key, the number of keys, s, and s.
const MEMCACHED: &str = "require 'socket'\nBEGIN_SESSION = -> { TCPSocket.new(*ENV['DATABASE'].split(':')) }\n\
    SAY = lambda do |c, s|\n  id, keys, life, cost = s.split.map(&:to_f)\n\
    key = \"k#{id.to_i % keys.to_i}:#{(Time.now.to_f / life).floor}\"\n  c.write(\"get #{key}\\r\\n\")\n\
    if c.gets.start_with?('VALUE')\n    c.read(4002)\n    c.gets\n  else\n    sleep(cost)\n\
    c.write(\"set #{key} 0 0 4000\\r\\n#{'v' * 4000}\\r\\n\")\n    c.gets\n  end\nend\n";
const NOTHING: &str = "BEGIN_SESSION = -> { nil }\nSAY = ->(_, s) { sleep(s.to_f) }\n";
const APPLICATION: &str = "
run(lambda do |_env|
  begin
    Thread.current[:session] ||= BEGIN_SESSION.call
    SAY.call(Thread.current[:session], STATEMENT.gsub('RANDOM') { rand(1_000_000).to_s })
    [200, { 'content-type' => 'text/plain' }, ['done']]
  rescue StandardError => e
    begin
      Thread.current[:session]&.close
    rescue StandardError
    end
    Thread.current[:session] = nil
    [503, { 'content-type' => 'text/plain' }, [e.message]]
  end
end)
";

impl Puma {
    /// Starts it with a number of threads in front of PostgreSQL; `RANDOM` in the statement is replaced by a random
    /// number.
    #[must_use]
    pub fn before_postgres(database: &Postgres, threads: u32, statement: &str) -> Self {
        Self::start(POSTGRES, &database.url(), threads, statement)
    }

    /// The same in front of MariaDB and its database `test_shop`.
    #[must_use]
    pub fn before_mariadb(database: &Mariadb, threads: u32, statement: &str) -> Self {
        Self::start(
            MARIADB,
            &database.socket.display().to_string(),
            threads,
            statement,
        )
    }

    /// The same with the statement sixty times for each request, one after the other.
    #[must_use]
    pub fn repeating(database: &Postgres, threads: u32, statement: &str) -> Self {
        Self::start(POSTGRES_REPEATED, &database.url(), threads, statement)
    }

    /// The same with a new session for each request.
    #[must_use]
    pub fn beginning_sessions(database: &Postgres, threads: u32, statement: &str) -> Self {
        Self::start(POSTGRES_AFRESH, &database.url(), threads, statement)
    }

    /// The same in front of any server of PostgreSQL's protocol.
    #[must_use]
    pub fn before(url: &str, threads: u32, statement: &str) -> Self {
        Self::start(POSTGRES, url, threads, statement)
    }

    /// The same in front of memcached, from which it reads stored values.
    #[must_use]
    pub fn before_memcached(memcached: SocketAddr, threads: u32) -> Self {
        let forever = "RANDOM 1000 1e12 0.05";
        Self::start(MEMCACHED, &memcached.to_string(), threads, forever)
    }

    /// The same with forty keys, all of which are recomputed every so many seconds, in half a second each.
    #[must_use]
    pub fn before_memcached_for(memcached: SocketAddr, threads: u32, seconds: u32) -> Self {
        let statement = format!("RANDOM 40 {seconds} 0.5");
        Self::start(MEMCACHED, &memcached.to_string(), threads, &statement)
    }

    /// The same as an unprivileged user.
    #[must_use]
    pub fn before_postgres_as(
        database: &Postgres,
        role: &str,
        threads: u32,
        statement: &str,
    ) -> Self {
        let url = format!("postgres://{role}@{}/postgres", database.address);
        Self::start(POSTGRES, &url, threads, statement)
    }

    /// The same without a database: each request sleeps.
    #[must_use]
    pub fn sleeping(threads: u32, seconds: &str) -> Self {
        Self::start(NOTHING, "none", threads, seconds)
    }

    fn start(adapter: &str, database: &str, threads: u32, statement: &str) -> Self {
        let (folder, address, control) = (folder(), port::unused(), port::unused());
        let path = folder.path().join("config.ru");
        let quoted = statement.replace('\\', "\\\\").replace('\'', "\\'");
        write(
            &path,
            &format!("{adapter}STATEMENT = '{quoted}'\n{APPLICATION}"),
        );
        let (bind, threads) = (format!("tcp://{address}"), format!("{threads}:{threads}"));
        let (path, database) = (path.display().to_string(), format!("DATABASE={database}"));
        let server = format!("tcp://{control}");
        let command = [
            "env",
            &database,
            "puma",
            "-e",
            "production",
            "-b",
            &bind,
            "-t",
            &threads,
            "--control-url",
            &server,
            "--control-token",
            TOKEN,
            &path,
        ];
        Self {
            program: Program::start(folder, &command, "Use Ctrl-C to stop"),
            address,
            control,
        }
    }

    /// The URL for requests.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

/// Where PHP-FPM has its status page.
#[derive(Clone, Copy, Debug)]
enum StatusEndpoint {
    /// On its own listener.
    Apart,
    /// On the listener of requests, so that it is unavailable when all processes are busy.
    AmongRequests,
    /// Nowhere.
    None,
}

/// PHP-FPM with one pool and one script, which handles every request.
#[derive(Debug)]
pub struct PhpFpm {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
    /// The address of its status page.
    pub status: SocketAddr,
    /// Its configuration file.
    pub configuration: PathBuf,
}

impl PhpFpm {
    /// Starts it with a number of processes. With `tells_apart`, its status page has its own listener.
    #[must_use]
    pub fn start(children: u32, has_status_listener: bool, script: &str) -> Self {
        let page = if has_status_listener {
            StatusEndpoint::Apart
        } else {
            StatusEndpoint::AmongRequests
        };
        Self::start_with(children, page, script, "")
    }

    /// The same without a status page, as in Debian.
    #[must_use]
    pub fn without_page(children: u32, script: &str) -> Self {
        Self::start_with(children, StatusEndpoint::None, script, "")
    }

    /// The same with a log of requests slower than a second, the minimum that it supports.
    #[must_use]
    pub fn start_logging(children: u32, script: &str) -> Self {
        let log = "request_slowlog_timeout = 1s\nslowlog = $prefix/slow.log\n";
        Self::start_with(children, StatusEndpoint::Apart, script, log)
    }

    /// Its log of slow requests.
    #[must_use]
    pub fn slow_log(&self) -> PathBuf {
        self.program.path().join("slow.log")
    }

    fn start_with(children: u32, page: StatusEndpoint, script: &str, more: &str) -> Self {
        let (folder, address, apart) = (folder(), port::unused(), port::unused());
        write(&folder.path().join("index.php"), &format!("<?php {script}"));
        let is_root = rustix::process::geteuid().is_root();
        let user = if is_root {
            "user = root\ngroup = root\n"
        } else {
            ""
        };
        let (status_lines, status) = match page {
            StatusEndpoint::Apart => (
                format!("pm.status_path = /status\npm.status_listen = {apart}\n"),
                apart,
            ),
            StatusEndpoint::AmongRequests => ("pm.status_path = /status\n".to_owned(), address),
            StatusEndpoint::None => (String::new(), address),
        };
        let text = format!(
            "[global]\ndaemonize = no\nerror_log = /dev/stderr\n[www]\nlisten = {address}\n{user}pm = static\n\
             pm.max_children = {children}\n{status_lines}{more}",
            more = more.replace("$prefix", &folder.path().display().to_string())
        );
        let configuration = folder.path().join("php-fpm.conf");
        write(&configuration, &text);
        let program = program().display().to_string();
        let path = configuration.display().to_string();
        let command = [&program, "-F", "-R", "-n", "-y", &path];
        Self {
            program: Program::start(folder, &command, "ready to handle connections"),
            address,
            status,
            configuration,
        }
    }

    /// nginx's directives of a `location` that forwards requests.
    #[must_use]
    pub fn location(&self) -> String {
        let script = self.program.path().join("index.php");
        format!(
            "location / {{ fastcgi_pass {}; fastcgi_param SCRIPT_FILENAME {}; fastcgi_param REQUEST_METHOD GET; }}",
            self.address,
            script.display()
        )
    }
}

/// The newest PHP-FPM.
fn program() -> PathBuf {
    let names = std::fs::read_dir("/usr/sbin").into_iter().flatten();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let newest = names.filter(|name| name.starts_with("php-fpm")).max();
    let newest = newest.expect("PHP-FPM is installed: apt-get install php-fpm");
    PathBuf::from("/usr/sbin").join(newest)
}

/// A script that listens at its two last arguments, port and host, and prints `ready`.
#[derive(Debug)]
pub struct Script {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
}

/// For Node: each request hashes a password on libuv's thread pool.
pub const PASSWORDS: &str = "const c = require('crypto'); require('http').createServer((q, a) => c.pbkdf2('secret', 'salt', 30000, \
    32, 'sha256', () => a.end('done'))).listen(+process.argv[2], process.argv[3], 511, () => console.log('ready'));";
/// For Node: each request calls an upstream server, 50 ms, over an agent with two sockets.
pub const AGENT: &str = "const http = require('http'); const agent = new http.Agent({ keepAlive: true, maxSockets: 2 });\n\
    const behind = http.createServer((q, a) => setTimeout(() => a.end('done'), 50));\n\
    behind.listen(0, '127.0.0.1', () => http.createServer((q, a) => http.get({ agent, port: behind.address().port },\n\
    (r) => r.pipe(a))).listen(+process.argv[2], process.argv[3], 511, () => console.log('ready')));";

impl Script {
    /// Starts it by an interpreter and its arguments, separated by blanks.
    #[must_use]
    pub fn start(interpreter: &str, text: &str) -> Self {
        let (folder, address) = (folder(), port::unused());
        let path = folder.path().join("script");
        write(&path, text);
        let path = path.display().to_string();
        let (port, host) = (address.port().to_string(), address.ip().to_string());
        let words: Vec<&str> = interpreter
            .split_whitespace()
            .chain([path.as_str(), &port, &host])
            .collect();
        Self {
            program: Program::start(folder, &words, "ready"),
            address,
        }
    }
}
