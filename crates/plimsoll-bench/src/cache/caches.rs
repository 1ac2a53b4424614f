//! The measured caches, each in a typical configuration: responses in memory, collapsed fetches, and stale responses during
//! revalidation and errors of the origin, as far as the cache supports them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use plimsoll_harness::packages::{Tool, see_to};
use plimsoll_harness::port::free_ports;
use plimsoll_harness::server::{ChildServer, Recipe, is_listening};
use plimsoll_harness::workspace::Workspace;
use tempfile::TempDir;

use super::process;
use crate::context::BenchContext;
use crate::page::version;

const START: Duration = Duration::from_secs(20);

/// Where nginx keeps its pages: memory that looks like a disk.
const RAM_DISK: &str = "/dev/shm";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheKind {
    Plimsoll,
    Nginx,
    Haproxy,
    Varnish,
}

/// Its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheOptions {
    /// Access log into a file, in each program's usual format, and figures to be asked for.
    pub(super) logs: bool,
    /// What it may keep, in MiB.
    pub(super) size_mib: u32,
}

impl CacheOptions {
    pub(super) const SILENT: Self = Self {
        logs: false,
        size_mib: 1_024,
    };
}

/// Paths of the programs.
pub(super) struct CachePrograms {
    pub(super) plimsoll: PathBuf,
    pub(super) origin: PathBuf,
}

/// A running cache; ends when dropped, with all its processes.
pub(super) struct RunningCache {
    /// Before the folder it writes to.
    servers: Vec<ChildServer>,
    pub(super) port: u16,
    /// Ours alone has one.
    pub(super) admin_port: u16,
    /// nginx's pages.
    disk: TempDir,
    _folder: TempDir,
}

impl CachePrograms {
    /// Finds the programs and installs those that are missing.
    pub(super) fn find(workspace: &Workspace) -> Result<Self> {
        see_to(&[
            Tool::new("nginx", "nginx-light"),
            Tool::new("haproxy", "haproxy"),
            Tool::new("varnishd", "varnish"),
            Tool::new("wrk", "wrk"),
            Tool::new("taskset", "util-linux"),
        ])?;
        Ok(Self {
            plimsoll: workspace.release("plimsoll"),
            origin: workspace.release("plimsoll-origin"),
        })
    }

