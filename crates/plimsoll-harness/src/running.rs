//! Servers of measurements, as a data file defines them: command line, configuration files, environment, readiness.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tempfile::TempDir;

use crate::port::free_ports;
use crate::server::{ChildServer, Recipe, is_listening, is_root, pinned};
use crate::template::{self, Values};
use crate::{child, process, request};

/// How long a server may take to start.
const START: Duration = Duration::from_mins(1);

/// A server as it stands in a data file. Its texts may ask for `@folder@`, which is its own, for free ports `@port@` (where it
/// must listen), `@admin@` and `@second@`, for `@cases@` and `@benchmarks@`, the data folders, and `@root@`, which is set if this
/// process is root.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerDefinition {
    command: String,
    /// Words behind the command that hold spaces.
    #[serde(default)]
    more: Vec<String>,
    /// Files of its folder, each put together from templates of the repository.
    #[serde(default)]
    files: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// The user it runs as, when we are root and it refuses to be.
    user: Option<String>,
    /// A path that it answers with 200 once it is ready; by default it is ready when it listens.
    health: Option<String>,
    /// The port of this path, if it is another than `port`.
    #[serde(default)]
    health_at_admin: bool,
    /// Another program, started when it is ready.
    beside: Option<String>,
    /// Does not listen at all.
    #[serde(default)]
    is_silent: bool,
}

/// Where a server starts.
pub struct Place<'a> {
    /// Of the repository.
    pub root: &'a Path,
    /// The core of all its processes, if they are to have one.
    pub core: Option<usize>,
    /// For its files and logs; a temporary one of its own if there is none.
    pub folder: Option<&'a Path>,
}

/// A running server. Ends when dropped, with all its processes, its folder last.
pub struct RunningServer {
    servers: Vec<ChildServer>,
    port: u16,
    admin_port: u16,
    second_port: u16,
    folder: PathBuf,
    _temporary: Option<TempDir>,
}

impl ServerDefinition {
    /// Starts it and waits until it is ready. `name` is that of its log file.
    ///
    /// # Errors
    ///
    /// If a template asks for what there is not, or the server does not start.
    pub fn start(&self, name: &str, place: &Place<'_>, values: &Values) -> Result<RunningServer> {
        let temporary = match place.folder {
            Some(_) => None,
            None => Some(tempfile::Builder::new().prefix("plimsoll-").tempdir()?),
        };
        let own = temporary.as_ref().map(TempDir::path);
        let folder = place.folder.or(own).context("there is a folder")?;
        let ports = free_ports(3)?;
        let given = values.number("port");
        let port = given.unwrap_or(ports[0]);
        let values = values
            .clone()
            .with("folder", folder.display())
            .with("port", port)
            .with("admin", ports[1])
            .with("second", ports[2])
            .with("cases", place.root.join("cases").display())
            .with("benchmarks", place.root.join("benchmarks").display())
            .with("root", if is_root() { "yes" } else { "" });
        for (file, templates) in &self.files {
            let file = template::fill(name, file, &values)?;
            write(&folder.join(&file), templates, place.root, &values)
                .with_context(|| format!("{name}: {file}"))?;
        }
        let mut servers =
            vec![self.run(name, &self.command, &self.more, place, folder, &values)?];
        let is_ready = || match &self.health {
            Some(path) => {
                let port = if self.health_at_admin { ports[1] } else { port };
                request::get(port, path).is_ok_and(|answer| answer.status == 200)
            }
            None => self.is_silent || is_listening(port),
        };
        servers[0].wait(START, is_ready)?;
        if let Some(beside) = &self.beside
            && !template::words(name, beside, &values)?.is_empty()
        {
            let name = format!("{name}-beside");
            servers.push(self.run(&name, beside, &[], place, folder, &values)?);
        }
        Ok(RunningServer {
            servers,
            port,
            admin_port: ports[1],
            second_port: ports[2],
            folder: folder.to_owned(),
            _temporary: temporary,
        })
    }

    fn run(
        &self,
        name: &str,
        line: &str,
        more: &[String],
        place: &Place<'_>,
        folder: &Path,
        values: &Values,
    ) -> Result<ChildServer> {
        let mut words = template::words(name, line, values)?;
        for word in more {
            words.push(template::fill(name, word, values)?);
        }
        anyhow::ensure!(!words.is_empty(), "{name}: no command");
        let program = words.remove(0);
        let environment = self.environment.iter();
        let environment: Result<Vec<_>> = environment
            .map(|(key, value)| Ok((key.as_str(), template::fill(name, value, values)?)))
            .collect();
        let recipe = Recipe {
            name,
            program: &program,
            user: self.user.as_deref(),
            arguments: words,
            environment: environment?,
        };
        let recipe = match place.core {
            Some(core) => pinned(recipe, core),
            None => recipe,
        };
        ChildServer::start(recipe, folder)
    }
}

