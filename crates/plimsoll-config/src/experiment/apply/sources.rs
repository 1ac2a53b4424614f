//! Reads revisions of a Git repository.

use std::time::Duration;

use plimsoll_model::experiment::{LevelText, SourceCheckout};

use crate::Problem;
use crate::document::Shape::Text;
use crate::document::{DocumentNode, NodeKind, SettingsMap as _, settings, text};
use crate::experiment::commands::{COMMAND_SHAPE, command_line};
use crate::experiment::required;
use crate::experiment::scope::ExperimentScope;

/// Default time limit of `build`.
const BUILD_TIME: Duration = Duration::from_mins(30);

settings! {
    /// A revision of a Git repository.
    struct SourceSettings, SOURCE "git" {
        /// Commit, tag or branch.
        "ref": Text;
        /// Folder of the repository, relative to the folder of this file.
        repository: String = ".".to_owned(), "repository": text("a folder");
        /// Command that builds the revision, in its folder. Default: none.
        "build": COMMAND_SHAPE;
    }
}

const VALID: &str = "a commit, tag or branch";

/// Reads `git:`.
pub(super) fn source(
    scope: &ExperimentScope<'_, '_>,
    node: &DocumentNode,
) -> Option<SourceCheckout> {
    let reader = scope.reader;
    if !matches!(node.kind, NodeKind::Map(_)) {
        return Some(SourceCheckout {
            repository: SourceSettings::defaults().repository,
            revision: revision_of(scope, node)?,
            build: None,
        });
    }
    let fields = reader.fields(node, &SOURCE)?;
    let settings = SourceSettings::read(reader, &fields);
    let build = fields
        .get("build")
        .map(|node| command_line(scope, node, BUILD_TIME));
    let revision = required(reader, &fields, "ref", "\"{{ AXIS }}\"")?;
    let revision = revision_of(scope, revision)?;
    Some(SourceCheckout {
        repository: settings.repository,
        revision,
        build: match build {
            None => None,
            Some(build) => Some(build?),
        },
    })
}

/// A revision; one that begins with a dash would be an option of Git.
fn revision_of(scope: &ExperimentScope<'_, '_>, node: &DocumentNode) -> Option<LevelText> {
    let is_valid = |text: &str| {
        !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace)
    };
    // The value of each cell is checked; the text is what is stored.
    scope.each(node, VALID, |text| {
        if is_valid(text) {
            return Ok(());
        }
        let message = "not a revision";
        Err(Problem::new(text, 0..text.len(), message, VALID))
    })?;
    scope.text(node, VALID)
}
