//! SMAC3 and Optuna, in a Python process of their own: `peer.py` proposes, this side measures.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::python;
use plimsoll_harness::workspace::Workspace;
use plimsoll_testkit::surfaces::{ResponseSurface, Setting};
use serde::Deserialize;
use serde_json::{Value, json};

use super::proposer::{MeasuredTrial, Proposer};

/// Folder of the program and its packages, in the project.
const FOLDER: &str = "crates/plimsoll-bench/src/tune";

fn environment(workspace: &Workspace) -> PathBuf {
    workspace.target().join("tuning-peers")
}

fn lock(workspace: &Workspace) -> PathBuf {
    workspace.root().join(FOLDER).join("requirements.txt")
}

/// Installs them as the lock file has them.
pub(super) fn install(workspace: &Workspace) -> Result<()> {
    python::install(&lock(workspace), &environment(workspace))
}

/// Their versions in the lock file, for the page.
pub(super) fn versions(workspace: &Workspace) -> Result<Vec<String>> {
    let path = lock(workspace);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let version = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix("=="))
            .and_then(|rest| rest.split_whitespace().next())
            .with_context(|| format!("{} lacks {name}", path.display()))
    };
    Ok(vec![
        format!("SMAC3 {}", version("smac")?),
        format!("Optuna {}", version("optuna")?),
    ])
}

/// The Python process. It ends when its input does.
pub(super) struct PeerProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// A line of its output.
#[derive(Debug, Deserialize)]
struct PeerReply {
    /// What it proposes; `None` at the end of its search.
    setting: Option<Setting>,
    /// What it would keep.
    kept: Setting,
}

impl PeerProcess {
    pub(super) fn start(workspace: &Workspace) -> Result<Self> {
        let mut child = Command::new(environment(workspace).join("bin/python"))
            // Neither the folder of the program nor variables of the user add packages.
            .arg("-I")
            .arg(workspace.root().join(FOLDER).join("peer.py"))
            // Several peers run beside each other, each on a core.
            .envs(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"].map(|name| (name, "1")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run Python with SMAC3 and Optuna")?;
        let input = child.stdin.take().context("the peers have no input")?;
        let output = child.stdout.take().context("the peers have no output")?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    fn exchange(&mut self, message: &Value) -> Result<PeerReply> {
        writeln!(self.input, "{message}").context("the process of the peers has ended")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(
            !line.is_empty(),
            "the process of the peers has ended; its error is above"
        );
        serde_json::from_str(&line).with_context(|| format!("no reply of a peer: {line}"))
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        // It may wait for input, and nothing it holds is needed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A search of a peer.
pub(super) struct PeerProposer<'a> {
    process: &'a mut PeerProcess,
    reply: PeerReply,
    costs: TrialCosts,
}

/// Costs of trials, for searches of the lowest.
#[derive(Default)]
struct TrialCosts {
    /// The highest of a trial that did not fail.
    max: Option<f64>,
}

impl TrialCosts {
    /// Minus the logarithm of the line; where the service failed, as if it carried half of the lowest line so far: neither
    /// peer learns from a trial without a value where not to go.
    fn of(&mut self, line: Option<f64>) -> f64 {
        let Some(line) = line else {
            return self.max.unwrap_or(0.0) + std::f64::consts::LN_2;
        };
        let cost = -line.ln();
        self.max = Some(self.max.unwrap_or(cost).max(cost));
        cost
    }
}

impl<'a> PeerProposer<'a> {
    /// A search by `method`, which `peer.py` knows.
    pub(super) fn begin(
        process: &'a mut PeerProcess,
        method: &str,
        surface: &ResponseSurface,
        seed: u64,
        trials: u64,
    ) -> Result<Self> {
        let knobs = surface.knobs().iter().map(|knob| {
            json!({ "levels": knob.levels(), "is_ordered": knob.is_ordered(), "default": knob.default })
        });
        let knobs: Vec<Value> = knobs.collect();
        let begin = json!({ "method": method, "seed": seed, "trials": trials, "knobs": knobs });
        let reply = process.exchange(&json!({ "begin": begin }))?;
        Ok(Self {
            process,
            reply,
            costs: TrialCosts::default(),
        })
    }
}

impl Proposer for PeerProposer<'_> {
    fn propose(&mut self) -> Result<Option<Setting>> {
        Ok(self.reply.setting.clone())
    }

    fn learn(&mut self, trial: MeasuredTrial) -> Result<()> {
        let cost = self.costs.of(trial.line);
        let message = json!({ "cost": cost, "failed": trial.line.is_none() });
        self.reply = self.process.exchange(&message)?;
        Ok(())
    }

    fn choice(&mut self) -> Setting {
        self.reply.kept.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_trial_costs_as_half_of_the_lowest_line() {
        let mut costs = TrialCosts::default();
        let of = [Some(100.0), Some(50.0), None, Some(200.0)].map(|line| costs.of(line).exp());
        for (cost, line) in of.into_iter().zip([100.0, 50.0, 25.0, 200.0]) {
            assert!((cost * line - 1.0).abs() < 1e-9, "{cost} {line}");
        }
    }

    #[test]
    fn the_lock_file_names_both_peers() {
        let versions = versions(&Workspace::find().unwrap()).unwrap();
        assert!(versions[0].starts_with("SMAC3 2."), "{versions:?}");
        assert!(versions[1].starts_with("Optuna "), "{versions:?}");
    }
}
