//! `plimsoll import`: makes plans from recordings and logs.

mod har;
mod log;
mod open;
pub(crate) mod output;
mod script;

use plimsoll_import::{Imported, curl, jmeter, k6, openapi, postman};
use url::Url;

use crate::arguments::{ImportArguments, ImportCommand};
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::{eprint, print};
use crate::target;

/// Prints the imported plan.
pub(crate) fn import(arguments: &ImportArguments) -> Result<Exit, CliError> {
    let imported = match &arguments.what {
        ImportCommand::Har(arguments) => return har::import(arguments),
        ImportCommand::Log(arguments) => log::plan(arguments)?,
        ImportCommand::K6(arguments) => return script::import(arguments, k6::import),
        ImportCommand::Jmeter(arguments) => return script::import(arguments, jmeter::import),
        ImportCommand::Postman(arguments) => return script::import(arguments, postman::import),
        ImportCommand::Openapi(arguments) => return script::import(arguments, openapi::import),
        ImportCommand::Curl(arguments) => return script::import(arguments, curl::import),
    };
    show(&imported);
    print(&imported.plan);
    Ok(Exit::Met)
}

/// Prints the notes, which the plan also has as comments.
pub(crate) fn show(imported: &Imported) {
    for note in &imported.notes {
        eprint(&format!("note: {note}"));
    }
}

/// URL of a site for a plan, without credentials, which a plan must not contain.
pub(crate) fn site(text: &str) -> Result<Url, CliError> {
    let mut url = target::parse(text)?;
    if !url.username().is_empty() || url.password().is_some() {
        eprint(
            "note: the credentials in the URL are not written into the plan; add them as a header with `{{ env('NAME') }}`",
        );
        // Both fail only for URLs without a host, which were refused.
        let _ = url.set_username("");
        let _ = url.set_password(None);
    }
    Ok(url)
}
