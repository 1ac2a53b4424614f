//! The shell steps of `integrations/`: cut out of their files and run as their systems run them, with the real binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use plimsoll_testkit::origin::known_law::{KnownLaw, KnownLawPlan};

use crate::support::Sandbox;

/// The blocks of a YAML file that follow a line with this ending, without their indentation.
fn blocks(file: &str, ending: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations");
    let text = fs::read_to_string(path.join(file)).unwrap();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with('#') || !line.ends_with(ending) {
            continue;
        }
        let block: Vec<&str> = lines[index + 1..]
            .iter()
            .copied()
            .take_while(|next| next.is_empty() || indent(next) > indent(line))
            .collect();
        let first = block.first().map_or(0, |line| indent(line));
        let block = block.iter().map(|line| line.get(first..).unwrap_or(""));
        blocks.push(block.collect::<Vec<_>>().join("\n"));
    }
    blocks
}

/// A repository with a commit, and the remote that it was cloned from.
struct Repository {
    place: Sandbox,
}

impl Repository {
    fn new() -> Self {
        let place = Sandbox::new();
        let repository = Self { place };
        repository.git(&["init", "--quiet", "--bare", "remote.git"], ".");
        for name in ["a", "b"] {
            repository.git(&["clone", "--quiet", "remote.git", name], ".");
            repository.git(&["commit", "--quiet", "--allow-empty", "-m", "x"], name);
        }
        repository
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn git(&self, arguments: &[&str], folder: &str) -> String {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(self.folder(folder));
        let output = self.calm(&mut command).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Without the settings of whoever runs the tests, and with the binary in PATH.
    fn calm<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let programs = Path::new(env!("CARGO_BIN_EXE_plimsoll")).parent().unwrap();
        command
            .env_clear()
            .env(
                "PATH",
                format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display()),
            )
            .env("HOME", self.place.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "x")
            .env("GIT_AUTHOR_EMAIL", "x@localhost")
            .env("GIT_COMMITTER_NAME", "x")
            .env("GIT_COMMITTER_EMAIL", "x@localhost")
            .stdin(Stdio::null())
    }

    /// A step of the action in a clone.
    fn step(&self, step: &str, clone: &str, environment: &[(&str, &str)]) -> Output {
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-c", step]);
        self.calm(command.current_dir(self.folder(clone)))
            .env("GITHUB_OUTPUT", self.folder("outputs"))
            .env("GITHUB_STEP_SUMMARY", self.folder("summary"))
            .env("HISTORY", ".history")
            .env("BRANCH", "loads")
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }
}

#[track_caller]
fn assert_code(output: &Output, codes: &[i32]) {
    let code = output.status.code().unwrap_or(-1);
    assert!(codes.contains(&code), "{output:?}");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_action_keeps_the_history_of_jobs_at_the_same_time_and_never_passes_without_a_comparison() {
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    let steps = blocks("github/action.yml", "run: |");
    let [restore, measure, judge, store, answer] = &steps[..] else {
        panic!("{} steps", steps.len());
    };
    let repository = Repository::new();
    let arguments = format!(
        "run\n{}\n--rate\n50/s\n--for\n500ms\n--name\nshop\n",
        origin.url()
    );
    std::thread::scope(|jobs| {
        for clone in ["a", "b"] {
            let (repository, arguments) = (&repository, &arguments);
            jobs.spawn(move || {
                assert_code(&repository.step(restore, clone, &[]), &[0]);
                let measured = repository.step(measure, clone, &[("ARGUMENTS", arguments)]);
                assert_code(&measured, &[0]);
            });
        }
    });
    assert_code(&repository.step(judge, "a", &[]), &[0]);
    // The second to push finds the line of the first.
    for clone in ["a", "b"] {
        assert_code(&repository.step(store, clone, &[]), &[0]);
    }
    let lines = repository.git(&["show", "loads:history.jsonl"], "remote.git");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    for clone in ["a", "b"] {
        let commit = repository.git(&["rev-parse", "HEAD"], clone);
        assert!(lines.contains(commit.trim()), "{commit} in {lines}");
    }
    let outputs = read(&repository.folder("outputs"));
    // On a machine that is too busy the run is void, and passes as little.
    let answers = ["verdict=undecided\ncode=4\n", "verdict=void\ncode=6\n"];
    assert!(
        answers.iter().any(|answer| outputs.contains(answer)),
        "{outputs}"
    );
    assert!(read(&repository.folder("summary")).starts_with("## Plimsoll: "));
    for file in ["plimsoll-history.xml", "plimsoll-history.html"] {
        assert!(repository.folder("a").join(file).exists(), "{file}");
    }
    for (measured, judged, undecided, code) in [
        ("0", "0", "fail", 0),
        ("0", "4", "fail", 4),
        ("0", "4", "warn", 0),
        ("0", "3", "warn", 3),
        ("3", "0", "fail", 3),
    ] {
        let environment = [
            ("MEASURED", measured),
            ("JUDGED", judged),
            ("UNDECIDED", undecided),
        ];
        assert_code(&repository.step(answer, "a", &environment), &[code]);
    }
}

#[test]
fn the_action_passes_no_argument_through_a_shell_and_stops_at_errors() {
    let steps = blocks("github/action.yml", "run: |");
    let repository = Repository::new();
    let hostile = "run\n$(touch hacked); `touch hacked`\n; touch hacked";
    let output = repository.step(&steps[1], "a", &[("ARGUMENTS", hostile)]);
    assert_code(&output, &[2]);
    assert!(!repository.folder("a").join("hacked").exists());
    fs::remove_dir_all(repository.folder("remote.git")).unwrap();
    assert_code(&repository.step(&steps[0], "b", &[]), &[2]);
}

#[test]
fn the_template_measures_judges_and_writes_a_note() {
    let origin = KnownLaw::start(KnownLawPlan::default()).unwrap();
    let scripts = blocks("gitlab/plimsoll.yml", "    - |");
    assert_eq!(scripts.len(), 1);
    let repository = Repository::new();
    let arguments = format!(
        "run\n{}\n--rate\n50/s\n--for\n500ms\n--name\nshop",
        origin.url()
    );
    let url = origin.url();
    let mut command = Command::new("sh");
    command.args(["-c", &scripts[0]]);
    let output = repository
        .calm(command.current_dir(repository.folder("a")))
        .env("PLIMSOLL_ARGUMENTS", &arguments)
        .env("PLIMSOLL_HISTORY", ".plimsoll-history")
        .env("PLIMSOLL_NOTE_TOKEN", "token-of-the-test")
        .env("CI_API_V4_URL", url.trim_end_matches('/'))
        .env("CI_PROJECT_ID", "7")
        .env("CI_MERGE_REQUEST_IID", "8")
        .output()
        .unwrap();
    assert_code(&output, &[4, 6]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("## Plimsoll: "), "{output:?}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("was not written"), "{errors}");
    for file in [
        "plimsoll-history.md",
        "plimsoll-history.xml",
        "plimsoll-history.html",
    ] {
        assert!(repository.folder("a").join(file).exists(), "{file}");
    }
}
