//! Real programs from the system's packages, each on free ports in a private folder.
//!
//! A program is ready when its output says so. It ends with its handle, and with the process that started it.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tempfile::TempDir;

use crate::port;

pub mod agents;
pub mod databases;
pub mod engines;
pub mod exporters;
pub mod packages;
pub mod pool;
pub mod runtimes;
pub mod servers;
pub mod servlets;
pub mod ssh;
pub mod traced;

/// Time for a program to end by itself.
const PATIENCE: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};

/// A running program.
#[derive(Debug)]
pub struct Program {
    /// The signal that ends it at once.
    end: Signal,
    child: Child,
    folder: TempDir,
}

impl Program {
    /// Starts a program and waits until a line of its output contains `ready`. `folder` is removed when it has ended.
    ///
    /// # Panics
    /// When it cannot be started, or ends before it is ready.
    #[must_use]
    pub fn start(folder: TempDir, command: &[&str], ready: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", "exec setpriv --pdeathsig TERM -- \"$@\" 2>&1", "sh"])
            .args(command)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let output = child.stdout.take().expect("standard output is piped");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let mut startup_output = String::new();
        let is_ready = lines.by_ref().any(|line| {
            let _ = writeln!(startup_output, "{line}");
            line.contains(ready)
        });
        assert!(
            is_ready,
            "{command:?} ended before it was ready:\n{startup_output}"
        );
        // The output is read until the end, so that writing it never blocks.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            end: Signal::TERM,
            child,
            folder,
        }
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let pid = Pid::from_child(&self.child);
        let _ = kill_process(pid, self.end);
        if !ends_within(pid, PATIENCE) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Whether a process ends within a time: a server may wait for work that never ends.
fn ends_within(pid: Pid, patience: Timespec) -> bool {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    let mut ends = [PollFd::new(&process, PollFlags::IN)];
    poll(&mut ends, Some(&patience)).is_ok_and(|count| count > 0)
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("there is room for a file");
}

/// nginx with a connection limit for its one worker, a `stub_status` page on its own address, and `locations`
/// on another.
#[derive(Debug)]
pub struct Nginx {
    /// The program.
    pub program: Program,
    /// The address of `locations`.
    pub address: SocketAddr,
    /// The address of its status page, if it has one.
    pub status: SocketAddr,
    /// Its configuration file.
    pub configuration: PathBuf,
}

impl Nginx {
    /// Starts it.
    #[must_use]
    pub fn start(worker_connections: u32, has_status_page: bool, locations: &str) -> Self {
        Self::start_with(
            worker_connections,
            has_status_page,
            ["error", "", locations],
        )
    }

    /// The same with an error-log level, and with further directives of `http { … }`. Started by root, its
    /// worker is root's too, and may use sockets in root's folders.
    #[must_use]
    pub fn start_with(
        worker_connections: u32,
        has_status_page: bool,
        [level, http, locations]: [&str; 3],
    ) -> Self {
        let (folder, address, status) = (folder(), port::unused(), port::unused());
        let prefix = folder.path().display();
        let page = if has_status_page {
            format!("server {{ listen {status}; location = /nginx_status {{ stub_status; }} }}")
        } else {
            String::new()
        };
        let user = if http.is_empty() { "" } else { "user root;" };
        let text = format!(
            "daemon off; worker_processes 1; pid {prefix}/pid; error_log stderr notice; error_log {prefix}/error.log {level}; {user}\n\
             events {{\n  worker_connections {worker_connections};\n}}\n\
             http {{ access_log off; client_body_temp_path {prefix}; proxy_temp_path {prefix};\n\
             fastcgi_temp_path {prefix}; uwsgi_temp_path {prefix}; scgi_temp_path {prefix};\n\
             {http}\n{page}\n server {{ listen {address} backlog=511; {locations} }} }}\n",
            locations = locations.replace("$prefix", &prefix.to_string())
        );
        let configuration = folder.path().join("nginx.conf");
        write(&configuration, &text);
        let path = configuration.display().to_string();
        let command = ["nginx", "-e", "stderr", "-c", &path];
        Self {
            program: Program::start(folder, &command, "start worker process "),
            address,
            status,
            configuration,
        }
    }

