//! Turns a recording into a journey: steps in order, pages with their resources, think times, and server-generated
//! values that later requests send back.
//!
//! Headers that a browser adds itself (cookies, its own headers) are left to the virtual user; other hosts, failed
//! requests and `WebSocket`s are left out and named in comments.

mod draft;
mod extract;
mod finder;
mod fold;
mod losses;
mod secrets;
mod sift;
mod write;

use url::Url;

use crate::Imported;
use crate::recording::Recording;

/// Options that the recording does not contain.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The site; `None` takes the origin of the first page.
    pub target: Option<Url>,
    /// Hosts included beside the site's own, as `host` or `host:port`.
    pub hosts: Vec<String>,
    /// Name of the recording, for losses.
    pub file: String,
    /// Whether the plan has a folder for the files of bodies that are no text.
    pub has_folder: bool,
}

/// Why a recording gives no plan.
#[derive(Debug, thiserror::Error)]
pub enum JourneyError {
    /// No request goes to the site.
    #[error(
        "no request of the recording goes to {target}; its hosts: {hosts}; give the site that was visited (`import har --target URL`, `record URL`), or keep a host with --host NAME"
    )]
    NothingOfTarget {
        /// The site.
        target: String,
        /// The recorded hosts.
        hosts: String,
    },
    /// No request at all.
    #[error(
        "the recording holds no request; visit the site while recording: the browser must start, and use the proxy of the recording"
    )]
    Nothing,
}

/// Makes the plan of a recording.
///
/// # Errors
/// When no request of the recording goes to the site.
pub fn plan(recording: &Recording, options: &Options) -> Result<Imported, JourneyError> {
    let sifted = sift::sift(recording, options)?;
    let journey = fold::fold(&sifted.exchanges);
    let drafted = draft::draft(&sifted, &journey, options.has_folder);
    let mut imported = write::write(recording, &sifted, &journey, &drafted);
    imported.losses = losses::list(&options.file, recording, &sifted, &drafted);
    imported.files = drafted.files;
    Ok(imported)
}

#[cfg(test)]
mod tests;
