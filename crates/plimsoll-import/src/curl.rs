//! Curl lines as plans: as browsers copy them, and as documentation and shell scripts have them.
//!
//! A text is read as a shell reads it (`shell`, or `windows` for the Windows command processor); each curl command's
//! options (`invocation`) become requests. What a shell script does besides is lost by name.

mod body;
mod commands;
mod context;
mod files;
mod form;
mod glob;
mod headers;
mod invocation;
mod options;
mod request;
mod shell;
#[cfg(test)]
mod tests;
mod transport;
mod windows;

use self::commands::Commands;
use self::context::Context;
use crate::Imported;
use crate::script::draft::{JourneyDraft, PlanDraft, StepItem};
use crate::script::{Script, ScriptError, ScriptOptions};
use crate::yaml::YamlNode;

/// Makes a plan of curl lines: one step a request, in their order, for one user and one iteration.
///
/// # Errors
/// When a quote has no end, curl has no such option, or no command sends anything.
pub fn import(script: &Script<'_>, options: &ScriptOptions) -> Result<Imported, ScriptError> {
    let mut context = Context::new(script);
    let mut commands = Commands::default();
    commands.read(&mut context)?;
    if context.marks.is_full() {
        return Err(script.error(
            0,
            "the script has more than 65,000 different variables",
            "import a part of it",
        ));
    }
    let Commands {
        steps, transfers, ..
    } = commands;
    let shared = commands::shared_headers(&steps);
    let transport = transport::read(&mut context, &transfers);
    let steps: Vec<StepItem> = commands::steps(&mut context, steps, &shared);
    let headers = shared
        .iter()
        .map(|(name, value)| (name.clone(), context.marks.template(value)));
    let headers = headers.collect();
    let mut notes = std::mem::take(&mut context.notes);
    notes.extend(context.secrets.note(&context.marks));
    let draft = PlanDraft {
        heading: "Curl commands as a plan: one user, one iteration; for more load: { users: 100, within: 1m, hold: 10m }".to_owned(),
        notes,
        target: options.target.clone(),
        headers,
        journeys: vec![JourneyDraft {
            name: "curl".to_owned(),
            steps,
            // Every curl process begins without cookies; `-b FILE` and `-c FILE` keep them.
            cookies: Some(transfers.iter().any(|transfer| transfer.keeps_cookies)),
            ..JourneyDraft::default()
        }],
        load: Some(YamlNode::map([
            ("users", YamlNode::plain(1)),
            ("hold", YamlNode::plain("1m")),
            ("iterations", YamlNode::plain(1)),
        ])),
        transport,
        files: std::mem::take(&mut context.files),
        ..PlanDraft::default()
    };
    script.plan(draft, context.losses)
}