    /// Names and versions, for the page.
    pub(super) fn versions(&self) -> Vec<String> {
        let wrk =
            version("wrk", "-v").map(|line| line.split(" [").next().unwrap_or_default().to_owned());
        [
            version(&self.plimsoll.display().to_string(), "--version"),
            version("nginx", "-v"),
            version("haproxy", "-v"),
            version("varnishd", "-V"),
            wrk,
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl RunningCache {
    /// CPU time of all its processes so far.
    pub(super) fn cpu(&self) -> Result<Duration> {
        self.sum(process::cpu)
    }

    /// Bytes of memory that it holds: what no file backs, and the files of its pages.
    pub(super) fn memory(&self) -> Result<u64> {
        let held: u64 = self.sum(process::memory)?;
        Ok(held + process::files(self.disk.path())?)
    }

    fn sum<T: std::iter::Sum>(&self, of: impl Fn(u32) -> Option<T>) -> Result<T> {
        let families = self
            .servers
            .iter()
            .map(|server| process::family(server.id()));
        let families: Vec<u32> = families
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect();
        let all: Option<T> = families.into_iter().map(of).sum();
        all.context("a process of the cache has ended")
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

impl CacheKind {
    pub(super) const ALL: [Self; 4] = [Self::Plimsoll, Self::Nginx, Self::Haproxy, Self::Varnish];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plimsoll => "plimsoll edge",
            Self::Nginx => "nginx",
            Self::Haproxy => "HAProxy",
            Self::Varnish => "Varnish",
        }
    }

    /// Measures each cache once, and prints what came of it.
    pub(super) fn measure_all<T>(
        what: &str,
        measure: impl Fn(Self) -> Result<T>,
        show: impl Fn(&T) -> String,
    ) -> Vec<(Self, Result<T>)> {
        let measured = Self::ALL.map(|cache| {
            println!("{what}: {}", cache.name());
            let result = measure(cache);
            match &result {
                Ok(result) => println!("  {}", show(result)),
                Err(error) => println!("  failed: {error:#}"),
            }
            (cache, result)
        });
        measured.into()
    }

    /// Starts it on the server's core, before the origin at this port.
    pub(super) fn start(
        self,
        ground: &BenchContext,
        programs: &CachePrograms,
        origin: u16,
        manner: CacheOptions,
    ) -> Result<RunningCache> {
        let disk = tempfile::Builder::new()
            .prefix("bench-cache-")
            .tempdir_in(RAM_DISK)
            .with_context(|| format!("{RAM_DISK} holds the pages of nginx"))?;
        let folder = tempfile::tempdir()?;
        let ports = free_ports(2)?;
        let (port, admin_port) = (ports[0], ports[1]);
        let place = CacheConfigContext {
            folder: folder.path(),
            disk: disk.path(),
            port,
            admin_port,
            origin,
            manner,
        };
        let words = match self {
            Self::Plimsoll => place.plimsoll(&programs.plimsoll),
            Self::Nginx => place.nginx()?,
            Self::Haproxy => place.haproxy()?,
            Self::Varnish => place.varnish()?,
        };
        let core = ground.server_core;
        let mut servers = vec![pinned("cache", core, &words, folder.path())?];
        servers[0].wait(START, || is_listening(port))?;
        if self == Self::Varnish && manner.logs {
            servers.push(pinned("log", core, &place.varnish_log(), folder.path())?);
        }
        Ok(RunningCache {
            servers,
            port,
            admin_port,
            disk,
            _folder: folder,
        })
    }
}

fn pinned(name: &str, core: usize, words: &[String], folder: &Path) -> Result<ChildServer> {
    let mut arguments = vec!["-c".to_owned(), core.to_string()];
    arguments.extend_from_slice(words);
    let recipe = Recipe {
        name,
        program: "taskset",
        user: None,
        arguments,
        environment: Vec::new(),
    };
    ChildServer::start(recipe, folder)
}

/// What the configurations of one start have in common.
struct CacheConfigContext<'a> {
    folder: &'a Path,
    disk: &'a Path,
    port: u16,
    admin_port: u16,
    origin: u16,
    manner: CacheOptions,
}

impl CacheConfigContext<'_> {
    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn plimsoll(&self, program: &Path) -> Vec<String> {
        let log = if self.manner.logs {
            self.path("access.log")
        } else {
            "off".to_owned()
        };
        words(&format!(
            "{} edge --listen 127.0.0.1:{} --admin 127.0.0.1:{} --to http://127.0.0.1:{} --cores 1 --cache {}MiB \
             --stale-while-revalidate 60s --stale-if-error 1h --access-log {log}",
            program.display(),
            self.port,
            self.admin_port,
            self.origin,
            self.manner.size_mib,
        ))
    }

    fn nginx(&self) -> Result<Vec<String>> {
        let log = if self.manner.logs {
            format!("access_log {} combined", self.path("access.log"))
        } else {
            "access_log off".to_owned()
        };
        let user = if rustix::process::geteuid().is_root() {
            "user root;\n"
        } else {
            ""
        };
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("  {kind}_temp_path {};\n", self.path(kind)))
            .concat();
        let text = format!(
            "daemon off;\n{user}worker_processes 1;\nworker_rlimit_nofile 400000;\npid {pid};\nerror_log stderr error;\n\
             events {{ worker_connections 30000; }}\n\
             http {{\n  {log};\n  keepalive_timeout 1h;\n  keepalive_requests 1000000000;\n  sendfile on;\n  \
             tcp_nopush on;\n  open_file_cache max=200000 inactive=1h;\n  open_file_cache_valid 60s;\n{temporary}  \
             proxy_cache_path {pages} levels=1:2 keys_zone=pages:256m max_size={size}m inactive=1h \
             use_temp_path=off;\n  \
             upstream app {{ server 127.0.0.1:{origin}; keepalive 256; keepalive_requests 1000000000; }}\n  \
             server {{\n    listen 127.0.0.1:{port} backlog=4096;\n    location = /status {{ stub_status; }}\n    \
             location / {{\n      proxy_pass http://app;\n      proxy_http_version 1.1;\n      \
             proxy_set_header Connection \"\";\n      proxy_set_header Host $host;\n      \
             proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n      \
             proxy_set_header X-Forwarded-Proto $scheme;\n      proxy_cache pages;\n      \
             proxy_cache_lock on;\n      proxy_cache_revalidate on;\n      proxy_cache_background_update on;\n      \
             proxy_cache_use_stale updating error timeout http_500 http_502 http_503 http_504;\n    }}\n  }}\n}}\n",
            pid = self.path("nginx.pid"),
            pages = self.disk.join("pages").display(),
            size = self.manner.size_mib * 4,
            origin = self.origin,
            port = self.port,
        );
        let path = self.path("nginx.conf");
        std::fs::write(&path, text)?;
        Ok(words(&format!("nginx -c {path}")))
    }

    fn haproxy(&self) -> Result<Vec<String>> {
        let (target, log, figures) = if self.manner.logs {
            (
                "  log stdout format raw local0\n",
                "  log global\n  option httplog\n",
                "  http-request use-service prometheus-exporter if { path /metrics }\n",
            )
        } else {
            ("", "", "")
        };
        let text = format!(
            "global\n  nbthread 1\n  maxconn 4000\n{target}defaults\n  mode http\n  timeout connect 5s\n  \
             timeout client 1h\n  timeout server 1m\n  option forwardfor\n  http-reuse always\n{log}\
             cache pages\n  total-max-size {}\n  max-object-size 65536\n  max-age 3600\n  process-vary on\n\
             frontend web\n  bind 127.0.0.1:{}\n{figures}  http-request set-header X-Forwarded-Proto http\n  \
             http-request cache-use pages\n  http-response cache-store pages\n  default_backend app\n\
             backend app\n  server app 127.0.0.1:{}\n",
            // It knows no more.
            self.manner.size_mib.min(4_095),
            self.port,
            self.origin,
        );
        let path = self.path("haproxy.cfg");
        std::fs::write(&path, text)?;
        Ok(words(&format!("haproxy -db -f {path}")))
    }

    fn varnish(&self) -> Result<Vec<String>> {
        let text = format!(
            "vcl 4.1;\nbackend default {{ .host = \"127.0.0.1\"; .port = \"{}\"; }}\n",
            self.origin
        );
        let path = self.path("default.vcl");
        std::fs::write(&path, text)?;
        Ok(words(&format!(
            "varnishd -F -j none -a 127.0.0.1:{} -f {path} -p default_grace=3600 -s malloc,{}M -n {}",
            self.port,
            self.manner.size_mib,
            self.path("varnish"),
        )))
    }

    /// Varnish writes no file itself: another program reads its shared memory.
    fn varnish_log(&self) -> Vec<String> {
        words(&format!(
            "varnishncsa -n {} -w {}",
            self.path("varnish"),
            self.path("access.log")
        ))
    }
}

/// A command line without quotes.
pub(super) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(ToOwned::to_owned).collect()
}
