//! What scripts of other tools have in common on their way to a plan.
//!
//! An importer reads a script (a k6 file, a test plan of `JMeter`, a Postman collection, an `OpenAPI` document, a curl line) into a
//! [`PlanDraft`], and names what the draft does not have in [`Losses`]. One writer makes the plan file of a draft.

pub(crate) mod draft;
pub(crate) mod encoding;
mod losses;
mod marks;
mod secrets;
mod source;
mod template;
pub(crate) mod url;
mod write;

pub(crate) use draft::PlanDraft;
pub use losses::Loss;
pub(crate) use losses::{Losses, Remedy, TWO_SLASHES};
pub(crate) use marks::Marks;
pub(crate) use secrets::{Secrets, environment_name};
pub use source::{SCRIPT_LEN_MAX, Script, ScriptError, ScriptFiles, ScriptOptions};
pub(crate) use template::Template;
pub(crate) use write::{each_request, write};
