//! `plimsoll import` of scripts of other tools: the plan to standard output or into a folder, losses to standard error.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use plimsoll_import::{Imported, SCRIPT_LEN_MAX, Script, ScriptError, ScriptFiles, ScriptOptions};

use plimsoll_model::byte_order_mark;

use super::{open, output, site};
use crate::arguments::ScriptArguments;
use crate::exit::Exit;
use crate::explain::CliError;

/// How a kind of script is imported.
type Importer = fn(&Script<'_>, &ScriptOptions) -> Result<Imported, ScriptError>;

/// Imports a script.
pub(super) fn import(arguments: &ScriptArguments, importer: Importer) -> Result<Exit, CliError> {
    let (name, text) = script(&arguments.script)?;
    let folder = Path::new(&arguments.script)
        .parent()
        .unwrap_or(Path::new(""));
    let files = Folder(folder.to_owned());
    let target = arguments.target.as_deref().map(site).transpose()?;
    let environment = arguments.env.as_deref().map(environment).transpose()?;
    let options = ScriptOptions {
        target: target.map(|url| url.as_str().trim_end_matches('/').to_owned()),
        environment,
        seed: arguments.seed,
    };
    let script = Script {
        name: &name,
        text: &text,
        files: &files,
    };
    let made = importer(&script, &options).map_err(|error| {
        output::list(&error.losses);
        CliError::usage(error.to_string())
    })?;
    output::finish(&made, folder, arguments.out.as_deref(), arguments.strict)
}

/// Name and text of a script: a file, standard input, or a curl line given as the argument itself.
fn script(argument: &str) -> Result<(String, String), CliError> {
    if is_command_line(argument) {
        return Ok(("argument".to_owned(), argument.to_owned()));
    }
    let name = if argument == "-" {
        "standard input"
    } else {
        argument
    };
    Ok((name.to_owned(), text(Path::new(argument), name)?))
}

fn is_command_line(argument: &str) -> bool {
    let mut words = argument.split_whitespace();
    let program = words.next().unwrap_or_default();
    words.next().is_some()
        && matches!(program, "curl" | "curl.exe")
        && !Path::new(argument).exists()
}

fn environment(path: &Path) -> Result<(String, String), CliError> {
    let name = path.display().to_string();
    let text = text(path, &name)?;
    Ok((name, text))
}

/// The text of a file, without a byte order mark.
fn text(path: &Path, name: &str) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    open::file(path)?
        .take(SCRIPT_LEN_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::usage(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > SCRIPT_LEN_MAX {
        let message = format!("{name} is longer than {} MiB", SCRIPT_LEN_MAX >> 20);
        return Err(CliError::usage(message).remedy("import a part of it"));
    }
    let bytes = byte_order_mark::skip(&bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let line = before.matches('\n').count() + 1;
        CliError::usage(format!("{name}:{line}: the text is not UTF-8"))
            .remedy("save it as UTF-8, then import again")
    })?;
    Ok(text.to_owned())
}

/// Files beside a script.
struct Folder(PathBuf);

impl ScriptFiles for Folder {
    fn text(&self, path: &str) -> Result<String, String> {
        let bytes = self.bytes(path)?;
        let text = std::str::from_utf8(byte_order_mark::skip(&bytes))
            .map_err(|_| format!("{path} is not UTF-8"))?;
        Ok(text.to_owned())
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        open::raw(&self.0.join(path))
    }
}
