//! A recording becomes a journey: steps in order, pages with what they need, think times, values that the server
//! gave and that later requests sent back.
//!
//! What a browser adds by itself (cookies, its own headers) is left to the user of the plan; other hosts, failed
//! requests and `WebSocket`s are left out and named in comments.

mod draft;
mod extract;
mod finder;
mod fold;
mod secrets;
mod sift;
mod write;

use url::Url;

use crate::Imported;
use crate::recording::Recording;

/// What the recording does not say.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The site; `None` takes the origin of the first page that was shown.
    pub target: Option<Url>,
    /// Hosts that stay in beside the site's own, as `host` or `host:port`.
    pub hosts: Vec<String>,
}

/// Why a recording gives no plan.
#[derive(Debug, thiserror::Error)]
pub enum JourneyError {
    /// Nothing was asked of the site.
    #[error(
        "no request of the recording goes to {target}; its hosts: {hosts}; set the site with --target URL, or keep a host with --host NAME"
    )]
    NothingOfTarget {
        /// The site.
        target: String,
        /// The hosts that were spoken to.
        hosts: String,
    },
    /// Nothing at all was asked.
    #[error("the recording holds no request; visit the site while recording")]
    Nothing,
}

/// Makes the plan of a recording.
///
/// # Errors
/// When no request of the recording goes to the site.
pub fn plan(recording: &Recording, options: &Options) -> Result<Imported, JourneyError> {
    let sifted = sift::sift(recording, options)?;
    let journey = fold::fold(&sifted.exchanges);
    let drafted = draft::draft(&sifted, &journey);
    Ok(write::write(recording, &sifted, &journey, &drafted))
}

#[cfg(test)]
mod tests;
