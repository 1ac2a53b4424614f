//! Common setup of the cases: folders, stop flag, and the check for an idle machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, ensure};
use plimsoll_harness::machine::{BUSY_MAX, busy_share, raise_descriptor_limit};
use plimsoll_harness::workspace::Workspace;
use signal_hook::consts::TERM_SIGNALS;

/// Folders of a case, and of its data between runs.
pub(crate) struct CaseContext {
    pub(crate) workspace: Workspace,
    pub(crate) case: PathBuf,
    /// Run files, reports, the rows of a database.
    pub(crate) store: PathBuf,
}

impl CaseContext {
    /// Of the case of this name. Raises the limit of open files, which its servers inherit.
    pub(crate) fn new(name: &str) -> Result<Self> {
        let workspace = Workspace::find()?;
        let ground = Self {
            case: workspace.root().join("cases").join(name),
            store: workspace.target().join("case").join(name),
            workspace,
        };
        std::fs::create_dir_all(&ground.store)?;
        raise_descriptor_limit()?;
        Ok(ground)
    }

    /// The release binary of `plimsoll`.
    pub(crate) fn plimsoll(&self) -> PathBuf {
        self.workspace.release("plimsoll")
    }

    /// Writes a page at a path of the repository.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<()> {
        let path = self.workspace.root().join(path);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
        Ok(())
    }
}

/// Set by signals: the process must remove the servers' folders before it exits.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    for signal in TERM_SIGNALS {
        signal_hook::flag::register(*signal, Arc::clone(&is_stopped))?;
    }
    Ok(is_stopped)
}

/// Fails on a busy machine, unless that is waived: then returns the remark for the page.
pub(crate) fn busy_remark(anyway: bool) -> Result<Option<String>> {
    let busy = busy_share()?;
    if busy <= BUSY_MAX {
        return Ok(None);
    }
    ensure!(
        anyway,
        "the cores are {:.0} % busy, at most {:.0} % is valid: wait until nothing else runs, or add --anyway, which \
         marks the page",
        busy * 100.0,
        BUSY_MAX * 100.0
    );
    Ok(Some(
        "**Other work shared the machine: what was measured is not valid.**".to_owned(),
    ))
}
