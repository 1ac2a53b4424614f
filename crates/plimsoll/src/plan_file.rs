//! Plan files on the command line: which argument is one, its surroundings (files, environment), and its problems.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_config::document::{FileError, Surroundings};
use plimsoll_config::edge::{self, Certificate, EDGE_LEN_MAX, EdgeConfig, HostLookup};
use plimsoll_config::experiment::{self, EXPERIMENT_LEN_MAX};
use plimsoll_config::hosts::{self, HOSTS_LEN_MAX};
use plimsoll_config::plan::{self, Given, PLAN_LEN_MAX, PlanFile, WatchPlan};
use plimsoll_config::scale::{self, POLICY_LEN_MAX, ScalePolicy};
use plimsoll_config::tuned::{self, TunedFile};
use plimsoll_config::world::{self, WORLD_LEN_MAX, World};

use plimsoll_lab::input;
use plimsoll_model::experiment::Experiment;
use plimsoll_model::load_hosts::LoadHosts;
use plimsoll_model::price::HeldResources;

use crate::arguments::WatchArgument;
use crate::explain::CliError;
use crate::screen::eprint;

/// Time-out for a silent pipe.
const PATIENCE: Duration = Duration::from_secs(5);

/// A plan file that was read, and the folder its paths start from.
#[derive(Debug)]
pub(crate) struct LoadedPlan {
    pub(crate) plan: PlanFile,
    pub(crate) folder: PathBuf,
}

/// Whether an argument names a plan file and not a URL.
pub(crate) fn is_plan(text: &str) -> bool {
    let path = Path::new(text);
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    // A pipe or a device is not a host either; reading it reports the error.
    let is_there = || std::fs::metadata(path).is_ok_and(|about| !about.is_dir());
    !text.contains("://") && (ending == "yaml" || ending == "yml" || is_there())
}

/// Reads a plan file when the argument names one.
pub(crate) fn read_if_plan(
    text: &str,
    target: Option<&str>,
) -> Result<Option<LoadedPlan>, CliError> {
    if is_plan(text) {
        return read(text, target).map(Some);
    }
    match target {
        Some(_) => Err(CliError::usage("--target is only valid with a plan file")
            .remedy("use the URL alone, or a plan file with --target URL")),
        None => Ok(None),
    }
}

/// Reads a plan file; every problem becomes a line.
fn read(file: &str, target: Option<&str>) -> Result<LoadedPlan, CliError> {
    read_for(file, target, false)
}

/// Reads a plan file without running it: secrets of the environment may be missing.
pub(crate) fn rehearse(file: &str, target: Option<&str>) -> Result<PlanFile, CliError> {
    read_for(file, target, true).map(|written| written.plan)
}

fn read_for(
    file: &str,
    target: Option<&str>,
    may_miss_variables: bool,
) -> Result<LoadedPlan, CliError> {
    let path = Path::new(file);
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let text = plan_text(path)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let given = Given {
        target: target.map(str::to_owned),
        name: short(&stem),
        may_miss_variables,
    };
    if let Some(url) = target {
        crate::target::parse(url)?;
    }
    let around = Around { folder: &folder };
    match plan::read(&text, &given, &around) {
        Ok(plan) => Ok(LoadedPlan { plan, folder }),
        Err(errors) => {
            let count = errors.list().len();
            let problems = if count == 1 { "problem" } else { "problems" };
            Err(CliError::usage(format!("{file} has {count} {problems}"))
                .details(errors.lines(file)))
        }
    }
}

/// Reads the configuration of an edge; `resolve_server` resolves names. Every problem becomes a line.
pub(crate) fn read_edge(
    path: &Path,
    resolve_server: &HostLookup<'_>,
) -> Result<EdgeConfig, CliError> {
    let bytes = bounded(path, EDGE_LEN_MAX).map_err(|error| {
        CliError::usage(format!(
            "cannot read the configuration {}: {error}",
            path.display()
        ))
        .remedy("valid: a YAML file of at most 4 MiB")
    })?;
    let text = text_of(path, bytes)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut edge = edge::read(&text, &Around { folder }, resolve_server).map_err(|errors| {
        let file = path.display().to_string();
        let count = errors.list().len();
        let problems = if count == 1 { "problem" } else { "problems" };
        CliError::usage(format!("{file} has {count} {problems}")).details(errors.lines(&file))
    })?;
    // Paths are relative to the folder of the configuration.
    let obtained = edge.acme.iter().flat_map(|acme| &acme.certificates);
    let obtained: Vec<Certificate> = obtained.map(|issued| issued.files.clone()).collect();
    let written = edge
        .listen
        .iter_mut()
        .flat_map(|listener| &mut listener.tls);
    for certificate in written.filter(|candidate| !obtained.contains(candidate)) {
        certificate.cert = folder.join(&certificate.cert);
        certificate.key = folder.join(&certificate.key);
    }
    if let Some(ca) = edge.acme.as_mut().and_then(|acme| acme.ca.as_mut()) {
        *ca = folder.join(&*ca);
    }
    if let Some(disk) = &mut edge.cache_disk {
        disk.path = folder.join(&disk.path);
    }
    Ok(edge)
}

