//! An experiment in a folder of its own.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_lab::intervention::ComponentAccess;
use plimsoll_lab::progress::StopFlag;
use plimsoll_lab::service::{ApplyFault, ExperimentServices, Launcher, ServiceContext};
use plimsoll_model::experiment::Experiment;
use plimsoll_probe::rest;

use crate::{LAUNCH, server};

/// The variable by which a test finds the processes of its service.
const MARK: &str = "SERVICES_TEST";

/// Files of a folder, without an environment.
struct FolderFiles<'f>(&'f Path);

impl Surroundings for FolderFiles<'_> {
    fn file(&self, path: &str, _len_max: u64) -> Result<Vec<u8>, FileError> {
        fs::read(self.0.join(path)).map_err(|error| FileError::Unreadable(error.to_string()))
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}

/// This program.
pub(crate) fn own() -> PathBuf {
    std::env::current_exe().expect("a process knows its program")
}

/// Reads an experiment whose files are in `base`.
pub(crate) fn read(text: &str, base: &Path) -> Arc<Experiment> {
    match plimsoll_config::experiment::read(text, "test", &FolderFiles(base)) {
        Ok(experiment) => Arc::new(experiment),
        Err(diagnostics) => panic!("{diagnostics}\n{text}"),
    }
}

/// What services need.
pub(crate) fn context(base: &Path, folder: &Path) -> ServiceContext {
    ServiceContext {
        base: base.to_owned(),
        folder: folder.to_owned(),
        access: ComponentAccess::default(),
        launcher: Launcher {
            program: own(),
            arguments: vec![LAUNCH.into()],
            edge: vec![own().into(), server::EDGE.into()],
        },
        stop: StopFlag::default(),
    }
}

/// An experiment in a folder of its own.
pub(crate) struct Fixture {
    folder: tempfile::TempDir,
    pub(crate) port: u16,
    /// Value of the variable by which its processes are found.
    mark: String,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("base")).unwrap();
        let mark = folder.path().display().to_string();
        let port = plimsoll_testkit::port::unused().port();
        Self { folder, port, mark }
    }

    /// Folder of the experiment file.
    pub(crate) fn base(&self) -> PathBuf {
        self.folder.path().join("base")
    }

    /// Folder of the results.
    pub(crate) fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    /// Writes a file of the experiment.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.base().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// The words that start the service.
    pub(crate) fn serve(&self) -> String {
        let program = own().display().to_string();
        format!("{program:?}, {}, \"{}\"", server::SERVE, self.port)
    }

    /// An experiment with the axis `level` of the levels a, b; `apply` are lines of its setup.
    pub(crate) fn text(&self, apply: &str, more: &str) -> String {
        let lines: Vec<&str> = apply.lines().map(str::trim_start).collect();
        let lines = lines.join("\n    ");
        format!(
            "axes: {{ level: [a, b] }}\n\
             measure: {{ url: \"http://127.0.0.1:1/\", loads: [10/s], for: 1s }}\n\
             settle: 0s\n{more}\n\
             apply:\n  - env: {{ LEVEL: \"{{{{ level }}}}\", {MARK}: {:?} }}\n    {lines}\n",
            self.mark
        )
    }

    /// The experiment whose service answers over HTTP.
    pub(crate) fn serving(&self, apply: &str, more: &str) -> String {
        let apply = format!("command: [{}]\n{apply}", self.serve());
        let ready = format!(
            "ready: {{ http: \"http://127.0.0.1:{}/\", within: 20s }}\n{more}",
            self.port
        );
        self.text(&apply, &ready)
    }

    pub(crate) fn experiment(&self, text: &str) -> Arc<Experiment> {
        read(text, &self.base())
    }

    pub(crate) fn context(&self) -> ServiceContext {
        context(&self.base(), &self.results())
    }

    pub(crate) fn try_open(&self, text: &str) -> Result<ExperimentServices, ApplyFault> {
        ExperimentServices::open(self.experiment(text), self.context())
    }

    pub(crate) fn open(&self, text: &str) -> ExperimentServices {
        self.try_open(text)
            .unwrap_or_else(|fault| panic!("{fault}"))
    }

    /// Processes of its services that live.
    pub(crate) fn living(&self) -> Vec<u32> {
        let processes = rest::processes().unwrap().into_iter();
        processes
            .filter(|process| {
                !process.has_ended && rest::has_variable(process.pid, MARK, &self.mark)
            })
            .map(|process| process.pid)
            .collect()
    }

    /// Nothing is left running or in the journal.
    pub(crate) fn is_clean(&self) {
        assert_eq!(self.living(), [0; 0]);
        let journal = fs::read_to_string(self.results().join("applied.journal")).unwrap();
        assert_eq!(journal.lines().count(), 1, "{journal}");
        let results = fs::read_dir(self.results()).unwrap();
        let copies = results
            .filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_string_lossy().starts_with("before-")
            })
            .count();
        assert_eq!(copies, 0);
    }

    /// Requests a page of the service; empty when it does not answer.
    pub(crate) fn get(&self, path: &str) -> String {
        get(self.port, path)
    }

    /// A repository in the folder of the experiment, with a commit for each content of the file `version`, tagged v0, v1, …
    pub(crate) fn repository(&self, versions: &[&str]) {
        let repository = self.base();
        git(&repository, &["init", "--quiet"]);
        for (index, version) in versions.iter().enumerate() {
            self.write("version", version.as_bytes());
            git(&repository, &["add", "version"]);
            let identity = ["-c", "user.name=t", "-c", "user.email=t@t.example"];
            let commit = ["commit", "--quiet", "--message", "a version"];
            git(&repository, &[&identity[..], &commit[..]].concat());
            git(&repository, &["tag", &format!("v{index}")]);
        }
    }

    /// Worktrees of the repository in the folder of the experiment, its own included.
    pub(crate) fn worktrees(&self) -> usize {
        let list = git(&self.base(), &["worktree", "list", "--porcelain"]);
        list.lines()
            .filter(|line| line.starts_with("worktree "))
            .count()
    }
}

/// Requests a page; empty when nothing answers.
pub(crate) fn get(port: u16, path: &str) -> String {
    let request = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        // In one piece: the service reads once.
        let request = format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = request().unwrap_or_default();
    let body = answer.split_once("\r\n\r\n");
    body.map(|(_, body)| body.to_owned()).unwrap_or_default()
}

pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(words)
        .output()
        .expect("Git is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "git {words:?}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}