    /// Starts it with an access log that contains times, in a format to be found in its configuration.
    #[must_use]
    pub fn start_logging_times(locations: &str) -> Self {
        let http = "log_format times '$remote_addr \"$request\" $status $request_time $upstream_connect_time '\n\
            '$upstream_header_time $upstream_response_time';";
        let locations = format!("access_log $prefix/access.log times;\n{locations}");
        Self::start_with(1024, true, ["error", http, &locations])
    }

    /// Its access log.
    #[must_use]
    pub fn access_log(&self) -> PathBuf {
        self.program.path().join("access.log")
    }

    /// Its error log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.program.path().join("error.log")
    }

    /// The URL of its `stub_status` page.
    #[must_use]
    pub fn page(&self) -> String {
        format!("http://{}/nginx_status", self.status)
    }
}

/// HAProxy with a frontend `web` and a backend `app`.
#[derive(Debug)]
pub struct Haproxy {
    /// The program.
    pub program: Program,
    /// The address of `web`.
    pub address: SocketAddr,
    /// Its stats socket.
    pub socket: PathBuf,
    /// Its configuration file.
    pub configuration: PathBuf,
}

impl Haproxy {
    /// Starts it with further directives in `web` and with servers, one per line.
    #[must_use]
    pub fn start(web: &str, servers: &str) -> Self {
        Self::start_with("level user", web, servers)
    }

    /// The same on one thread and over TLS, with a file that contains a certificate and its key.
    #[must_use]
    pub fn start_with_tls(pem: &str, servers: &str) -> Self {
        let end = format!(" ssl crt {pem}");
        Self::start_at("level user\n  nbthread 1", &end, "", servers)
    }

    /// The same with another access level of the stats socket: `level admin` allows changes.
    #[must_use]
    pub fn start_with(level: &str, web: &str, servers: &str) -> Self {
        Self::start_at(level, "", web, servers)
    }

    fn start_at(level: &str, end: &str, web: &str, servers: &str) -> Self {
        let (folder, address) = (folder(), port::unused());
        let socket = folder.path().join("admin.sock");
        let text = format!(
            "global\n  stats socket {} mode 600 {level}\n\
             defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n\
             frontend web\n  bind {address}{end}\n  {web}\n  default_backend app\n\
             backend app\n{servers}\n",
            socket.display()
        );
        let configuration = folder.path().join("haproxy.cfg");
        write(&configuration, &text);
        let program = start_haproxy(folder, &configuration);
        Self {
            program,
            address,
            socket,
            configuration,
        }
    }
}

/// Starts HAProxy with a configuration file, and waits until its master serves.
///
/// When the master has written that it is ready, it starts itself once more to free the memory of the configuration. Until
/// then it has no command line for a moment, and a signal may meet it before its handlers are there. It tells a service
/// manager when it is over.
///
/// # Panics
/// When it ends before it is ready, or does not tell within a minute.
#[must_use]
pub fn start_haproxy(folder: TempDir, configuration: &Path) -> Program {
    let manager_path = folder.path().join("manager.sock");
    let manager = UnixDatagram::bind(&manager_path).expect("there is room for a socket");
    let notify = format!("NOTIFY_SOCKET={}", manager_path.display());
    let path = configuration.display().to_string();
    let command = ["env", &notify, "haproxy", "-Ws", "-f", &path];
    let program = Program::start(folder, &command, "Loading success");
    manager
        .set_read_timeout(Some(Duration::from_mins(1)))
        .expect("a time-out may be set");
    let mut message = [0; 1024];
    loop {
        let len = manager
            .recv(&mut message)
            .expect("HAProxy tells that it is ready");
        let text = String::from_utf8_lossy(&message[..len]);
        if text.lines().any(|line| line == "READY=1") {
            return program;
        }
    }
}

/// Redis.
#[derive(Debug)]
pub struct Redis {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
}

impl Redis {
    /// Starts it with lines of its configuration.
    #[must_use]
    pub fn start(lines: &str) -> Self {
        Self::start_at(port::unused(), lines)
    }