fn write(file: &Path, templates: &[String], root: &Path, values: &Values) -> Result<()> {
    let mut text = String::new();
    for template in templates {
        let read = std::fs::read_to_string(root.join(template));
        let read = read.with_context(|| format!("cannot read the template {template}"))?;
        text += &template::fill(template, &read, values)?;
    }
    Ok(std::fs::write(file, text)?)
}

impl RunningServer {
    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of its admin interface, if it has one.
    pub fn admin_port(&self) -> u16 {
        self.admin_port
    }

    /// Another port of it, if it has one.
    pub fn second_port(&self) -> u16 {
        self.second_port
    }

    /// Without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Of the admin interface.
    pub fn admin_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.admin_port)
    }

    /// The folder of its files and logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All its processes.
    ///
    /// # Errors
    ///
    /// If `/proc` cannot be listed.
    pub fn family(&self) -> Result<Vec<u32>> {
        let mut family = Vec::new();
        for server in &self.servers {
            family.extend(process::family(server.id())?);
        }
        Ok(family)
    }

    /// CPU time of all its processes so far, exact to a tick of the clock.
    ///
    /// # Errors
    ///
    /// If one of them has ended.
    pub fn cpu(&self) -> Result<Duration> {
        self.sum(child::cpu)
    }

    /// Time that its threads ran so far, to the nanosecond.
    ///
    /// # Errors
    ///
    /// If one of its processes has ended.
    pub fn run_time(&self) -> Result<Duration> {
        process::run_time(&self.family()?)
    }

    /// Its resident sets now, in bytes.
    ///
    /// # Errors
    ///
    /// If one of its processes has ended.
    pub fn resident(&self) -> Result<u64> {
        self.sum(child::resident)
    }

    /// Its memory that no file backs, in bytes.
    ///
    /// # Errors
    ///
    /// If one of its processes has ended.
    pub fn memory(&self) -> Result<u64> {
        self.sum(process::memory)
    }

    /// Sends a signal to all its processes.
    ///
    /// # Errors
    ///
    /// If one of them cannot be signalled.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        for pid in self.family()? {
            let pid = Pid::from_raw(i32::try_from(pid)?).context("a process has an id")?;
            kill_process(pid, signal)?;
        }
        Ok(())
    }

    /// Requests a graceful shutdown, and waits for it.
    ///
    /// # Errors
    ///
    /// If it does not end before the deadline.
    pub fn finish(&mut self, deadline: Duration) -> Result<()> {
        self.servers
            .iter_mut()
            .try_for_each(|server| server.finish(deadline))
    }

    /// Waits until `is_ready` returns true, beyond what its definition waits for.
    ///
    /// # Errors
    ///
    /// If it ends before, or takes too long.
    pub fn wait(&mut self, is_ready: impl Fn() -> bool) -> Result<()> {
        self.servers[0].wait(START, is_ready)
    }

    /// Fails, with the end of its output, if it has ended.
    ///
    /// # Errors
    ///
    /// If it has ended.
    pub fn check(&mut self) -> Result<()> {
        self.servers.iter_mut().try_for_each(ChildServer::check)
    }

    fn sum<T: Sum>(&self, of: impl Fn(u32) -> Option<T>) -> Result<T> {
        let all: Option<T> = self.family()?.into_iter().map(of).sum();
        all.context("a process of the server has ended")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_put_together_and_the_command_is_filled() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("head"), "echo @word@ $NAME\n").unwrap();
        std::fs::write(root.path().join("tail"), "@!word? exit 3\nexec sleep 600\n").unwrap();
        let text = "command = \"sh @folder@/script\"\nfiles = { script = [\"head\", \"tail\"] }\n\
                    environment = { NAME = \"name of @word@\" }\nis_silent = true\n";
        let definition: ServerDefinition = toml::from_str(text).unwrap();
        let place = Place {
            root: root.path(),
            core: None,
            folder: None,
        };
        let values = Values::default().with("word", "hello");
        let mut server = definition.start("shell", &place, &values).unwrap();
        assert!(server.resident().unwrap() > 0);
        server.check().unwrap();
        let log = server.folder().join("shell.log");
        let printed = || std::fs::read_to_string(&log).unwrap();
        while printed().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(printed(), "hello name of hello\n");
        let error = definition
            .start("shell", &place, &Values::default())
            .err()
            .unwrap();
        assert!(
            format!("{error:#}").contains("shell: script: head:1: unknown value `@word@`"),
            "{error:#}"
        );
    }
}
