//! PostgreSQL, pgbouncer, HAProxy and Puma behind each other, and a file of knobs for `tune` on each of them.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::port;
use crate::program::databases::{Postgres, carry_out};
use crate::program::servers::Pgbouncer;
use crate::program::{Program, folder, start_haproxy, write};

/// The token of Puma's control server.
const TOKEN: &str = "let-me-see";
const CONTROL: &str = include_str!("control.py");
const APPLICATION: &str = "require 'pg'
run(lambda do |_env|
  session = Thread.current[:session] ||= PG.connect(ENV['DATABASE'])
  [200, { 'content-type' => 'text/plain' }, [session.exec('SELECT 1').getvalue(0, 0)]]
rescue StandardError => e
  Thread.current[:session] = nil
  [503, { 'content-type' => 'text/plain' }, [e.message]]
end)
";
/// Starts Puma again whenever it has ended, as a service manager does.
const SUPERVISOR: &str = "trap 'kill $p; wait $p; exit 0' TERM
while :; do
  setpriv --pdeathsig TERM -- puma --config \"$1\" &
  p=$!
  wait $p
done
";

/// The running stack; each program in its own folder.
#[derive(Debug)]
pub(super) struct Stack {
    _puma: Program,
    haproxy: Program,
    _pgbouncer: Program,
    pub(super) postgres: Postgres,
    pub(super) pgbouncer: SocketAddr,
    pub(super) address: SocketAddr,
    pub(super) admin_socket: PathBuf,
    pub(super) puma_stats: String,
    /// Every file that a setting may change.
    pub(super) files: Vec<PathBuf>,
    /// The file of knobs, with its templates.
    folder: TempDir,
}

/// Writes a configuration file with a mode of its own.
fn configure(path: &Path, text: &str, mode: u32) {
    write(path, text);
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("the file is ours");
}

impl Stack {
    pub(super) fn start() -> Self {
        let own = folder();
        let postgres = Postgres::start("max_connections = 40\nautovacuum = off");
        postgres.execute("ALTER SYSTEM SET max_wal_size = '512MB'");
        postgres.execute("SELECT pg_reload_conf()");
        let pgbouncer = start_pgbouncer(&postgres, own.path());
        let puma = Puma::start(pgbouncer.address, own.path());
        let haproxy = Haproxy::start(puma.address, own.path());
        let stack = Self {
            files: vec![
                postgres.configuration(),
                postgres
                    .configuration()
                    .with_file_name("postgresql.auto.conf"),
                pgbouncer.configuration.clone(),
                haproxy.configuration.clone(),
                puma.configuration.clone(),
            ],
            pgbouncer: pgbouncer.address,
            address: haproxy.address,
            admin_socket: haproxy.socket.clone(),
            puma_stats: puma.stats.clone(),
            folder: own,
            postgres,
            _pgbouncer: pgbouncer.program,
            haproxy: haproxy.program,
            _puma: puma.program,
        };
        write(&stack.path("control.py"), CONTROL);
        carry_out(&[
            "timeout",
            "120",
            "python3",
            &stack.path("control.py").display().to_string(),
            "puma_ready",
            &puma.configuration.display().to_string(),
            &stack.puma_stats,
        ]);
        write(
            &stack.folder.path().join("reload.sh"),
            "echo \"$1\" > events\nshift\nexec \"$@\"\n",
        );
        carry_out(&["mkfifo", &stack.path("events").display().to_string()]);
        stack.write_plan();
        stack.write_knobs("1m");
        stack
    }

