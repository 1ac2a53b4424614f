//! The measured hubs, each with one serving thread, on a separate core.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use plimsoll_harness::node;
use plimsoll_harness::packages;
use plimsoll_harness::port::free_ports;
use plimsoll_harness::request;
use plimsoll_harness::server::{ChildServer, Recipe, is_listening, pinned};
use plimsoll_harness::workspace::Workspace;
use tempfile::TempDir;

use super::order::{self, Marks};
use crate::cache::process;
use crate::load::tool::debian_version;
use crate::page::version;

const START: Duration = Duration::from_secs(20);
/// Debian's folder of nginx's modules.
const NCHAN: &str = "/usr/lib/nginx/modules/ngx_nchan_module.so";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HubKind {
    Plimsoll,
    Bun,
    Nchan,
    Ws,
}

/// Paths of the programs.
pub(crate) struct HubPrograms {
    pub(super) plimsoll: PathBuf,
    pub(crate) bun: PathBuf,
    site: PathBuf,
}

impl HubPrograms {
    /// Finds the programs and installs those that are missing.
    pub(crate) fn find(workspace: &Workspace) -> Result<Self> {
        let packages: Vec<_> = [
            ("nginx", "/usr/sbin/nginx", "nginx-light"),
            ("nchan", NCHAN, "libnginx-mod-nchan"),
            ("node", "/usr/bin/node", "nodejs"),
            ("npm", "/usr/bin/npm", "npm"),
            ("redis-server", "/usr/bin/redis-server", "redis-server"),
        ]
        .into_iter()
        .filter(|(program, file, _)| !packages::is_installed(program) && !Path::new(file).is_file())
        .map(|(_, _, package)| package)
        .collect();
        if !packages.is_empty() {
            packages::install(&packages)?;
        }
        let site = workspace.root().join("bench/hub");
        node::install(&site)?;
        Ok(Self {
            plimsoll: workspace.release("plimsoll"),
            bun: site.join("node_modules/bun/bin/bun.exe"),
            site,
        })
    }