    /// The same at a given address.
    #[must_use]
    pub fn start_at(address: SocketAddr, lines: &str) -> Self {
        let folder = folder();
        let text = format!(
            "bind {}\nport {}\nprotected-mode {}\nsave \"\"\ndir {}\n{lines}\n",
            address.ip(),
            address.port(),
            // It refuses clients of other addresses that have no password.
            if address.ip().is_loopback() {
                "yes"
            } else {
                "no"
            },
            folder.path().display()
        );
        let path = folder.path().join("redis.conf");
        write(&path, &text);
        let path = path.display().to_string();
        Self {
            program: Program::start(folder, &["redis-server", &path], "Ready to accept"),
            address,
        }
    }
}

impl Redis {
    /// Runs a command.
    ///
    /// # Panics
    /// When Redis is unreachable or returns an error.
    pub fn execute(&self, command: &str) {
        let mut stream = TcpStream::connect(self.address).expect("Redis takes connections");
        write!(stream, "{command}\r\n").expect("Redis takes commands");
        let mut answer = [0; 64];
        let len = stream.read(&mut answer).expect("Redis answers");
        assert!(
            answer[..len].starts_with(b"+"),
            "{}",
            String::from_utf8_lossy(&answer[..len])
        );
    }
}

/// A NATS server.
#[derive(Debug)]
pub struct Nats {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
    _store: Option<TempDir>,
}

impl Nats {
    /// Starts it at a given address with lines of its configuration.
    #[must_use]
    pub fn start_at(address: SocketAddr, lines: &str) -> Self {
        let folder = folder();
        let path = folder.path().join("nats.conf");
        write(&path, &format!("listen: \"{address}\"\n{lines}\n"));
        let path = path.display().to_string();
        let command = ["nats-server", "-c", &path];
        Self {
            program: Program::start(folder, &command, "Server is ready"),
            address,
            _store: None,
        }
    }

    /// The same with streams (`JetStream`), which are lost when it ends.
    #[must_use]
    pub fn streaming_at(address: SocketAddr, lines: &str) -> Self {
        // The server requires a folder, also for streams in memory; it is removed with the server.
        let store = tempfile::tempdir().expect("a folder can be made");
        let lines = format!(
            "jetstream {{ store_dir: \"{}\" }}\n{lines}",
            store.path().display()
        );
        Self {
            _store: Some(store),
            ..Self::start_at(address, &lines)
        }
    }
}

/// Webdis, an HTTP interface for Redis.
#[derive(Debug)]
pub struct Webdis {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
}

impl Webdis {
    /// Starts it in front of a Redis.
    #[must_use]
    pub fn start(redis: SocketAddr) -> Self {
        let (folder, address) = (folder(), port::unused());
        let text = format!(
            "{{ \"redis_host\": \"{}\", \"redis_port\": {}, \"http_host\": \"{}\", \"http_port\": {}, \"threads\": 1,\n\
             \"pool_size\": 4, \"daemonize\": false, \"websockets\": false, \"database\": 0, \"verbosity\": 5,\n\
             \"logfile\": \"/dev/stderr\" }}\n",
            redis.ip(),
            redis.port(),
            address.ip(),
            address.port()
        );
        let path = folder.path().join("webdis.json");
        write(&path, &text);
        let path = path.display().to_string();
        Self {
            program: Program::start(folder, &["webdis", &path], "up and running"),
            address,
        }
    }
}

/// memcached.
#[derive(Debug)]
pub struct Memcached {
    /// The program.
    pub program: Program,
    /// Its address.
    pub address: SocketAddr,
}

impl Memcached {
    /// Starts it with a connection limit.
    #[must_use]
    pub fn start(connections: u32) -> Self {
        Self::start_with(connections, 64)
    }

    /// The same with a memory limit in MiB.
    #[must_use]
    pub fn start_with(connections: u32, mebibytes: u32) -> Self {
        let address = port::unused();
        let (ip, port) = (address.ip().to_string(), address.port().to_string());
        let connections = connections.to_string();
        let mebibytes = mebibytes.to_string();
        let command = [
            "memcached",
            "-m",
            &mebibytes,
            "-u",
            "nobody",
            "-U",
            "0",
            "-t",
            "1",
            "-l",
            &ip,
            "-p",
            &port,
            "-c",
            &connections,
            "-vv",
        ];
        Self {
            program: Program::start(folder(), &command, "server listening"),
            address,
        }
    }
}