    /// A file of the folder of the knobs.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn write_plan(&self) {
        let text = format!(
            "target: http://{}/\nwatch:\n  postgres: {{ at: '{}', user: postgres, password: any }}\n\
             \x20 haproxy: {{ at: '{}' }}\n",
            self.address,
            self.postgres.address,
            self.admin_socket.display()
        );
        write(&self.path("plan.yaml"), &text);
    }

    /// Writes the file of knobs. Another limit makes another experiment of it.
    pub(super) fn write_knobs(&self, limit: &str) {
        let reload = |event: &str, command: &str| format!("[sh, reload.sh, {event}, {command}]");
        let [_, _, pgbouncer, haproxy, puma] = &self.files[..] else {
            unreachable!("the stack has five files")
        };
        let pid_file = puma.with_file_name("pid");
        let console = format!("postgres://admin@{}/pgbouncer", self.pgbouncer);
        let text = format!(
            "knobs:\n\
             \x20 work_mem: {{ values: [8MB, 16MB] }}\n\
             \x20 max_wal_size: {{ values: [1GB, 2GB] }}\n\
             \x20 pool: {{ values: [10, 5] }}\n\
             \x20 server_maxconn: {{ values: [20, 40] }}\n\
             \x20 maxconn: {{ values: [150, 190] }}\n\
             \x20 threads: {{ values: [4, 2] }}\n\
             \x20 workers: {{ values: [2, 3] }}\n\
             seed: 7\nsettle: 0s\nready: 'http://{address}/'\n\
             measure: {{ plan: plan.yaml, limit: {limit}, objective: 'p95 < 500ms' }}\n\
             apply:\n\
             - set:\n  - {{ component: postgres, setting: work_mem, to: '{{{{ work_mem }}}}' }}\n\
             \x20 - {{ component: postgres, setting: max_wal_size, to: '{{{{ max_wal_size }}}}' }}\n\
             - file: {{ template: pgbouncer.in, to: {pgbouncer}, reload: {reload_pgbouncer} }}\n\
             - file: {{ template: haproxy.in, to: {haproxy}, check: [haproxy, -c, -q, -f, {haproxy}], reload: {reload_haproxy} }}\n\
             \x20 set: {{ component: haproxy, setting: maxconn, to: '{{{{ maxconn }}}}' }}\n\
             - file: {{ template: puma.in, to: {puma}, reload: {reload_puma} }}\n\
             \x20 workers: {{ pid_file: {pid_file}, to: '{{{{ workers }}}}' }}\n",
            address = self.address,
            pgbouncer = pgbouncer.display(),
            haproxy = haproxy.display(),
            puma = puma.display(),
            pid_file = pid_file.display(),
            reload_pgbouncer = reload("pgbouncer", &format!("psql, -qX, '{console}', -c, RELOAD")),
            reload_haproxy = reload(
                "haproxy",
                &format!(
                    "python3, control.py, haproxy, {}, {}, '{}'",
                    haproxy.display(),
                    self.admin_socket.display(),
                    self.haproxy.pid()
                )
            ),
            reload_puma = reload(
                "puma",
                &format!(
                    "python3, control.py, puma, {}, '{}', {}",
                    puma.display(),
                    self.puma_stats,
                    pid_file.display()
                )
            ),
        );
        write(&self.path("stack.yaml"), &text);
    }
}

/// pgbouncer in front of PostgreSQL, with a console for `admin`.
fn start_pgbouncer(database: &Postgres, templates: &Path) -> Pgbouncer {
    let (folder, address) = (folder(), port::unused());
    let configuration = folder.path().join("pgbouncer.ini");
    let users = folder.path().join("users.txt");
    let text = |pool: &str| {
        let settings = format!(
            "auth_type = trust\nauth_file = {}\nadmin_users = admin\npool_mode = transaction\ndefault_pool_size = {pool}\n",
            users.display()
        );
        Pgbouncer::configuration_text(database, address, &settings)
    };
    write(&users, "\"postgres\" \"\"\n\"admin\" \"\"\n");
    configure(&configuration, &text("7\n; by hand"), 0o640);
    write(&templates.join("pgbouncer.in"), &text("{{ pool }}"));
    Pgbouncer::run(folder, address, configuration)
}

struct Puma {
    program: Program,
    address: SocketAddr,
    configuration: PathBuf,
    stats: String,
}

impl Puma {
    /// In front of pgbouncer, with one worker process.
    fn start(database: SocketAddr, templates: &Path) -> Self {
        let (folder, address, control) = (folder(), port::unused(), port::unused());
        let configuration = folder.path().join("puma.rb");
        let prefix = folder.path().display();
        let text = |threads: &str| {
            format!(
                "bind 'tcp://{address}'\nworkers 1\nthreads {threads}, {threads}\nenvironment 'production'\n\
                 silence_single_worker_warning\nactivate_control_app 'tcp://{control}', {{ auth_token: '{TOKEN}' }}\n\
                 pidfile '{prefix}/pid'\nrackup '{prefix}/config.ru'\n"
            )
        };
        configure(&configuration, &text("3"), 0o604);
        write(&templates.join("puma.in"), &text("{{ threads }}"));
        write(&folder.path().join("config.ru"), APPLICATION);
        let database = format!("DATABASE=postgres://postgres@{database}/postgres");
        let path = configuration.display().to_string();
        let command = ["env", &database, "sh", "-c", SUPERVISOR, "sh", &path];
        Self {
            program: Program::start(folder, &command, "Use Ctrl-C to stop"),
            address,
            configuration,
            stats: format!("http://{control}/stats?token={TOKEN}"),
        }
    }
}

struct Haproxy {
    program: Program,
    address: SocketAddr,
    socket: PathBuf,
    configuration: PathBuf,
}

impl Haproxy {
    /// In front of Puma.
    fn start(application: SocketAddr, templates: &Path) -> Self {
        let (folder, address) = (folder(), port::unused());
        let socket = folder.path().join("admin.sock");
        let configuration = folder.path().join("haproxy.cfg");
        let text = |maxconn: &str| {
            format!(
                "global\n  stats socket {} mode 600 level admin expose-fd listeners\n  maxconn 200\n  hard-stop-after 1s\n\
                 defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\n\
                 frontend web\n  bind {address}\n  default_backend app\n\
                 backend app\n  server app {application} maxconn {maxconn}\n",
                socket.display()
            )
        };
        configure(&configuration, &text("30 # by hand"), 0o600);
        write(&templates.join("haproxy.in"), &text("{{ server_maxconn }}"));
        Self {
            program: start_haproxy(folder, &configuration),
            address,
            socket,
            configuration,
        }
    }
}
