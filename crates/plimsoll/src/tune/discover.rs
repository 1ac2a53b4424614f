//! `tune --discover URL`: drafts a tune file for the components behind a URL, and the templates beside it.
//!
//! Nothing is changed, and no load is sent: processes and their configuration files are read.

mod render;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use plimsoll_model::component::Component;
use plimsoll_probe::knobs::{self, KnobPlan};
use plimsoll_report::tune::AdvisedSetting;

use crate::explain::CliError;
use crate::target;

/// What to draft.
#[derive(Debug)]
pub(crate) struct DiscoverOptions<'a> {
    /// The service.
    pub(crate) url: &'a str,
    /// The tune file that will be written: its name begins the names of templates.
    pub(crate) file: &'a Path,
    /// Socket on which the service listens, instead of the address of the URL.
    pub(crate) unix_socket: Option<PathBuf>,
    /// Components that the user names, with their logins.
    pub(crate) components: Vec<Component>,
    /// Whether settings of the kernel are included.
    pub(crate) kernel: bool,
}

/// A tune file, and the files that it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DraftFile {
    /// Names and contents; the first is the tune file. Names are relative to its folder.
    pub(crate) files: Vec<(PathBuf, String)>,
    /// Every setting that was found, the likeliest limit first.
    pub(crate) settings: Vec<AdvisedSetting>,
    /// What was found and which access is missing.
    pub(crate) notes: Vec<String>,
}

/// Drafts a tune file. Without files where no setting of the service can be changed from here: each setting then has the
/// reason.
///
/// # Errors
/// When the URL is invalid.
pub(crate) fn discover(options: &DiscoverOptions<'_>) -> Result<DraftFile, CliError> {
    let target_address = match &options.unix_socket {
        Some(_) => None,
        None => Some(target::first_address(options.url)?),
    };
    let found = knobs::find(&KnobPlan {
        target_address,
        unix_socket: options.unix_socket.clone(),
        components: options.components.clone(),
        kernel: options.kernel,
        root: PathBuf::from("/"),
    });
    Ok(render::draft(options, &found))
}

impl DraftFile {
    /// Writes the files into a folder, and returns their paths. A file that exists is not overwritten.
    ///
    /// # Errors
    /// When there are none, one exists, or cannot be written; nothing is then written.
    pub(crate) fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, CliError> {
        if self.files.is_empty() {
            return Err(self.unreachable());
        }
        let paths: Vec<PathBuf> = self
            .files
            .iter()
            .map(|(name, _)| folder.join(name))
            .collect();
        if let Some(path) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
            return Err(
                CliError::usage(format!("{} exists already", path.display()))
                    .remedy("delete it, or name another file with --out"),
            );
        }
        let mut written: Vec<&PathBuf> = Vec::new();
        for (path, (_, content)) in paths.iter().zip(&self.files) {
            if let Err(error) = create(path, content) {
                for path in written {
                    // What cannot be deleted now is refused by name at the next attempt.
                    let _ = std::fs::remove_file(path);
                }
                return Err(CliError::usage(format!(
                    "cannot write {}: {error}",
                    path.display()
                )));
            }
            written.push(path);
        }
        Ok(paths)
    }

    fn unreachable(&self) -> CliError {
        let reasons = self.settings.iter().filter_map(|setting| {
            let why = setting.left_out.as_ref()?;
            Some(format!("{}: {why}", setting.name))
        });
        let reasons = reasons.take(REASONS_MAX).chain(self.notes.iter().cloned());
        let (message, remedy) = if self.settings.is_empty() {
            (
                "no program with known settings was found behind the URL",
                "run it on the machine of the service; known programs are in docs/reference/knobs.md; for others write \
                 the file yourself",
            )
        } else {
            (
                "no setting of the service can be changed from here",
                "follow one of the reasons above, or write the file yourself",
            )
        };
        CliError::usage(message)
            .details(reasons.collect())
            .remedy(remedy)
    }
}

/// Reasons that are shown where no setting can be changed.
const REASONS_MAX: usize = 20;

/// A copy of a configuration file may have secrets: only its owner may read it.
fn create(path: &Path, content: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let draft = DraftFile {
            files: vec![
                ("tune.yaml".into(), "knobs:\n".to_owned()),
                ("tune-nginx.conf.in".into(), "events {}\n".to_owned()),
            ],
            ..DraftFile::default()
        };
        let paths = draft.write(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&paths[0]).unwrap(), "knobs:\n");
        std::fs::remove_file(&paths[0]).unwrap();
        let refused = draft.write(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("exists already"), "{refused}");
        assert!(!paths[0].exists());
    }

    #[test]
    fn without_settings_the_reasons_are_named() {
        let draft = DraftFile {
            notes: vec!["Redis (pid 7) is not included".to_owned()],
            ..DraftFile::default()
        };
        let refused = draft.write(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(refused.contains("Redis (pid 7)"), "{refused}");
        assert!(
            refused.contains("no program with known settings"),
            "{refused}"
        );
    }
}