/// Reads a file of hosts that carry a load. Every problem becomes a line.
pub(crate) fn read_hosts(path: &Path) -> Result<LoadHosts, CliError> {
    let bytes = bounded(path, HOSTS_LEN_MAX).map_err(|error| {
        CliError::usage(format!(
            "cannot read the file of hosts {}: {error}",
            path.display()
        ))
        .remedy("valid: a YAML file of at most 1 MiB, such as `hosts: [me@load1.example]`")
    })?;
    let text = text_of(path, bytes)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    hosts::read(&text, &Around { folder }).map_err(|errors| {
        let file = path.display().to_string();
        let count = errors.list().len();
        let problems = if count == 1 { "problem" } else { "problems" };
        CliError::usage(format!("{file} has {count} {problems}")).details(errors.lines(&file))
    })
}

/// Reads an experiment file. Every problem becomes a line.
pub(crate) fn read_experiment(path: &Path) -> Result<Experiment, CliError> {
    let bytes = bounded(path, EXPERIMENT_LEN_MAX).map_err(|error| {
        CliError::usage(format!(
            "cannot read the experiment {}: {error}",
            path.display()
        ))
        .remedy("valid: a YAML file of at most 4 MiB")
    })?;
    let text = text_of(path, bytes)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    experiment::read(&text, &short(&stem), &Around { folder }).map_err(|errors| {
        let file = path.display().to_string();
        let count = errors.list().len();
        let problems = if count == 1 { "problem" } else { "problems" };
        CliError::usage(format!("{file} has {count} {problems}")).details(errors.lines(&file))
    })
}

/// Reads the file of a world. Every problem becomes a line.
pub(crate) fn read_world(path: &Path) -> Result<World, CliError> {
    let bytes = bounded(path, WORLD_LEN_MAX).map_err(|error| {
        CliError::usage(format!("cannot read the world {}: {error}", path.display()))
            .remedy("valid: a YAML file of at most 4 MiB, as in docs/guides/simulating.md")
    })?;
    let text = text_of(path, bytes)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    world::read(&text, &Around { folder }).map_err(|errors| {
        let file = path.display().to_string();
        let count = errors.list().len();
        let problems = if count == 1 { "problem" } else { "problems" };
        CliError::usage(format!("{file} has {count} {problems}")).details(errors.lines(&file))
    })
}

/// Reads a scaling policy. Every problem becomes a line.
pub(crate) fn read_scale_policy(path: &Path) -> Result<ScalePolicy, CliError> {
    let bytes = bounded(path, POLICY_LEN_MAX).map_err(|error| {
        CliError::usage(format!(
            "cannot read the policy {}: {error}",
            path.display()
        ))
        .remedy("valid: a YAML file of at most 1 MiB")
    })?;
    let text = text_of(path, bytes)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    scale::read(&text, &short(&stem), &Around { folder }).map_err(|errors| {
        let file = path.display().to_string();
        let count = errors.list().len();
        let problems = if count == 1 { "problem" } else { "problems" };
        CliError::usage(format!("{file} has {count} {problems}")).details(errors.lines(&file))
    })
}

/// Reads a file of settings that a search has found; `None` when the file is another one. Every problem becomes a line.
pub(crate) fn read_tuned(path: &Path) -> Result<Option<TunedFile>, CliError> {
    let bytes = bounded(path, EXPERIMENT_LEN_MAX).map_err(|error| {
        CliError::usage(format!("cannot read {}: {error}", path.display()))
            .remedy("valid: an experiment file with `knobs`, or the tuned.yaml of a search")
    })?;
    let text = text_of(path, bytes)?;
    if !tuned::is_tuned(&text) {
        return Ok(None);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    tuned::read(&text, &Around { folder })
        .map(Some)
        .map_err(|errors| {
            let file = path.display().to_string();
            let count = errors.list().len();
            let problems = if count == 1 { "problem" } else { "problems" };
            CliError::usage(format!("{file} has {count} {problems}")).details(errors.lines(&file))
        })
}

fn plan_text(path: &Path) -> Result<String, CliError> {
    let bytes = bounded(path, PLAN_LEN_MAX).map_err(|error| {
        CliError::usage(format!("cannot read the plan {}: {error}", path.display()))
            .remedy("valid: a YAML file of at most 16 MiB; a URL begins with http:// or https://")
    })?;
    text_of(path, bytes)
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, CliError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..at];
        // The text before the invalid byte is UTF-8; its last line contains the byte.
        let before = String::from_utf8_lossy(before);
        let line = before.split('\n').count();
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        let detail = format!(
            "{}:{line}:{column}: this byte is not UTF-8; valid: text in UTF-8",
            path.display()
        );
        CliError::usage(format!("{} has 1 problem", path.display())).details(vec![detail])
    })
}