    /// Names and versions, for the page.
    pub(super) fn versions(&self) -> Vec<String> {
        let package = |name: &str| {
            let file = self.site.join(format!("node_modules/{name}/package.json"));
            let text = std::fs::read_to_string(file).ok()?;
            let read: serde_json::Value = serde_json::from_str(&text).ok()?;
            Some(format!("{name} {}", read["version"].as_str()?))
        };
        [
            version(&self.plimsoll.display().to_string(), "--version"),
            package("bun"),
            debian_version("libnginx-mod-nchan").map(|version| format!("nchan {version}")),
            version("nginx", "-v"),
            version("redis-server", "--version"),
            package("ws"),
            version("node", "--version").map(|version| format!("node {version}")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl HubKind {
    pub(super) const ALL: [Self; 4] = [Self::Plimsoll, Self::Bun, Self::Nchan, Self::Ws];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plimsoll => "plimsoll edge",
            Self::Bun => "Bun",
            Self::Nchan => "nchan",
            Self::Ws => "ws (Node)",
        }
    }

    /// Where stamp and number of a message stand in what a client gets.
    pub(super) fn marks(self) -> Marks {
        match self {
            Self::Plimsoll => Marks {
                timestamp: "$.data.t",
                sequence: "$.data.n",
            },
            Self::Bun | Self::Nchan | Self::Ws => Marks {
                timestamp: "$.t",
                sequence: "$.n",
            },
        }
    }

    /// The message by which a client subscribes.
    pub(super) fn subscription(self) -> Option<&'static str> {
        (self == Self::Plimsoll).then_some(r#"{"subscribe":["all"]}"#)
    }

    /// Starts it on this core.
    pub(super) fn start(self, programs: &HubPrograms, core: usize) -> Result<RunningHub> {
        match self {
            Self::Plimsoll => edge(programs, core, "{ path: /live }"),
            Self::Bun => script(&programs.bun, &programs.site.join("bun.js"), core),
            Self::Ws => script(Path::new("node"), &programs.site.join("ws.js"), core),
            Self::Nchan => nchan(core),
        }
    }
}

/// A hub that runs. Ends when dropped.
pub(super) struct RunningHub {
    pub(super) port: u16,
    /// Where is published: ours at the admin address.
    pub(super) publish_port: u16,
    pub(super) folder: TempDir,
    is_ours: bool,
    server: ChildServer,
}

impl RunningHub {
    /// Publishes to everybody; the status of the answer.
    pub(super) fn publish(&self, data: &str) -> Result<u16> {
        let body = if self.is_ours {
            format!(r#"{{"channel":"all","data":{data}}}"#)
        } else {
            data.to_owned()
        };
        Ok(request::post(self.publish_port, "/publish", &body)?.status)
    }

    pub(super) fn family(&self) -> Result<Vec<u32>> {
        process::family(self.server.id())
    }

    /// CPU time of all its threads so far.
    pub(super) fn cpu(&self) -> Result<Duration> {
        run_time(&self.family()?)
    }

    /// Memory that no file backs, bytes.
    pub(super) fn memory(&self) -> Result<u64> {
        let held: Option<u64> = self.family()?.into_iter().map(process::memory).sum();
        held.context("a process of the hub has ended")
    }

    pub(super) fn url(&self) -> String {
        format!("ws://127.0.0.1:{}/live", self.port)
    }

    /// Its configuration, if it is ours.
    pub(super) fn configuration(&self) -> PathBuf {
        self.folder.path().join("edge.yaml")
    }

    /// One of our edge's metrics.
    pub(super) fn metric(&self, name: &str) -> Result<f64> {
        let answer = request::get(self.publish_port, "/metrics")?;
        order::sum_of(&answer.body, name).with_context(|| format!("the edge tells no {name}"))
    }
}

/// Time that all threads of these processes have had, to the nanosecond: the first number of /proc/PID/task/TID/schedstat
/// (Documentation/scheduler/sched-stats.rst). Threads that have ended are not in it; those of a hub stay.
pub(crate) fn run_time(family: &[u32]) -> Result<Duration> {
    let mut total = 0;
    for pid in family {
        let folder = format!("/proc/{pid}/task");
        let tasks = std::fs::read_dir(&folder)
            .with_context(|| format!("process {pid} has ended: no {folder}"))?;
        for task in tasks {
            let schedstat = std::fs::read_to_string(task?.path().join("schedstat"));
            // A thread may have ended since it was listed.
            let schedstat = schedstat.unwrap_or_default();
            total += schedstat
                .split_whitespace()
                .next()
                .and_then(|number| number.parse::<u64>().ok())
                .unwrap_or(0);
        }
    }
    Ok(Duration::from_nanos(total))
}

/// The configuration of an edge that is only a hub.
pub(super) fn configuration(port: u16, admin: u16, hub: &str) -> String {
    format!(
        "listen: 127.0.0.1:{port}\nadmin: 127.0.0.1:{admin}\naccess_log: off\ncores: 1\nhub: {hub}\n"
    )
}

/// Our edge with this `hub:`.
pub(super) fn edge(programs: &HubPrograms, core: usize, hub: &str) -> Result<RunningHub> {
    let (folder, ports) = (tempfile::tempdir()?, free_ports(2)?);
    let file = folder.path().join("edge.yaml");
    std::fs::write(&file, configuration(ports[0], ports[1], hub))?;
    let words = ["edge", "--config", &file.display().to_string()].map(ToOwned::to_owned);
    let server = serve(&programs.plimsoll, words.into(), core, &folder, ports[0])?;
    Ok(RunningHub {
        port: ports[0],
        publish_port: ports[1],
        folder,
        is_ours: true,
        server,
    })
}

/// A script that is started with a port, where it also takes what is published.
fn script(program: &Path, script: &Path, core: usize) -> Result<RunningHub> {
    let (folder, port) = (tempfile::tempdir()?, free_ports(1)?[0]);
    let words = vec![script.display().to_string(), port.to_string()];
    let server = serve(program, words, core, &folder, port)?;
    Ok(peer(folder, port, server))
}

fn nchan(core: usize) -> Result<RunningHub> {
    let (folder, port) = (tempfile::tempdir()?, free_ports(1)?[0]);
    let path = folder.path().display();
    let mut text = format!(
        "load_module {NCHAN};\ndaemon off;\nworker_processes 1;\nworker_rlimit_nofile 20000;\npid {path}/nginx.pid;\n\
         error_log stderr error;\nevents {{ worker_connections 20000; }}\nhttp {{\n  access_log off;\n"
    );
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        let _ = writeln!(text, "  {kind}_temp_path {path}/{kind};");
    }
    let _ = writeln!(
        text,
        "  server {{\n    listen 127.0.0.1:{port} backlog=4096;\n    location = /live {{\n      \
         nchan_subscriber websocket;\n      nchan_channel_id all;\n      nchan_subscriber_first_message newest;\n    }}\n    \
         location = /publish {{\n      nchan_publisher http;\n      nchan_channel_id all;\n      \
         nchan_message_buffer_length 1;\n    }}\n  }}\n}}"
    );
    let file = folder.path().join("nginx.conf");
    std::fs::write(&file, text)?;
    let words = ["-c", &file.display().to_string(), "-e", "stderr"].map(ToOwned::to_owned);
    let server = serve(Path::new("nginx"), words.into(), core, &folder, port)?;
    Ok(peer(folder, port, server))
}

fn peer(folder: TempDir, port: u16, server: ChildServer) -> RunningHub {
    RunningHub {
        port,
        publish_port: port,
        folder,
        is_ours: false,
        server,
    }
}

/// Starts a program and waits until it listens.
pub(crate) fn serve(
    program: &Path,
    arguments: Vec<String>,
    core: usize,
    folder: &TempDir,
    port: u16,
) -> Result<ChildServer> {
    let recipe = Recipe {
        name: "hub",
        program: &program.display().to_string(),
        user: None,
        arguments,
        environment: Vec::new(),
    };
    let mut server = ChildServer::start(pinned(recipe, core), folder.path())?;
    server.wait(START, || is_listening(port))?;
    Ok(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_time_is_that_of_all_threads() {
        let ours = [std::process::id()];
        let before = run_time(&ours).unwrap();
        let spun: u64 = std::thread::scope(|scope| {
            let spin =
                || (0..20_000_000_u64).fold(0, |sum, number| std::hint::black_box(sum ^ number));
            let other = scope.spawn(spin);
            let own = spin();
            // Counted while both threads are there: what has ended is in no list.
            assert!(run_time(&ours).unwrap() > before);
            own + other.join().unwrap_or(0)
        });
        std::hint::black_box(spun);
        // Process ids end below this.
        assert!(run_time(&[u32::MAX]).is_err());
    }
}
