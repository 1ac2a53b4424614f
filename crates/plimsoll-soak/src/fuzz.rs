//! `cargo xtask fuzz`: coverage-guided fuzzing of every parser.
//!
//! The targets are in the crates that they test (`crates/*/fuzz`) and are built in one workspace (`fuzz/`). They are
//! instrumented with flags of the stable compiler, so no other toolchain is needed; libFuzzer comes with its crate and is
//! built by the machine's C++ compiler. The corpus is stored beside the build and reused by the next run.

pub(crate) mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use plimsoll_harness::packages::{Tool, see_to};
use plimsoll_harness::step::{execute, line};
use plimsoll_harness::workspace::{Workspace, cargo};
use serde_json::Value;

use self::report::FuzzReport;

#[derive(Args)]
pub(crate) struct FuzzArguments {
    /// Time per target
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Run only this target; repeatable
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Seed of libFuzzer's random numbers
    #[arg(long, default_value_t = 1)]
    seed: u32,
}

/// Instrumentation of cargo-fuzz without a sanitizer: edge counters and comparisons.
const INSTRUMENTED: &str = "--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 \
     -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
     -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// An input that keeps a parser busy for longer is a finding, in seconds.
const SLOW_S: u64 = 10;

/// A parser that takes more than this for one input is a finding, in MiB.
const MEMORY_MIB: u64 = 2_048;

pub(crate) fn run(arguments: &FuzzArguments) -> Result<ExitCode> {
    let place = FuzzWorkspace::of(&Workspace::find()?)?;
    let names = place.chosen(&arguments.target)?;
    place.build(&names)?;
    println!("{}", report::HEADING);
    let mut is_clean = true;
    for name in names {
        is_clean &= place
            .report_on(&name, arguments.seconds, arguments.seed)?
            .finding
            .is_none();
    }
    Ok(if is_clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The build of the targets and their corpus.
pub(crate) struct FuzzWorkspace {
    manifest: PathBuf,
    target: PathBuf,
    host: String,
}

impl FuzzWorkspace {
    pub(crate) fn of(workspace: &Workspace) -> Result<Self> {
        Ok(Self {
            manifest: workspace.root().join("fuzz/Cargo.toml"),
            target: workspace.target().join("fuzz"),
            host: host()?,
        })
    }

    /// The requested targets, or all.
    fn chosen(&self, asked: &[String]) -> Result<Vec<String>> {
        let there = self.names()?;
        for name in asked {
            ensure!(
                there.contains(name),
                "unknown fuzz target {name}; valid: {}",
                there.join(", ")
            );
        }
        Ok(if asked.is_empty() {
            there
        } else {
            asked.to_vec()
        })
    }

    pub(crate) fn names(&self) -> Result<Vec<String>> {
        let mut command = cargo();
        command
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .arg("--manifest-path")
            .arg(&self.manifest);
        let output = command.output().context("cannot run cargo metadata")?;
        ensure!(
            output.status.success(),
            "`{}` failed: {}",
            line(&command),
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let mut names: Vec<String> = packages
            .flat_map(|package| package["targets"].as_array().into_iter().flatten())
            .filter_map(|target| Some(target["name"].as_str()?.to_owned()))
            .collect();
        names.sort();
        ensure!(!names.is_empty(), "no fuzz target found");
        Ok(names)
    }

    /// An explicit target keeps build scripts and macros uninstrumented.
    pub(crate) fn build(&self, names: &[String]) -> Result<()> {
        see_to(&[Tool::new("c++", "g++")])?;
        println!("building {} targets", names.len());
        let mut command = cargo();
        command
            .args(["build", "--release", "--locked", "--target", &self.host])
            .arg("--manifest-path")
            .arg(&self.manifest)
            .arg("--target-dir")
            .arg(&self.target)
            .env("RUSTFLAGS", INSTRUMENTED);
        for name in names {
            command.args(["--bin", name]);
        }
        execute(&mut command)
    }

    /// Runs one target, and prints its row and findings.
    pub(crate) fn report_on(&self, name: &str, seconds: u64, seed: u32) -> Result<FuzzReport> {
        let report = self.run_target(name, seconds, seed)?;
        println!("{}", report.row(name));
        if let Some(finding) = &report.finding {
            println!("{finding}");
            if let Some(input) = &report.input {
                println!("to reproduce: {} {input}", self.program(name).display());
            }
        }
        Ok(report)
    }

    fn run_target(&self, name: &str, seconds: u64, seed: u32) -> Result<FuzzReport> {
        let corpus = folder(&self.target.join("corpus").join(name))?;
        let findings = folder(&self.findings(name))?;
        let mut command = Command::new(self.program(name));
        command
            .arg(corpus)
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-seed={seed}"))
            .arg(format!("-timeout={SLOW_S}"))
            .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
            .arg(format!("-artifact_prefix={}/", findings.display()))
            .arg("-print_final_stats=1")
            .stdin(Stdio::null());
        let output = command
            .output()
            .with_context(|| format!("cannot run {}", line(&command)))?;
        let text = String::from_utf8_lossy(&output.stderr);
        FuzzReport::read(&text, output.status.success())
            .with_context(|| format!("{name} printed no statistics: {text}"))
    }

    fn findings(&self, name: &str) -> PathBuf {
        self.target.join("findings").join(name)
    }

    fn program(&self, name: &str) -> PathBuf {
        self.target.join(&self.host).join("release").join(name)
    }
}

fn folder(path: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
    Ok(path.to_owned())
}

/// The compiler's default target.
fn host() -> Result<String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .context("cannot run rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV prints no host")?.to_owned())
}
