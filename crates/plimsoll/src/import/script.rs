//! `plimsoll import` of scripts of other tools: the plan to standard output or into a folder, losses to standard error.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use plimsoll_import::{
    DataFile, FileContent, Imported, SCRIPT_LEN_MAX, Script, ScriptError, ScriptFiles,
    ScriptOptions,
};
use plimsoll_lab::{input, output};

use super::{open, show, site};
use crate::arguments::ScriptArguments;
use crate::exit::Exit;
use crate::explain::CliError;
use crate::screen::{eprint, print};

/// Name of the plan in the folder of `--out`.
const PLAN_NAME: &str = "plan.yaml";
/// Longest data file of a script, bytes.
const FILE_LEN_MAX: u64 = 256 << 20;

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
    let imported =
        importer(&script, &options).map_err(|error| CliError::usage(error.to_string()))?;
    match &arguments.out {
        Some(out) => {
            write(&imported, folder, out)?;
            eprint(&format!(
                "the plan is {}; try it with `plimsoll check`",
                out.join(PLAN_NAME).display()
            ));
        }
        None => {
            print(&imported.plan);
            note_files(&imported);
        }
    }
    show(&imported);
    for loss in &imported.losses {
        eprint(&loss.to_string());
    }
    if arguments.strict && !imported.losses.is_empty() {
        let lost = imported.losses.len();
        return Err(CliError::usage(format!(
            "the plan lacks {lost} part{} of the script",
            if lost == 1 { "" } else { "s" }
        ))
        .remedy("change the script as each line says, or import without --strict"));
    }
    Ok(Exit::Met)
}

/// Notes files that the plan on standard output names and that nobody wrote.
fn note_files(imported: &Imported) {
    let is_absent = |file: &&DataFile| match &file.content {
        FileContent::Bytes(_) => true,
        FileContent::Copy(from) => from != &file.name,
    };
    let absent = imported.files.iter().filter(is_absent);
    let names: Vec<&str> = absent.map(|file| file.name.as_str()).collect();
    if !names.is_empty() {
        eprint(&format!(
            "note: the plan needs files that only --out DIR writes: {}",
            names.join(", ")
        ));
    }
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
    let bytes = bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .map_or(bytes.as_slice(), |rest| rest);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
            + 1;
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
        let bytes = bytes
            .strip_prefix(b"\xef\xbb\xbf")
            .map_or(bytes.as_slice(), |rest| rest);
        let text = std::str::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8"))?;
        Ok(text.to_owned())
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        raw(&self.0.join(path))
    }
}

/// The bytes of a file as they are: data that is sent, so that compressed data stays compressed.
fn raw(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    if open::is_stdin(path) || path.is_dir() {
        return Err(format!("{} is no file", path.display()));
    }
    let mut bytes = Vec::new();
    input::open(path, open::PATIENCE)
        .map_err(failed)?
        .take(FILE_LEN_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > FILE_LEN_MAX {
        return Err(format!(
            "{} is longer than {} MiB",
            path.display(),
            FILE_LEN_MAX >> 20
        ));
    }
    Ok(bytes)
}

/// Writes the plan and the files that it names.
fn write(imported: &Imported, folder: &Path, out: &Path) -> Result<(), CliError> {
    let failed = |path: &Path, error: &std::io::Error| {
        CliError::usage(format!("cannot write {}: {error}", path.display()))
    };
    output::create_folder(out).map_err(|error| failed(out, &error))?;
    for file in &imported.files {
        let path = out.join(plain_path(file)?);
        if let Some(parent) = path.parent() {
            output::create_folder(parent).map_err(|error| failed(parent, &error))?;
        }
        let bytes = match &file.content {
            FileContent::Bytes(bytes) => bytes.clone(),
            FileContent::Copy(from) => raw(&folder.join(from)).map_err(CliError::usage)?,
        };
        output::write_whole(&path, &bytes).map_err(|error| failed(&path, &error))?;
    }
    let plan = out.join(PLAN_NAME);
    output::write_whole(&plan, imported.plan.as_bytes()).map_err(|error| failed(&plan, &error))
}

/// The path of a file below the plan's folder.
fn plain_path(file: &DataFile) -> Result<&Path, CliError> {
    let path = Path::new(&file.name);
    let is_below = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if is_below && path.components().next().is_some() {
        return Ok(path);
    }
    Err(CliError::usage(format!(
        "the file {} would be outside the folder",
        file.name
    )))
}