/// Variables passed to processes, if set. Any other could be a secret that they do not need.
const ENVIRONMENT: [&str; 7] = [
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "PYTHONPATH",
];

/// Environment of the processes of journeys.
#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment"
)]
pub(crate) fn environment_of_processes() -> Vec<(String, String)> {
    let known = ENVIRONMENT.map(|name| (name, std::env::var(name)));
    known
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.ok()?)))
        .collect()
}

/// Components to watch: the flag's, else the plan's.
pub(crate) fn watched(
    flag: Option<&WatchArgument>,
    of_plan: WatchPlan,
) -> Result<WatchPlan, CliError> {
    let path = match flag {
        None => return Ok(of_plan),
        Some(WatchArgument::None) => return Ok(WatchPlan::default()),
        Some(WatchArgument::Auto) => {
            return Ok(WatchPlan {
                auto: true,
                ..of_plan
            });
        }
        Some(WatchArgument::File(path)) => path,
    };
    let bytes = bounded(path, PLAN_LEN_MAX).map_err(|error| {
        CliError::usage(format!(
            "cannot read the --watch file {}: {error}",
            path.display()
        ))
        .remedy(
            "valid: --watch auto, --watch none, or a YAML file with the syntax of `watch:` in a plan",
        )
    })?;
    let text = text_of(path, bytes)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    plan::read_watch(&text, &Around { folder }).map_err(|errors| {
        let file = path.display().to_string();
        let count = errors.list().len();
        let problems = if count == 1 { "problem" } else { "problems" };
        CliError::usage(format!("{file} has {count} {problems}")).details(errors.lines(&file))
    })
}

/// Reports components in `watch:` that have no collector yet.
pub(crate) fn report_unwatched(watch: &WatchPlan) {
    if !watch.later.is_empty() {
        eprint(&format!(
            "note: watch: {} cannot be watched yet; supported: {}",
            watch.later.join(", "),
            plan::watched_words().join(", ")
        ));
    }
}

/// A name that is safe in a file name.
fn short(stem: &str) -> String {
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = stem
        .trim_start_matches('.')
        .chars()
        .take(64)
        .map(safe)
        .collect();
    if name.is_empty() {
        "plan".to_owned()
    } else {
        name
    }
}

/// The content of a file, if it is not too long. A pipe, which has no length, is read up to the limit.
pub(crate) fn bounded(path: &Path, len_max: u64) -> Result<Vec<u8>, FileError> {
    let unreadable = |error: std::io::Error| FileError::Unreadable(error.to_string());
    let file = input::open(path, PATIENCE).map_err(unreadable)?;
    if let Some(len) = file.len().filter(|&len| len > len_max) {
        return Err(FileError::TooLong(len));
    }
    let mut content = Vec::new();
    file.take(len_max + 1)
        .read_to_end(&mut content)
        .map_err(unreadable)?;
    if content.len() as u64 > len_max {
        return Err(FileError::TooLong(content.len() as u64));
    }
    Ok(content)
}

/// The plan file's folder and the environment.
struct Around<'a> {
    folder: &'a Path,
}

impl Surroundings for Around<'_> {
    fn file(&self, path: &str, len_max: u64) -> Result<Vec<u8>, FileError> {
        bounded(&self.folder.join(path), len_max)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "only the command line reads the environment"
    )]
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn machine(&self) -> Option<HeldResources> {
        Some(HeldResources::of_machine(&plimsoll_probe::host_facts()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_told_from_urls() {
        for plan in ["plan.yaml", "a/b.YML", "/etc/hostname"] {
            assert!(is_plan(plan), "{plan}");
        }
        for url in ["http://x/a.yaml", "localhost:8080", "example.org"] {
            assert!(!is_plan(url), "{url}");
        }
    }

    #[test]
    fn a_plan_is_named_after_its_file() {
        assert_eq!(short("exam day"), "exam-day");
        assert_eq!(short(".."), "plan");
    }
}
